"""The interface of searches for settings: trials on held-out entries, and the record of what was tried."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from .._support.clock import Clock
from .._support.records import Records
from .._support.types import Floats
from ..models.base import Model
from ..observations import Observations
from .base import Method, Result
from .problem import Problem

STANDARD_ERRORS = 1.0
"""A trial beats an earlier one only by this many standard errors of their paired difference on the held-out entries.
Otherwise the earlier one, with fewer parameters or more regularisation, is kept as the simpler answer."""

CLIPPED_FROM = 0.99
"""Comparisons of measurements clip losses at this quantile."""

BEYOND_DOUBT = 3.0
"""A difference of this many standard errors counts without clipping, because it is not due to a few entries."""

LEAST_GAIN = 2e-4
"""The least gain of a trial, relative to the loss; less is not worth a longer path."""


@dataclass(frozen=True)
class PathPoint:
    """One trial of a search.

    Parameters
    ----------
    method
        The method with the settings that were tried.
    tried
        What the search varied, by name, such as ``{"rank": 3}`` or ``{"cut": 0.2, "q": 1.0}``.
    ranks
        The ranks of the answer.
    training, held_out
        The error on the fitted entries and on the held-out entries.
    standard_error
        The standard error of `held_out`.
    iterations, seconds
        The cost of the trial.
    centred
        Whether the mean and the effect of each index were subtracted first.
    mu
        The weight of the graph Laplacians, relative to the mean degree.
    """

    method: Method
    tried: Mapping[str, float]
    ranks: tuple[int, ...]
    training: float
    held_out: float
    standard_error: float
    iterations: int
    seconds: float
    centred: bool = False
    mu: float = 0.0

    @property
    def cut(self) -> float:
        """The singular value threshold, for a method that has one; else NaN."""
        return float(self.tried.get("cut", math.nan))

    @property
    def q(self) -> float:
        """How nonconvex the penalty is, theta / cut, for a method that has one; else NaN."""
        return float(self.tried.get("q", math.nan))

    @property
    def modes(self) -> tuple[int, ...]:
        """The regularised modes, for a method that has them."""
        return tuple(getattr(self.method, "modes", None) or ())

    @property
    def lam(self) -> tuple[float, ...]:
        """The lambda of each regularised mode, for a method that has them."""
        return tuple(np.atleast_1d(getattr(self.method, "lam", ())).tolist())

    @property
    def penalty(self) -> Any:
        """The penalty, for a method that has one."""
        return getattr(self.method, "penalty", None)


class Path(Records[PathPoint]):
    """Every trial of a search, as a sequence of records and, by name, as columns.

    A column is a field of `PathPoint`, or one of the names in its `tried`.
    """

    columns = (*(each.name for each in fields(PathPoint)), "cut", "q", "lam", "modes", "penalty")
    _shown: ClassVar[Mapping[str, str]] = {
        "method": "method",
        "tried": "tried",
        "ranks": "ranks",
        "held_out": "held-out error",
        "standard_error": "± standard error",
        "iterations": "iterations",
        "seconds": "seconds",
        "centred": "centred",
    }

    @property
    def best(self) -> PathPoint:
        """The trial with the lowest held-out error. The chosen one is within its standard error."""
        return min(self, key=lambda point: point.held_out)

    def __repr__(self) -> str:
        if not len(self):
            return "Path(empty)"
        names = ", ".join(dict.fromkeys(point.method.name for point in self))
        return f"Path({len(self)} trials of {names}, lowest held-out error {self.best.held_out:.4g})"

    def _column(self, name: str) -> NDArray[Any] | None:
        if name not in self.columns and any(name in point.tried for point in self):
            return np.array([point.tried.get(name, math.nan) for point in self])
        return super()._column(name)


@dataclass(frozen=True, eq=False)
class Trial:
    """A method run on every split, with its loss at each held-out entry.

    Parameters
    ----------
    method
        The method, with its stopping rules; a search may have run it for fewer iterations.
    point
        Its record in the path.
    results
        The result on each split.
    losses
        The loss at each held-out entry of every split, in order.
    candidate
        The candidate that was tried, as represented by the search.
    clipped
        Whether comparisons clip the largest losses; see `are_better`.
    """

    method: Method
    point: PathPoint
    results: tuple[Result, ...]
    losses: Floats = field(repr=False)
    candidate: Any = None
    clipped: bool = True

    @property
    def models(self) -> tuple[Model, ...]:
        """The answer on each split."""
        return tuple(result.model for result in self.results)

    def beats(self, other: Trial | None, *, by: float = STANDARD_ERRORS) -> bool:
        """Return whether it is significantly better than an earlier trial: by this many standard errors."""
        return other is None or are_better(self.losses, other.losses, clipped=self.clipped, by=by)


def are_better(losses: Floats, others: Floats, *, clipped: bool = True, by: float = STANDARD_ERRORS) -> bool:
    """Return whether losses are significantly lower than other losses at the same entries.

    Parameters
    ----------
    losses, others
        The losses of two answers at the same entries.
    clipped
        Whether the largest losses are clipped, unless the difference is beyond doubt without that. A few measurements
        that no model can predict would otherwise dominate the comparison. The largest losses of binary data are those
        of the rarer value, which are the ones of interest, and if losses are minus log-likelihoods, the largest of them
        are the cost of overconfidence. Such losses should not be clipped.
    by
        How many standard errors the difference must be above zero.
    """
    if clipped:
        certainty = _certainty(others - losses)
        if abs(certainty) > BEYOND_DOUBT:
            return certainty > 0 and bool(np.mean(others - losses) > LEAST_GAIN * others.mean())
    most = np.quantile(others, CLIPPED_FROM) if clipped else np.inf
    gain = np.minimum(others, most) - np.minimum(losses, most)
    return bool(gain.mean() > LEAST_GAIN * others.mean()) and _certainty(gain) > by


def _certainty(gain: Floats) -> float:
    """Return how many standard errors a mean is above zero."""
    return float(gain.mean()) / max(float(gain.std()) / math.sqrt(len(gain)), float(np.finfo(float).tiny))


class Trials(Protocol):
    """Runs methods on every split and keeps the best; see `tensorfill.choosing.trials`.

    If they are `centred`, a mean and effects were fitted first, and an answer of zero means these alone.
    """

    best: Trial | None
    centred: bool

    @property
    def problems(self) -> Sequence[Problem]:
        """The entries to fit of every split, without the roughness of graphs."""

    @property
    def stiffnesses(self) -> Sequence[float]:
        """The weights of the graph Laplacians to try; none without graphs."""

    @property
    def rng(self) -> np.random.Generator:
        """The random generator of a search."""

    @property
    def clock(self) -> Clock:
        """Ends a search when it expires; its journal keeps the work of a search."""

    @property
    def rival(self) -> float:
        """The mean held-out loss of another kind of answer, or infinity."""

    @property
    def leader(self) -> Trial:
        """The best trial so far."""

    @property
    def found(self) -> Sequence[Model] | None:
        """The answer of another method on each split, for a warm start; None if there is none."""

    def problem_at(self, mu: float) -> Problem:
        """Return the entries to fit of the first split, with the roughness of its graphs."""

    @property
    def unseen(self) -> Sequence[Observations | None]:
        """The held-out entries of every split, as observations of its problem; None if that leaves out slices."""

    @property
    def held_out_values(self) -> Floats:
        """The values of the held-out entries of every split, in order."""

    def predictions(self, models: Sequence[Model]) -> Floats:
        """Return the predictions at the held-out entries, from one model for each split."""

    def prefer(self, trial: Trial) -> None:
        """Take a trial as the best so far, by a rule of the search."""

    def run(
        self,
        method: Method,
        start: Trial | Sequence[Model] | None,
        *,
        tried: Mapping[str, float],
        candidate: Any = None,
        mu: float = 0.0,
        max_iter: int | None = None,
        tol: float | None = None,
        variation: bool = False,
    ) -> Trial:
        """Run a method on every split, score it, and keep it if it is the best so far."""


class Search(Protocol):
    """The interface of a search for the open settings of a method."""

    @property
    def conclusive(self) -> bool:
        """Whether its answer leaves nothing for another method to find."""

    def run(self, trials: Trials) -> None:
        """Try settings until the best are found; `trials` keeps them."""

    def finish(self, trials: Trials) -> None:
        """Improve the best by expensive steps; called after `run` gave a better answer than other searches."""

    def final(self, trials: Trials, entries: int) -> Method:
        """Return the method with the settings of the best trial, for a fit of this many entries."""
