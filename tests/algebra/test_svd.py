"""Orthonormal bases, truncated decompositions, and the singular values of a sum, against numpy.linalg."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra import svd
from tensorfill.algebra.operators import DenseUnfolding
from tensorfill.algebra.pieces import PIECE
from tensorfill.algebra.svd import exact_svd, gram_svd, orthonormal, subspace_svd, turned
from tests.strategies import generators


def parts_of(found):
    return found.u, found.s, found.v()


def basis(rng, rows, rank):
    return np.linalg.qr(rng.standard_normal((rows, rank)))[0]


def assert_orthonormal(q, tolerance=1e-10):
    np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), atol=tolerance)


def assert_within(block, q, tolerance):
    """Check that the columns of `block`, brought to length one, lie in the span of `q`."""
    length = np.linalg.norm(block, axis=0)
    unit = block[:, length > 0] / length[length > 0]
    np.testing.assert_allclose(q @ (q.T @ unit), unit, atol=tolerance)


class TestTurned:
    @pytest.mark.parametrize("rows", [5, PIECE + 3])
    def test_a_block_keeps_its_memory_if_it_has_the_size(self, rows):
        rng = np.random.default_rng(0)
        block, square, narrow = rng.standard_normal((rows, 3)), rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
        before = block.copy()
        np.testing.assert_allclose(turned(block, narrow), before @ narrow)
        np.testing.assert_array_equal(block, before)
        same = turned(block, square)
        assert same is block
        np.testing.assert_allclose(block, before @ square, rtol=1e-12, atol=1e-12)

    def test_an_orthonormal_basis_leaves_the_block_alone(self):
        block = np.random.default_rng(0).standard_normal((50, 3)) + 10.0  # nearly parallel, so turned twice
        before = block.copy()
        assert_orthonormal(orthonormal(block))
        np.testing.assert_array_equal(block, before)


class TestOrthonormal:
    @settings(max_examples=40, deadline=None)
    @given(rng=generators, rows=st.integers(20, 60), count=st.integers(1, 6))
    def test_random_columns(self, rng, rows, count):
        block = rng.standard_normal((rows, count))
        q = orthonormal(block)
        assert q.shape == block.shape
        assert_orthonormal(q, 1e-12)
        assert_within(block, q, 1e-10)

    @settings(max_examples=40, deadline=None)
    @given(rng=generators, exponents=st.lists(st.floats(-8, 8), min_size=2, max_size=6))
    def test_columns_of_wildly_different_length(self, rng, exponents):
        block = rng.standard_normal((50, len(exponents))) * 10.0 ** np.array(exponents)
        q = orthonormal(block)
        assert q.shape == block.shape
        assert_orthonormal(q)
        assert_within(block, q, 1e-9)

    @pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
    def test_dependent_columns_are_dropped(self, scale):
        first, second = np.random.default_rng(0).standard_normal((2, 40))
        block = np.stack([first, second, first - 2 * second, scale * first], axis=1)
        q = orthonormal(block)
        assert q.shape == (40, 2)
        assert_orthonormal(q)
        assert_within(block, q, 1e-9)

    def test_zero_columns_are_dropped(self):
        block = np.random.default_rng(0).standard_normal((40, 4))
        block[:, [0, 2]] = 0
        q = orthonormal(block)
        assert q.shape == (40, 2)
        assert_orthonormal(q)
        assert_within(block, q, 1e-9)

    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_nothing_but_zeros_has_an_empty_basis(self, count):
        assert orthonormal(np.zeros((10, count))).shape == (10, 0)

    @pytest.mark.parametrize("angle", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
    @pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
    def test_a_nearly_dependent_pair_is_kept_and_made_orthogonal(self, angle, scale):
        first, second = basis(np.random.default_rng(0), 40, 2).T
        block = np.stack([first, scale * (first + angle * second)], axis=1)
        q = orthonormal(block)
        assert q.shape == (40, 2)
        assert_orthonormal(q)
        assert_within(block, q, 1e-10)
        assert_within(np.stack([first, second], axis=1), q, 1e-12 / angle)

    def test_a_pair_that_rounding_cannot_tell_apart_is_one_direction(self):
        first, second = basis(np.random.default_rng(0), 40, 2).T
        q = orthonormal(np.stack([first, first + 1e-12 * second], axis=1))
        assert q.shape == (40, 1)
        assert_orthonormal(q)

    @pytest.mark.parametrize("count", [4, 8, 12])
    def test_many_nearly_dependent_columns(self, count):
        block = np.vander(np.linspace(0, 1, 60), count)
        q = orthonormal(block)
        assert_orthonormal(q)
        assert_within(block, q, 1e-5)

    @settings(max_examples=30, deadline=None)
    @given(rng=generators, count=st.integers(1, 5))
    def test_float32(self, rng, count):
        block = rng.standard_normal((50, count)).astype(np.float32)
        q = orthonormal(block)
        assert q.dtype == np.float32
        assert q.shape == block.shape
        assert_orthonormal(q, 1e-5)
        assert_within(block, q, 1e-4)

    def test_the_block_that_was_given_is_not_changed(self):
        block = np.random.default_rng(0).standard_normal((20, 3))
        before = block.copy()
        orthonormal(block)
        np.testing.assert_array_equal(block, before)


def decaying(rng, rows, cols, ratio):
    """Return a matrix whose singular values fall by `ratio` from one to the next."""
    count = min(rows, cols)
    return (basis(rng, rows, count) * ratio ** np.arange(count)) @ basis(rng, cols, count).T


def rebuilt(u, s, v):
    return (u * s) @ v.T


class TestSubspace:
    @settings(max_examples=25, deadline=None)
    @given(
        rng=generators,
        size=st.sampled_from([(12, 80), (40, 40), (80, 12), (7, 7)]),
        count=st.integers(1, 5),
    )
    def test_equals_the_exact_decomposition_after_enough_sweeps(self, rng, size, count):
        matrix = decaying(rng, *size, 0.4)
        u, s, v = parts_of(subspace_svd(DenseUnfolding(matrix, 0), rng.standard_normal((size[0], count)), sweeps=25))
        exact_u, exact_s, exact_vt = np.linalg.svd(matrix, full_matrices=False)
        np.testing.assert_allclose(s, exact_s[:count], atol=1e-8)
        assert_orthonormal(u)
        assert_orthonormal(v)
        expected = rebuilt(exact_u[:, :count], exact_s[:count], exact_vt[:count].T)
        np.testing.assert_allclose(rebuilt(u, s, v), expected, atol=1e-8)

    def test_one_sweep_from_the_answer_returns_it(self):
        rng = np.random.default_rng(0)
        matrix = decaying(rng, 20, 50, 0.5)
        exact_u, exact_s, _ = np.linalg.svd(matrix, full_matrices=False)
        s = subspace_svd(DenseUnfolding(matrix, 0), exact_u[:, :4], sweeps=1).s
        np.testing.assert_allclose(s, exact_s[:4], atol=1e-12)

    @pytest.mark.parametrize("count", [2, 3, 6, 30])
    def test_a_start_wider_than_the_rank_gives_the_whole_matrix(self, count):
        rng = np.random.default_rng(0)
        matrix = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 50))
        u, s, v = parts_of(subspace_svd(DenseUnfolding(matrix, 0), rng.standard_normal((20, count)), sweeps=2))
        np.testing.assert_allclose(rebuilt(u, s, v), matrix, atol=1e-8 * s[0])
        np.testing.assert_allclose(s[2:], 0, atol=1e-8 * s[0])
        assert_orthonormal(u)
        assert_orthonormal(v)

    def test_values_fall(self):
        rng = np.random.default_rng(0)
        s = subspace_svd(DenseUnfolding(rng.standard_normal((30, 40)), 0), rng.standard_normal((30, 8)), 1).s
        assert np.all(np.diff(s) <= 0)

    def test_zero_matrix_has_no_triplets(self):
        u, s, v = parts_of(subspace_svd(DenseUnfolding(np.zeros((4, 5)), 0), np.ones((4, 2)), 2))
        assert (u.shape, s.shape, v.shape) == ((4, 0), (0,), (5, 0))

    def test_float32_stays_float32(self):
        rng = np.random.default_rng(0)
        matrix = decaying(rng, 10, 30, 0.5).astype(np.float32)
        parts = parts_of(subspace_svd(DenseUnfolding(matrix, 0), rng.standard_normal((10, 3)).astype(np.float32), 3))
        assert [part.dtype for part in parts] == [np.float32] * 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nearly_dependent_directions_need_no_second_product(monkeypatch, dtype):
    """Whitening the block twice is as accurate, down to angles of the square root of rounding."""
    rng = np.random.default_rng(0)
    left, right = basis(rng, 40, 4), basis(rng, 70, 4)
    matrix = ((left * [8.0, 4.0, 2.0, 1.0]) @ right.T).astype(dtype)
    mix = np.eye(4)
    mix[:, 1] += 3 * mix[:, 0]
    mix[:, 3] += 2 * mix[:, 0]
    start = (left @ mix).astype(dtype)
    expected = svd.whitening(matrix.T @ start)[1]
    assert np.sqrt(np.finfo(dtype).eps) < expected < 0.01
    monkeypatch.setattr(DenseUnfolding, "right", refuse_twice(DenseUnfolding.right))
    found = subspace_svd(DenseUnfolding(matrix, 0), start, 1)
    tolerance = 2e3 * np.finfo(dtype).eps
    assert_orthonormal(found.v(), tolerance)
    np.testing.assert_allclose(found.s, [8, 4, 2, 1], atol=8 * tolerance)
    np.testing.assert_allclose((found.u * found.s) @ found.v().T, matrix, atol=8 * tolerance)


def refuse_twice(product):
    """Return a product that is refused when it is asked for again."""
    asked = []

    def once(*given):
        assert not asked
        asked.append(True)
        return product(*given)

    return once


@pytest.mark.parametrize("size", [(5, 30), (30, 5), (8, 8), (1, 6), (6, 1)])
def test_exact_svd(size):
    matrix = np.random.default_rng(0).standard_normal(size)
    u, s, v = parts_of(exact_svd(matrix))
    assert (u.shape, s.shape, v.shape) == ((size[0], min(size)), (min(size),), (size[1], min(size)))
    np.testing.assert_allclose(rebuilt(u, s, v), matrix, atol=1e-12)
    np.testing.assert_allclose(s, np.linalg.svd(matrix, compute_uv=False), atol=1e-12)
    assert_orthonormal(u, 1e-12)
    assert_orthonormal(v, 1e-12)


@pytest.mark.parametrize("size", [(5, 40), (40, 5), (7, 7), (1, 9)])
def test_gram_svd(size):
    matrix = np.random.default_rng(0).standard_normal(size)
    u, s, v = parts_of(gram_svd(matrix))
    np.testing.assert_allclose(rebuilt(u, s, v), matrix, atol=1e-10)
    np.testing.assert_allclose(s, np.linalg.svd(matrix, compute_uv=False), rtol=1e-9)
    assert_orthonormal(u, 1e-12)
    assert_orthonormal(v, 1e-9)


def test_gram_svd_leaves_out_what_it_cannot_tell_from_zero():
    rng = np.random.default_rng(1)
    left, right = basis(rng, 6, 3), basis(rng, 30, 3)
    u, s, v = parts_of(gram_svd((left * [1.0, 1e-3, 1e-12]) @ right.T))
    np.testing.assert_allclose(s, [1.0, 1e-3], rtol=1e-8)
    assert (u.shape, v.shape) == ((6, 2), (30, 2))
    assert len(gram_svd(np.zeros((4, 6))).s) == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_long_blocks_are_decomposed_by_products_as_by_lapack(monkeypatch, dtype):
    rng = np.random.default_rng(0)
    matrix = (basis(rng, 300, 5) * [100.0, 90.0, 50.0, 1.0, 0.1]) @ basis(rng, 40, 5).T
    # A start with more columns than the rank has dependent directions, which are dropped.
    given = DenseUnfolding(matrix.astype(dtype), 0), rng.standard_normal((300, 8)).astype(dtype), 2
    expected = subspace_svd(*given)
    monkeypatch.setattr(svd, "LONG", 100)
    found = subspace_svd(*given)
    count, rounding = len(found.s), 100 * float(np.finfo(dtype).eps)
    assert 3 <= count <= len(expected.s)
    np.testing.assert_allclose(found.s, expected.s[:count], atol=100 * rounding)
    np.testing.assert_allclose(
        (found.u * found.s) @ found.v().T, (expected.u * expected.s) @ expected.v().T, atol=100 * rounding
    )
    assert_orthonormal(found.u, rounding)
    assert found.u.dtype == found.s.dtype == dtype
