"""Tensors that the tests of the growing method look at."""

from __future__ import annotations

import numpy as np

from tensorfill import Observations
from tensorfill.models import CPModel


def orthogonal_terms(size, weights, *, density, noise, seed=0, spread=0.0):
    """Return noisy entries of a sum of orthogonal terms of order three, and the terms.

    The entries of a term have its weight as their root mean square. With a `spread`, some indices of each mode are
    observed more often than others.
    """
    rng = np.random.default_rng(seed)
    factors = [np.linalg.qr(rng.standard_normal((size, len(weights))))[0] for _ in range(3)]
    model = CPModel((size,) * 3, size**1.5 * np.asarray(weights), factors)
    often = np.exp(spread * np.add.outer(np.add.outer(*rng.standard_normal((2, size))), rng.standard_normal(size)))
    seen = rng.random(model.shape) < density * often / often.mean()
    values = model.to_dense()[seen] + noise * rng.standard_normal(int(seen.sum()))
    return Observations(np.argwhere(seen), values, model.shape), model


def slowly_falling(size=20, seed=0):
    """Return entries of a tensor whose singular values fall as 1 / k."""
    return orthogonal_terms(size, 1 / np.arange(1, size + 1), density=0.4, noise=0.0, seed=seed)[0]


def noise(shape, density, seed):
    rng = np.random.default_rng(seed)
    return Observations.from_dense(rng.standard_normal(shape), rng.random(shape) < density)
