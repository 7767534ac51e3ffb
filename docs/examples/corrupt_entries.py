"""
Corrupt entries
===============

A typing error, a broken sensor, a swapped unit: a few entries are off by amounts that have nothing to do with the data.
The square loss follows them. ``loss="l1"`` finds them, leaves them out, and ``fit.outliers()`` names them.
"""

import matplotlib.pyplot as plt
import numpy as np

import tensorfill
from tensorfill import metrics

# %%
# Data of rank 3, half of it missing, and one in a hundred entries off by 5 to 20 either way. The noise is 0.1.

shape = (40, 35, 30)


def corrupted(share, rng):
    """Return a tensor without noise, what was observed of it, and where that is corrupt."""
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
print(f"{bad.sum()} entries are corrupt; {len(coords)} are named, {np.sum(found & bad)} of them rightly")

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
# On the right every corrupt entry is put back where it belongs. On the left many are followed part of the way.

# %%
# With more of them
# -----------------
# The last column has all corrupt entries taken out by hand, which is the best there is.

print("corrupt     l1   by hand")
for share in (0.05, 0.2):
    truth, data, bad = corrupted(share, np.random.default_rng(1))
    missing = np.isnan(data)
    by_hand = np.where(bad, np.nan, data)
    fits = tensorfill.complete(data, loss="l1", rng=0), tensorfill.complete(by_hand, rng=0)
    errors = [metrics.rmse(fit.to_dense()[missing], truth[missing]) for fit in fits]
    print(f"{share:7.0%}  {errors[0]:5.3f}  {errors[1]:8.3f}")
