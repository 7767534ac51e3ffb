"""Trials: a method on every split, its losses at the held-out entries, and the record of all trials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._support.records import Records
from ..._support.scaling import ERROR, SETTINGS
from ..._support.types import Floats
from ...methods.base import Method, Result
from ...models.base import Model

M = TypeVar("M", bound=Method)

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
    """The record of one trial of a search.

    Parameters
    ----------
    method
        The method with the settings of the trial.
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
    before
        The stages before the method, one word each.
    mu
        The weight of the graph Laplacians, relative to the mean degree.
    """

    method: Method
    tried: Mapping[str, float] = field(metadata=SETTINGS)
    ranks: tuple[int, ...]
    training: float = field(metadata=ERROR)
    held_out: float = field(metadata=ERROR)
    standard_error: float = field(metadata=ERROR)
    iterations: int
    seconds: float
    before: tuple[str, ...] = ()
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
        "before": "before",
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
    ran
        The method with the stopping rules that it was really run with; None if they are those of `method`.
    early
        Whether these rules are part of what was chosen. A point of a path that is stopped early is another estimator
        than the point that it would converge to, so a last fit that is to be as good stops by the same rules.
    """

    method: Method
    point: PathPoint
    results: tuple[Result, ...]
    losses: Floats = field(repr=False)
    candidate: Any = None
    clipped: bool = True
    ran: Method | None = None
    early: bool = False

    @property
    def models(self) -> tuple[Model, ...]:
        """The answer on each split."""
        return tuple(result.model for result in self.results)

    def stopped(self, method: M) -> M:
        """Return a method that stops no later than by the rules that this trial was run with."""
        ran = self.ran or self.method
        return replace(method, max_iter=min(method.max_iter, ran.max_iter), tol=max(method.tol, ran.tol))

    def as_stopped(self) -> Trial:
        """Return the trial with the stopping rules that it was run with as part of its method."""
        return replace(self, method=self.stopped(self.method), early=True)

    def beats(self, other: Trial | None, *, by: float = STANDARD_ERRORS) -> bool:
        """Return whether it is better than an earlier trial by this many standard errors."""
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
