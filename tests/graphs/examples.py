"""Graphs for tests: random ones, what every Laplacian must be, and stations of which some were not observed."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tensorfill import graphs

SPARSE = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_array, sparse.csr_matrix, sparse.dok_array]


def random_weights(rng, size, density=0.5):
    """Return a symmetric matrix of weights, with something on the diagonal."""
    upper = np.triu(rng.exponential(size=(size, size)) * (rng.random((size, size)) < density))
    return upper + upper.T


def random_places(rng, count):
    return np.stack([np.degrees(np.arcsin(rng.uniform(-1, 1, count))), rng.uniform(-180, 180, count)], axis=1)


def quadratic_form(weights, x):
    """Return the sum over edges of w_ij (x_i - x_j)^2."""
    return sum(weights[i, j] * (x[i] - x[j]) ** 2 for i in range(len(x)) for j in range(i + 1, len(x)) if weights[i, j])


def is_laplacian(graph):
    """Check what every Laplacian of the module is."""
    assert type(graph) is sparse.csr_array
    assert graph.dtype == np.float64
    assert graph.has_canonical_format
    assert np.count_nonzero(graph.data) == graph.nnz
    dense = graph.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    scale = max(dense.max(initial=0), np.finfo(float).tiny)
    np.testing.assert_allclose(dense.sum(axis=1), 0, atol=1e-13 * scale * len(dense))
    assert (dense[~np.eye(len(dense), dtype=bool)] <= 0).all()
    assert np.linalg.eigvalsh(dense / scale)[0] >= -1e-12 * len(dense)
    return dense


def stations(seed=0, count=40, observed=25):
    """Places on a line, a smooth low-rank tensor over them, and which of them were observed."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.random(count))
    space = np.stack([np.sin(4 * places), np.cos(3 * places)], axis=1)
    truth = np.einsum("ir,jr,kr->ijk", space, rng.standard_normal((20, 2)), rng.standard_normal((9, 2)))
    kept = rng.permutation(count)[:observed]
    array = np.full(truth.shape, np.nan)
    array[kept] = truth[kept] + 0.01 * rng.standard_normal(truth[kept].shape)
    return places, truth, array, kept


def kernel(places):
    return graphs.knn(places[:, None], neighbours=6)
