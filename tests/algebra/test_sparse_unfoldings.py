"""Gram matrices of sparse unfoldings without their diagonals, their eigenvectors and contractions, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill._support.clock import Clock
from tensorfill.algebra import sparse_unfoldings
from tensorfill.algebra.loops import loops
from tensorfill.algebra.sparse_unfoldings import SparseUnfoldings
from tensorfill.algebra.unfolding import unfold
from tests.strategies import generators, modes, observed, scatter, shapes

pytestmark = pytest.mark.usefixtures("both_kinds_of_loops")


@pytest.fixture(params=["dense", "operator"])
def path(request, monkeypatch):
    """Build Gram matrices, or only their products."""
    if request.param == "operator":
        monkeypatch.setattr(sparse_unfoldings, "MOST_DENSE", 0)


@pytest.fixture(params=["eigh", "krylov", "one vector"])
def solver(request, monkeypatch):
    """Compute eigenvectors of the whole matrix, or in Krylov spaces from a few vectors or from one."""
    if request.param != "eigh":
        monkeypatch.setattr(sparse_unfoldings, "MOST_DIRECT", 0)
    monkeypatch.setattr(sparse_unfoldings, "WIDTH", 3)
    if request.param == "one vector":
        monkeypatch.setattr(sparse_unfoldings, "LONG", 0)


def off_diagonal_gram(tensor, mode):
    matrix = unfold(tensor, mode)
    gram = matrix @ matrix.T
    return gram - np.diag(np.diag(gram))


def random_entries(rng, shape, density=0.4):
    """Return the coordinates of some entries, in random order."""
    return rng.permutation(np.argwhere(rng.random(shape) < density))


@pytest.mark.parametrize("most_dense", [1000, 0], ids=["dense", "operator"])
@given(data=st.data(), rng=generators)
def test_all_eigenvectors_give_the_gram_matrix_without_its_diagonal(most_dense, data, rng):
    shape = data.draw(shapes(max_order=4, max_entries=300, max_size=9))
    coords = rng.permutation(data.draw(observed(shape)))
    values, mode = rng.standard_normal(len(coords)), data.draw(modes(shape))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_unfoldings, "MOST_DENSE", most_dense)
        strength, vectors = SparseUnfoldings(coords, shape, [mode]).leading(mode, values, 100, rng)
    assert (np.diff(strength) <= 0).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(shape[mode]), atol=1e-10)
    expected = off_diagonal_gram(scatter(coords, values, shape), mode)
    precision = 1e-10 if most_dense else 1e-5 * (1 + np.abs(expected).max())
    np.testing.assert_allclose((vectors * strength) @ vectors.T, expected, atol=precision)


@pytest.mark.usefixtures("path", "solver")
@pytest.mark.parametrize("shape", [(24, 21), (12, 9, 14), (9, 12, 4, 8)], ids=str)
def test_the_leading_eigenvectors_are_those_of_the_dense_matrix(shape):
    rng = np.random.default_rng(0)
    coords = random_entries(rng, shape)
    values = rng.standard_normal(len(coords))
    unfoldings = SparseUnfoldings(coords, shape, [0, 1])
    for mode in (0, 1):
        gram = off_diagonal_gram(scatter(coords, values, shape), mode)
        strength, vectors = unfoldings.leading(mode, values, 3, rng)
        np.testing.assert_allclose(strength, np.linalg.eigvalsh(gram)[::-1][:3], rtol=1e-3)
        np.testing.assert_allclose(gram @ vectors, vectors * strength, atol=1e-2 * strength[0])
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-5)


class CountingClock(Clock):
    """A clock that is looked at once for each product."""

    looks = 0

    def check(self):
        self.looks += 1


def planted(rng, shape, density, strengths):
    """Return unfoldings along the first mode of clipped noise with rank-one terms, its values, and the Gram matrix."""
    coords = random_entries(rng, shape, density)
    values = rng.standard_normal(len(coords))
    for strength in strengths:
        values += strength * np.prod([rng.standard_normal(n)[i] for n, i in zip(shape, coords.T, strict=True)], axis=0)
    values = np.clip(values, -values.std(), values.std())
    clock = CountingClock()
    return SparseUnfoldings(coords, shape, [0], clock), values, off_diagonal_gram(scatter(coords, values, shape), 0)


@pytest.mark.parametrize("long", [2**16, 1000], ids=["block", "one vector"])
@pytest.mark.parametrize("strengths", [(), (0.6, 0.4, 0.3, 0.25, 0.2)], ids=["noise", "weak terms"])
def test_the_directions_above_noise_are_as_many_as_those_of_the_dense_matrix(long, strengths, monkeypatch):
    monkeypatch.setattr(sparse_unfoldings, "LONG", long)
    rng = np.random.default_rng(3)
    unfoldings, values, gram = planted(rng, (1_500, 60, 3), 0.25, strengths)
    exact, axes = np.linalg.eigh(gram)
    flipped = values * rng.choice([-1.0, 1.0], len(values))
    edge = unfoldings.leading(0, flipped, 1, rng)[0][0]
    assert unfoldings.clock.looks <= (sparse_unfoldings.STEPS if long > 1_500 else sparse_unfoldings.LONG_STEPS)
    rows, starts, _, numbers = unfoldings.columns(0, flipped)
    whole = np.zeros((1_500, len(starts) - 1))
    whole[rows, np.repeat(np.arange(len(starts) - 1), np.diff(starts))] = numbers
    whole = whole @ whole.T
    np.fill_diagonal(whole, 0)
    assert edge == pytest.approx(np.linalg.eigvalsh(whole)[-1], rel=0.01 if long > 1_500 else 0.02)
    strength, vectors = unfoldings.leading(0, values, 20, rng)
    above = int(np.sum(exact > 1.02 * edge))
    assert above >= len(strengths) - 2
    assert np.sum(strength > 1.02 * edge) == above
    np.testing.assert_allclose(strength[:above], exact[::-1][:above], rtol=0.01)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-5)
    seen = np.linalg.norm(axes[:, ::-1][:, :above].T @ vectors[:, :above], axis=0)
    assert (seen > 0.95).all()


@pytest.mark.parametrize("long", [2**16, 1000], ids=["block", "one vector"])
def test_the_products_end_with_the_columns(long, monkeypatch):
    monkeypatch.setattr(sparse_unfoldings, "LONG", long)
    rng = np.random.default_rng(0)
    coords = np.stack([np.arange(2_000), np.arange(2_000) // 1_000], axis=1)
    strength, vectors = SparseUnfoldings(coords, (2_000, 2), [0]).leading(0, np.ones(2_000), 3, rng)
    np.testing.assert_allclose(strength[0], 999, rtol=1e-4)
    assert len(strength) < 3
    assert vectors.shape == (2_000, len(strength))
    nothing = SparseUnfoldings(np.stack([np.arange(2_000)] * 2, axis=1), (2_000, 2_000), [0])
    strength, vectors = nothing.leading(0, np.ones(2_000), 3, rng)
    np.testing.assert_allclose(strength, 0, atol=1e-9)
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("width", [1, 7, 8, 16, 35])
def test_products_with_a_block_are_those_of_the_dense_matrix(width):
    rng = np.random.default_rng(0)
    coords = random_entries(rng, (12, 9, 14))
    values = rng.standard_normal(len(coords)).astype(np.float32)
    rows, starts, _, numbers = SparseUnfoldings(coords, (12, 9, 14), [0]).columns(0, values)
    block = rng.standard_normal((12, width)).astype(np.float32)
    out = np.ones_like(block)
    loops("gram", len(values), len(values)).add_gram_times(rows, starts, numbers, block, out)
    expected = 1 + off_diagonal_gram(scatter(coords, values, (12, 9, 14)), 0) @ block
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_eigenvalues_of_any_scale_do_not_overflow(scale):
    rng = np.random.default_rng(0)
    unfoldings, values, gram = planted(rng, (1_100, 40), 0.3, (0.5,))
    strength = unfoldings.leading(0, scale * values, 1, rng)[0]
    np.testing.assert_allclose(strength, scale**2 * np.linalg.eigvalsh(gram)[-1], rtol=0.01)


@given(data=st.data(), rng=generators)
def test_the_contraction_with_a_vector(data, rng):
    shape = data.draw(shapes(max_order=4, max_entries=300))
    coords = rng.permutation(data.draw(observed(shape)))
    values, mode = rng.standard_normal(len(coords)), data.draw(modes(shape))
    vector = rng.standard_normal(shape[mode])
    places, found = SparseUnfoldings(coords, shape, [mode]).contracted(mode, values, vector)
    assert len(np.unique(places, axis=0)) == len(places)
    expected = np.tensordot(scatter(coords, values, shape), vector, axes=(mode, 0))
    np.testing.assert_allclose(scatter(places, found, np.delete(shape, mode)), expected, atol=1e-12)
    both = SparseUnfoldings(coords, shape, [mode]).contracted(mode, values, np.stack([vector, 2 * vector], axis=1))[1]
    np.testing.assert_allclose(both, np.stack([found, 2 * found], axis=1), atol=1e-12)


@pytest.mark.usefixtures("path")
def test_the_edge_is_where_noise_ends():
    rng = np.random.default_rng(0)
    shape = (60, 50, 40)
    coords = random_entries(rng, shape, 0.2)
    noise = rng.standard_normal(len(coords))
    signal = np.prod([rng.choice([-1.0, 1.0], size)[coords[:, mode]] for mode, size in enumerate(shape)], axis=0)
    unfoldings = SparseUnfoldings(coords, shape, range(3))
    for mode in range(3):
        highest = unfoldings.leading(mode, noise, 1, rng)[0][0]
        assert unfoldings.edge(mode, noise, rng) == pytest.approx(highest, rel=0.25)
        both = noise + signal
        strength, edge = unfoldings.leading(mode, both, 2, rng)[0], unfoldings.edge(mode, both, rng)
        assert strength[0] > 3 * edge
        # The edge is higher than that of the noise only because the entries are larger.
        assert edge == pytest.approx(highest * np.mean(both**2), rel=0.25)
        assert strength[1] < 1.15 * edge


def test_the_edge_is_the_larger_of_two_draws():
    rng = np.random.default_rng(0)
    coords = random_entries(rng, (12, 30))
    values = rng.standard_normal(len(coords))
    unfoldings = SparseUnfoldings(coords, (12, 30), [0])
    draw = np.random.default_rng(1)
    flipped = [values * draw.choice([-1.0, 1.0], len(values)) for _ in range(sparse_unfoldings.FLIPS)]
    each = [unfoldings.leading(0, one, 1, rng)[0][0] for one in flipped]
    assert each[0] != each[1]
    assert unfoldings.edge(0, values, np.random.default_rng(1)) == pytest.approx(max(each))


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_a_term_is_visible_from_the_share_on_that_is_said(share):
    rng = np.random.default_rng(0)
    shape = (60, 50, 40)
    coords = random_entries(rng, shape, share)
    noise = rng.standard_normal(len(coords))
    signal = np.prod([rng.choice([-1.0, 1.0], size)[coords[:, mode]] for mode, size in enumerate(shape)], axis=0)
    unfoldings = SparseUnfoldings(coords, shape, range(3))
    for mode in range(3):
        visible = unfoldings.visible_share(mode, noise, rng)
        for times in (0.3, 3.0):
            part = min(times * visible, 0.9)
            both = np.sqrt(part) * signal + np.sqrt(1 - part) * noise
            strength, edge = unfoldings.leading(mode, both, 1, rng)[0][0], unfoldings.edge(mode, both, rng)
            assert (strength > 1.25 * edge) == (times > 1)


def test_no_term_is_visible_where_entries_share_no_column():
    coords = np.stack([np.arange(40), np.arange(40)], axis=1)
    rng = np.random.default_rng(0)
    assert SparseUnfoldings(coords, (40, 40), [0]).visible_share(0, rng.standard_normal(40), rng) == np.inf


@pytest.mark.usefixtures("path", "solver")
def test_entries_that_share_no_column_have_no_direction():
    rng = np.random.default_rng(0)
    coords = np.stack([np.arange(40), np.arange(40)], axis=1)
    unfoldings = SparseUnfoldings(coords, (40, 40), [0])
    strength, vectors = unfoldings.leading(0, rng.standard_normal(40), 2, rng)
    np.testing.assert_allclose(strength, 0, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(strength)), atol=1e-5)
    assert unfoldings.edge(0, rng.standard_normal(40), rng) == pytest.approx(0, abs=1e-12)


@pytest.mark.usefixtures("path")
def test_float32_is_computed_in_float64():
    rng = np.random.default_rng(0)
    coords = random_entries(rng, (20, 15))
    values = rng.standard_normal(len(coords)).astype(np.float32)
    unfoldings = SparseUnfoldings(coords, (20, 15), [0])
    narrow, wide = (unfoldings.leading(0, each, 3, rng)[0] for each in (values, values.astype(np.float64)))
    np.testing.assert_array_equal(narrow, wide)


def test_no_gram_matrix_of_a_huge_mode(monkeypatch):
    def refuse(*given):
        raise AssertionError("a Gram matrix was built")

    monkeypatch.setattr("tensorfill.algebra.compiled.gram.off_diagonal_gram", refuse)
    rng = np.random.default_rng(0)
    size = 200_000
    rows = np.sort(rng.choice(size, 3000, replace=False))
    coords = np.stack([np.repeat(rows, 3), np.tile(np.arange(3), 3000)], axis=1)
    column = rng.standard_normal(3000)
    values = np.outer(column, [1.0, -2.0, 0.5]).ravel()
    strength, vectors = SparseUnfoldings(coords, (size, 3), [0]).leading(0, values, 1, rng)
    assert strength[0] == pytest.approx(5.25 * column @ column, rel=0.01)
    assert abs(vectors[rows, 0] @ column) > 0.99 * np.linalg.norm(column)


@given(data=st.data(), rng=generators)
def test_gram_matrices_of_pairs_of_kinds_are_those_of_their_entries(data, rng):
    shape = data.draw(shapes(max_order=4, max_entries=300, max_size=9))
    coords = rng.permutation(data.draw(observed(shape)))
    values, mode, kinds = rng.standard_normal(len(coords)), data.draw(modes(shape)), rng.integers(2, size=len(coords))
    first = int(rng.integers(shape[mode]))
    squares, places = np.zeros(3), np.array([[0, 1], [1, 2]])
    unfoldings = SparseUnfoldings(coords, shape, [mode])
    found = unfoldings.grams_of_pairs(mode, values, kinds, places, (first, shape[mode]), squares)
    parts = [unfold(scatter(coords, np.where(kinds == kind, values, 0), shape), mode) for kind in (0, 1)]
    mixed = parts[0] @ parts[1].T
    for place, gram in enumerate([parts[0] @ parts[0].T, mixed + mixed.T, parts[1] @ parts[1].T]):
        np.fill_diagonal(gram, 0)
        np.testing.assert_allclose(found[place], gram[first:], rtol=1e-4, atol=1e-5)
    expected = off_diagonal_gram(np.abs(scatter(coords, values**2, shape)), mode)[first:]
    assert squares.sum() == pytest.approx(expected.sum())
