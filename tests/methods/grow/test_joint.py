"""Terms of three modes below the edge of noise: how they are brought out, and what they gain."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from tensorfill.algebra.sparse_unfoldings import SparseUnfoldings
from tensorfill.methods.grow.contraction import separate_terms
from tensorfill.methods.grow.joint import EDGE, Mode, brought_out, joint_terms


def joint(unfoldings, values, squares, rng):
    """Return the terms of entries with one weight for each, the root of `squares`, and Gram matrices made here."""
    weights, grams = np.sqrt(squares), []
    for mode in range(3):
        columns = unfoldings.contracted(mode, values, np.eye(unfoldings.shape[mode]))[1]
        grams.append(columns.T @ columns)
        np.fill_diagonal(grams[-1], 0)
    modes = [Mode(unfoldings, mode, values / weights, np.arange(len(values))) for mode in range(3)]
    return [term for mode in modes for term in joint_terms(mode, weights, grams, rng)]


def cosine(one, other):
    return abs(float(one @ other)) / np.linalg.norm(one) / np.linalg.norm(other)


def test_a_block_is_multiplied_with_a_polynomial_that_brings_out_large_eigenvalues():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((12, 12))
    matrix, radius = matrix + matrix.T, 5.0
    block = rng.standard_normal((12, 3))
    found = brought_out(lambda x: matrix @ x, block, 9, radius)
    values, vectors = np.linalg.eigh(matrix)
    inside = (values - radius * (EDGE - 1) / 2) / (radius * (EDGE + 1) / 2)
    expected = (vectors * chebyshev.chebval(inside, [0] * 9 + [1])) @ vectors.T @ block
    np.testing.assert_allclose(found / np.linalg.norm(found), expected / np.linalg.norm(expected), atol=1e-12)


@pytest.mark.parametrize("terms", [joint, separate_terms])
def test_a_strong_term_is_found_with_its_gain(terms):
    rng = np.random.default_rng(0)
    shape = (20, 15, 18)
    vectors = [rng.standard_normal(size) for size in shape]
    coords = np.argwhere(rng.random(shape) < 0.3)
    truth = np.prod([vector[coords[:, mode]] for mode, vector in enumerate(vectors)], axis=0)
    values = truth + 0.05 * rng.standard_normal(len(coords))
    found = terms(SparseUnfoldings(coords, shape, range(3)), values, np.ones(len(values)), rng)
    best = max(found, key=lambda term: term.gain)
    assert min(cosine(*pair) for pair in zip(best.vectors, vectors, strict=True)) > 0.9
    assert best.gain == pytest.approx(values @ values, rel=0.3)


def test_a_gain_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    shape = (9, 8, 7)
    coords = np.argwhere(rng.random(shape) < 0.4)
    values, squares = rng.standard_normal(len(coords)), rng.uniform(0.5, 2, len(coords))
    found = joint(SparseUnfoldings(coords, shape, range(3)), values, squares, rng)
    for number, term in enumerate(found):
        mode = number // (len(found) // 3)
        others = [vector[coords[:, each]] for each, vector in enumerate(term.vectors) if each != mode]
        product, rows = others[0] * others[1], coords[:, mode]
        sums = np.bincount(rows, values * product, shape[mode])
        gain = np.sum(sums**2 / np.bincount(rows, squares * product**2, shape[mode]))
        assert term.gain == pytest.approx(gain)
        assert cosine(term.vectors[mode], sums) == pytest.approx(1)


def test_a_term_below_the_edge_is_found_more_often_with_gram_matrices_as_witnesses():
    shape, counts = (60, 60, 60), {joint: 0, separate_terms: 0}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        vectors = [rng.standard_normal(60) for _ in shape]
        vectors = [vector / np.linalg.norm(vector) for vector in vectors]
        coords = np.argwhere(rng.random(shape) < 0.1)
        # The energy is 0.9 of the edge, the square root of the size.
        size = np.sqrt(0.9 * 60**1.5 / 0.1)
        values = size * np.prod([vector[coords[:, mode]] for mode, vector in enumerate(vectors)], axis=0)
        values += rng.standard_normal(len(values))
        unfoldings = SparseUnfoldings(coords, shape, range(3))
        for terms in counts:
            found = terms(unfoldings, values, np.ones(len(values)), rng)
            near = [np.prod([cosine(*pair) for pair in zip(term.vectors, vectors, strict=True)]) for term in found]
            counts[terms] += sum(product > 0.3 for product in near) / len(found)
    assert counts[joint] > 1.5 * counts[separate_terms]
