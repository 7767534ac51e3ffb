"""The unfoldings as linear operators, sparse plus low-rank and dense, against dense NumPy."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tensorfill._support import parallel
from tensorfill.algebra import operators, pattern
from tensorfill.algebra.component import Component
from tensorfill.algebra.operators import DenseUnfolding, SparsePlusLowRank, add_dense
from tensorfill.algebra.pattern import SparsePattern
from tensorfill.algebra.unfolding import columns, leading_mode, unfold
from tests.strategies import (
    ORDERS,
    blocks,
    dense_component,
    dense_sum,
    generators,
    modes,
    observed,
    random_component,
    random_components,
    ranks,
    scatter,
    shapes,
    weights,
)

THREADS = [1, 2, 5]


def threads(count):
    """Share the work in `count` parts among as many threads, however few the entries are."""
    stack = ExitStack()
    stack.enter_context(parallel.threads(count))
    stack.enter_context(mock.patch.object(pattern, "MOST_PARTS", count))
    stack.enter_context(mock.patch.object(pattern, "SMALLEST_SHARE", 1))
    return stack


def pattern_of(coords, shape, modes=None):
    """Return the pattern of coordinates as Observations hold them: int32, one mode after the other, read-only."""
    coords = np.asfortranarray(coords, dtype=np.int32)
    coords.flags.writeable = False
    return SparsePattern(coords, shape, range(len(shape)) if modes is None else modes)


def close(actual, expected, tolerance=1e-9):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def check_entries(pattern, coords, shape, rng):
    parts = random_components(rng, shape)
    factors = rng.uniform(-2, 2, len(parts)).tolist()
    expected = dense_sum(parts, factors, shape)[tuple(coords.T)]
    close(pattern.entries(list(zip(factors, parts, strict=True))), expected)


def check_products(pattern, coords, shape, rng, block):
    values = rng.standard_normal(len(coords))
    tensor = scatter(coords, values, shape)
    for mode in range(len(shape)):
        matrix = unfold(tensor, mode)
        a, b = (rng.standard_normal((size, block)) for size in matrix.shape)
        close(alone(pattern, mode, values).round_trip(a).block, matrix.T @ a)
        close(pattern.left(mode, values, a), matrix.T @ a)
        close(right(pattern, mode, values, b), matrix @ b)


def alone(pattern, mode, values):
    """Return the unfolding of the sparse tensor with nothing added."""
    zero = Component.zero(pattern.shape, mode, values.dtype)
    return SparsePlusLowRank(pattern, mode, [(1.0, zero)], values)


def right(pattern, mode, values, b):
    return alone(pattern, mode, values).right(b)


shapes_and_entries = shapes(max_entries=1000).flatmap(lambda shape: st.tuples(st.just(shape), observed(shape)))
# What random draws seldom meet: a single entry, one slice of each mode, modes of size one, everything seen.
CORNERS = [
    ((4, 5, 6), np.array([[3, 4, 5]])),
    ((4, 5, 6), np.array([[2, 1, 0], [2, 1, 5], [2, 4, 0]])),
    ((4, 5, 6), np.array([[0, 3, 0], [1, 3, 5], [3, 3, 2]])),
    ((4, 5, 6), np.array([[0, 0, 5], [1, 4, 5], [3, 3, 5]])),
    ((1, 5, 1, 6), np.array([[0, 0, 0, 5], [0, 1, 0, 2], [0, 4, 0, 5]])),
    ((5, 1), np.array([[0, 0], [3, 0], [4, 0]])),
    ((1, 1, 1), np.array([[0, 0, 0]])),
    ((3, 2, 2), np.argwhere(np.ones((3, 2, 2)))),
]


@pytest.mark.parametrize("count", THREADS)
class TestSparsePattern:
    @settings(max_examples=25, deadline=None)
    @given(drawn=shapes_and_entries, rng=generators)
    def test_entries(self, count, drawn, rng):
        shape, coords = drawn
        with threads(count):
            check_entries(pattern_of(coords, shape), coords, shape, rng)

    @settings(max_examples=25, deadline=None)
    @given(drawn=shapes_and_entries, rng=generators, block=blocks)
    def test_products(self, count, drawn, rng, block):
        shape, coords = drawn
        with threads(count):
            check_products(pattern_of(coords, shape), coords, shape, rng, block)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_entries_of_any_rank(self, count, dtype):
        """Rows of a part of a register, of one, of two, of more, and with a last register that overlaps another."""
        shape, rng = (6, 5, 4), np.random.default_rng(0)
        coords = np.argwhere(rng.random(shape) < 0.5)
        with threads(count):
            pattern = pattern_of(coords, shape)
            for rank in range(1, 20):
                parts = [random_component(rng, shape, mode, rank, dtype, orthonormal=False) for mode in range(3)]
                expected = dense_sum(parts, [0.5, 1.0, -2.0], shape)[tuple(coords.T)]
                found = pattern.entries(list(zip([0.5, 1.0, -2.0], parts, strict=True)))
                assert found.dtype == dtype
                close(found / np.abs(expected).max(), expected / np.abs(expected).max(), 100 * np.finfo(dtype).eps)

    @pytest.mark.parametrize(("shape", "coords"), CORNERS)
    def test_corners(self, count, shape, coords):
        rng = np.random.default_rng(0)
        with threads(count):
            pattern = pattern_of(coords, shape)
            check_entries(pattern, coords, shape, rng)
            check_products(pattern, coords, shape, rng, block=2)

    def test_a_larger_problem_in_which_threads_meet(self, count):
        shape, rng = (20, 30, 25), np.random.default_rng(0)
        coords = np.argwhere(rng.random(shape) < 0.3)
        with threads(count):
            pattern = pattern_of(coords, shape)
            check_entries(pattern, coords, shape, rng)
            check_products(pattern, coords, shape, rng, block=4)


class TestShares:
    @settings(max_examples=40, deadline=None)
    @given(drawn=shapes_and_entries, count=st.integers(1, 9), cached=st.sampled_from([64, 200, 2**18]))
    @example(drawn=CORNERS[0], count=4, cached=64)
    @example(drawn=CORNERS[-1], count=5, cached=64)
    def test_every_entry_is_walked_once_and_no_two_threads_write_to_the_same_column(self, drawn, count, cached):
        """A race would show only now and then, so look at the shares that the loop is given."""
        shape, coords = drawn
        with threads(count), mock.patch.multiple(pattern, CACHED_BYTES=cached, SHORTEST_RUN=1):
            made = pattern_of(coords, shape)
        for mode, shares in made.shares.items():
            assert len(shares) <= count
            walked = [np.arange(*run) for share in shares for run in share.runs]
            assert sorted(np.concatenate(walked).tolist()) == list(range(len(coords)))
            pieces = np.concatenate([share.pieces for share in shares])
            assert pieces[0, 0] == 0
            assert pieces[-1, 1] == columns(shape, mode)
            assert (pieces[1:, 0] == pieces[:-1, 1]).all()
            assert (pieces % (columns(shape, mode) // shape[leading_mode(mode)]) == 0).all()
            for share in shares:
                assert share.bounds[-1] == len(share.runs)
                for (first, last), (start, stop) in zip(share.pieces, itertools.pairwise(share.bounds), strict=True):
                    for run in share.runs[start:stop]:
                        cols = made.cols[mode][slice(*run)]
                        assert ((first <= cols) & (cols < last)).all()

    @settings(max_examples=25, deadline=None)
    @given(drawn=shapes_and_entries, rng=generators, count=st.integers(1, 4))
    def test_blocks_of_any_size_give_the_same(self, drawn, rng, count):
        shape, coords = drawn
        with threads(count), mock.patch.multiple(pattern, CACHED_BYTES=128, SHORTEST_RUN=1):
            made = pattern_of(coords, shape)
        check_entries(made, coords, shape, rng)
        check_products(made, coords, shape, rng, block=2)

    @pytest.mark.parametrize(("shape", "bits"), [((2**16, 3, 2), 16), ((2, 2**16 + 1, 3), 32)])
    def test_places_are_no_wider_than_their_numbers(self, shape, bits):
        coords = np.array([[0, 0, 0], np.array(shape) - 1])
        made = pattern_of(coords, shape)
        for mode in range(3):
            assert made.rows[mode].dtype == f"u{bits // 8}"
            assert made.cols[mode].dtype == np.uint32
            assert made.rows[mode].tolist() == [0, shape[mode] - 1]
            assert made.cols[mode].tolist() == [0, columns(shape, mode) - 1]

    def test_some_modes_only(self):
        shape, rng = (6, 5, 4), np.random.default_rng(0)
        coords = np.argwhere(rng.random(shape) < 0.5)
        values = rng.standard_normal(len(coords))
        for chosen in [(0,), (1,), (2,), (0, 2), (1, 2)]:
            pattern = pattern_of(coords, shape, chosen)
            for mode in chosen:
                matrix = unfold(scatter(coords, values, shape), mode)
                b = rng.standard_normal((matrix.shape[1], 2))
                close(right(pattern, mode, values, b), matrix @ b)


@st.composite
def sums(draw):
    """Draw a sum of components and a sparse tensor, and the dense tensor that it is."""
    shape, coords = draw(shapes_and_entries)
    rng = draw(generators)
    parts = random_components(rng, shape)
    factors = rng.uniform(-2, 2, len(parts)).tolist()
    values = rng.standard_normal(len(coords))
    tensor = dense_sum(parts, factors, shape) + scatter(coords, values, shape)
    return coords, list(zip(factors, parts, strict=True)), values, tensor, rng


class TestUnfoldings:
    @settings(max_examples=30, deadline=None)
    @given(drawn=sums(), block=blocks)
    def test_both_equal_dense_and_are_adjoint(self, drawn, block):
        coords, terms, values, tensor, rng = drawn
        pattern = pattern_of(coords, tensor.shape)
        for mode in range(tensor.ndim):
            matrix = unfold(tensor, mode)
            a, b = (rng.standard_normal((size, block)) for size in matrix.shape)
            sparse = SparsePlusLowRank(pattern, mode, terms, values)
            for operator in (sparse, DenseUnfolding(tensor, mode)):
                assert operator.shape == matrix.shape
                (left, gram, product), right = operator.round_trip(a), operator.right(b)
                close(gram, left.T @ left)
                close(product, matrix @ matrix.T @ a)
                assert left.shape == (matrix.shape[1], block)
                assert right.shape == (matrix.shape[0], block)
                close(left, matrix.T @ a)
                close(operator.left(a), matrix.T @ a)
                close(right, matrix @ b)
                close(np.vdot(left, b), np.vdot(a, right), 1e-8)

    @pytest.mark.parametrize("last", [1, 3, 15, 16, 17, 40])
    @pytest.mark.parametrize("mode", [0, 1, 2])
    def test_dense_products_on_both_sides_of_the_batching_limit(self, mode, last):
        rng = np.random.default_rng(0)
        operator = DenseUnfolding(rng.standard_normal((5, 6, last)), mode)
        matrix = operator.matrix
        np.testing.assert_array_equal(matrix, unfold(operator.tensor, mode))
        a, b = (rng.standard_normal((size, 3)) for size in matrix.shape)
        close(operator.round_trip(a).block, matrix.T @ a)
        close(operator.right(b), matrix @ b)

    @pytest.mark.parametrize("width", [1, 3, 4, 5, 7, 8, 9, 12, 15, 16, 20, 24, 31])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("shape", [(13, 40), (14, 11, 9), (9, 6, 5, 7)])
    def test_blocks_that_fill_vector_registers_and_those_that_do_not(self, shape, dtype, width):
        rng = np.random.default_rng(width)
        coords = np.argwhere(rng.random(shape) < 0.3)
        ranks = (5, 9, 4, 1)[: len(shape)]
        parts = [random_component(rng, shape, mode, rank, dtype) for mode, rank in enumerate(ranks)]
        values, factors = rng.standard_normal(len(coords)).astype(dtype), rng.uniform(0.5, 2, len(parts)).tolist()
        tensor = dense_sum(parts, factors, shape) + scatter(coords, values, shape)
        with threads(3), mock.patch.multiple(pattern, CACHED_BYTES=64 * 50, SHORTEST_RUN=1):
            made = pattern_of(coords, shape)
        tolerance = 500 * np.finfo(dtype).eps * np.abs(tensor).max()
        for mode in range(len(shape)):
            matrix = unfold(tensor, mode)
            a, b = (rng.standard_normal((size, width)).astype(dtype) for size in matrix.shape)
            operator = SparsePlusLowRank(made, mode, list(zip(factors, parts, strict=True)), values)
            np.testing.assert_allclose(operator.round_trip(a).block, matrix.T @ a, atol=tolerance)
            np.testing.assert_allclose(operator.right(b), matrix @ b, atol=tolerance * 10)

    def test_with_components_of_rank_zero_only_the_sparse_part_is_left(self):
        shape = (4, 5, 6)
        coords, values = np.array([[0, 1, 2], [3, 4, 5]]), np.array([2.0, -1.0])
        operator = alone(pattern_of(coords, shape), 1, values)
        matrix = unfold(scatter(coords, values, shape), 1)
        close(operator.round_trip(np.eye(5)).block, matrix.T)
        close(operator.right(np.eye(24)), matrix)

    @pytest.mark.parametrize("mode", [0, 1, 2])
    def test_float32_stays_float32(self, mode):
        shape, rng = (6, 5, 20), np.random.default_rng(0)
        parts = [random_component(rng, shape, m, 2, np.float32) for m in range(3)]
        coords = np.argwhere(rng.random(shape) < 0.3)
        values = rng.standard_normal(len(coords)).astype(np.float32)
        pattern, terms = pattern_of(coords, shape), [(0.3, part) for part in parts]
        full = np.zeros(shape, dtype=np.float32)
        for weight, part in terms:
            add_dense(part, weight, full)
        expected = dense_sum(parts, [0.3] * 3, shape)
        close(full, expected, 1e-4)
        entries = pattern.entries(terms)
        assert entries.dtype == np.float32
        close(entries, expected[tuple(coords.T)], 1e-4)
        full[tuple(coords.T)] += values
        a = rng.standard_normal((shape[mode], 2)).astype(np.float32)
        b = rng.standard_normal((columns(shape, mode), 2)).astype(np.float32)
        for operator in (SparsePlusLowRank(pattern, mode, terms, values), DenseUnfolding(full, mode)):
            left, right = operator.round_trip(a).block, operator.right(b)
            assert left.dtype == right.dtype == np.float32
            close(left, unfold(full, mode).T @ a, 1e-3)
            close(right, unfold(full, mode) @ b, 1e-3)


@pytest.mark.parametrize("order", ORDERS)
class TestAddDense:
    @settings(max_examples=30, deadline=None)
    @given(data=st.data(), rng=generators, rank=ranks, weight=weights)
    def test_any_shape(self, order, data, rng, rank, weight):
        shape = data.draw(shapes(order, order))
        component = random_component(rng, shape, data.draw(modes(shape)), rank)
        out = rng.standard_normal(shape)
        expected = out + dense_component(component, shape, weight)
        add_dense(component, weight, out)
        close(out, expected)

    def test_every_mode(self, order):
        shape, rng = (3, 2, 4, 2, 3, 2)[:order], np.random.default_rng(0)
        for mode in range(order):
            component = random_component(rng, shape, mode, 2)
            out = np.ones(shape)
            add_dense(component, -0.5, out)
            close(out, 1 + dense_component(component, shape, -0.5))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_add_dense_keeps_the_type_of_what_it_adds_to(mode):
    shape = (3, 4, 5)
    component = random_component(np.random.default_rng(0), shape, mode, 2)
    out = np.zeros(shape, dtype=np.float32)
    add_dense(component, 1.0, out)
    assert out.dtype == np.float32
    close(out, dense_component(component, shape), 1e-5)


class TestLeadingLeftVectors:
    @settings(max_examples=30, deadline=None)
    @given(drawn=shapes_and_entries, rng=generators, data=st.data())
    def test_they_are_those_of_the_dense_matrix(self, drawn, rng, data):
        shape, coords = drawn
        mode = data.draw(modes(shape))
        count = data.draw(st.integers(1, shape[mode]))
        values = rng.standard_normal(len(coords))
        matrix = unfold(scatter(coords, values, shape), mode)
        found = alone(pattern_of(coords, shape), mode, values).leading(count)
        close(found.T @ found, np.eye(count))
        # Vectors are unique up to their sign and to ties, the lengths that they leave of the matrix are unique.
        s = np.linalg.svd(matrix, compute_uv=False)
        s = np.concatenate([s, np.zeros(shape[mode])])[:count]
        close(np.linalg.norm(matrix.T @ found, axis=0), s, 1e-6)

    def test_only_of_the_sparse_tensor_alone_and_where_they_are_cheap(self, monkeypatch):
        shape, rng = (6, 5, 4), np.random.default_rng(0)
        coords = np.argwhere(np.ones(shape))
        pattern, values = pattern_of(coords, shape), rng.standard_normal(120)
        component = random_component(rng, shape, 0, 1)
        assert SparsePlusLowRank(pattern, 1, [(1.0, component)], values).leading(2) is None
        assert alone(pattern, 1, values).leading(2).shape == (5, 2)
        monkeypatch.setattr(operators, "MOST_PAIRS", 4)
        assert alone(pattern, 1, values).leading(2) is None
        monkeypatch.setattr(operators, "MOST_PAIRS", 5)
        assert alone(pattern, 1, values).leading(2) is not None
        monkeypatch.setattr(operators, "LARGEST_GRAM", 4)
        assert alone(pattern, 1, values).leading(2) is None

    def test_single_precision_stays_single(self):
        shape, coords = (6, 5), np.argwhere(np.ones((6, 5)))
        assert alone(pattern_of(coords, shape), 0, np.ones(30, np.float32)).leading(1).dtype == np.float32
