"""
Counts and binary data
======================

Counts are not negative, and their noise grows with their size. Binary answers have a probability. The losses
``"poisson"`` and ``"logistic"`` are made for such data. What they predict is on the scale of the data: expected counts,
and probabilities. ``fit.scores`` has the scores behind them, which can be any real numbers.
"""

import matplotlib.pyplot as plt
import numpy as np

import tensorfill
from tensorfill import metrics

rng = np.random.default_rng(0)
shape = (40, 30, 24)
shops, goods, weeks = (0.6 * rng.standard_normal((size, 2)) for size in shape)
pattern = np.einsum("ir,jr,kr->ijk", shops, goods, weeks)
hidden = rng.random(shape) < 0.6
coords = np.argwhere(hidden)

# %%
# Counts
# ------
# Synthetic sales of goods in shops by week. Two out of three counts are 0, 1 or 2, and six out of ten are missing.

rate = np.exp(0.7 + 1.5 * pattern + 0.3 * shops[:, :1, None])
sold = rng.poisson(rate).astype(float)
print("counts of 0, 1, 2, 3 and more:", [f"{np.mean(sold == k):.0%}" for k in (0, 1, 2)], f"{np.mean(sold > 2):.0%}")

seen = np.where(hidden, np.nan, sold)
poisson = tensorfill.complete(seen, loss="poisson", rng=0)
square = tensorfill.complete(seen, rng=0)

expected = poisson.predict(coords)  # expected counts; poisson.scores(coords) has their logarithms
print(f"error of the rates, poisson: {metrics.rmse(expected, rate[hidden]):.2f}")
print(f"error of the rates, square:  {metrics.rmse(square.predict(coords), rate[hidden]):.2f}")
print(f"negative predictions: {np.mean(expected < 0):.1%} and {np.mean(square.predict(coords) < 0):.1%}")

fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, (name, guess) in zip(axes, (("poisson", expected), ("square", square.predict(coords))), strict=True):
    ax.loglog(rate[hidden], np.maximum(guess, 0.05), ".", color="#009E73", markersize=2, alpha=0.4, rasterized=True)
    ax.axline((1, 1), (2, 2), color="black", linewidth=0.8)
    ax.set(title=f'loss="{name}"', xlabel="true rate", xlim=(0.1, 60), ylim=(0.05, 100))
axes[0].set_ylabel("expected count (0.05 means 0.05 or less)")

# %%
# ``filled`` keeps the observed counts, and has expected counts in the gaps.

filled = poisson.filled()
print("observed:", filled[~hidden][:6], " gaps:", filled[hidden][:6].round(2))

# %%
# Binary data
# -----------
# The values can be -1 and 1, 0 and 1, or False and True.

probability = 1 / (1 + np.exp(-(0.5 + 6 * pattern)))
bought = (rng.random(shape) < probability).astype(float)
fit = tensorfill.complete(np.where(hidden, np.nan, bought), loss="logistic", rng=0)
predicted = fit.predict(coords)
answer = bought[hidden]

print(f"correct predictions {np.mean((predicted > 0.5) == answer):.1%}")
print(f"with the true probabilities {np.mean((probability[hidden] > 0.5) == answer):.1%}")
print(f"always the more frequent answer {max(answer.mean(), 1 - answer.mean()):.1%}")

# %%
# Are the probabilities calibrated? Eight out of ten entries with a predicted probability of about 0.8 should be a yes.

edges = np.linspace(0, 1, 11)
group = np.digitize(predicted, edges[1:-1])
sizes = np.bincount(group, minlength=10)
mean = np.bincount(group, predicted, minlength=10)[sizes > 0] / sizes[sizes > 0]
share = np.bincount(group, answer, minlength=10)[sizes > 0] / sizes[sizes > 0]

fig, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
ax.plot(mean, share, "o-", color="#0072B2")
ax.set(xlabel="predicted probability", ylabel="share of yes", xlim=(0, 1), ylim=(0, 1), title="Ten groups of entries")
ax.set_aspect("equal")

# %%
# Nearly. A yes is more frequent here than a no, and the penalty pulls scores towards zero, which is a probability of
# one half. So entries with little information get probabilities that are slightly too low.

print(f"mean of the predicted probabilities {predicted.mean():.3f}, share of yes {answer.mean():.3f}")
