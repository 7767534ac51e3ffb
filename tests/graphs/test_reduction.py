"""Empty slices left out of a problem, and the way back to all slices."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Observations, graphs
from tensorfill.algebra.component import Component
from tensorfill.graphs.reduction import reduce
from tensorfill.models import FoldedLowRank


def test_the_extension_is_harmonic_and_the_rest_is_the_schur_complement():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((9, 9)), 1)
    graph = graphs.from_adjacency(weights + weights.T)
    kept = np.array([0, 2, 3, 7])
    seen = np.zeros((9, 4), dtype=bool)
    seen[kept] = True
    reduced = reduce(Observations.from_dense(rng.standard_normal((9, 4)), seen), {0: graph})
    matrix, dense = reduced.extensions[0].matrix, graph.toarray()
    values = rng.standard_normal((4, 3))
    extended = matrix @ values
    np.testing.assert_array_equal(extended[kept], values)
    np.testing.assert_allclose((dense @ extended)[np.setdiff1d(np.arange(9), kept)], 0, atol=1e-7)
    energy = np.trace(extended.T @ dense @ extended)
    assert energy == pytest.approx(np.trace(values.T @ reduced.graphs[0].toarray() @ values), rel=1e-6)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-6)


def test_a_model_is_cut_to_the_remaining_slices_and_extended_again():
    rng = np.random.default_rng(0)
    observations = Observations(np.array([[0, 0], [2, 1], [3, 2], [5, 3]]), np.arange(4.0), (6, 4))
    reduced = reduce(observations, {0: graphs.chain(6)})
    part = Component(0, rng.standard_normal((6, 2)), np.array([2.0, 1.0]), rng.standard_normal((4, 2)))
    whole = FoldedLowRank((6, 4), [part], [1.0])
    cut = reduced.restrict(whole)
    np.testing.assert_allclose(cut.to_dense(), whole.to_dense()[[0, 2, 3, 5]])
    np.testing.assert_allclose(reduced.extend(cut).to_dense()[[0, 2, 3, 5]], cut.to_dense())
    tidy = cut.orthonormal()
    np.testing.assert_allclose(tidy.to_dense(), cut.to_dense())
    for factor in (tidy.components[0].u, tidy.components[0].v):
        np.testing.assert_allclose(factor.T @ factor, np.eye(2), atol=1e-12)


def test_an_extension_that_does_not_fit_in_memory_is_refused_in_words():
    coords = np.stack([np.arange(0, 10**6, 10), np.zeros(10**5, dtype=int)], axis=1)
    observations = Observations(coords, np.ones(len(coords)), (10**6, 2))
    with pytest.raises(MemoryError, match=r"900,000 slices .* 800,000,000,000 bytes, .* leave laplacian out\."):
        reduce(observations, {0: graphs.chain(10**6)})
