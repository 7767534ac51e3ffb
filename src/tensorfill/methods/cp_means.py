"""CP of what is expected: square finds, the likelihood finishes.

With a loss of scores, low rank may be a property of what is expected rather than of its logarithm: rates of counts are
often sums of a few products, and so are probabilities of yes. So

    minimise  sum over observed p of loss(link(X_p), O_p) + ridge/2 sum_d |A_d|_F^2,    X = sum_r a_r o b_r o c_r ..,

where the link turns an estimate into its score, log x for counts, with a smooth end at zero
(`tensorfill.losses.links`). Least squares estimate the same X, and have a fast and reliable solver; L-BFGS with the
true loss finishes from there. Least squares weigh all entries alike, though small rates are known better than large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._support.clock import Clock
from ..algebra.entry_products import TermEntries
from ..losses.links import Link, Through, link_for
from ..models import CPModel, Linked, Model
from .base import Callback, Method, Progress, Result
from .calibrated import least_squares_of, through
from .cp import FIRST_RIDGE, STRONGER, WEAKER, CPObjective, CPSolver, possible_ranks, ridge_unit, with_terms
from .grow import Grow
from .problem import Problem
from .settings import Axis, auto_or, one_axis, real, setting, weight_path, whole
from .terms import check_terms

FIRST_WIDTH, OTHER_WIDTHS = 0.03, (0.3, 0.1, 0.01, 0.003)
"""The width of the link while ranks and ridges are tried, and those that are tried afterwards."""


def _widths(method: Any, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
    curved = not link_for(problem.loss, problem.observations.values, FIRST_WIDTH).is_straight
    return [Axis("width", OTHER_WIDTHS if curved else (FIRST_WIDTH,), meanwhile=FIRST_WIDTH, ordered=False)]


@dataclass(frozen=True, kw_only=True)
class CPMeans(Method):
    """CP of the expected observations, for a loss whose prediction is a score; for other losses it is CP.

    It suits counts whose rates are of low rank, and data of two values whose probabilities are. The fit starts from
    least squares.

    Parameters
    ----------
    rank
        The number of terms, or ``"auto"`` to choose it on held-out entries.
    ridge
        The weight of the squared factors, or ``"auto"`` to choose it on held-out entries.
    width
        How far from its bounds an estimate is no longer its own score, in units of the distance of the mean from the
        nearer bound; ``"auto"`` to choose it on held-out entries.
    max_iter, tol
        As in `Method`.

    Examples
    --------
    >>> from tensorfill import Observations
    >>> from tensorfill.losses import Poisson
    >>> rates = np.multiply.outer(np.arange(1.0, 21.0), np.multiply.outer(np.arange(1.0, 16.0), np.ones(10)))
    >>> counts = Observations.from_dense(np.random.default_rng(0).poisson(rates).astype(float))
    >>> model = CPMeans(rank=1, ridge=0, width=0.001).solve(Problem(counts, Poisson()), rng=0).model
    >>> bool(abs(np.exp(model.to_dense()) / rates - 1).max() < 0.2)
    True
    """

    name: ClassVar[str] = "cp_means"
    stages: ClassVar[frozenset[str]] = frozenset()

    rank: int | str = setting(
        "auto",
        check=auto_or(whole(1)),
        path=one_axis("rank", lambda method, problem: possible_ranks(problem.observations)),
    )
    ridge: float | str = setting(
        "auto",
        check=auto_or(real(at_least=0)),
        power=lambda loss, order: loss - 2 / order,
        path=weight_path("ridge", FIRST_RIDGE, STRONGER, WEAKER, unit=lambda problem: _ridge_unit(problem)),
    )
    width: float | str = setting("auto", check=auto_or(real(above=0)), path=_widths)

    def check(self, problem: Problem) -> None:
        """Refuse more terms than the data can hold."""
        super().check(problem)
        check_terms(self.rank, problem.observations)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is an answer with this many terms; least squares find others better by themselves."""
        inner = model.model if isinstance(model, Linked) else model
        return isinstance(inner, CPModel) and model.shape == problem.observations.shape and inner.ranks == (self.rank,)

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer of least squares, as scores."""
        as_scores = partial(_linked, self._link(problem))
        shown = None if callback is None else through(as_scores, callback)
        square = Grow(rank=int(self.rank), form="cp")
        result = square.solve(least_squares_of(problem), rng=rng, callback=shown, clock=clock)
        return replace(result, model=as_scores(result.model))

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> MeansSolver:
        """Return a solver that starts at `start`, or at zero with terms of the observed values."""
        if start is not None and not self.can_start_from(start, problem):
            raise ValueError(
                f"start must be an answer of method '{self.name}' of shape {problem.observations.shape} with "
                f"{self.rank} terms, but it is {start!r}."
            )
        link = self._link(problem)
        entries = TermEntries(problem.observations.coords, problem.observations.shape)
        factors = with_terms(
            least_squares_of(problem), entries, start.model if isinstance(start, Linked) else start, int(self.rank), rng
        )
        through = problem if link.is_straight else problem.with_loss(Through(problem.loss, link))
        return MeansSolver(
            CPSolver(CPObjective(through, entries, factors[0].shape[1], float(self.ridge)), factors), link
        )

    def _link(self, problem: Problem) -> Link:
        return link_for(problem.loss, problem.observations.values, float(self.width))


class MeansSolver:
    """The solver of CP, whose answer is turned into scores.

    Parameters
    ----------
    inner
        The solver.
    link
        How an estimate becomes a score.
    """

    def __init__(self, inner: CPSolver, link: Link) -> None:
        self._inner, self._link = inner, link

    def progress(self) -> Progress:
        """Return the current state; the objective decreases at every step."""
        return self._inner.progress()

    def step(self) -> None:
        """Make one step of L-BFGS."""
        self._inner.step()

    def model(self) -> Model:
        """Return the answer so far."""
        return _linked(self._link, self._inner.model())


def _linked(link: Link, model: Model) -> Model:
    """Return estimates as scores."""
    return model if link.is_straight else Linked(model, link)


def _ridge_unit(problem: Problem) -> float:
    """Return the unit of the ridge: that of least squares, over the variance of the values for a likelihood."""
    squares = least_squares_of(problem)
    unit = ridge_unit(squares)
    if link_for(problem.loss, problem.observations.values, FIRST_WIDTH).is_straight:
        return unit
    variance = float(np.var(squares.observations.values, dtype=np.float64))
    return unit / variance if variance > 0 else unit
