"""TRLRF: a tensor ring whose cores have low rank (Yuan, Li, Mandic, Cao and Zhao 2019).

    minimise  sum_d sum_i |unfold_i G_d|_* + lam/2 |X - ring(G)|_F^2    over all cores G_d and X,

where X = O at the observed entries, with the nuclear norms of all three unfoldings of every core, by ADMM: M_di is a
copy of G_d whose i-th unfolding is shrunk, Y_di its multiplier, and mu the penalty on their difference. A step solves
for each core in turn,

    G_d = (sum_i (mu M_di + Y_di) + lam X_d H_d) (lam H_d^T H_d + 3 mu)^-1,

where H_d has the product of all other cores and X_d the rows of X along mode d; then M_di = shrunk(G_d - Y_di / mu) and
Y_di = Y_di + mu (M_di - G_d); then X = ring(G) at the entries that were not observed; and mu grows.

H_d is never built. X is multiplied by the cores after d and then by those before, and H_d^T H_d is computed from small
transfer matrices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..._support.clock import Clock
from ..._support.types import Floats
from ...algebra.ring import joined, ring_of, transfer
from ...algebra.unfolding import fold, unfold
from ...methods.base import Callback, Method, Progress, Result
from ...methods.problem import Problem
from ...methods.settings import Power, auto_or, one_axis, ranks, real, setting, weight_path
from ...models import Model, TensorRing
from .growing import ranks_of, through_smaller_ranks

RANKS = (2, 3, 4, 5, 6, 8, 10, 13)
"""The ranks to try."""

FIRST_LAM = 1.0
STRONGER, WEAKER = (0.3, 0.1, 0.03, 0.01), (10.0, 100.0)
"""The lambda while ranks are tried, and those to try afterwards, for data of root mean square one."""

FIRST_MU, MOST_MU, GROWTH = 1.0, 100.0, 1.01
"""The initial penalty, its limit, and its growth factor per iteration: the published values."""

START = 0.5
"""The size of the initial random numbers, relative to those that would give the data."""


def _growing(method: Trlrf, problem: Problem) -> Sequence[int]:
    """Return growing ranks; each core has rank^2 numbers for every index of its mode."""
    most = max(2.0, math.sqrt(len(problem.observations) / sum(problem.observations.shape)))
    return [rank for rank in RANKS if rank <= most]


@dataclass(frozen=True, kw_only=True)
class Trlrf(Method):
    """TRLRF: a tensor ring by ADMM, with nuclear norms of the unfoldings of each core, for the square loss.

    It is dense. With ranks r, an iteration takes about M r^2 multiplications for each entry of the whole tensor. The
    nuclear norms make it less sensitive to ranks that are too large. Use it for tensors of order four and more.

    It differs from the original in its units: the data is divided by its root mean square, so `lam` does not depend on
    the units of the data. Ranks and `lam` are chosen on held-out entries, whereas the original sets them by hand.

    Parameters
    ----------
    rank
        The rank between any two neighbouring modes, one for each mode, or ``"auto"`` to choose it on held-out entries.
    lam
        The weight of the error relative to the nuclear norms, or ``"auto"`` to choose it on held-out entries.
    max_iter, tol
        As in `Method`.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((12, 12, 12), rank=1, noise=0, observed=800, rng=0)
    >>> Trlrf(rank=2, lam=100).solve(Problem(data.observations, Square()), rng=0).model
    TensorRing(shape=(12, 12, 12), ranks=(2, 2, 2))
    """

    name: ClassVar[str] = "trlrf"
    square_only: ClassVar[bool] = True
    descends: ClassVar[bool] = False
    whole_tensors: ClassVar[int] = 4
    trial_iterations: ClassVar[int | None] = 50

    # The data is divided by its root mean square.
    other_powers: ClassVar[Mapping[str, Power]] = {"objective": 0}

    rank: int | Sequence[int] | str = setting("auto", check=ranks(1), path=one_axis("rank", _growing))
    lam: float | str = setting(
        "auto", check=auto_or(real(at_least=0)), path=weight_path("lam", FIRST_LAM, STRONGER, WEAKER)
    )

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a tensor ring of the shape of the data."""
        return isinstance(model, TensorRing) and model.shape == problem.observations.shape

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer of a moderate lambda, reached through smaller ranks, as in a search.

        From random cores, a large lambda ends in bad critical points.
        """
        most = min(self.max_iter, int(self.trial_iterations or self.max_iter))
        first = replace(self, lam=FIRST_LAM, max_iter=most)
        ranks = ranks_of(self.rank, problem.observations.ndim, "modes")
        near = through_smaller_ranks(first, ranks, problem, max_iter=most, rng=rng, callback=callback, clock=clock)
        if near is not None and not near.finished:
            return near
        start = None if near is None else near.model
        return first.solve(problem, start=start, rng=rng, callback=callback, clock=clock)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> TrlrfSolver:
        """Return a solver that starts at `start`, with small random numbers around its cores up to the ranks."""
        if start is not None and not self.can_start_from(start, problem):
            raise ValueError(
                f"start must be a tensor ring of shape {problem.observations.shape} for method '{self.name}', "
                f"but it is {start!r}."
            )
        shape = problem.observations.shape
        ranks = ranks_of(self.rank, len(shape), "modes")
        known = start.cores if isinstance(start, TensorRing) else None
        return TrlrfSolver(problem, float(self.lam), ranks, known, rng)


class TrlrfSolver:
    """TRLRF, for one problem, in units in which the data has a root mean square of one.

    Parameters
    ----------
    problem
        The observations.
    lam
        The weight of the error.
    ranks
        The ranks between neighbouring modes; the rank of a mode precedes its core.
    start
        Cores to start from, in the units of the data, or None.
    rng
        Draws the initial numbers.
    """

    def __init__(
        self,
        problem: Problem,
        lam: float,
        ranks: Sequence[int],
        start: Sequence[Floats] | None,
        rng: np.random.Generator,
    ) -> None:
        observations = problem.observations
        self._shape, self._dtype, self._lam = observations.shape, observations.dtype, lam
        self._positions = observations.positions
        values = observations.values.astype(np.float64)
        self._scale = math.sqrt(float(np.mean(values * values))) or 1.0
        self._values = values / self._scale
        cores = self._starting_cores(ranks, start, rng)
        copies = [[core] * 3 for core in cores]
        self._stand(cores, copies, [[np.zeros_like(core) for core in own] for own in copies], FIRST_MU)

    def _starting_cores(
        self, ranks: Sequence[int], start: Sequence[Floats] | None, rng: np.random.Generator
    ) -> list[Floats]:
        """Return random cores that contain those of `start` as leading blocks."""
        unit = self._scale ** (1 / len(self._shape))
        known = [np.zeros((0, size, 0)) for size in self._shape] if start is None else [core / unit for core in start]
        befores = [max(rank, len(core)) for rank, core in zip(ranks, known, strict=True)]
        sizes = zip(befores, self._shape, [*befores[1:], befores[0]], strict=True)
        # A ring of cores with random numbers of this size has a mean square of one.
        size = math.prod(befores) ** (-0.5 / len(befores))
        cores = []
        for core, wanted in zip(known, sizes, strict=True):
            # The added numbers are small: random numbers of full size would undo the start.
            grown = (START if start is None else 0.1 * START) * size * rng.standard_normal(wanted)
            grown[: core.shape[0], :, : core.shape[2]] = core
            cores.append(grown)
        return cores

    def _stand(
        self, cores: list[Floats], copies: list[list[Floats]], multipliers: list[list[Floats]], mu: float
    ) -> None:
        """Set the cores, their copies and multipliers, and the resulting X and objective."""
        x = ring_of(cores)
        left = x.reshape(-1)[self._positions] - self._values
        norms = sum(nuclear_norm(unfold(core, i)) for core in cores for i in range(3))
        x.reshape(-1)[self._positions] = self._values
        ranks = tuple(len(core) for core in cores)
        now = Progress(norms + 0.5 * self._lam * float(left @ left), float("nan"), ranks)
        # All at once, so that an interruption leaves the state before or the state after.
        self._cores, self._copies, self._multipliers, self._mu, self._x, self._progress = (
            cores, copies, multipliers, mu, x, now,
        )  # fmt: skip

    def progress(self) -> Progress:
        """Return the current state."""
        return self._progress

    def model(self) -> TensorRing:
        """Return the answer so far."""
        unit = self._scale ** (1 / len(self._shape))
        return TensorRing(self._shape, [(unit * core).astype(self._dtype) for core in self._cores])

    def step(self) -> None:
        """Make one step of ADMM."""
        cores = swept_cores(self._x, self._cores, self._wanted(), self._lam, 3 * self._mu)
        copies: list[list[Floats]] = []
        multipliers: list[list[Floats]] = []
        for core, own in zip(cores, self._multipliers, strict=True):
            shrunk = [shrunken(core - y / self._mu, i, 1 / self._mu) for i, y in enumerate(own)]
            copies.append(shrunk)
            multipliers.append([y + self._mu * (m - core) for y, m in zip(own, shrunk, strict=True)])
        self._stand(cores, copies, multipliers, min(GROWTH * self._mu, MOST_MU))

    def _wanted(self) -> list[Floats]:
        """Return ``sum_i (mu M_di + Y_di)`` for every core."""
        return [
            sum((self._mu * m + y for m, y in zip(own, ys, strict=True)), np.zeros_like(own[0]))
            for own, ys in zip(self._copies, self._multipliers, strict=True)
        ]


def swept_cores(x: Floats, cores: Sequence[Floats], wanted: Sequence[Floats], lam: float, ridge: float) -> list[Floats]:
    """Return cores that minimise, each in turn, ``lam/2 |x - ring|^2 + ridge/2 |core|^2 - <wanted, core>``."""
    first = len(cores[0])
    left: Floats = np.eye(first)[:, None, :]
    right = left
    afters = [right]
    for core in reversed(cores[1:]):
        right = joined(core, right)
        afters.append(right)
    found = []
    for core, right, linear in zip(cores, reversed(afters), wanted, strict=True):
        rhs = lam * times_others(x, left, core.shape[1], right) + linear
        gram = lam * gram_of_others(left, right) + ridge * np.eye(len(rhs) * rhs.shape[2])
        rows = unfold(rhs, 1)
        solution = fold(np.linalg.solve(gram, rows.T).T, 1, rhs.shape)
        found.append(np.ascontiguousarray(solution))
        if len(found) < len(cores):
            left = joined(left, found[-1])
    return found


def times_others(x: Floats, left: Floats, size: int, right: Floats) -> Floats:
    """Return X_d H_d as a core: the tensor, times the cores before a mode of this size, and times those after it.

    `left` and `right` are the cores before and after it, merged. The longer side is contracted first, so that nothing
    larger than the tensor is allocated unless ranks exceed sizes.
    """
    (around, before, own), (following, after, _) = left.shape, right.shape
    if after >= before:
        part = x.reshape(before * size, after) @ right.transpose(1, 0, 2).reshape(after, following * around)
        part = part.reshape(before, size, following, around).transpose(0, 3, 1, 2)
        product = left.transpose(2, 1, 0).reshape(own, -1) @ part.reshape(-1, size * following)
        return product.reshape(own, size, following)
    part = left.transpose(0, 2, 1).reshape(around * own, before) @ x.reshape(before, size * after)
    part = part.reshape(around, own, size, after).transpose(1, 2, 3, 0)
    product = part.reshape(own * size, -1) @ right.transpose(1, 2, 0).reshape(-1, following)
    return product.reshape(own, size, following)


def gram_of_others(left: Floats, right: Floats) -> Floats:
    """Return H_d^T H_d, from the merged cores before and after mode d."""
    before, after = transfer([(left, left)]), transfer([(right, right)])
    own, following = left.shape[2], right.shape[0]
    pairs = before.transpose(2, 3, 0, 1).reshape(own**2, -1) @ after.transpose(2, 3, 0, 1).reshape(-1, following**2)
    return pairs.reshape(own, own, following, following).transpose(0, 2, 1, 3).reshape(own * following, -1)


def shrunken(core: Floats, mode: int, threshold: float) -> Floats:
    """Return a core with the singular values of one unfolding lowered by a threshold, and at least zero."""
    u, s, vt = np.linalg.svd(unfold(core, mode), full_matrices=False)
    return np.ascontiguousarray(fold((u * np.maximum(s - threshold, 0)) @ vt, mode, core.shape))


def nuclear_norm(matrix: Floats) -> float:
    """Return the sum of the singular values, from the smaller Gram matrix."""
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0)).sum())
