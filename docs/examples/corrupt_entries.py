"""
Corrupt entries
===============

A typing error, a broken sensor, a swapped unit: a few entries are off by amounts that are unrelated to the data. With
the square loss, the fit follows them. ``loss="l1"`` finds them and leaves them out, and ``fit.outliers()`` lists them.
"""

import matplotlib.pyplot as plt
import numpy as np

import tensorfill
from tensorfill import metrics

# %%
# The data is of rank 3, with noise 0.1. Half of it is missing, and one in a hundred entries is off by 5 to 20, up or
# down.

shape = (40, 35, 30)


def corrupted(share, rng):
    """Return a tensor without noise, its observed entries, and which of these are corrupt."""
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 3)) for size in shape))
    data = truth + 0.1 * rng.standard_normal(shape)
    bad = rng.random(shape) < share
    data[bad] += rng.choice([-1, 1], bad.sum()) * rng.uniform(5, 20, bad.sum())
    data[rng.random(shape) < 0.5] = np.nan
    return truth, data, bad & ~np.isnan(data)


truth, data, bad = corrupted(0.01, np.random.default_rng(0))
missing = np.isnan(data)

# %%
# Two losses
# ----------

square = tensorfill.complete(data, rng=0)
robust = tensorfill.complete(data, loss="l1", rng=0)
for name, fit in (("square", square), ("l1", robust)):
    error = metrics.rmse(fit.to_dense()[missing], truth[missing])
    print(f"{name:6} ranks {fit.ranks}  error of the missing entries {error:.3f}")

# %%
# Which entries are corrupt
# -------------------------

coords, amounts = robust.outliers()
found = np.zeros(shape, dtype=bool)
found[tuple(coords.T)] = True
print(f"{bad.sum()} entries are corrupt; {len(coords)} were found, {np.sum(found & bad)} of them correctly")

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, (name, fit) in zip(axes, (("square", square), ("l1", robust)), strict=True):
    answer = fit.to_dense()
    sound = ~missing & ~bad
    ax.plot(truth[sound], answer[sound], ".", color="0.6", markersize=2, label="sound entries", rasterized=True)
    ax.plot(truth[bad], answer[bad], ".", color="#D55E00", markersize=5, label="corrupt entries")
    ax.axline((0, 0), slope=1, color="black", linewidth=0.8, zorder=0)
    ax.set(title=f'loss="{name}"', xlabel="truth", xlim=(-12, 12), ylim=(-12, 12))
    ax.set_aspect("equal")
axes[0].set_ylabel("answer")
axes[0].legend(frameon=False, markerscale=2)

# %%
# With ``"l1"`` every corrupt entry gets a value near the truth. With ``"square"`` the fit follows many of them part of
# the way.

# %%
# With more of them
# -----------------
# The last column is the reference: a fit of the same data with all corrupt entries removed by hand.

print("corrupt     l1   by hand")
for share in (0.05, 0.2):
    truth, data, bad = corrupted(share, np.random.default_rng(1))
    missing = np.isnan(data)
    by_hand = np.where(bad, np.nan, data)
    fits = tensorfill.complete(data, loss="l1", rng=0), tensorfill.complete(by_hand, rng=0)
    errors = [metrics.rmse(fit.to_dense()[missing], truth[missing]) for fit in fits]
    print(f"{share:7.0%}  {errors[0]:5.3f}  {errors[1]:8.3f}")
