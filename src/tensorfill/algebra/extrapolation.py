"""Extrapolation of an iterate without raising its rank, for momentum."""

from __future__ import annotations

import numpy as np

from .._support.types import Floats
from .component import Component, LowRank
from .pieces import in_pieces
from .svd import whitening_by
from .tall import V


def extrapolated(now: LowRank[V], before: LowRank[V], gamma: float, *, overlap: Floats | None = None) -> LowRank[V]:
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
        The step, as a share of the last one.
    overlap
        The product of the right vectors of X_{t-1} with those of X_t, if it is known.
    """
    if now.rank == 0:
        return _back(before, gamma)
    mix = _mix(now, before, gamma)
    w = now.v + before.v @ mix
    return _projected(now, before, gamma, mix, w, before.v.T @ now.v if overlap is None else overlap)


def extrapolated_into(out: Floats, now: Component, before: Component, gamma: float) -> Component:
    """Return the result of `extrapolated`, with its right factor in `out`, of the shape and type of that of `now`."""
    if now.rank == 0:
        return _back(before, gamma)
    mix = _mix(now, before, gamma)

    def fill(rows: slice) -> Floats:
        w, v, old = out[rows], now.v[rows], before.v[rows]
        np.matmul(old, mix, out=w)
        w += v
        return old.T @ v

    # A few rows at a time stay in the cache for all three products.
    overlap = sum(in_pieces(len(out), fill, width=now.rank), np.zeros_like(mix))
    return _projected(now, before, gamma, mix, out, overlap)


def _back(before: LowRank[V], gamma: float) -> LowRank[V]:
    """Return E for an X_t of rank zero."""
    return LowRank(before.mode, before.u, -gamma * before.s, before.v)


def _mix(now: LowRank[V], before: LowRank[V], gamma: float) -> Floats:
    """Return the matrix for which W is V + V_before mix."""
    s, old_s = (1 + gamma) * now.s, -gamma * before.s
    # A singular value of zero says nothing about its direction, which W may then keep.
    mix: Floats = old_s[:, None] * (before.u.T @ now.u) / np.where(s > 0, s, 1)
    return mix


def _projected(now: LowRank[V], before: LowRank[V], gamma: float, mix: Floats, w: V, overlap: Floats) -> LowRank[V]:
    """Return E, projected onto the row space that W spans."""
    s, old_s = (1 + gamma) * now.s, -gamma * before.s
    # The right vectors of each component are orthonormal, so their products with W follow from the overlap.
    with_now, with_before = np.eye(now.rank, dtype=mix.dtype) + overlap.T @ mix, overlap + mix
    whiten, _ = whitening_by(with_now + mix.T @ with_before)
    u = ((now.u * s) @ with_now + (before.u * old_s) @ with_before) @ (whiten @ whiten.T)
    return LowRank(now.mode, u, np.ones_like(now.s), w)
