"""The projections that fill rows before any correction: from a low-rank completion or a normal distribution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._support.clock import Clock, TimeUp
from .._support.types import Booleans, Floats
from ..choosing.doubts import DoubtfulFitWarning
from ..completion import complete
from ..fit import Fit
from ..methods.base import Method
from ..observations import Observations
from .gaussian import Gaussian
from .left_out import LeftOut
from .projection import Projection

BASES = ("low_rank", "gaussian")
"""The names of the projections."""

RIDGES = (100.0, 30.0, 10.0, 3.0, 1.0)
"""The ridges that are tried, in numbers of rows, the simplest distribution first."""

STEPS = 8
"""Steps of expectation maximisation at each ridge, with a warm start from the previous ridge. From independent columns,
a small ridge would need many more."""

MOST_COLUMNS = 100
"""The linear systems have as many unknowns as there are columns; with more columns, only low rank is tried."""

MOST_WORK = 2**31
"""The largest cost of the linear systems; a normal distribution is learnt from a random sample of rows within this
cost."""

FEWEST_ROWS = 20
"""With fewer rows, too few could be held out to choose a normal distribution."""

HELD_ROWS = 0.25
"""The share of the rows that are held out."""


class Base(Protocol):
    """The interface of a projection that is learnt from rows."""

    @property
    def name(self) -> str:
        """The name of the projection."""

    def fit(self, rows: Floats, clock: Clock | None = None) -> Projection:
        """Return the projection learnt from some rows; it may raise `TimeUp`."""


@dataclass(frozen=True, eq=False)
class LowRankBase:
    """Low-rank completion by a method whose settings were chosen.

    Parameters
    ----------
    trial
        The fit in which they were chosen.
    noise
        The variance of the noise.
    whole
        The fit of all entries.
    rng
        The random generator.
    """

    trial: Fit
    noise: float
    whole: Fit
    rng: np.random.Generator

    name = "low_rank"

    def fit(self, rows: Floats, clock: Clock | None = None) -> Projection:
        """Return the projection onto the column space of some rows."""
        some = Observations.from_dense(rows[~np.isnan(rows).all(axis=1)])
        return self._of(complete_table(some, self.trial.method, self.rng, clock))

    def projection(self) -> Projection:
        """Return the projection onto the column space of all rows."""
        return self._of(self.whole)

    def _of(self, fit: Fit) -> Projection:
        return Projection.of_model(fit.model).with_noise(self.noise)


@dataclass(frozen=True, eq=False)
class Normal:
    """A normal distribution of the rows, with a ridge."""

    ridge: float

    name = "gaussian"

    def fit(self, rows: Floats, clock: Clock | None = None) -> Projection:
        """Return the projection to the mean of the missing entries, given the observed ones."""
        return next(projection for ridge, projection in normal_path(rows, clock) if ridge == self.ridge)


def choose_base(
    table: Floats,
    low_rank: LowRankBase | None,
    try_normal: bool,
    odds: Floats,
    rng: np.random.Generator,
    clock: Clock | None = None,
) -> tuple[Base, Projection]:
    """Return the base that fills held-out rows best, and its projection of all rows.

    Each observed entry of these rows is predicted from the other entries of its row. The normal distribution is chosen
    if it is better by more than one standard error.

    Parameters
    ----------
    table
        The table, with columns on a common scale; NaN is missing.
    low_rank
        The low-rank method, if it is to be considered.
    try_normal
        Whether a normal distribution is to be considered.
    odds
        The weight of each entry.
    rng
        The random generator that draws the held-out rows.
    clock
        When it expires, the low-rank method is the answer or, without one, the distribution with the strongest ridge.
    """
    clock = clock or Clock()
    rows = rng.permutation(len(table))[: MOST_WORK // table.shape[1] ** 3 + 1]
    table, odds = table[rows], odds[rows]
    held = np.arange(len(table)) < HELD_ROWS * len(table)
    enough = len(table) >= FEWEST_ROWS and 1 < table.shape[1] <= MOST_COLUMNS
    if low_rank is not None and not (try_normal and enough):
        return low_rank, low_rank.projection()
    try:
        return _better_base(table, held, low_rank, odds, clock, enough=enough)
    except TimeUp:
        if low_rank is not None:
            return low_rank, low_rank.projection()
        return Normal(RIDGES[0]), Normal(RIDGES[0]).fit(table, Clock())


def _better_base(
    table: Floats, held: Booleans, low_rank: LowRankBase | None, odds: Floats, clock: Clock, *, enough: bool
) -> tuple[Base, Projection]:
    """Return the base that fills the held-out rows best."""
    normal, errors = Normal(RIDGES[0]), np.zeros(0)
    if enough:
        normal, errors = _best_normal(table[~held], table[held], odds[held], clock)
    if low_rank is not None:
        gain = _errors(low_rank.fit(table[~held], clock), table[held], odds[held]) - errors
        if not gain.mean() > gain.std() / np.sqrt(len(gain)):
            return low_rank, low_rank.projection()
    return normal, normal.fit(table, clock)


def normal_path(rows: Floats, clock: Clock | None) -> Iterator[tuple[float, Projection]]:
    """Yield each ridge with the projection of the normal distribution of some rows."""
    found = Gaussian.independent(rows)
    for ridge in RIDGES:
        found = found.fitted(rows, ridge, STEPS, clock)
        yield ridge, Projection.of_gaussian(found)


def complete_table(
    table: Observations, method: Method, rng: np.random.Generator, clock: Clock | None, **options: Any
) -> Fit:
    """Complete a table with unordered rows and columns, whose means have been subtracted."""
    left = (clock or Clock()).remaining
    limit = None if math.isinf(left) else max(left, 1e-9)
    with warnings.catch_warnings():
        # Zero is the mean of each column here, which is a good prediction for independent columns.
        warnings.simplefilter("ignore", DoubtfulFitWarning)
        return complete(table, method=method, smooth=None, centre=False, time_limit=limit, rng=rng, **options)


def _best_normal(training: Floats, held: Floats, odds: Floats, clock: Clock) -> tuple[Normal, NDArray[np.float64]]:
    """Return the ridge with the least error on held-out rows, and its errors."""
    path = normal_path(training, clock)
    trials = [(Normal(ridge), _errors(projection, held, odds)) for ridge, projection in path]
    return min(trials, key=lambda trial: float(trial[1].mean()))


def _errors(projection: Projection, held: Floats, odds: Floats) -> NDArray[np.float64]:
    """Return the weighted squared errors of the observed entries of some rows."""
    seen = ~np.isnan(held)
    return np.asarray((odds * LeftOut(projection, held).errors() ** 2)[seen])
