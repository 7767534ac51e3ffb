"""Learning the column space of a table by low-rank completion."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.types import Booleans, Floats
from ..choosing.doubts import DoubtfulFitWarning
from ..choosing.splits import FEWEST_TO_CHOOSE, Choice
from ..completion import complete
from ..fit import Fit
from ..methods.base import Method
from ..methods.registry import make_method
from ..observations import Observations
from .projection import Projection

PENALTIES = ("nuclear", "lsp")
"""The penalties among which ``"auto"`` chooses: for many directions that fade out, and for few that are strong."""

STANDARD_ERRORS = 2.0
"""A later candidate must be better by this many standard errors of the difference. Most tables have directions that
fade out, and a few held-out entries are easily wrong about that."""

HELD_OUT = 0.1
"""The share of the observed entries to choose with."""

NOISE_STEPS = 7
"""The number of noise variances that are tried."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """What was learnt of a table.

    Parameters
    ----------
    projection
        How rows are filled.
    trial
        The fit without the entries that chose the method, its settings and the noise; None if there were too few
        entries.
    fit
        The fit of all entries; None if there were too few.
    """

    projection: Projection
    trial: Fit | None = field(default=None, repr=False)
    fit: Fit | None = None


def candidates(method: str | Method, penalty: Any, settings: Mapping[str, Any]) -> list[Method]:
    """Return the methods to try on held-out entries.

    Parameters
    ----------
    method
        The name of a method, or a method object.
    penalty
        A penalty; ``"auto"`` for the best of `PENALTIES` if a method that is named has penalties; None for the
        method's own default.
    settings
        Further settings of the method.

    Examples
    --------
    >>> [each.penalty for each in candidates("nort", "auto", {"max_rank": 3})]
    ['nuclear', 'lsp']
    """
    automatic = isinstance(penalty, str) and penalty == "auto"
    if penalty is not None and not automatic:
        return [make_method(method, {**settings, "penalty": penalty})]
    made = make_method(method, settings)
    if automatic and isinstance(method, str) and hasattr(made, "penalty"):
        return [make_method(method, {**settings, "penalty": each}) for each in PENALTIES]
    return [made]


def learn(table: Floats, methods: Sequence[Method], rng: np.random.Generator) -> Learnt:
    """Learn how to fill the rows of a table, in which NaN is missing and no column is all missing.

    Some entries are held out. Each method chooses its settings on them. Then the method and the variance of the noise
    are chosen by how well the projection on the column space fills them. Finally all entries are fitted with what was
    chosen.

    Parameters
    ----------
    table
        The table, its columns on one scale.
    methods
        The methods to try, the simplest answer first.
    rng
        Decides everything that is random.
    """
    everything = Observations.from_dense(table[~np.isnan(table).all(axis=1)])
    held = _held_out(everything, rng)
    if len(everything) < FEWEST_TO_CHOOSE or not held.any():
        return Learnt(Projection(np.nanmean(table, axis=0), np.zeros((table.shape[1], 0)), 0.0))
    training, held_out = everything.select(~held), everything.select(held)
    first, *others = methods
    best = _try(first, training, held_out, rng)
    for other in others:
        trial = _try(other, training, held_out, rng)
        best = trial if trial.beats(best) else best
    fit = _complete(everything, best.fit.method, rng, start=best.fit)
    return Learnt(Projection.of_model(fit.model).with_noise(best.noise), best.fit, fit)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A fit without the held-out entries, with the noise that fills them best and the squared errors of that."""

    fit: Fit
    noise: float
    errors: NDArray[np.float64]

    def beats(self, other: _Trial) -> bool:
        """Return whether it is better by more than chance."""
        gain = other.errors - self.errors
        return bool(gain.mean() > STANDARD_ERRORS * gain.std() / np.sqrt(len(gain)))


def _held_out(everything: Observations, rng: np.random.Generator) -> Booleans:
    """Return which entries to hold out, drawn so that every row and every column keeps at least one."""
    drawn = rng.permutation(len(everything))
    spared = np.zeros(len(drawn), dtype=bool)
    for indices in everything.coords[drawn].T:
        spared[np.unique(indices, return_index=True)[1]] = True
    held: Booleans = np.zeros(len(drawn), dtype=bool)
    held[drawn[~spared][: math.ceil(HELD_OUT * len(drawn))]] = True
    return held


def _try(method: Method, training: Observations, held_out: Observations, rng: np.random.Generator) -> _Trial:
    choose = Choice(validation=held_out) if method.open_settings else None
    fit = _complete(training, method, rng, choose=choose)
    space = Projection.of_model(fit.model)
    # Only rows with an entry to score are filled.
    rows, place = np.unique(held_out.coords[:, 0], return_inverse=True)
    table = training.to_dense(max_bytes=np.inf)[rows]
    where = (place.reshape(-1), held_out.coords[:, 1])
    trials = [
        _Trial(fit, noise, (space.with_noise(noise).fill(table)[where] - held_out.values) ** 2)
        for noise in _noises(fit, training, held_out)
    ]
    return min(trials, key=lambda trial: float(trial.errors.mean()))


def _noises(fit: Fit, training: Observations, held_out: Observations) -> list[float]:
    """Return variances of the noise to try.

    They lie between the error on the fitted entries, which is too small since the fit follows their noise, and the
    error on the others, which is too large since it includes the error of the fit itself.
    """
    high = float(np.mean((fit.predict(held_out.coords) - held_out.values) ** 2))
    low = float(np.mean((fit.predict(training.coords) - training.values) ** 2))
    floor = 1e-12 * float(np.mean(training.values**2))
    low, high = sorted((max(low, floor), max(high, floor)))
    return [float(size) for size in np.geomspace(low, high, NOISE_STEPS)]


def _complete(table: Observations, method: Method, rng: np.random.Generator, **options: Any) -> Fit:
    """Complete a table whose rows and columns have no order, and whose means were subtracted before."""
    with warnings.catch_warnings():
        # Zero is the mean of each column here, which is a good answer for columns that have nothing in common.
        warnings.simplefilter("ignore", DoubtfulFitWarning)
        return complete(table, method=method, smooth=None, centre=False, rng=rng, **options)
