"""
Ratings and networks: sparse data
=================================

Who likes which film on which day of the week? Only about one in a hundred combinations was rated. This data comes as
coordinates and values, and the whole tensor is never built. A network with several relations has the same form: who,
whom, and which relation. The ratings here are synthetic.
"""

import matplotlib.pyplot as plt
import numpy as np

import tensorfill
from tensorfill import metrics

# %%
# Ratings
# -------
# Tastes have three directions, and some of them matter more on some days. Ratings have noise, and are rounded to half
# stars.

rng = np.random.default_rng(0)
shape = viewers, films, weekdays = 1000, 500, 7
taste, kind = rng.standard_normal((viewers, 3)), rng.standard_normal((films, 3))
mood = 1 + 0.3 * rng.standard_normal((weekdays, 3))


def liking(coords):
    """Return how much a viewer likes a film on a day."""
    viewer, film, day = coords.T
    own = 0.35 * taste[viewer, 0] + 0.4 * kind[film, 0]
    return 3.2 + own + 0.5 * (taste[viewer, 1:] * kind[film, 1:] * mood[day, 1:]).sum(axis=1)


coords = np.unique(np.stack([rng.integers(size, size=40_000) for size in shape], axis=1), axis=0)
stars = np.clip(np.round(2 * (liking(coords) + 0.4 * rng.standard_normal(len(coords)))) / 2, 0.5, 5)

# %%
# A tenth of the ratings is kept for a test, and the rest is observed.

test = rng.random(len(coords)) < 0.1
obs = tensorfill.Observations(coords[~test], stars[~test], shape)
print(obs)

# %%
# Fit, and predict at coordinates
# -------------------------------

fit = tensorfill.complete(obs, bounds=(0.5, 5), rng=0)
print("ranks:", fit.ranks, " why it stopped:", fit.status)
print(f"the model takes {fit.nbytes / 2**10:.0f} KiB, the dense tensor would take {np.prod(shape) * 8 / 2**20:.0f} MiB")

predicted = fit.predict(coords[test])
print(f"test error {metrics.rmse(predicted, stars[test]):.3f} stars")

# %%
# Simpler predictions for comparison, and the best possible one: the true liking, whose only error is the noise.

mean = stars[~test].mean()
film_count = np.bincount(coords[~test, 1], minlength=films)
film_mean = mean + np.bincount(coords[~test, 1], stars[~test] - mean, minlength=films) / (film_count + 5)
guesses = {
    "mean of all": np.full(test.sum(), mean),
    "mean of the film": film_mean[coords[test, 1]],
    "tensorfill": predicted,
    "the true liking": liking(coords[test]),
}
errors = {name: metrics.rmse(guess, stars[test]) for name, guess in guesses.items()}

fig, ax = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
bars = ax.barh(list(errors), list(errors.values()), color=["0.75", "0.75", "#0072B2", "0.45"], height=0.65)
ax.bar_label(bars, fmt="%.2f", padding=4)
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
ax.set(xlabel="test error in stars", xlim=(0, 1.05))

# %%
# The best films for one viewer
# -----------------------------
# Predict only the candidates: one viewer, one day, and every film that the viewer has not rated yet.

viewer, day, k = 7, 5, 5
rated = obs.coords[obs.coords[:, 0] == viewer, 1]
candidates = np.setdiff1d(np.arange(films), rated)
scores = fit.predict(np.stack([np.full(len(candidates), viewer), candidates, np.full(len(candidates), day)], axis=1))
best = candidates[np.argsort(-scores)[:k]]
for film in best:
    true = liking(np.array([[viewer, film, day]]))[0]
    print(f"film {film:3}: predicted {fit.predict([[viewer, film, day]])[0]:.2f} stars, true liking {true:.2f}")

# %%
# Do viewers truly like the recommended films? A fibre is a row of predictions: ``fit[viewer, :, day]``.

everyone = np.stack([fit[each, :, day] for each in range(200)])
truth = np.stack([liking(np.stack([np.full(films, v), np.arange(films), np.full(films, day)], 1)) for v in range(200)])
top = np.argsort(-everyone, axis=1)[:, :k]
best_possible = np.sort(truth, axis=1)[:, -k:]
print(f"true liking of the top {k}: {np.take_along_axis(truth, top, axis=1).mean():.2f}")
print(f"of the best possible {k}: {best_possible.mean():.2f}, of a random film: {truth.mean():.2f}")
