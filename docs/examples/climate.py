"""
A map with stations that were never observed
============================================

Low rank cannot predict a station without a single reading. A graph of the stations can, because stations near each
other are alike. The readings are synthetic: a smooth field over Europe with a seasonal cycle and some noise, at random
places.
"""

import matplotlib.pyplot as plt
import numpy as np

import tensorfill
from tensorfill import graphs, metrics

# %%
# Stations, years and months
# --------------------------

rng = np.random.default_rng(0)
stations, years, months = 150, 6, 12
latitude, longitude = rng.uniform(36, 60, stations), rng.uniform(-9, 28, stations)
latlon = np.stack([latitude, longitude], axis=1)


def mean(latitude, longitude):
    """Return the mean temperature of a place."""
    return 22 - 0.55 * (latitude - 36) + 2 * np.sin(np.radians(9 * longitude))


def swing(latitude, longitude):
    """Return how much warmer than the mean the summer is."""
    return 5 + 0.25 * (longitude + 9) + 1.5 * np.cos(np.radians(8 * latitude))


season = -np.cos(2 * np.pi * (np.arange(months) - 0.5) / 12)
year = rng.normal(0, 0.6, years)
truth = mean(latitude, longitude)[:, None, None] + swing(latitude, longitude)[:, None, None] * season
truth = truth + year[:, None]
readings = truth + rng.normal(0, 0.5, truth.shape)

# %%
# A fifth of the stations has no reading at all. A third of the readings of the other stations is lost.

never = np.sort(rng.choice(stations, stations // 5, replace=False))
seen = np.setdiff1d(np.arange(stations), never)
data = readings.copy()
data[rng.random(data.shape) < 1 / 3] = np.nan
data[never] = np.nan

# %%
# Fill them
# ---------
# The graph has an edge for every pair of stations, and a longer edge has a smaller weight. The width of the kernel,
# which sets how fast the weight falls with distance, is chosen on held-out stations.

fit = tensorfill.complete(data, laplacian={0: graphs.haversine(latlon)}, rng=0)
filled = fit.filled()
print("held out:", fit.recipe.holdout)

empty = np.isnan(data)
empty[never] = False
print(f"stations with readings:    error {metrics.rmse(filled[empty], truth[empty]):.2f} degrees")
print(f"stations without any:      error {metrics.rmse(filled[never], truth[never]):.2f} degrees")

# %%
# Two simple predictions for a station without readings: the mean of all others, and the nearest one, filled in.

nearest = seen[graphs.great_circle(latlon)[np.ix_(never, seen)].argmin(axis=1)]
average = np.broadcast_to(np.nanmean(data, axis=0), truth[never].shape)
print(f"the mean of all stations:  error {metrics.rmse(average, truth[never]):.2f} degrees")
print(f"the nearest station:       error {metrics.rmse(filled[nearest], truth[never]):.2f} degrees")

# %%
# The map
# -------
# The background is the true field in July of the first year. The large dots are the stations that were never observed,
# in the colour of the filled-in value. A dot that blends into the background is right. Small dots are stations with
# readings.

grid = np.meshgrid(np.linspace(36, 60, 240), np.linspace(-9, 28, 320), indexing="ij")
july = mean(*grid) + swing(*grid) * season[6] + year[0]
off = filled[never, 0, 6] - truth[never, 0, 6]

fig, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", sharey=True)
extent, aspect = (-9, 28, 36, 60), 1 / np.cos(np.radians(48))
colours = {"cmap": "RdYlBu_r", "vmin": july.min(), "vmax": july.max()}
image = axes[0].imshow(july, origin="lower", extent=extent, aspect=aspect, **colours)
axes[0].plot(longitude[seen], latitude[seen], ".", color="0.25", markersize=4)
axes[0].scatter(longitude[never], latitude[never], c=filled[never, 0, 6], s=110, edgecolor="black", **colours)
axes[0].set(title="July of the first year", xlabel="longitude", ylabel="latitude")
fig.colorbar(image, ax=axes[0], label="degrees", shrink=0.8)

axes[1].plot(longitude[seen], latitude[seen], ".", color="0.6", markersize=4)
colours = {"cmap": "PuOr", "vmin": -1.5, "vmax": 1.5}
image = axes[1].scatter(longitude[never], latitude[never], c=off, s=110, edgecolor="black", **colours)
axes[1].set(title="Error", xlabel="longitude", xlim=extent[:2], ylim=extent[2:], aspect=aspect)
fig.colorbar(image, ax=axes[1], label="degrees", shrink=0.8)

# %%
# The error is smaller if the next station with readings is nearer.

kilometres = graphs.EARTH_RADIUS_KM * graphs.great_circle(latlon)[np.ix_(never, seen)].min(axis=1)
far = kilometres > np.median(kilometres)
for name, which in (("at most", ~far), ("more than", far)):
    error = metrics.rmse(filled[never[which]], truth[never[which]])
    print(f"next station {name} {np.median(kilometres):.0f} km away: error {error:.2f} degrees")

# %%
# One of the stations that were never observed
# --------------------------------------------
# The intervals are based on whole stations that were held out, so they are valid for stations without readings.

station = never[np.argmin(np.abs(latitude[never] - 48) + np.abs(longitude[never] - 10))]
when = np.arange(years * months)
coords = [[station, month // 12, month % 12] for month in when]
value, low, high = fit.predict(coords, interval=0.9)

fig, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
ax.fill_between(when, low, high, color="#D55E00", alpha=0.18, linewidth=0, label="90% interval")
ax.plot(when, value, color="#D55E00", label="filled in")
ax.plot(when, readings[station].ravel(), "o", color="black", markersize=3.2, label="readings, all hidden")
ax.set(xlabel="month", ylabel="degrees", title=f"A station at {latlon[station, 0]:.0f}°N, {latlon[station, 1]:.0f}°E")
ax.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.22))

every = np.argwhere(np.isin(np.arange(stations), never)[:, None, None] & np.ones(truth.shape, dtype=bool))
value, low, high = fit.predict(every, interval=0.9)
hidden = readings[tuple(every.T)]
print(f"90% intervals contain {np.mean((low <= hidden) & (hidden <= high)):.0%} of the readings of these stations")
