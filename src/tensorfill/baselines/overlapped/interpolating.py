"""The settings of methods that keep observed entries as they are, and weigh the nuclear norms of several unfoldings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from ..._support.checks import is_auto, real_number
from ...methods.base import Axis, Method
from ...methods.nort.method import Nort
from ...methods.nort.modes import per_mode, regularised_modes
from ...methods.nort.proximal_average import ProximalAverage
from ...methods.problem import Problem
from ...models import Dense, Model
from ...penalties import Nuclear

WEAKER = 0.1
"""The weight of a mode that has less than the others, in units of theirs."""


@dataclass(frozen=True, kw_only=True)
class Interpolating(Method):
    """What these methods share: the weights of the modes, and which of them to try.

    Parameters
    ----------
    weights, modes
        The weight of the norm of each regularised mode, and the modes.
    """

    square_only: ClassVar[bool] = True
    descends: ClassVar[bool] = False
    trial_iterations: ClassVar[int | None] = 60

    weights: float | Sequence[float] | str = "auto"
    modes: Sequence[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        is_auto(self.weights, "weights")

    @property
    def open_settings(self) -> tuple[str, ...]:
        """The weights."""
        return ("weights",) if is_auto(self.weights, "weights") else ()

    def powers(self, loss: float, order: int) -> Mapping[str, float]:
        """Return the powers of the objective, a norm, and of zeta, which weighs squares beside it."""
        return {"objective": 1, "zeta": -1}

    def axes(self, problem: Problem, rng: np.random.Generator) -> Sequence[Axis]:
        """Return equal weights, then each mode alone, then each weaker than the others."""
        if not self.open_settings:
            return []
        count = len(regularised_modes(self.modes, problem.observations.shape))
        tried = [(1.0,) * count]
        for other, own in ((0.0, 1.0), (1.0, WEAKER)) if count > 1 else ():
            tried += [tuple(own if place == mode else other for place in range(count)) for mode in range(count)]
        return [
            Axis("weights", [tuple(weight / sum(weights) for weight in weights) for weights in tried], ordered=False)
        ]

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with the modes and the weight of each spelled out."""
        modes = regularised_modes(self.modes, problem.observations.shape)
        return replace(self, modes=modes, weights=per_mode(self.weights, "weights", modes))  # type: ignore[arg-type]

    def regulariser(self, problem: Problem) -> ProximalAverage:
        """Return the modes that have a weight, with the nuclear norm of each."""
        modes = regularised_modes(self.modes, problem.observations.shape)
        given = [real_number(each, "weights", at_least=0) for each in per_mode(self.weights, "weights", modes)]
        kept = {mode: weight for mode, weight in zip(modes, given, strict=True) if weight > 0}
        if not kept:
            raise ValueError(f"weights must have one above 0, but {self.weights!r} was given.")
        lam, named = tuple(kept.values()), tuple(kept)
        return Nort(lam=lam, penalty=Nuclear(), modes=named, storage="dense").regulariser(problem)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` has all entries of a tensor of the shape of the data."""
        return isinstance(model, Dense) and model.shape == problem.observations.shape
