"""Points beyond the last iterate, of no higher rank than it."""

from __future__ import annotations

import numpy as np

from .._support.types import Floats
from .component import Component
from .svd import whitening_by


def extrapolated(now: Component, before: Component, gamma: float, out: Floats | None = None) -> Component:
    """Return E = X_t + gamma (X_t - X_{t-1}) of one mode, but for what takes it beyond the rank of X_t.

    E has twice the rank of the two components. With the left vectors U of X_t and W = E^T U it is replaced by

        E W (W^T W)^-1 W^T,

    its part in the rows that W spans: a half step of subspace iteration. Iterates are near one another, and what is
    left out is of second order in their distance; nothing is where they share their rows or their columns.

    Parameters
    ----------
    now, before
        The components of X_t and X_{t-1}, with orthonormal vectors.
    gamma
        How far to go.
    out
        Where the right factor goes, an array like that of `now`.
    """
    if now.rank == 0:
        return Component(before.mode, before.u, -gamma * before.s, before.v)
    s, old_s = (1 + gamma) * now.s, -gamma * before.s
    scaling, mix = np.diag(s), old_s[:, None] * (before.u.T @ now.u)
    w = np.empty_like(now.v) if out is None else out
    np.matmul(before.v, mix, out=w)
    w += now.v @ scaling
    overlap = before.v.T @ now.v
    # The right vectors of each component are orthonormal, so that their products with W follow from the overlap.
    with_now, with_before = scaling + overlap.T @ mix, overlap * s + mix
    whiten, _ = whitening_by(s[:, None] * with_now + mix.T @ with_before)
    u = ((now.u * s) @ with_now + (before.u * old_s) @ with_before) @ (whiten @ whiten.T)
    return Component(now.mode, u, np.ones_like(now.s), w)
