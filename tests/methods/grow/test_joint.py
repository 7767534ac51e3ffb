"""Terms of three modes below the edge of noise: how they are brought out, and what they gain."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from tensorfill.algebra.sparse_unfoldings import SparseUnfoldings
from tensorfill.methods.grow import joint as module
from tensorfill.methods.grow.contraction import separate_terms
from tensorfill.methods.grow.joint import EDGE, STEPS, Mode, brought_out, joint_terms


def grams_of(unfoldings, values):
    """Return the Gram matrix of every mode without its diagonal, as those of a single mixture."""
    grams = []
    for mode in range(3):
        columns = unfoldings.contracted(mode, values, np.eye(unfoldings.shape[mode]))[1]
        grams.append(columns.T @ columns)
        np.fill_diagonal(grams[-1], 0)
    return [gram[None].astype(np.float32) for gram in grams]


def joint(unfoldings, values, squares, rng):
    """Return the terms of entries with one weight for each, the root of `squares`, started from each mode."""
    weights, grams = np.sqrt(squares), grams_of(unfoldings, values)
    modes = [Mode(unfoldings, mode, values / weights, np.arange(len(values))) for mode in range(3)]
    return [joint_terms(mode, weights[None], grams, rng)[1][0] for mode in modes]


def cosine(one, other):
    return abs(float(one @ other)) / np.linalg.norm(one) / np.linalg.norm(other)


def test_a_block_is_multiplied_with_a_polynomial_that_brings_out_large_eigenvalues():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((12, 12))
    matrix, radius = matrix + matrix.T, 5.0
    block = rng.standard_normal((12, 3))
    found = brought_out(lambda x: matrix @ x, block, radius)
    values, vectors = np.linalg.eigh(matrix)
    inside = (values - radius * (EDGE - 1) / 2) / (radius * (EDGE + 1) / 2)
    expected = (vectors * chebyshev.chebval(inside, [0] * STEPS + [1])) @ vectors.T @ block
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
    for mode, term in enumerate(found):
        others = [vector[coords[:, each]] for each, vector in enumerate(term.vectors) if each != mode]
        product, rows = others[0] * others[1], coords[:, mode]
        sums = np.bincount(rows, values * product, shape[mode])
        gain = np.sum(sums**2 / np.bincount(rows, squares * product**2, shape[mode]))
        assert term.gain == pytest.approx(gain, rel=1e-4)
        assert cosine(term.vectors[mode], sums) == pytest.approx(1, rel=1e-5)


def below_the_edge(strength, seed):
    """Return the entries of a term and noise, where its energy is a multiple of the square root of the size."""
    rng, shape = np.random.default_rng(seed), (60, 60, 60)
    vectors = [rng.standard_normal(60) for _ in shape]
    vectors = [vector / np.linalg.norm(vector) for vector in vectors]
    coords = np.argwhere(rng.random(shape) < 0.1)
    values = np.sqrt(strength * 60**1.5 / 0.1) * np.prod([v[coords[:, m]] for m, v in enumerate(vectors)], axis=0)
    return SparseUnfoldings(coords, shape, range(3)), values + rng.standard_normal(len(values)), vectors


def nearness(term, vectors):
    return np.prod([cosine(*pair) for pair in zip(term.vectors, vectors, strict=True)])


def test_a_term_below_the_edge_is_found_more_often_with_gram_matrices_as_witnesses():
    counts = {joint: 0, separate_terms: 0}
    for seed in range(4):
        unfoldings, values, vectors = below_the_edge(0.9, seed)
        rng = np.random.default_rng(seed)
        for terms in counts:
            found = terms(unfoldings, values, np.ones(len(values)), rng)
            counts[terms] += sum(nearness(term, vectors) > 0.3 for term in found) / len(found)
    assert counts[joint] > 1.5 * counts[separate_terms]


def test_further_rounds_find_what_the_first_does_not(monkeypatch):
    def hits():
        found = 0
        for seed in range(8):
            unfoldings, values, vectors = below_the_edge(0.5, seed)
            terms = joint(unfoldings, values, np.ones(len(values)), np.random.default_rng(seed))
            found += sum(nearness(term, vectors) > 0.3 for term in terms)
        return found

    many = hits()
    monkeypatch.setattr(module, "ROUNDS", ())
    monkeypatch.setattr(module, "LAST_ROUNDS", 0)
    assert many > 2 * hits()


def test_mixtures_side_by_side_are_those_by_themselves(monkeypatch):
    rng = np.random.default_rng(0)
    shape = (9, 8, 7)
    coords = np.argwhere(rng.random(shape) < 0.5)
    values, cells, weights = rng.standard_normal(len(coords)), rng.integers(3, size=len(coords)), rng.random((5, 3))
    unfoldings = SparseUnfoldings(coords, shape, range(3))
    mode = Mode(unfoldings, 1, values, cells)
    of_each = [grams_of(unfoldings, values * each[cells]) for each in weights]
    grams = [np.concatenate(each) for each in zip(*of_each, strict=True)]
    gains, together = joint_terms(mode, weights, grams, np.random.default_rng(0))
    monkeypatch.setattr(module, "SIDE_BY_SIDE", 1)
    again, apart = joint_terms(mode, weights, grams, np.random.default_rng(0))
    np.testing.assert_allclose(again, gains, rtol=1e-3)
    assert together.keys() == apart.keys() == set(range(5))
    for number, term in together.items():
        assert term.gain == pytest.approx(apart[number].gain, rel=1e-3)
        product = np.prod([vector[coords[:, mode]] for mode, vector in enumerate(term.vectors)], axis=0)
        product *= weights[number][cells]
        # A vector with the best length has this gain or less: its entries are best one by one.
        assert (product @ values) ** 2 / (product @ product) <= term.gain * (1 + 1e-4)
