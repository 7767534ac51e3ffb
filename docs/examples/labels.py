"""
Labels in and out: xarray, pandas and polars
============================================

Data that goes in with labels comes back with labels. You can name modes, and predict entries by their labels.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import xarray as xr

import tensorfill
import tensorfill.xarray  # gives every DataArray and Dataset a .tensorfill

# %%
# Synthetic soil temperatures of 12 sites, 40 days and four depths. A third of the readings is lost.

rng = np.random.default_rng(0)
sites = [f"site {letter}" for letter in "ABCDEFGHIJKL"]
days = pd.date_range("2024-03-01", periods=40)
depths = [5, 10, 20, 50]
warming = 4 + 0.2 * np.arange(40) + np.cumsum(rng.normal(0, 0.6, 40))
damping = np.exp(-np.array(depths) / 40)
warmth = rng.normal(1, 0.2, 12)
values = np.einsum("i,j,k->ijk", warmth, warming, damping) + rng.normal(0, 0.15, (12, 40, 4))
truth = xr.DataArray(values, {"site": sites, "day": days, "depth": depths}, name="temperature", attrs={"units": "°C"})
soil = truth.where(rng.random(truth.shape) > 1 / 3)

# %%
# xarray
# ------
# ``complete`` takes the ``DataArray`` as it is. The result has its dimensions, coordinates, name and attributes.

fit = tensorfill.complete(soil, rng=0)
filled = fit.filled()
print(filled.dims, filled.name, filled.attrs, "missing:", int(filled.isnull().sum()))
print(f"error {float(np.sqrt(((filled - truth).where(soil.isnull()) ** 2).mean())):.2f} °C, noise 0.15 °C")

# %%
# The accessor does the same in one step, for chains of calls.

shallow = soil.tensorfill.complete(rng=0).sel(depth=10).mean("site")
print(shallow.dims, shallow.shape)

# %%
# Get one entry by its labels, and use the names of modes in settings:

print(f"{float(fit.at(site='site C', day='2024-03-20', depth=20)):.2f} °C")
fit = tensorfill.complete(soil, choose=tensorfill.Choice(holdout=("fibre", "depth")), smooth=["day"], rng=0)
print("held out:", fit.recipe.holdout.in_words(fit.labels))

fig, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
for depth, colour in zip((5, 20, 50), ("#D55E00", "#0072B2", "#000000"), strict=True):
    filled.sel(site="site C", depth=depth).plot(ax=ax, color=colour, label=f"{depth} cm")
    soil.sel(site="site C", depth=depth).plot.line("o", ax=ax, color=colour, markersize=4)
ax.set(title="Site C: dots were observed, lines are filled", xlabel="")
ax.legend(frameon=False)

# %%
# pandas
# ------
# A long table has a row for each entry, with the labels in the first columns and the value in the last. Entries
# without a row are missing.

table = soil.to_dataframe().reset_index().dropna()
print(table.head(3).to_string(index=False))

fit = tensorfill.complete(table, rng=0)
filled = fit.filled()
print(f"{len(table):,} rows in, {len(filled):,} rows out")

# %%
# To predict, give a table of labels, with columns in any order. Predictions are added as columns.

questions = pd.DataFrame({"day": ["2024-03-05", "2024-04-01"], "site": ["site A", "site L"], "depth": [50, 5]})
print(fit.predict(questions, interval=0.9).round(2).to_string(index=False))

# %%
# A label that is not in the data is refused with a clear message.

try:
    fit.predict(pd.DataFrame({"day": ["2024-03-05"], "site": ["site Z"], "depth": [50]}))
except ValueError as error:
    print(error)

# %%
# polars
# ------
# The same works with polars.

fit = tensorfill.complete(pl.from_pandas(table), value="temperature", rng=0)
print(fit.filled().head(3))
