"""The roughness of a tensor in Tucker or CP form, and its gradient for the core and the factors.

For X = core x_1 A_1 .. x_M A_M and S_m along mode m,

    <X, S_m X> = <core, core x_1 K_1 .. x_M K_M>,    K_m = A_m^T S_m A_m,    K_d = A_d^T A_d for every other mode d,

so a graph costs one product with each column of A_m, plus operations on small matrices. For CP the core is diagonal,
and the form is the sum of all numbers in the elementwise product of K_1 .. K_M.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from .._support.types import Floats
from .roughness import Roughness
from .unfolding import times, unfold


def roughness_of_tucker(
    roughness: Roughness, core: Floats, factors: Sequence[Floats]
) -> tuple[float, Floats, list[Floats]]:
    """Return 1/2 <X, S X>, and its gradients for the core and for each factor."""
    value, to_core, to_factors = 0.0, np.zeros_like(core), [np.zeros_like(factor) for factor in factors]
    plain = [factor.T @ factor for factor in factors]
    for mode, part in roughness.parts.items():
        rough = part(factors[mode])
        grams = [factors[mode].T @ rough if other == mode else gram for other, gram in enumerate(plain)]
        for other, factor in enumerate(factors):
            around = core
            for third, gram in enumerate(grams):
                if third != other:
                    around = times(gram, around, third)
            inner = unfold(around, other) @ unfold(core, other).T
            to_factors[other] += (rough if other == mode else factor) @ inner
        whole = times(grams[-1], around, len(grams) - 1)
        to_core += whole
        value += 0.5 * float(np.vdot(core, whole))
    return value, to_core, to_factors


def roughness_of_cp(roughness: Roughness, factors: Sequence[Floats]) -> tuple[float, list[Floats]]:
    """Return 1/2 <X, S X> for weights of one, and its gradient for each factor."""
    value, to_factors = 0.0, [np.zeros_like(factor) for factor in factors]
    plain = [factor.T @ factor for factor in factors]
    for mode, part in roughness.parts.items():
        rough = part(factors[mode])
        grams = [factors[mode].T @ rough if other == mode else gram for other, gram in enumerate(plain)]
        for other, factor in enumerate(factors):
            inner = reduce(np.multiply, [gram for third, gram in enumerate(grams) if third != other])
            to_factors[other] += (rough if other == mode else factor) @ inner
        value += 0.5 * float(reduce(np.multiply, grams).sum())
    return value, to_factors
