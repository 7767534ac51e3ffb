"""Extrapolation of an iterate without raising its rank, for momentum."""

from __future__ import annotations

import numpy as np

from .._support.types import Floats
from .component import Component
from .svd import whitening_by


def extrapolated(
    now: Component, before: Component, gamma: float, out: Floats | None = None, overlap: Floats | None = None
) -> Component:
    """Return an approximation of E = X_t + gamma (X_t - X_{t-1}) along one mode, with the rank of X_t.

    E has up to the sum of the two ranks. With the left vectors U of X_t, its singular values S and
    W = E^T U / ((1 + gamma) S), whose columns have similar lengths, it is replaced by

        E W (W^T W)^-1 W^T,

    its projection onto the row space that W spans: half a step of subspace iteration. Consecutive iterates are close,
    and the error is of second order in their distance. It is zero if they share their row or their column space.

    Parameters
    ----------
    now, before
        The components of X_t and X_{t-1}, with orthonormal vectors.
    gamma
        The step size, relative to the last step.
    out
        The array for the right factor, of the shape and type of that of `now`; by default a new one.
    overlap
        The product of the right vectors of X_{t-1} with those of X_t, if it is known.
    """
    if now.rank == 0:
        return Component(before.mode, before.u, -gamma * before.s, before.v)
    s, old_s = (1 + gamma) * now.s, -gamma * before.s
    # W is V + V_before mix. A zero singular value does not determine its direction, so W may keep it.
    mix = old_s[:, None] * (before.u.T @ now.u) / np.where(s > 0, s, 1)
    if out is None:
        w = now.v + before.v @ mix
    else:
        w = np.matmul(before.v, mix, out=out)
        w += now.v
    if overlap is None:
        overlap = before.v.T @ now.v
    # The right vectors of each component are orthonormal, so their products with W follow from the overlap.
    with_now, with_before = np.eye(now.rank, dtype=mix.dtype) + overlap.T @ mix, overlap + mix
    whiten, _ = whitening_by(with_now + mix.T @ with_before)
    u = ((now.u * s) @ with_now + (before.u * old_s) @ with_before) @ (whiten @ whiten.T)
    return Component(now.mode, u, np.ones_like(now.s), w)
