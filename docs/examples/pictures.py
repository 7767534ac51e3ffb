"""
Pictures with holes
===================

Most photographs are not of low rank, but neighbouring pixels are alike. tensorfill detects this: with
``smooth="auto"``, which is the default, it tries a smooth field beside the low-rank part, and held-out pixels decide.
"""

import matplotlib.pyplot as plt
import numpy as np

import tensorfill
from tensorfill import datasets, metrics

# %%
# The picture and its holes
# -------------------------
# A picture is a tensor of rows, columns and three colours. Seven out of ten pixels have lost all their colours, and
# there is a scratch across the picture.

picture = datasets.picture("coffee", rows=128)
rng = np.random.default_rng(0)
lost = rng.random(picture.shape[:2]) < 0.7
lost[60:64, 30:150] = True
holes = picture.copy()
holes[lost] = np.nan

# %%
# Fill it
# -------
# Colours are between 0 and 1, so we clip predictions to these bounds.

fit = tensorfill.complete(holes, bounds=(0, 1), rng=0)
filled = fit.filled()
quality = metrics.psnr(filled[lost], picture[lost], peak=1.0)

fig, axes = plt.subplots(1, 3, figsize=(11, 2.7), layout="constrained")
shown = {
    f"{lost.mean():.0%} of the pixels lost": np.where(lost[:, :, None], 0.5, holes),
    f"filled: {quality:.1f} dB": filled,
    "the original": picture,
}
for ax, (title, image) in zip(axes, shown.items(), strict=True):
    ax.imshow(image)
    ax.set_title(title, fontsize=11)
    ax.set_axis_off()

# %%
# What was chosen
# ---------------
# Whole pixels are missing, so whole pixels were held out. The rows and columns are smooth modes.

print("held out:", fit.recipe.holdout)
field = fit.recipe.stage(tensorfill.SmoothField)
print("smooth modes:", list(field.weights), " ranks of the low-rank part:", fit.ranks)

# %%
# Ranks of zero mean that the low-rank part was left out, because smoothness alone was better on the held-out pixels.
# Low rank alone, with ``smooth=None``, is much worse here.

low_rank = tensorfill.complete(holes, bounds=(0, 1), smooth=None, rng=0)
print(f"smooth {quality:.1f} dB, low rank {metrics.psnr(low_rank.filled()[lost], picture[lost], peak=1.0):.1f} dB")

fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
part = np.s_[28:100, 55:145]
for ax, (title, image) in zip(
    axes, {"smooth": filled, "low rank alone": low_rank.filled(), "the original": picture}.items(), strict=True
):
    ax.imshow(image[part])
    ax.set_title(f"{title}, detail", fontsize=11)
    ax.set_axis_off()

# %%
# Error bars
# ----------
# The conformal intervals are based on the held-out pixels. They should contain nine out of ten lost entries.

coords = np.argwhere(np.isnan(holes))
value, low, high = fit.predict(coords, interval=0.9)
inside = np.mean((low <= picture[np.isnan(holes)]) & (picture[np.isnan(holes)] <= high))
print(f"90% intervals contain {inside:.1%} of the lost entries")
