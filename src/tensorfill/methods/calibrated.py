"""The answer of least squares, turned into scores by a curve: what the likelihood must not be worse than.

Least squares of yes and no estimate probabilities, and of counts rates. Their answer, of any method, ranks entries as
well as least squares do; a curve with a width, an intercept and a slope (`tensorfill.losses.links`), chosen on held-out
entries, makes scores of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._support.clock import Clock
from .._support.scaling import ORDINARY
from ..losses import Square, is_score, restore
from ..losses.links import link_for
from ..models import Centred, Linked, Model
from .base import Callback, Method, Progress, Record, Result, Solver, Unsuited
from .effects.additive import fit_additive
from .problem import Problem
from .settings import none_or, own_search, real, setting


def _a_method(value: Any, name: str) -> None:
    if value != "auto" and not isinstance(value, Method):
        raise ValueError(f"{name} must be a method object or 'auto', but {value!r} was given.")


@dataclass(frozen=True, kw_only=True)
class Calibrated(Method):
    """The answer of another method with the square loss, turned into scores by a curve.

    For a loss whose prediction is no score, it is the answer of that method.

    Parameters
    ----------
    method
        The other method with all its settings, or ``"auto"`` to choose it on held-out entries as for the square loss.
    centred
        Whether the mean and the effects of each index are subtracted first.
    width
        How far from its bounds an estimate is no longer its own score, in units of the distance of the mean from the
        nearer bound; None for a straight line.
    intercept, slope
        The score is intercept + slope * curve(estimate).
    max_iter, tol
        As in `Method`; they replace those of the other method.

    Examples
    --------
    >>> from tensorfill import Grow, Observations
    >>> from tensorfill.losses import Poisson
    >>> rates = np.multiply.outer(np.arange(10.0, 30.0), np.multiply.outer(np.arange(1.0, 16.0), np.ones(10)))
    >>> counts = Observations.from_dense(np.random.default_rng(0).poisson(rates).astype(float))
    >>> method = Calibrated(method=Grow(rank=1, form="cp"), width=0.01)
    >>> model = method.solve(Problem(counts, Poisson()), rng=0).model
    >>> bool(abs(np.exp(model.to_dense()) / rates - 1).max() < 0.2)
    True
    """

    name: ClassVar[str] = "calibrated"
    stages: ClassVar[frozenset[str]] = frozenset()
    searched_by: ClassVar[str] = "calibrated"
    descends: ClassVar[bool] = False

    method: Method | str = setting("auto", check=_a_method, path=own_search)  # noqa: RUF009
    centred: bool = False
    width: float | None = setting(None, check=none_or(real(above=0)))
    intercept: float = setting(0.0, check=real())
    slope: float = setting(1.0, check=real(at_least=0))

    @property
    def _inner(self) -> Method:
        if isinstance(self.method, str):
            raise ValueError(f"method of '{self.name}' is 'auto', which held-out entries choose; give a method object.")
        return self.method

    def in_unit(self, exponent: int, loss: float, order: int) -> Self:
        """Return the same settings for data that is divided by ``2**exponent``."""
        if isinstance(self.method, str):
            return self
        return replace(self, method=self.method.in_unit(exponent, loss, order))

    def check(self, problem: Problem) -> None:
        """Refuse what the other method refuses, and counts whose squares least squares cannot sum."""
        super().check(problem)
        values, name = problem.observations.values, problem.observations.dtype.name
        if is_score(problem.loss) and np.abs(values).max(initial=0.0) > ORDINARY[name]:
            raise Unsuited(
                f"'{self.name}' takes counts up to {ORDINARY[name]:g} in {name}, but the largest is "
                f"{values.max():.3g}; give dtype='float64', or another method."
            )
        if isinstance(self.method, Method):
            self.method.check(least_squares_of(problem))

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether the other method can start from the estimates in `model`."""
        return model.shape == problem.observations.shape and self._inner.can_start_from(
            _core(model), least_squares_of(problem)
        )

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the warm start of the other method, as scores."""
        squares, as_scores = self._reduced(problem)
        shown = None if callback is None else through(as_scores, callback)
        result = self._inner.approach(squares, rng=rng, callback=shown, clock=clock)
        return None if result is None else replace(result, model=as_scores(result.model))

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> CalibratedSolver:
        """Return the solver of the other method, whose answer is turned into scores."""
        squares, as_scores = self._reduced(problem)
        return CalibratedSolver(self._inner.prepare(squares, None if start is None else _core(start), rng), as_scores)

    def _reduced(self, problem: Problem) -> tuple[Problem, Callable[[Model], Model]]:
        """Return the problem of the other method, and how its answer becomes scores."""
        squares, loss = least_squares_of(problem), problem.loss
        offset = fit_additive(squares.observations) if self.centred else None
        link = link_for(loss, problem.observations.values, np.inf if self.width is None else self.width)
        link = replace(link, intercept=self.intercept, slope=self.slope)

        def as_scores(model: Model) -> Model:
            whole = model if offset is None else Centred(model, offset)
            return Linked(whole, link) if is_score(loss) else whole

        if offset is not None:
            squares = squares.beyond(offset.predict(problem.observations.coords))
        return squares, as_scores


class CalibratedSolver:
    """A solver of least squares whose answer is turned into scores.

    Parameters
    ----------
    inner
        The solver.
    as_scores
        Turns its answer into scores.
    """

    def __init__(self, inner: Solver, as_scores: Callable[[Model], Model]) -> None:
        self._inner, self._as_scores = inner, as_scores

    def progress(self) -> Progress:
        """Return the current state, with the objective of least squares."""
        return replace(self._inner.progress(), f_tau=float("nan"))

    def step(self) -> None:
        """Make one iteration of the other method."""
        self._inner.step()

    def model(self) -> Model:
        """Return the answer so far."""
        return self._as_scores(self._inner.model())


def least_squares_of(problem: Problem) -> Problem:
    """Return the problem of least squares for the values as the data has them."""
    if not is_score(problem.loss):
        return problem
    observations = problem.observations
    return Problem(observations.with_values(restore(problem.loss, observations.values)), Square())


def through(as_scores: Callable[[Model], Model], callback: Callback) -> Callback:
    """Return a callback that is shown scores."""

    def shown(record: Record, model: Model) -> object:
        return callback(record, as_scores(model))

    return shown


def _core(model: Model) -> Model:
    """Return the answer of the other method."""
    model = model.model if isinstance(model, Linked) else model
    return model.model if isinstance(model, Centred) else model
