"""
Traffic with whole days missing
===============================

Sensors on roads fail for days at a time. Traffic is close to low rank: it has a few shapes of a day, scaled by the
sensor and by the day of the week. The records here are synthetic: 40 sensors, 28 days and 48 half hours, with the
noise of counted cars.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

import tensorfill
from tensorfill import metrics

# %%
# The records
# -----------

rng = np.random.default_rng(1)
sensors, days, slots = 40, 28, 48
hour = np.arange(slots) / 2
weekend = np.arange(days) % 7 >= 5


def bump(centre, width):
    """Return a peak of traffic."""
    return np.exp(-0.5 * ((hour - centre) / width) ** 2)


shape_of_day = np.stack([bump(8, 1.2), bump(17.5, 1.8), bump(13, 4.0)])
weight_of_day = np.where(weekend, [[0.25], [0.4], [1.2]], 1.0) * rng.normal(1, 0.08, (3, days))
weight_of_sensor = 100 * rng.gamma(3, 1 / 3, (3, sensors))
flow = 10 + np.einsum("ri,rj,rk->ijk", weight_of_sensor, weight_of_day, shape_of_day)
counted = flow + np.sqrt(flow) * rng.standard_normal(flow.shape)

# %%
# Three out of ten days of a sensor are missing, from midnight to midnight.

down = rng.random((sensors, days)) < 0.3
records = counted.copy()
records[down] = np.nan

fig, axes = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained")
image = axes[0].imshow(records[:, 4], aspect="auto", extent=(0, 24, sensors, 0), cmap="viridis")
axes[0].set(title="All sensors on one day", xlabel="hour", ylabel="sensor")
fig.colorbar(image, ax=axes[0], label="cars in half an hour")
axes[1].imshow(down, aspect="auto", extent=(0, days, sensors, 0), cmap="Greys")
axes[1].set(title="Missing days, in black", xlabel="day", ylabel="sensor")

# %%
# Fill them
# ---------
# The only setting is that counts are not negative. Whole days are missing, so whole days are held out.

fit = tensorfill.complete(records, bounds=(0, np.inf), rng=0)
print("ranks:", fit.ranks)
print("held out:", fit.recipe.holdout)

missing = np.isnan(records)
coords = np.argwhere(missing)
value, low, high = fit.predict(coords, interval=0.9)
truth = counted[missing]
print(f"error {metrics.rmse(value, truth):.2f} cars, noise {metrics.rmse(flow[missing], truth):.2f}")
inside = (low <= truth) & (truth <= high)
print(f"90% intervals contain {inside.mean():.1%} of the missing entries")

# %%
# A usual way to fill such data is the sensor's mean of the same half hour, over working days or over weekends.

usual = np.empty_like(records)
for kind in (True, False):
    usual[:, weekend == kind] = np.nanmean(records[:, weekend == kind], axis=1, keepdims=True)
print(f"mean of the half hour: error {metrics.rmse(usual[missing], truth):.2f} cars")

# %%
# Error bars
# ----------
# All intervals have the same width. They contain the promised share on average, but too few entries at busy hours,
# where the noise is larger, and too many at night.

sensor, day = max(np.argwhere(down), key=lambda place: flow[(*place, 16)] - flow[(*place, 26)])  # a busy morning
value, low, high = fit.predict([[sensor, day, slot] for slot in range(slots)], interval=0.9)

fig, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax.fill_between(hour, low, high, color="#0072B2", alpha=0.2, linewidth=0, label="90% interval")
ax.plot(hour, value, color="#0072B2", label="filled in")
ax.plot(hour, counted[sensor, day], "o", color="black", markersize=3.5, label="counted, but hidden")
ax.set(
    title=f"Sensor {sensor}, day {day}: all of it missing", xlabel="hour", ylabel="cars in half an hour", xlim=(0, 24)
)
ax.legend(frameon=False)

busy = flow[missing] > np.quantile(flow, 0.9)
print(f"inside the intervals: {inside[busy].mean():.0%} of the busiest tenth, {inside[~busy].mean():.0%} of the others")
