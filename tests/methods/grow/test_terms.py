"""Rank-one terms in noisy entries: found where they were planted, also where no mode shows them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorfill import Observations
from tensorfill.algebra.cp_entries import EntriesByIndex
from tensorfill.algebra.sparse_unfoldings import SparseUnfoldings
from tensorfill.algebra.unfolding import large_modes
from tensorfill.methods.grow import mixtures as mixtures_module
from tensorfill.methods.grow import terms as module
from tensorfill.methods.grow.joint import joint_terms, work_of
from tensorfill.methods.grow.mixtures import mixtures_of
from tensorfill.methods.grow.terms import best_terms, clip, starts_from_modes
from tensorfill.models import CPModel


def planted(shape, weights, entries, seed, noise=1.0):
    """Return noisy entries of a sum of terms whose entries have the given root mean squares, and the terms."""
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((size, len(weights))) for size in shape]
    factors = [factor / np.linalg.norm(factor, axis=0) for factor in factors]
    model = CPModel(shape, np.array(weights) * np.sqrt(np.prod(shape)), factors)
    positions = rng.choice(np.prod(shape), entries, replace=False)
    coords = np.stack(np.unravel_index(positions, shape), axis=1)
    return Observations(coords, model.predict(coords) + noise * rng.standard_normal(entries), shape), model


def found_in(observations, residuals=None, *, thoroughly=True):
    residuals, rng = observations.values if residuals is None else residuals, np.random.default_rng(0)
    unfoldings = SparseUnfoldings(observations.coords, observations.shape, large_modes(observations.shape))
    mixtures = mixtures_of(observations.coords, observations.shape, unfoldings.modes)
    thoroughly = thoroughly and mixtures is not None
    starts = mixtures.starts(residuals, rng).vectors if thoroughly else starts_from_modes(unfoldings, residuals, rng)
    return best_terms(EntriesByIndex(observations.coords, observations.shape), residuals, starts)


def alignment(term, model, number=0):
    """Return the smallest of the cosines between the columns of a term and those of the planted one."""
    pairs = zip(term.factors, model.factors, strict=True)
    return min(abs(float(column[:, 0] @ planted[:, number])) for column, planted in pairs)


@pytest.mark.parametrize(
    ("shape", "entries", "weight"),
    [((60, 50), 1500, 1.0), ((40, 40, 40), 8000, 0.5), ((20, 5, 18, 22), 8000, 0.7), ((30, 30, 30, 5, 5), 12000, 0.6)],
    ids=str,
)
def test_a_planted_term_is_found(shape, entries, weight, monkeypatch):
    monkeypatch.setattr(mixtures_module, "MOST_WEIGHTS", 200)
    for seed in range(2):
        observations, model = planted(shape, [weight], entries, seed)
        best = found_in(observations)[0]
        assert alignment(best, model) > 0.95
        assert best.weights[0] == pytest.approx(model.weights[0], rel=0.2)
        assert all(np.linalg.norm(factor) == pytest.approx(1) for factor in best.factors)
        inner = best.weights[0] * np.prod([a[:, 0] @ b[:, 0] for a, b in zip(best.factors, model.factors, strict=True)])
        assert inner == pytest.approx(model.weights[0], rel=0.2)  # the sign too


def test_a_weak_term_beside_two_small_modes_that_no_mode_shows():
    observations, model = planted((60, 60, 5, 5), [0.25], 6000, 1)
    rng = np.random.default_rng(0)
    unfoldings = SparseUnfoldings(observations.coords, observations.shape, [0, 1])
    for mode in (0, 1):
        strength = unfoldings.leading(mode, observations.values, 1, rng)[0][0]
        assert strength < unfoldings.edge(mode, observations.values, rng)
    assert alignment(found_in(observations)[0], model) > 0.85


@pytest.mark.slow
def test_mixtures_of_small_modes_show_more_than_the_unfoldings():
    rng = np.random.default_rng(0)
    for seed in range(3):
        observations, model = planted((60, 60, 5, 5), [0.25], 6000, seed)
        mixtures = mixtures_of(observations.coords, observations.shape, [0, 1])
        starts = mixtures.starts(observations.values, rng).vectors
        assert len(starts) == mixtures_module.STARTS
        assert [len(vector) for vector in starts[0]] == [60, 60, 5, 5]
        near = max(min(abs(start[mode] @ model.factors[mode][:, 0]) for mode in (0, 1)) for start in starts)
        wide = SparseUnfoldings(observations.coords, observations.shape, [0, 1])
        eigenvectors = [wide.leading(mode, observations.values, module.STARTS, rng)[1] for mode in (0, 1)]
        plain = max(np.abs(eigenvectors[mode].T @ model.factors[mode][:, 0]).max() for mode in (0, 1))
        assert near > 0.6
        assert near > plain
    assert mixtures_of(observations.coords, observations.shape, range(4)) is None


def test_a_mixture_is_the_contraction_with_a_vector_for_each_small_mode():
    observations, _ = planted((9, 3, 8, 4), [1.0], 400, 0)
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(3), rng.standard_normal(4)]
    mixtures = mixtures_of(observations.coords, observations.shape, [0, 2])
    dense = np.zeros(observations.shape)
    dense[tuple(observations.coords.T)] = observations.values
    expected = np.einsum("abcd,b,d->ac", dense, *weights)
    places = np.unique(observations.coords[:, [0, 2]], axis=0)
    np.testing.assert_allclose(mixtures.mixed(observations.values, weights), expected[tuple(places.T)], atol=1e-12)


def test_there_are_no_mixtures_of_too_many_cells_or_indices(monkeypatch):
    observations, _ = planted((12, 11, 10, 5), [1.0], 1000, 0)
    given = observations.coords, observations.shape, [0, 1, 2]
    assert mixtures_of(*given).most_weights == mixtures_module.MOST_WEIGHTS
    monkeypatch.setattr(mixtures_module, "MOST_INDICES", 9)
    assert mixtures_of(*given) is None
    monkeypatch.setattr(mixtures_module, "MOST_INDICES", 11)
    assert mixtures_of(*given) is not None
    monkeypatch.setattr(mixtures_module, "MOST_CELLS", 4)
    assert mixtures_of(*given) is None


def test_fewer_weights_are_tried_if_many_entries_share_a_column(monkeypatch):
    observations, _ = planted((20, 20, 20, 20, 3), [1.0], 9000, 0)
    monkeypatch.setattr(mixtures_module, "MOST_PAIRS", 1e4)
    distinct = np.unique(observations.coords[:, :4], axis=0)
    pairs = 0
    for mode in range(4):
        counts = np.unique(np.delete(distinct, mode, axis=1), axis=0, return_counts=True)[1]
        pairs += int(np.sum(counts * (counts - 1) // 2))
    weights = mixtures_of(observations.coords, observations.shape, range(4)).most_weights
    assert weights == int(np.ceil(1e4 / pairs)) < mixtures_module.MOST_SEPARATE / 4


def test_fewer_weights_are_tried_if_each_is_much_work(monkeypatch):
    observations, _ = planted((12, 11, 10, 3), [1.0], 1000, 0)
    given = observations.coords, observations.shape, [0, 1, 2]
    monkeypatch.setattr(mixtures_module, "MOST_WORK", 2.5 * work_of(1000, (12, 11, 10), 3))
    assert mixtures_of(*given).most_weights == 3
    works = [work_of(1000, (12, 11, 10), 3), work_of(2000, (12, 11, 10), 3), work_of(2000, (40, 11, 10), 3)]
    assert works == sorted(works)
    assert works[-1] < work_of(2000, (40, 11, 10), 25)


@pytest.mark.slow
def test_the_search_ends_with_a_term_that_is_no_noise(monkeypatch):
    for weight, is_found in ((0.2, True), (1e-9, False)):
        observations, _ = planted((60, 60, 60, 5, 5), [weight], 40000, 2)
        mixtures = mixtures_of(observations.coords, observations.shape, [0, 1, 2])
        mixtures.most_weights, looks = 150, []

        def counted(mode, *given, looks=looks):
            looks.append(mode.number)
            return joint_terms(mode, *given)

        monkeypatch.setattr(mixtures_module, "joint_terms", counted)
        starts, may_hide_others = mixtures.starts(observations.values, np.random.default_rng(0))
        assert all(np.isfinite(np.concatenate(start)).all() for start in starts)
        assert looks == [0, 1, 2][: len(looks)]
        assert (len(looks) < 3) == is_found == may_hide_others


def test_mixtures_find_a_term_that_is_lost_without_them():
    observations, model = planted((60, 60, 5, 5), [0.2], 6000, 2)
    assert alignment(found_in(observations)[0], model) > 0.7
    assert alignment(found_in(observations, thoroughly=False)[0], model) < 0.3


def test_the_best_comes_first_and_each_once():
    observations, model = planted((30, 30, 30), [1.0, 0.7], 3000, 0, noise=2.0)
    terms = found_in(observations)
    gains = [
        np.sum(observations.values**2) - np.sum((observations.values - term.predict(observations.coords)) ** 2)
        for term in terms
    ]
    assert 1 < len(terms) <= module.ROUNDS[-1][0]
    assert gains == sorted(gains, reverse=True)
    cosines = [
        np.prod([abs(float(a[:, 0] @ b[:, 0])) for a, b in zip(one.factors, other.factors, strict=True)])
        for one, other in itertools.combinations(terms, 2)
    ]
    assert max(cosines) <= module.ALIKE
    assert alignment(terms[0], model) > 0.8


def test_the_terms_are_those_of_what_is_left():
    observations, model = planted((30, 30, 30), [1.0, 0.7], 6000, 0, noise=0.3)
    first = CPModel(model.shape, model.weights[:1], [factor[:, :1] for factor in model.factors])
    left = observations.values - first.predict(observations.coords)
    assert alignment(found_in(observations, left)[0], model, 1) > 0.95


def test_of_nothing_there_are_none():
    observations, _ = planted((10, 9, 8), [1.0], 100, 0)
    assert found_in(observations, np.zeros(100)) == []


def test_clipping():
    values = np.array([3.0, -1.0, 1.0, -5.0])
    most = 1.2 * 3  # the root mean square is 3
    np.testing.assert_allclose(clip(values, 1.2), [3, -1, 1, -most])
