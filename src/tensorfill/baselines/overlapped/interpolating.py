"""The settings of methods that fix observed entries, and weight the nuclear norms of several unfoldings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ..._support.checks import is_auto, real_number
from ...methods.base import Method
from ...methods.nort.method import Nort
from ...methods.nort.modes import per_mode, regularised_modes
from ...methods.nort.proximal_average import ProximalAverage
from ...methods.problem import Problem
from ...methods.settings import Power, one_axis, setting
from ...models import Dense, Model
from ...penalties import Nuclear

WEAKER = 0.1
"""The weight of a weaker mode, relative to the others."""


def _choices(method: Interpolating, problem: Problem) -> Sequence[tuple[float, ...]]:
    """Return equal weights, then each mode alone, then each weaker than the others."""
    count = len(regularised_modes(method.modes, problem.observations.shape))
    tried = [(1.0,) * count]
    for other, own in ((0.0, 1.0), (1.0, WEAKER)) if count > 1 else ():
        tried += [tuple(own if place == mode else other for place in range(count)) for mode in range(count)]
    return [tuple(weight / sum(weights) for weight in weights) for weights in tried]


@dataclass(frozen=True, kw_only=True)
class Interpolating(Method):
    """Base class of these methods: the weights of the modes, and which of them to try.

    Parameters
    ----------
    weights, modes
        The weight of the norm of each regularised mode, and the modes.
    """

    square_only: ClassVar[bool] = True
    descends: ClassVar[bool] = False
    trial_iterations: ClassVar[int | None] = 60

    other_powers: ClassVar[Mapping[str, Power]] = {"objective": 1}

    weights: float | Sequence[float] | str = setting(
        "auto", check=is_auto, path=one_axis("weights", _choices, ordered=False)
    )
    modes: Sequence[int] | None = None

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with explicit modes and weights."""
        modes = regularised_modes(self.modes, problem.observations.shape)
        return replace(self, modes=modes, weights=per_mode(self.weights, "weights", modes))  # type: ignore[arg-type]

    def regulariser(self, problem: Problem) -> ProximalAverage:
        """Return the modes with nonzero weight, with the nuclear norm of each."""
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
