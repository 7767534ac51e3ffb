"""Completed data sets: observed entries, and predictions or draws elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._support.checks import generator, whole_number
from ._support.types import Floats, Integers
from .choosing.intervals import drawn_values
from .losses import expected
from .observations import Observations

if TYPE_CHECKING:
    from .fit import Fit


def kept(fit: Fit) -> Observations:
    """Return the observed entries that a completed data set keeps: those not judged corrupt."""
    if fit.observations is None:
        raise ValueError("A fit that was read from a file does not hold the data; use to_dense() instead.")
    return fit.observations if fit.corrupt is None else fit.observations.select(~fit.corrupt)


def with_observed(fit: Fit, dense: Floats) -> Floats:
    """Return all entries, with the observed values of those that are kept."""
    entries = kept(fit)
    dense.reshape(-1)[entries.positions] = entries.values
    return dense


def drawn_sets(fit: Fit, n: int, rng: int | np.random.Generator | None, max_bytes: float) -> list[Floats]:
    """Return completed data sets as arrays, with draws at missing entries; see `Fit.sample`."""
    number, random = whole_number(n, "n", at_least=1), generator(rng)
    bars = fit.error_bars
    if bars is None:
        raise ValueError("Draws rest on held-out entries, and this fit had none; fit with choose=Choice().")
    dense = fit.model.to_dense(max_bytes=max_bytes)
    missing: Integers = np.setdiff1d(np.arange(dense.size), kept(fit).positions)
    coords = np.stack(np.unravel_index(missing, fit.shape), axis=1)
    mean = expected(fit.loss, dense.ravel()[missing])
    sets = []
    for _ in range(number):
        drawn = drawn_values(fit.loss, mean, bars.drawn(coords, mean, random), random)
        whole = np.zeros(dense.size)
        whole[missing] = fit.bounded(drawn)
        sets.append(with_observed(fit, whole.reshape(fit.shape)))
    return sets
