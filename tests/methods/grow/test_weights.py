"""The quartic form of the weights of slices, against dense tensors, and the weights that are likely by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tensorfill.algebra.sparse_unfoldings import SparseUnfoldings
from tensorfill.algebra.unfolding import unfold
from tensorfill.methods.grow import weights as module
from tensorfill.methods.grow.weights import LikelyWeights
from tests.strategies import generators

SHAPE = (7, 6, 5, 2, 3)


def entries_of(dense):
    coords = np.argwhere(dense)
    return coords, dense[tuple(coords.T)]


def form_of(dense, modes=(0, 1, 2)):
    coords, values = entries_of(dense)
    sizes = dense.shape[3:]
    cells = np.ravel_multi_index(tuple(coords[:, 3:].T), sizes)
    return LikelyWeights(SparseUnfoldings(coords[:, :3], dense.shape[:3], modes), cells, sizes, values)


def random_entries(rng):
    return rng.standard_normal(SHAPE) * (rng.random(SHAPE) < 0.3)


def excess(dense, weights, mode):
    """Return how much larger the squared Gram matrix of a mixture is than that of noise, over a scale of noise."""
    mixture = dense.reshape(*dense.shape[:3], -1)
    matrix = unfold(mixture @ weights, mode)
    gram = matrix @ matrix.T
    np.fill_diagonal(gram, 0)
    expected = 0.0
    cells = np.moveaxis(mixture, mode, 0).reshape(len(gram), -1, len(weights))
    # Entries of one column meet in pairs; a pair and the same pair of kinds the other way round are one number.
    for first in range(len(weights)):
        for second in range(len(weights)):
            pairs = (cells[:, :, first] ** 2) @ (cells[:, :, second] ** 2).T
            np.fill_diagonal(pairs, 0)
            expected += (weights[first] * weights[second]) ** 2 * pairs.sum()
    total = np.sum(cells**2, axis=2) @ np.sum(cells**2, axis=2).T
    np.fill_diagonal(total, 0)
    return (np.sum(gram**2) - expected) * len(gram) / total.sum()


@given(rng=generators)
def test_the_form_is_the_squared_norm_of_gram_matrices_beyond_that_of_noise(rng):
    dense, weights = random_entries(rng), rng.standard_normal(6)
    expected = sum(excess(dense, weights, mode) for mode in range(3))
    assert form_of(dense).at(weights[None])[0] == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("most", [module.MOST_IN_BLOCK, 1])
@pytest.mark.parametrize("stored", [module.MOST_STORED, 0])
def test_gram_matrices_are_those_of_the_mixtures(most, stored, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_BLOCK", most)
    monkeypatch.setattr(module, "MOST_STORED", stored)
    rng = np.random.default_rng(0)
    dense, weights = random_entries(rng), rng.standard_normal((4, 6))
    for mode in range(3):
        for found, each in zip(form_of(dense).grams(mode, weights), weights, strict=True):
            matrix = unfold(dense.reshape(*SHAPE[:3], -1) @ each, mode)
            # Pairs of entries of one row are left out, also where they are of different cells.
            expected = matrix @ matrix.T * (1 - np.eye(len(matrix))) / np.mean(dense[dense != 0] ** 2)
            np.testing.assert_allclose(found, expected, atol=1e-4)


def test_blocks_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    dense, weights = random_entries(rng), rng.standard_normal((4, 6))
    whole = form_of(dense).at(weights)
    monkeypatch.setattr(module, "MOST_IN_BLOCK", 1)
    np.testing.assert_allclose(form_of(dense).at(weights), whole, rtol=1e-5)


def test_the_weights_of_a_strong_term_come_first_and_none_are_alike():
    rng = np.random.default_rng(0)
    vectors = [rng.standard_normal(size) for size in (20, 20, 20, 3, 4)]
    dense = np.einsum("a,b,c,d,e", *vectors) + rng.standard_normal((20, 20, 20, 3, 4))
    found = form_of(dense * (rng.random(dense.shape) < 0.1)).most_likely(30, (False, False), rng)
    assert 1 < len(found) <= 30
    cosines = [abs(found[0][mode] @ vectors[3 + mode]) / np.linalg.norm(vectors[3 + mode]) for mode in (0, 1)]
    assert min(cosines) > 0.9
    rows = np.stack([np.outer(*pair).ravel() for pair in found])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    assert (np.triu((rows @ rows.T) ** 2, 1) < module.ALIKE[0]).all()


def test_weights_come_ever_closer_but_are_never_the_same(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 37)
    rng = np.random.default_rng(0)
    form, most = form_of(random_entries(rng)), 80
    found = form.most_likely(most, (False, False), np.random.default_rng(1))
    assert len(found) == most
    rows = np.stack([np.outer(*pair).ravel() for pair in found])
    nearest = [float(((rows[:number] @ row) ** 2).max()) for number, row in enumerate(rows) if number]
    limits = module.ALIKE
    steps = np.searchsorted(limits, nearest, side="right")
    assert steps[0] == 0
    assert 0 < steps[-1] < len(limits)
    assert (np.diff(steps) >= 0).all()
    # Among those that are equally far apart, the likeliest come first.
    likeliest = form.at(rows)[1:]
    assert (np.diff(likeliest[steps == 0]) <= 1e-9).all()


def test_weights_of_centred_modes_sum_to_zero():
    rng = np.random.default_rng(0)
    found = form_of(random_entries(rng)).most_likely(20, (False, True), rng)
    free, centred = (np.stack(each) for each in zip(*found, strict=True))
    np.testing.assert_allclose(centred.sum(axis=1), 0, atol=1e-12)
    assert (np.abs(free.sum(axis=1)) > 1e-3).any()
    np.testing.assert_allclose(np.linalg.norm(centred, axis=1), 1)


@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_the_unit_makes_no_difference(unit):
    rng = np.random.default_rng(0)
    dense, weights = random_entries(rng), rng.standard_normal((4, 6))
    np.testing.assert_allclose(form_of(unit * dense).at(weights), form_of(dense).at(weights), rtol=1e-5)


def test_numbers_that_are_all_zero_have_weights_too():
    coords = np.argwhere(np.ones(SHAPE))
    cells = np.ravel_multi_index(tuple(coords[:, 3:].T), SHAPE[3:])
    unfoldings = SparseUnfoldings(coords[:, :3], SHAPE[:3], (0, 1, 2))
    form = LikelyWeights(unfoldings, cells, SHAPE[3:], np.zeros(len(coords)))
    found = form.most_likely(5, (True, False), np.random.default_rng(0))
    assert np.isfinite(np.concatenate([np.concatenate(pair) for pair in found])).all()
