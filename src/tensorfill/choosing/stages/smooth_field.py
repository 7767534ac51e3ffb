"""Smooth modes: if neighbours are alike, a smooth field predicts what low rank cannot.

Low rank is the wrong model of most photographs, and smoothness alone of most facades. The answer is therefore a sum
of both: a low-rank part L, and a smooth field through its residuals at the observed entries,

    X = L + S,    S = argmin 1/2 sum over observed p of (S_p + L_p - O_p)^2 + 1/2 <S, K S>,

with K a power of the weighted sum of the Laplacians of the chains along the smooth modes (see
`tensorfill.algebra.field`). A mode weighs more if its neighbours agree more. L may be zero, and S may be left out:
held-out entries decide, and choose how stiff S is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._support.checks import mode_number, real_number
from ..._support.clock import Clock
from ..._support.ordering import groups_of
from ..._support.types import Floats
from ..._support.words import written
from ...algebra.field import smooth_field
from ...labels import Labels
from ...methods.problem import Problem
from ...models import Dense, Model
from ...observations import Observations
from ..holdout.gaps import is_worth_a_mask
from .base import After
from .centre import is_of_differences

LARGEST = 2**24
"""Smoothness is considered for tensors of at most this many entries; a smooth field is stored entry by entry."""

SMALLEST_MODE = 8
"""Modes with fewer indices have no neighbourhood worth the name."""

FEWEST_PAIRS = 30
"""The least number of pairs of observed neighbours that show whether they agree."""

ALIKE = 0.5
"""Neighbours are alike if their squared difference is less than this fraction of that of entries far apart, and of that
of all entries along the mode: a row of a table may be all alike, in whatever order."""

STIFFNESSES = (10.0, 1.0, 0.1, 0.01, 0.001)
"""The stiffnesses to try, from stiff to soft, until the score worsens."""

USUAL_STIFFNESSES = (0.1, 0.01)
"""One of these is near the best for most data."""


@dataclass(frozen=True)
class SmoothField(After):
    """A smooth field through the residuals of the method, or alone.

    Parameters
    ----------
    weights
        The c_m of each smooth mode.
    stiffness
        The weight of the roughness against the observed entries.
    low_rank
        Whether the field is added to the answer of a method, or does without it.
    """

    name: ClassVar[str] = "smooth"
    title: ClassVar[str] = "Smooth field"
    brief: ClassVar[str] = "with a smooth field"
    gain: ClassVar[float] = 0.99
    # The stiffest field changes little.
    first_must_gain: ClassVar[bool] = False

    weights: Mapping[int, float]
    stiffness: float
    low_rank: bool

    def __post_init__(self) -> None:
        real_number(self.stiffness, "stiffness", above=0)
        for mode, weight in self.weights.items():
            real_number(weight, f"the weight of mode {mode}", above=0)

    def in_words(self, labels: Labels) -> str:
        """Return along which modes it is smooth, and how."""
        along = " and ".join(map(labels.in_words, self.weights))
        how = "added to the low-rank answer" if self.low_rank else "alone, without low rank"
        return f"along {along}, {how}, with stiffness {written(self.stiffness)}"

    @property
    def modes(self) -> Iterable[int]:
        """The smooth modes."""
        return self.weights

    @property
    def reached(self) -> Collection[int]:
        """The smooth modes of a field alone; beside it, low rank is zero where nothing is observed."""
        return () if self.low_rank else self.weights

    @property
    def alone(self) -> bool:
        """Whether it does without the answer of the method."""
        return not self.low_rank

    def improve(self, problem: Problem, model: Model, clock: Clock, near: Model | None = None) -> Dense:
        """Return the model, or zero, plus the smooth field through its residuals at the observed entries.

        An answer with another stiffness, `near`, saves iterations. An expired clock ends them with `TimeUp`.
        """
        observations = problem.observations
        return clock.journal.recall(
            ("smooth", self, model, observations, near), lambda _: self._added_to(model, observations, clock, near)
        )

    def _added_to(self, model: Model, observations: Observations, clock: Clock, near: Model | None) -> Dense:
        base = model.to_dense(max_bytes=math.inf) if self.low_rank else np.zeros(observations.shape, dtype=model.dtype)
        seen = np.zeros(base.size, dtype=bool)
        seen[observations.positions] = True
        left = np.zeros(base.size, dtype=base.dtype)
        left[observations.positions] = observations.values - base.ravel()[observations.positions]
        start = None if near is None else near.to_dense(max_bytes=math.inf) - base
        field = smooth_field(
            left.reshape(base.shape), seen.reshape(base.shape), self.weights, self.stiffness, start=start, clock=clock
        )
        return Dense(base + field, model.ranks if self.low_rank else (0,) * len(model.ranks))

    @classmethod
    def proposed(cls, problem: Problem, asked: Any, without: Collection[int]) -> Sequence[Sequence[After]]:
        """Return softer and softer fields, beside low rank and alone; modes with a graph are smooth already."""
        if not is_of_differences(problem.loss):
            return ()
        weights = smooth_modes(problem.observations, asked, without)
        if not weights:
            return ()
        return [[cls(weights, stiffness, low_rank) for stiffness in STIFFNESSES] for low_rank in (True, False)]

    @classmethod
    def rivals(cls, proposed: Sequence[Sequence[After]]) -> Sequence[After]:
        """Return fields alone, one of which is near the best for most data."""
        alone = [each for group in proposed for each in group if isinstance(each, cls) and each.alone]
        return [each for each in alone if each.stiffness in USUAL_STIFFNESSES]


def smooth_modes(
    observations: Observations, asked: Sequence[int] | str | None, without: Collection[int] = ()
) -> dict[int, float]:
    """Return the weight c_m of each smooth mode; none if the tensor is too large.

    Parameters
    ----------
    observations
        The observed entries.
    asked
        The modes, or ``"auto"`` for those whose neighbouring observed entries agree more than distant ones.
    without
        Modes that are left out.

    Examples
    --------
    >>> wave = np.sin(np.arange(40.0) / 5)[:, None] * np.random.default_rng(0).standard_normal(30)
    >>> list(smooth_modes(Observations.from_dense(wave), "auto"))
    [0]
    """
    shape = observations.shape
    if asked is None:
        return {}
    automatic = isinstance(asked, str) and asked == "auto"
    if automatic and not is_worth_a_mask(observations):
        return {}
    if not automatic and (isinstance(asked, str) or not isinstance(asked, Iterable)):
        raise ValueError(
            f"smooth must be 'auto', None or the modes whose neighbours are alike, but {asked!r} was given."
        )
    if math.prod(shape) > LARGEST:
        if automatic:
            return {}
        raise ValueError(
            f"smooth takes tensors of up to {LARGEST:,} entries, but the shape {shape} has {math.prod(shape):,}; "
            "leave it out."
        )
    named = range(len(shape)) if automatic else [mode_number(mode, "smooth", len(shape)) for mode in asked]
    spread = 2 * float(np.var(observations.values, dtype=np.float64))
    ratios: dict[int, float] = {}
    for mode in (mode for mode in named if mode not in without):
        differences = neighbour_differences(observations, mode)
        enough = len(differences) >= FEWEST_PAIRS and spread > 0
        ratio = float(np.mean(differences**2, dtype=np.float64)) / spread if enough else ALIKE
        is_long = shape[mode] >= SMALLEST_MODE
        if not automatic or (is_long and ratio < ALIKE and _has_order(observations, mode, differences)):
            ratios[mode] = max(ratio, 1e-6)
    least = min(ratios.values(), default=1.0)
    return {mode: least / ratio for mode, ratio in ratios.items()}


def _has_order(observations: Observations, mode: int, differences: Floats) -> bool:
    """Return whether neighbours along a mode are more alike than any two entries along it."""
    others = [each for each in range(observations.ndim) if each != mode]
    order, starts = groups_of(observations.coords[:, others], tuple(observations.shape[each] for each in others))
    values = observations.values[order].astype(np.float64)
    counts = np.diff(starts, append=len(values))
    around_mean = values - np.repeat(np.add.reduceat(values, starts) / counts, counts)
    # Of two independent entries, the squared difference is twice the variance on average.
    of_any_two = 2 * float(np.sum(around_mean**2)) / max(len(values) - len(counts), 1)
    return float(np.mean(differences**2, dtype=np.float64)) < ALIKE * of_any_two


def neighbour_differences(observations: Observations, mode: int) -> Floats:
    """Return the differences of all pairs of observed entries that are neighbours along a mode."""
    positions = observations.positions
    stride = math.prod(observations.shape[mode + 1 :])
    has_next = observations.coords[:, mode] < observations.shape[mode] - 1
    ahead = np.searchsorted(positions, positions + stride)
    found = has_next & (ahead < len(positions))
    found[found] = positions[ahead[found]] == positions[found] + stride
    differences: Floats = observations.values[ahead[found]] - observations.values[found]
    return differences
