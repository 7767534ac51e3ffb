"""A seasonal autoregression of all series of a tensor together, for values that are observed in time.

All modes but that of time together are the series. Each has a level and seasons, and what is left follows

    x[t] = a x[t - 1] + e[t],    e[t] ~ N(0, Q),

with innovations that are correlated between series, observed with noise. If levels wander, what is left is the sum of
two such processes: a slow one, and one that remembers two steps. Gaps are filled with the mean given all that is
observed, before and after, of this series and of the others. See `tensorfill.methods.seasonal_ar.smoother`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..._support.checks import mode_number, real_number, whole_number
from ..._support.types import Floats
from ...models import Dense, Model
from ...times.seasons import seasonal_periods
from ..base import Method, Progress, Solver, Unsuited
from ..problem import Problem
from ..settings import Axis, none_or, one_axis, one_of, setting
from .process import FIXED, MEMORIES, WANDERING
from .smoother import Smoother

MOST_SERIES = 2_000
"""The covariance of the innovations has the square of the number of series as its size."""

FEWEST_TIMES = 3
"""With fewer times there is nothing to learn from what follows what."""


def _check_periods(value: Any, name: str) -> None:
    """Check seasonal periods."""
    if isinstance(value, str) and value == "auto":
        return
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} must be 'auto' or numbers of steps, as in (24, 168), but {value!r} was given.")
    for each in value:
        real_number(each, name, at_least=2)


def _found_periods(method: SeasonalAR, problem: Problem) -> Sequence[tuple[int, ...]]:
    """Return no period and, if the data has any, those that its autocorrelation shows."""
    table = Table.of(problem.observations.shape, method.along)
    if len(table.along) == 2:
        return [(), (table.shape[table.along[1]],)]
    found = seasonal_periods(problem.observations, table.along[0])
    return [(), found] if found else [()]


def _found_level(
    method: SeasonalAR, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]
) -> Sequence[Axis]:
    """Return both kinds of levels, of which periods are chosen with fixed ones."""
    return [Axis("level", [WANDERING] if before else [FIXED, WANDERING], meanwhile=FIXED, ordered=False)]


def _check_modes(value: Any, name: str) -> None:
    """Check the mode of time, or two that are one."""
    for each in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(each, str):
            whole_number(each, name)
    if isinstance(value, list | tuple) and len(value) not in (1, 2):
        raise ValueError(f"{name} must be one mode, or two that are one time, such as (1, 2), but {value!r} was given.")


@dataclass(frozen=True, kw_only=True)
class SeasonalAR(Method):
    """A joint seasonal autoregression: every series remembers its last value, its seasons, and what others do.

    Use it for series in time. It fills short gaps by what is before and after, and long ones by the seasons and by
    other series that move together. At times without any entry it has the expected values too, so that it can go on
    beyond the end. It needs 2,000 series or fewer: a step takes about n^2 T operations for n series of T times.

    Parameters
    ----------
    along
        The mode of time, or two modes that are one time with the slow one first, as in ``("day", "hour")``; by default
        the longest mode.
    periods
        The seasonal periods in steps, such as ``(24, 168)`` for hours, or ``()`` for none. ``"auto"`` takes those that
        the autocorrelation of the data shows, if held-out entries gain. `tensorfill.complete` takes both from labels
        that are dates or times.
    level
        ``"fixed"`` for series that come back to their level and seasons, at the same pace for all of them;
        ``"wandering"`` for series whose level wanders slowly while they come back to it, each at its own pace.
        ``"auto"`` takes what held-out entries prefer. A step with wandering levels takes about three times as long.
    max_iter, tol
        As in `Method`. The objective is the expected loss at the observed entries, as drawn at random, and so it is
        known to about a percent.

    Examples
    --------
    >>> from tensorfill.losses import Square
    >>> from tensorfill.observations import Observations
    >>> hours = np.arange(240)
    >>> waves = np.sin(hours * 2 * np.pi / 24) + np.array([[0.0], [5.0], [9.0]])
    >>> waves[1, 100:130] = np.nan
    >>> problem = Problem(Observations.from_dense(waves), Square())
    >>> model = SeasonalAR(along=1, periods=(24,), level="fixed").solve(problem, rng=0).model
    >>> bool(abs(model.predict(np.array([[1, 115]]))[0] - 5 - np.sin(115 * 2 * np.pi / 24)) < 0.1)
    True
    """

    name: ClassVar[str] = "seasonal_ar"
    stages: ClassVar[frozenset[str]] = frozenset()
    square_only: ClassVar[bool] = True
    descends: ClassVar[bool] = False
    whole_tensors: ClassVar[int] = 44

    along: int | Sequence[int] | None = setting(None, check=none_or(_check_modes))
    periods: tuple[float, ...] | str = setting(
        "auto", check=_check_periods, path=one_axis("periods", _found_periods, ordered=False)
    )
    level: str = setting("auto", check=one_of("auto", *MEMORIES), path=_found_level)
    max_iter: int = 16
    tol: float = 0.01

    def check(self, problem: Problem) -> None:
        """Refuse a mode that is not there, too few times, and more series than have a covariance."""
        super().check(problem)
        shape = problem.observations.shape
        table = Table.of(shape, self.along)
        if table.times < FEWEST_TIMES:
            raise Unsuited(
                f"method '{self.name}' needs {FEWEST_TIMES} or more times, but the mode of time has {table.times}."
            )
        if table.series > MOST_SERIES:
            raise Unsuited(
                f"method '{self.name}' takes up to {MOST_SERIES:,} series, but all modes but time, of shape {shape}, "
                f"make {table.series:,}."
            )

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with the modes of time."""
        return replace(self, along=Table.of(problem.observations.shape, self.along).along)

    @property
    def reached(self) -> tuple[int, ...]:
        """The modes of time, once they are known."""
        along: Any = self.along
        return () if along is None else tuple(np.atleast_1d(along).tolist())

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that begins with linear interpolation."""
        return SmootherSolver(self, problem, rng)


@dataclass(frozen=True)
class Table:
    """The way from a tensor to a table of series and times.

    Parameters
    ----------
    shape
        The shape of the tensor.
    along
        The modes of time.
    """

    shape: tuple[int, ...]
    along: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...], along: Any) -> Table:
        """Return the way to a table, by default with the longest mode as time."""
        if along is None:
            along = (int(np.argmax(shape)),)
        given = along if isinstance(along, list | tuple) else (along,)
        modes = tuple(mode_number(mode, "along", len(shape)) for mode in given)
        if len(set(modes)) < len(modes):
            raise ValueError(f"along must name different modes, but {along!r} was given.")
        return cls(shape, modes)

    @property
    def order(self) -> tuple[int, ...]:
        """All modes, those of time last."""
        return (*(mode for mode in range(len(self.shape)) if mode not in self.along), *self.along)

    @property
    def times(self) -> int:
        """The number of times."""
        return math.prod(self.shape[mode] for mode in self.along)

    @property
    def series(self) -> int:
        """The number of series."""
        return math.prod(self.shape) // max(self.times, 1)

    def rows(self, dense: Floats) -> Floats:
        """Return a tensor as a table."""
        return dense.transpose(self.order).reshape(self.series, self.times)

    def tensor(self, rows: Floats) -> Floats:
        """Return a table as a tensor."""
        moved = rows.reshape([self.shape[mode] for mode in self.order])
        return np.ascontiguousarray(moved.transpose(np.argsort(self.order)))


class SmootherSolver:
    """Steps of expectation maximisation, as a solver.

    Parameters
    ----------
    method, problem, rng
        As in `Method.prepare`.
    """

    def __init__(self, method: SeasonalAR, problem: Problem, rng: np.random.Generator) -> None:
        entries = problem.observations
        self._table = Table.of(entries.shape, method.along)
        self._dtype = entries.dtype
        # Nothing is of low rank.
        self._ranks = (0,) * entries.ndim
        dense = np.full(entries.shape, np.nan)
        dense.ravel()[entries.positions] = entries.values
        if problem.offset is not None:
            dense.ravel()[entries.positions] -= problem.offset
        # The loop has refused a method with open settings.
        given: Any = method.periods
        periods = tuple(period for period in given if 2 * period <= self._table.times)
        self._smoother = Smoother(self._table.rows(dense), periods, rng, method.level)

    def progress(self) -> Progress:
        """Return the misfit."""
        return Progress(self._smoother.misfit, math.nan, self._ranks)

    def step(self) -> None:
        """Make one step."""
        self._smoother.step()

    def model(self) -> Model:
        """Return the means given what is observed."""
        return Dense(self._table.tensor(self._smoother.mean()).astype(self._dtype, copy=False), self._ranks)
