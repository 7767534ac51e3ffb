"""LATC: low-rank autoregressive tensor completion (Chen, Lei, Saunier and Sun 2021), with observed entries fixed.

Time is divided into periods, such as days, so that the series make a tensor of days x slots of a day x series.

    minimise  sum_d w_d |unfold_d X|_r  +  lam/2 sum_i sum_t (X_i[t] - sum_l a_il X_i[t - l])^2

over all X with the observed entries and all coefficients a_i of the series i. |.|_r is the truncated nuclear norm: the
sum of all singular values but the r largest. A step of ADMM takes, three times,

    L = sum_d w_d fold_d(singular values of unfold_d(X - T / zeta), all but the first r shrunk by w_d / zeta),
    X = the minimum of lam/2 (the sum of squares above) + zeta/2 |X - L - T / zeta|^2, observed entries fixed,
    T = T + zeta (L - X),

and zeta grows each time. Then the coefficients are the least-squares fit to the series of X. The second line is a
linear system for the missing entries of each series, with a band for each lag. Conjugate gradients solve it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from ..._support.checks import whole_number
from ..._support.clock import check_time
from ..._support.types import Floats
from ...algebra.component import Component
from ...algebra.operators import add_dense
from ...algebra.spectral import shrunk_component, singular_values
from ...algebra.unfolding import columns, fold, unfold
from ...methods.base import Method, Progress
from ...methods.problem import Problem
from ...methods.settings import Power, auto_or, none_or, one_axis, real, setting, weight_path, whole
from ...models import Dense, Model
from ...penalties import TNN
from ..overlapped.tensors import mode_by_mode
from .autoregression import Autoregression, conjugate_gradients
from .lags import check_lags, check_steps, lag_path, ordered, time_mode

RANKS = (1, 2, 3, 5, 8, 12, 18, 25, 35)
"""The numbers of free singular values to try."""

FIRST_LAM = 0.1
STRONGER, WEAKER = (1.0, 5.0, 10.0), (0.01, 0.0)
"""The lambda while ranks are tried, and those to try afterwards, relative to the first zeta."""

FIRST_THRESHOLD = 0.3
"""The first zeta makes the threshold of singular values this share of the norm of the data."""

GROWTH, MOST_GROWTH = 1.05, 1e9
"""The ratio of consecutive zetas, that of the original, and the ratio of the last to the first."""

INNER = 3
"""The iterations of ADMM between two fits of the coefficients, as in the original."""

TOLERANCE, MOST_PRODUCTS = 1e-6, 60
"""When conjugate gradients stop."""


def _ranks(method: Latc, problem: Problem) -> Sequence[int]:
    """Return growing ranks, below that of the fullest unfolding."""
    shape = method.folded(problem.observations.shape)
    most = max(min(size, columns(shape, mode)) for mode, size in enumerate(shape))
    return [rank for rank in RANKS if rank < most] or [1]


def zeta_unit(problem: Problem) -> float:
    """Return the zeta of data of which a singular value of the first threshold is shrunk by one."""
    return 1 / (FIRST_THRESHOLD * problem.norm) if problem.norm > 0 else 1.0


@dataclass(frozen=True, kw_only=True)
class Latc(Method):
    """LATC: truncated nuclear norms and an autoregression of each series, with observed entries fixed.

    Use it for many series with a daily pattern, such as traffic, with little noise, which it reproduces. It is dense.
    The answer has all entries of the tensor, and takes as much memory. An iteration decomposes each unfolding three
    times, and multiplies the tensor by each lag up to some hundred times.

    Parameters
    ----------
    rank
        The number of singular values of each unfolding that are free, r, or ``"auto"`` to choose it on held-out
        entries.
    lags
        The lags of the autoregression, such as ``(1, 2, 3)``, or ``"auto"`` to choose one of a few sets of them on
        held-out entries.
    lam
        The weight of the autoregression, or ``"auto"`` to choose it on held-out entries. With 0 there is none.
    along
        The mode of time, by default the longest. All other modes together are the series.
    period
        The number of steps of a day, or of another period. With 1, time is not divided, and the series are a matrix.
    zeta
        The first weight of the agreement of X with L, rho in the original; by default it follows the scale of the data.
    growth
        The ratio of consecutive zetas, at least 1.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    It differs from the original in these ways. The linear system is that of the missing entries, given the observed
    ones; the original solves for all entries and then puts the observed ones back. The first coefficients are fitted to
    the data with zeros for what is missing; in the original they are small random numbers. The answer is X, which has
    the observed entries; that of the original is L; both agree at the end. Steps that the last period lacks are missing
    entries. It stops when the objective changes little. Rank, lam and lags are chosen on held-out entries; the original
    sets them by hand. Conjugate gradients make at most 60 steps.

    `complete` fills steps without any entry from their neighbours, after the method. The answer of `solve` has those of
    the autoregression.

    References
    ----------
    X. Chen, M. Lei, N. Saunier and L. Sun. Low-rank autoregressive tensor completion for spatiotemporal traffic data
    imputation. IEEE Transactions on Intelligent Transportation Systems 23, 2022.

    Examples
    --------
    >>> import tensorfill
    >>> hours = np.arange(24 * 7)
    >>> table = np.outer([1.0, 2.0, 3.0], np.sin(2 * np.pi * hours / 24)) + np.array([[4.0], [3.0], [5.0]])
    >>> seen = np.random.default_rng(0).random(table.shape) < 0.5
    >>> data = tensorfill.Observations.from_dense(table, seen)
    >>> method = Latc(rank=1, lam=0.01, lags=(1, 2), period=24)
    >>> model = method.solve(Problem(data, tensorfill.losses.Square()), rng=0).model
    >>> bool(np.abs(model.to_dense() - table).max() < 0.05)
    True
    """

    square_only: ClassVar[bool] = True
    descends: ClassVar[bool] = False
    # Of single precision, because it computes in double.
    whole_tensors: ClassVar[int] = 32
    trial_iterations: ClassVar[int | None] = 40

    other_powers: ClassVar[Mapping[str, Power]] = {"objective": 1}

    rank: int | str = setting("auto", check=auto_or(whole(0)), path=one_axis("rank", _ranks))
    lags: Sequence[int] | str = setting("auto", check=check_lags, path=lag_path)
    lam: float | str = setting(
        "auto",
        check=auto_or(real(at_least=0)),
        power=-1,
        path=weight_path("lam", FIRST_LAM, STRONGER, WEAKER, unit=zeta_unit),
    )
    along: int | None = None
    period: int = setting(1, check=whole(1))
    zeta: float | None = setting(None, check=none_or(real(above=0)), power=-1)
    growth: float = setting(GROWTH, check=real(at_least=1))
    tol: float = 1e-5

    def check(self, problem: Problem) -> None:
        """Refuse a tensor without time, lags of all of it, and a period of more than half of it."""
        super().check(problem)
        shape = problem.observations.shape
        check_steps(self.name, self.lags, self.along, shape)
        mode = time_mode(self.along, shape)
        if self.period > 1 and 2 * self.period > shape[mode]:
            raise ValueError(
                f"period must be at most half of the {shape[mode]} steps of mode {mode}, but {self.period} was given; "
                "give 1 to leave time in one piece."
            )

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with an explicit mode of time."""
        return replace(self, along=time_mode(self.along, problem.observations.shape))

    def folded(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of days x slots of a day x series, or of steps x series, for a tensor of this shape."""
        mode = time_mode(self.along, shape)
        steps, series = shape[mode], columns(shape, mode)
        return (steps, series) if self.period == 1 else (math.ceil(steps / self.period), self.period, series)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` has all entries of a tensor of the shape of the data."""
        return isinstance(model, Dense) and model.shape == problem.observations.shape

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> LatcSolver:
        """Return a solver that starts at `start`, or at zeros beside the observed entries."""
        return LatcSolver(problem, self, start)


@dataclass(frozen=True, eq=False)
class LatcState:
    """X and the multipliers, as steps x series; zeta, the ranks of the unfoldings of L, and the coefficients."""

    full: Floats
    multiplier: Floats
    zeta: float
    ranks: tuple[int, ...]
    regression: Autoregression


class LatcSolver:
    """LATC, for one problem. It computes in double precision.

    Parameters
    ----------
    problem
        The observed entries.
    method
        The settings.
    start
        All entries, or None for zeros beside the observed ones.
    """

    def __init__(self, problem: Problem, method: Latc, start: Model | None) -> None:
        observations = problem.observations
        self._shape, self._dtype = observations.shape, observations.dtype
        self._mode, self._lags = time_mode(method.along, self._shape), ordered(method.lags)
        self._folded = method.folded(self._shape)
        self._rank, self._lam, self._growth = int(method.rank), float(method.lam), method.growth
        # Both unfoldings of a matrix have the same singular values.
        self._modes = range(len(self._folded)) if len(self._folded) > 2 else range(1)
        first = zeta_unit(problem) / len(self._modes) if method.zeta is None else method.zeta
        self._most = MOST_GROWTH * first
        full = self._started(problem, start)
        regression = Autoregression.fitted(full, self._lags)
        self._now = LatcState(full, np.zeros_like(full), first, (0,) * len(self._modes), regression)
        self._progress = self._measured(self._now)

    def _started(self, problem: Problem, start: Model | None) -> Floats:
        """Return the starting point, and set which of its entries are missing; all are in the steps that are added."""
        observations, steps = problem.observations, self._shape[self._mode]
        whole, series = math.prod(self._folded[:-1]), self._folded[-1]
        flat = np.zeros(self._shape, bool)
        flat.reshape(-1)[observations.positions] = True
        self._missing = np.ones((whole, series), bool)
        self._missing[:steps] = ~unfold(flat, self._mode)
        given = np.zeros(self._shape) if start is None else start.to_dense(max_bytes=np.inf).astype(np.float64)
        given.reshape(-1)[observations.positions] = observations.values
        full = np.zeros((whole, series))
        full[:steps] = unfold(given, self._mode)
        if start is not None and whole > steps:
            full[steps:] = Autoregression.fitted(full[:steps], self._lags).continued(full[:steps], whole - steps)
        return full

    def progress(self) -> Progress:
        """Return the current state."""
        return self._progress

    def model(self) -> Dense:
        """Return the answer so far."""
        steps = self._now.full[: self._shape[self._mode]].astype(self._dtype)
        return Dense(np.ascontiguousarray(fold(steps, self._mode, self._shape)), self._now.ranks)

    def step(self) -> None:
        """Make some iterations of ADMM, and fit the coefficients to the series."""
        now = self._now
        full, multiplier, zeta, ranks = now.full, now.multiplier, now.zeta, now.ranks
        for _ in range(INNER):
            check_time()
            zeta = min(self._growth * zeta, self._most)
            low, ranks = self._low_rank(full - multiplier / zeta, zeta)
            full = self._tied(full, low + multiplier / zeta, self._lam / zeta, now.regression)
            low -= full
            multiplier = multiplier + zeta * low
        after = LatcState(full, multiplier, zeta, ranks, Autoregression.fitted(full, self._lags))
        self._now, self._progress = after, self._measured(after)

    def _low_rank(self, target: Floats, zeta: float) -> tuple[Floats, tuple[int, ...]]:
        """Return L, and the ranks of its parts."""
        weight = 1 / len(self._modes)
        tensor, penalty = target.reshape(self._folded), TNN(self._rank)

        def prox(s: Floats) -> Floats:
            return penalty.prox(s, weight / zeta)

        parts: tuple[Component, ...] = mode_by_mode(
            [partial(shrunk_component, tensor, mode, prox) for mode in self._modes], tensor.size
        )
        out = np.zeros(self._folded)
        for part in parts:
            add_dense(part, weight, out)
        return out.reshape(target.shape), tuple(part.rank for part in parts)

    def _tied(self, full: Floats, target: Floats, weight: float, regression: Autoregression) -> Floats:
        """Return X: the minimum of weight/2 |B X|^2 + 1/2 |X - target|^2 over the missing entries."""
        right = np.where(self._missing, target - full, 0.0)
        if weight == 0:
            return full + right
        right -= np.where(self._missing, weight * regression.spread(regression.residuals(full)), 0.0)
        diagonal = 1 + weight * regression.curvature(len(full))

        def product(change: Floats) -> Floats:
            image = regression.spread(regression.residuals(change))
            image *= weight
            image += change
            image *= self._missing
            return image

        change = conjugate_gradients(
            product, right, lambda left: left / diagonal, tolerance=TOLERANCE, most=MOST_PRODUCTS
        )
        change += full
        return change

    def _measured(self, state: LatcState) -> Progress:
        """Return the objective of X with the coefficients that fit it best."""
        tensor = state.full.reshape(self._folded)
        values = mode_by_mode([partial(singular_values, tensor, mode) for mode in self._modes], tensor.size)
        norm = sum(TNN(self._rank).value(s) for s in values) / len(self._modes)
        residuals = state.regression.residuals(state.full)
        return Progress(norm + self._lam / 2 * float(np.vdot(residuals, residuals)), math.nan, state.ranks)


def forecast(model: Dense, steps: int, method: Latc) -> Dense:
    """Return the next steps of every series, by the autoregression that fits it best.

    Parameters
    ----------
    model
        All entries up to now: an answer of `Latc`.
    steps
        The number of steps.
    method
        The settings of that answer: the lags and the mode of time.

    Examples
    --------
    >>> now = Dense([[1.0, 2.0, 4.0, 8.0], [9.0, 3.0, 1.0, 1 / 3]])
    >>> forecast(now, 2, Latc(lags=(1,), along=1)).to_dense().round(3)
    array([[16.   , 32.   ],
           [ 0.111,  0.037]])
    """
    whole_number(steps, "steps", at_least=1)
    mode = time_mode(method.along, model.shape)
    series = unfold(model.array, mode).astype(np.float64)
    after = Autoregression.fitted(series, ordered(method.lags)).continued(series, steps).astype(model.dtype)
    shape = [steps if other == mode else size for other, size in enumerate(model.shape)]
    return Dense(np.ascontiguousarray(fold(after, mode, shape)), model.ranks)
