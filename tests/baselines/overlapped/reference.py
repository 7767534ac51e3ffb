"""The objective of overlapped norms in a few lines of NumPy, and problems to try it on."""

from __future__ import annotations

import numpy as np

from tensorfill import Problem
from tensorfill.algebra.roughness import Roughness, explicit
from tensorfill.algebra.unfolding import fold, unfold
from tensorfill.graphs import chain
from tensorfill.losses import Logistic, Square
from tests.methods.zoo import low_rank

SHAPE = (7, 6, 5)


def problem(loss=None, *, shape=SHAPE, noise=0.1, graph=False, seed=0):
    """Return a small problem, with a chain along its first mode if asked for."""
    _, data = low_rank(shape, seed=seed, noise=noise)
    loss = loss or Square()
    if isinstance(loss, Logistic):
        data = data.with_values(np.sign(data.values))
    roughness = None
    if graph:
        operator, curvature = explicit(chain(shape[0]), 0.2, 4.0)
        roughness = Roughness({0: operator}, curvature)
    return Problem(data, loss, roughness)


def nuclear(full, mode):
    return np.linalg.svd(unfold(full, mode), compute_uv=False).sum()


def objective(problem, full, lam):
    """Return f(X) + 1/2 <X, S X> + sum_d lam |unfold_d X|_*."""
    value = problem.value(full.ravel()[problem.observations.positions])
    if problem.roughness is not None:
        value += np.vdot(full, problem.roughness.of_dense(full)) / 2
    return value + lam * sum(nuclear(full, mode) for mode in range(full.ndim))


def shrunk(full, mode, weight):
    u, s, vt = np.linalg.svd(unfold(full, mode), full_matrices=False)
    return fold((u * np.maximum(s - weight, 0)) @ vt, mode, full.shape)
