"""Smooth fields through scattered values: the least squares of a sum of chain Laplacians.

    minimise over x  1/2 sum over observed p of (x_p - r_p)^2 + mu sum_m c_m Tr(Y_m^T G_m Y_m),    Y_m = unfold_m x,

with G_m the Laplacian of the chain along a smooth mode. Its normal equations (P + 2 mu sum_m c_m G_m) x = P r are
solved by conjugate gradients, preconditioned by (density + 2 mu sum_m c_m G_m)^-1, which the cosine transform makes
diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import scipy.fft

from .._types import Booleans, Floats

TOLERANCE = 3e-4
"""The iterations end when three running change the field by no more than this share of its size; the residual would not
do, as it hardly shows what is not seen."""

MOST_ITERATIONS = 200


def smooth_field(
    values: Floats, seen: Booleans, stiffness: Mapping[int, float], *, start: Floats | None = None
) -> Floats:
    """Return the smooth field through the seen values.

    Parameters
    ----------
    values
        The values, zero where nothing was seen.
    seen
        Where something was seen.
    stiffness
        2 mu c_m for each smooth mode m.
    start
        Where to start, such as the field of another stiffness.

    Examples
    --------
    >>> seen = np.array([True, False, False, False, True])
    >>> smooth_field(np.array([1.0, 0, 0, 0, 3.0]), seen, {0: 1e-4}).round(2)
    array([1. , 1.5, 2. , 2.5, 3. ])
    """
    if not seen.any():
        return np.zeros_like(values)
    density = float(seen.mean())
    modes = tuple(stiffness)
    spectrum = density + sum(
        (weight * (2 - 2 * np.cos(np.pi * np.arange(size) / size))).reshape([-1 if at == mode else 1 for at in axes])
        for mode, weight in stiffness.items()
        for size, axes in [(values.shape[mode], range(values.ndim))]
    )

    def normal(x: Floats) -> Floats:
        out = np.where(seen, x, 0)
        for mode, weight in stiffness.items():
            step = weight * np.diff(x, axis=mode)
            ahead, behind = (_all_but(x.ndim, mode, part) for part in (slice(1, None), slice(None, -1)))
            out[ahead] += step
            out[behind] -= step
        return out

    def precondition(residual: Floats) -> Floats:
        coefficients = scipy.fft.dctn(residual, axes=modes, norm="ortho")
        solved: Floats = scipy.fft.idctn(coefficients / spectrum, axes=modes, norm="ortho")
        return solved

    goal = np.where(seen, values, 0)
    x = np.zeros_like(goal) if start is None else start.copy()
    residual = goal - normal(x)
    small_changes = 0
    direction = preconditioned = precondition(residual)
    product = float(np.vdot(residual, preconditioned))
    for _ in range(MOST_ITERATIONS):
        image = normal(direction)
        bend = float(np.vdot(direction, image))
        if bend == 0 or product == 0:
            break
        length = product / bend
        x += length * direction
        change = abs(length) * math.sqrt(float(np.vdot(direction, direction)))
        small_changes = small_changes + 1 if change <= TOLERANCE * math.sqrt(float(np.vdot(x, x))) else 0
        if small_changes == 3:
            break
        residual -= length * image
        preconditioned = precondition(residual)
        product, before = float(np.vdot(residual, preconditioned)), product
        direction = preconditioned + (product / before) * direction
    return x


def _all_but(order: int, mode: int, part: slice) -> tuple[slice, ...]:
    """Return an index that takes a part of one axis and all of the others."""
    return tuple(part if axis == mode else slice(None) for axis in range(order))
