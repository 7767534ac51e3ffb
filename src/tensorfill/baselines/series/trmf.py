"""TRMF: temporal regularised matrix factorisation (Yu, Rao and Dhillon 2016), by alternating least squares.

    minimise  1/2 sum over observed (i, t) of (w_i . f_t - O_it)^2  +  lam/2 (|W|^2 + |F|^2)
              + lam_time/2 (sum_t |f_t - sum_l a_l * f_(t-l)|^2 + lam |A|^2)

over the rows w_i of W, one for each series, the rows f_t of F, one for each step, and the coefficients a_l, one for
each lag and column of F; * is the product of each column with its own. In turn:

- W: a small linear system for each series, from its entries;
- F: conjugate gradients on the normal equations, which have a block for the entries of each step, and a band for
  each lag;
- A: a small linear system for each column;
- the lengths of the columns of W and F, whose products stay: a formula.

Each lowers the function. The entries of a series and of a step are summed by the loops of CP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..._support.checks import whole_number
from ..._support.types import Floats
from ...algebra.cp_entries import EntriesByIndex
from ...algebra.entry_products import TermEntries
from ...losses import Square
from ...methods.base import Method, Progress
from ...methods.cp import RANKS, with_terms
from ...methods.problem import Problem
from ...methods.settings import auto_or, loss_less, one_axis, real, setting, weight_path, whole
from ...methods.terms import check_terms
from ...methods.tucker_least_squares import mirrored
from ...models import Model
from ...observations import Observations
from .autoregression import LEAST_RIDGE, Autoregression, conjugate_gradients
from .lags import check_lags, check_steps, lag_path, ordered, time_mode
from .panel import Panel, grouping_of, with_time

FIRST_LAM, FIRST_LAM_TIME = 0.3, 3.0
"""The weights while ranks and lags are tried, for data of root mean square one."""

STRONGER, WEAKER = (1.0, 3.0, 10.0), (0.1, 0.03, 0.01, 1e-3)
STRONGER_TIME, WEAKER_TIME = (10.0, 30.0, 100.0), (1.0, 0.3, 0.0)
"""The weights to try afterwards."""

TOLERANCE, MOST_PRODUCTS = 1e-3, 100
"""When conjugate gradients stop: early, because the next sweep goes on from there."""

SMALLEST = float(np.sqrt(np.finfo(float).tiny))
"""The least ridge."""


def _ranks(method: Trmf, problem: Problem) -> Sequence[int]:
    """Return growing ranks, as long as there are fewer unknowns than entries."""
    observations = problem.observations
    shape = Panel.of(observations, method.along).entries.shape
    return [rank for rank in RANKS if rank <= min(len(observations) / sum(shape), *shape)] or [1]


def mean_size(problem: Problem) -> float:
    """Return the root mean square of the data: a factor has its root, and so weights are multiples of it."""
    return float(problem.norm / np.sqrt(len(problem.observations)))


@dataclass(frozen=True, kw_only=True)
class Trmf(Method):
    """TRMF: a low-rank matrix of series and steps whose factor of time is autoregressive, for the square loss.

    Use it for series that go on: gaps of many steps, and `forecast`. Nothing of the size of the tensor is allocated. An
    iteration is a sweep of least squares, about n r^2 operations for n entries, and r^2 for each step and iteration of
    conjugate gradients.

    Parameters
    ----------
    rank
        The number of columns of both factors, or ``"auto"`` to choose it on held-out entries. A model of larger rank
        to start from keeps its rank.
    lags
        The lags of the autoregression, such as ``(1, 2, 24)``, or ``"auto"`` to choose one of a few sets of them on
        held-out entries. Give those of a season that you know.
    lam
        The weight of the squares of the factors and of the coefficients, or ``"auto"`` to choose it on held-out
        entries.
    lam_time
        The weight of the autoregression, or ``"auto"`` to choose it on held-out entries. With 0 the order of the steps
        does not matter.
    along
        The mode of time, by default the longest. All other modes together are the series.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    It differs from the original in these ways. One ridge is that of both factors and of the coefficients; the original
    has three. The first terms are rank-one approximations of the residuals, not random numbers, and the first
    coefficients repeat the last step. The lengths of columns are set by a formula in each sweep. Conjugate gradients
    stop early. Settings are chosen on held-out entries; the original sets lags by hand. A series without any entry is
    the mean of the others.

    `complete` fills steps without any entry from their neighbours, after the method. The answer of `solve` has those of
    the autoregression.

    References
    ----------
    H.-F. Yu, N. Rao and I. S. Dhillon. Temporal regularized matrix factorization for high-dimensional time series
    prediction. Advances in Neural Information Processing Systems 29, 2016.

    Examples
    --------
    >>> import tensorfill
    >>> hours = np.arange(60)
    >>> table = np.outer([1.0, 2.0, 3.0, 1.5], np.sin(hours / 5)) + np.outer([2.0, 1.0, 1.0, 3.0], np.cos(hours / 5))
    >>> table[:, 30:33] = np.nan  # no entry at all for three hours
    >>> method = Trmf(rank=2, lags=(1, 2), lam=1e-3, lam_time=10.0)
    >>> problem = Problem(tensorfill.Observations.from_dense(table), Square())
    >>> model = method.solve(problem, rng=0).model
    >>> bool(abs(model.to_dense()[1, 31] - 2 * np.sin(31 / 5) - np.cos(31 / 5)) < 0.01)
    True
    >>> forecast(model, 5, method).shape
    (4, 5)
    """

    square_only: ClassVar[bool] = True
    trial_iterations: ClassVar[int | None] = 60

    rank: int | str = setting("auto", check=auto_or(whole(1)), path=one_axis("rank", _ranks))
    lags: Sequence[int] | str = setting("auto", check=check_lags, path=lag_path)
    lam_time: float | str = setting(
        "auto",
        check=auto_or(real(at_least=0)),
        power=loss_less(1),
        path=weight_path("lam_time", FIRST_LAM_TIME, STRONGER_TIME, WEAKER_TIME, unit=mean_size),
    )
    lam: float | str = setting(
        "auto",
        check=auto_or(real(at_least=0)),
        power=loss_less(1),
        path=weight_path("lam", FIRST_LAM, STRONGER, WEAKER, unit=mean_size),
    )
    along: int | None = None
    tol: float = 1e-5

    def check(self, problem: Problem) -> None:
        """Refuse a tensor without time, lags of all of it, and more terms than the data can hold."""
        super().check(problem)
        shape = problem.observations.shape
        check_steps(self.name, self.lags, self.along, shape)
        check_terms(self.rank, problem.observations)
        grouping_of(shape, time_mode(self.along, shape))

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with an explicit mode of time."""
        return replace(self, along=time_mode(self.along, problem.observations.shape))

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a factored matrix of the series of the data."""
        return model.shape == problem.observations.shape and Panel.of(problem.observations, self.along).is_model(model)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> TrmfSolver:
        """Return a solver that starts at `start`, with terms of the residuals appended up to the rank."""
        panel = Panel.of(problem.observations, self.along)
        if start is not None and not panel.is_model(start):
            raise ValueError(
                f"start must be a factored matrix of the series of shape {problem.observations.shape} for method "
                f"'{self.name}', but it is {start!r}."
            )
        rank = int(self.rank)
        factors = None if start is None else panel.factors(start)
        grown = _grown(panel.entries, factors, rank, rng)
        return TrmfSolver(panel, self, problem.observations.dtype, *grown, is_answer=start is not None)


def _grown(
    entries: Observations, factors: tuple[Floats, Floats] | None, rank: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return factors with terms of the residuals appended up to the rank."""
    problem, products = Problem(entries, Square()), TermEntries(entries.coords, entries.shape)
    known = (np.zeros((size, 0)) for size in entries.shape) if factors is None else factors
    series, time = known
    missing = rank - series.shape[1]
    if missing <= 0:
        return series, time
    flat = np.concatenate([series.ravel(), time.ravel()])
    residuals = problem.beyond(products.values(flat, series.shape[1])) if series.shape[1] else problem
    more = with_terms(residuals, products, None, missing, rng)
    return np.hstack([series, more[0]]), np.hstack([time, more[1]])


class TrmfSolver:
    """TRMF, for one problem. It computes in double precision.

    Parameters
    ----------
    panel
        The series and their entries.
    method
        The settings.
    dtype
        The type of the answer.
    series, time
        The factors to start from.
    is_answer
        Whether these are an earlier answer, so that its factor of time determines the coefficients.
    """

    def __init__(
        self, panel: Panel, method: Trmf, dtype: np.dtype[Any], series: Floats, time: Floats, *, is_answer: bool
    ) -> None:
        self._panel, self._dtype = panel, dtype
        self._lags, self._lam, self._lam_time = ordered(method.lags), float(method.lam), float(method.lam_time)
        entries = panel.entries
        self._entries = EntriesByIndex(entries.coords, entries.shape)
        self._products = TermEntries(entries.coords, entries.shape)
        # The first factor of time is zero in gaps. Coefficients that are fitted to it would keep the gaps near zero.
        first = Autoregression.constant(self._lags, time.shape[1])
        self._stand(series, time, Autoregression.fitted(time, self._lags, self._lam) if is_answer else first)

    def step(self) -> None:
        """Solve for the factor of the series, that of time, the coefficients, and the lengths of columns."""
        series = self._series_for(self._time)
        time = self._time_for(series)
        regression = Autoregression.fitted(time, self._lags, self._lam)
        scale = self._scale(series, time, regression)
        self._stand(series / scale, time * scale, regression)

    def progress(self) -> Progress:
        """Return the current state; the objective decreases at every step."""
        return self._progress

    def model(self) -> Model:
        """Return the answer so far."""
        return self._panel.model(self._series.astype(self._dtype), self._time.astype(self._dtype))

    def state(self) -> dict[str, Any]:
        """Return the factors, as arrays that later steps do not change."""
        return {"series": self._series, "time": self._time, "coefficients": self._regression.coefficients}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the factors of a state."""
        self._stand(state["series"], state["time"], Autoregression(self._lags, state["coefficients"]))

    def _stand(self, series: Floats, time: Floats, regression: Autoregression) -> None:
        terms = series.shape[1]
        errors = self._products.values(np.concatenate([series.ravel(), time.ravel()]), terms)
        errors -= self._panel.entries.values
        left = regression.residuals(time)
        ridge = np.vdot(series, series) + np.vdot(time, time)
        smooth = np.vdot(left, left) + self._lam * np.vdot(regression.coefficients, regression.coefficients)
        value = 0.5 * float(errors @ errors + self._lam * ridge + self._lam_time * smooth)
        self._series, self._time, self._regression = series, time, regression
        self._progress = Progress(value, value, (terms,))

    def _normal(self, series: Floats, time: Floats, mode: int) -> tuple[Floats, Floats]:
        """Return the normal equations of each row of a factor, with the ridge."""
        lower, right = self._entries.normal_equations(self._panel.entries.values, [series, time], mode)
        gram = mirrored(lower)
        terms = gram.shape[-1]
        least = LEAST_RIDGE * np.trace(gram, axis1=1, axis2=2) / terms
        # Something above zero, so that a row without entries or ridge, which has no equation, stays at zero.
        gram += np.maximum(self._lam, least + SMALLEST)[:, None, None] * np.eye(terms)
        return gram, right

    def _scale(self, series: Floats, time: Floats, regression: Autoregression) -> Floats:
        """Return by how much to stretch each column of the factor of time, and shrink that of the series.

        The penalties alone decide about lengths, and are so weak beside the errors that sweeps hardly change them.
        """
        left = regression.residuals(time)
        down = self._lam * np.sum(series**2, axis=0)
        up = self._lam * np.sum(time**2, axis=0) + self._lam_time * np.sum(left**2, axis=0)
        known = (down > 0) & (up > 0)
        scale: Floats = np.where(known, down / np.where(known, up, 1.0), 1.0) ** 0.25
        return scale

    def _series_for(self, time: Floats) -> Floats:
        """Return the factor of the series, given that of time."""
        gram, right = self._normal(self._series, time, 0)
        found: Floats = np.ascontiguousarray(np.linalg.solve(gram, right[..., None])[..., 0])
        return found

    def _time_for(self, series: Floats) -> Floats:
        """Return the factor of time, given that of the series and the coefficients, from its last value."""
        time, weight, regression = self._time, self._lam_time, self._regression
        gram, right = self._normal(series, time, 1)

        def product(change: Floats) -> Floats:
            image: Floats = np.matmul(gram, change[..., None])[..., 0]
            if weight:
                image += weight * regression.spread(regression.residuals(change))
            return image

        diagonal = weight * regression.curvature(len(time))[:, :, None] * np.eye(gram.shape[-1])
        inverse = np.linalg.inv(gram + diagonal)
        change = conjugate_gradients(
            product,
            right - product(time),
            lambda left: np.matmul(inverse, left[..., None])[..., 0],
            tolerance=TOLERANCE,
            most=MOST_PRODUCTS,
        )
        after: Floats = time + change
        return after


def forecast(model: Model, steps: int, method: Trmf) -> Model:
    """Return the next steps of all series, by the autoregression of the factor of time.

    Parameters
    ----------
    model
        An answer of `Trmf`. Its factor of time determines the coefficients.
    steps
        The number of steps.
    method
        The settings of that answer: the lags, lam and the mode of time.

    Returns
    -------
    Model
        A model of the same form whose mode of time has the next steps alone.
    """
    whole_number(steps, "steps", at_least=1)
    lags, lam = ordered(method.lags), float(method.lam)
    return with_time(model, method.along, lambda time: Autoregression.fitted(time, lags, lam).continued(time, steps))
