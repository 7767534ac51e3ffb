"""What every model must do, and what is particular to one of them."""

from __future__ import annotations

import functools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra.component import Component
from tensorfill.algebra.unfolding import columns
from tensorfill.losses.links import Link
from tensorfill.models import (
    MODELS,
    Blend,
    Centred,
    CPModel,
    Dense,
    FoldedColumns,
    FoldedLowRank,
    Linked,
    Merged,
    Placed,
    TensorRing,
    TensorTrain,
    Tucker,
    Unfolded,
)
from tensorfill.models.additive import Additive
from tensorfill.models.slices import Neighbours, Slices
from tests.refusal import refuses
from tests.strategies import dense_sum, generators, random_component, shapes

SHAPE = (4, 5, 6)


def folded(shape, rng, ranks=None, dtype=np.float64):
    """Return NORT's form, with the dense tensor that its formula gives."""
    ranks = {mode: 1 + mode % 3 for mode in range(len(shape))} if ranks is None else ranks
    parts = [random_component(rng, shape, mode, rank, dtype) for mode, rank in ranks.items()]
    weights = rng.dirichlet(np.ones(len(parts)))
    return FoldedLowRank(shape, parts, weights), dense_sum(parts, weights, shape)


def folded_last_mode_only(shape, rng):
    return folded(shape, rng, {len(shape) - 1: 2})


def folded_with_a_zero(shape, rng):
    return folded(shape, rng, {0: 2, len(shape) - 1: 0})


def folded_zero(shape, rng):
    return folded(shape, rng, {0: 0})


def folded_float32(shape, rng):
    return folded(shape, rng, dtype=np.float32)


def folded_columns(shape, rng):
    """Return NORT's form for very sparse data, with components that are known at all columns."""
    model, dense = folded(shape, rng)
    return FoldedColumns.from_folded(model), dense


def tucker(shape, rng, ranks=None, dtype=np.float64):
    """Return the Tucker form, with the dense tensor that its formula gives."""
    ranks = [1 + (mode + 1) % 3 for mode in range(len(shape))] if ranks is None else ranks
    core = rng.standard_normal(ranks).astype(dtype)
    factors = [rng.standard_normal(size).astype(dtype) for size in zip(shape, ranks, strict=True)]
    dense = core.astype(np.float64)
    for mode, factor in enumerate(factors):
        dense = np.apply_along_axis(factor.astype(np.float64).__matmul__, mode, dense)
    return Tucker(shape, core, factors), dense


def tucker_float32(shape, rng):
    return tucker(shape, rng, [2] * len(shape), dtype=np.float32)


def cp(shape, rng, rank=3, dtype=np.float64):
    """Return the CP form, with the dense tensor that its formula gives."""
    weights = rng.standard_normal(rank).astype(dtype)
    factors = [rng.standard_normal((size, rank)).astype(dtype) for size in shape]
    dense = np.zeros(shape)
    for r in range(rank):
        columns_of_r = [factor[:, r].astype(np.float64) for factor in factors]
        dense += weights[r] * functools.reduce(np.multiply.outer, columns_of_r)
    return CPModel(shape, weights, factors), dense


def cp_zero(shape, rng):
    return cp(shape, rng, 0)


def cp_float32(shape, rng):
    return cp(shape, rng, 2, np.float32)


def ring(shape, rng, ranks=None, dtype=np.float64):
    """Return a tensor ring, with the dense tensor that its formula gives."""
    ranks = [1 + (mode + 1) % 3 for mode in range(len(shape))] if ranks is None else ranks
    sizes = zip(ranks, shape, [*ranks[1:], ranks[0]], strict=True)
    cores = [rng.standard_normal(size).astype(dtype) for size in sizes]
    dense = np.zeros(shape)
    for place in np.ndindex(*shape):
        matrices = [core[:, i, :].astype(np.float64) for core, i in zip(cores, place, strict=True)]
        dense[place] = np.trace(functools.reduce(np.matmul, matrices))
    return (TensorTrain if ranks[0] == 1 else TensorRing)(shape, cores), dense


def ring_zero(shape, rng):
    return ring(shape, rng, [2, 0] + [3] * (len(shape) - 2))


def ring_float32(shape, rng):
    return ring(shape, rng, [2] * len(shape), np.float32)


def train(shape, rng):
    return ring(shape, rng, [1, *(1 + (mode + 1) % 3 for mode in range(1, len(shape)))])


def train_float32(shape, rng):
    return ring(shape, rng, [1] + [2] * (len(shape) - 1), np.float32)


def centred(inner, rng):
    """Return a model and its dense tensor with an offset added to both."""
    model, dense = inner
    effects = [rng.standard_normal(size) for size in model.shape]
    return Centred(model, Additive(2.5, effects)), dense + 2.5 + functools.reduce(np.add.outer, effects)


def linked(inner, link):
    """Return a model and its dense tensor, both through a link: the formula of two bounds, in plain NumPy."""
    model, dense = inner
    width, below, above = link.width, dense - link.low, link.high - dense
    curve = np.log(width * np.log1p(np.exp(below / width))) - np.log(width * np.log1p(np.exp(above / width)))
    return Linked(model, link), link.intercept + link.slope * curve


def linked_cp(shape, rng):
    return linked(cp(shape, rng), Link(-1.0, 2.0, 0.5, 0.3, 1.7))


def linked_tucker_float32(shape, rng):
    return linked(tucker_float32(shape, rng), Link(-3.0, 5.0, 2.0, 0.3, 1.7))


def centred_folded(shape, rng):
    return centred(folded(shape, rng), rng)


def centred_folded_zero(shape, rng):
    return centred(folded_zero(shape, rng), rng)


def centred_folded_float32(shape, rng):
    return centred(folded_float32(shape, rng), rng)


def centred_tucker(shape, rng):
    return centred(tucker(shape, rng), rng)


def centred_cp(shape, rng):
    return centred(cp(shape, rng), rng)


def centred_ring(shape, rng):
    return centred(ring(shape, rng), rng)


def dense_array(shape, rng, dtype=np.float64):
    array = rng.standard_normal(shape).astype(dtype)
    return Dense(array, [2] * len(shape)), array.astype(np.float64)


def dense_float32(shape, rng):
    return dense_array(shape, rng, np.float32)


WAYS = [(None, None), (Neighbours(1.0), None), (None, Neighbours(1.5, 0.3))]
"""How slices between others, and at either end, are filled, for each mode in turn."""


def placed(factory, shape, rng):
    """Return a model of some slices of all modes but the last, with the dense tensor of which the others are means."""
    slices = [Slices(size, np.arange(size > 2, size, 2), *WAYS[mode % 3]) for mode, size in enumerate(shape[:-1])] + [
        None
    ]
    small, dense = factory(
        tuple(size if each is None else len(each.kept) for size, each in zip(shape, slices, strict=True)), rng
    )
    for mode, each in enumerate(slices[:-1]):
        rows = np.zeros((each.size, len(each.kept)))
        for index in range(each.size):
            inside = each.kept[0] < index < each.kept[-1]
            way = each.between if inside else each.beyond
            if index in each.kept:
                rows[index, each.kept.tolist().index(index)] = 1.0
            elif way is None:
                rows[index] = 1 / len(each.kept)
            else:
                rows[index] = way.weights(np.array([index]), each.kept[None, :])[0]
        dense = np.moveaxis(np.tensordot(rows, dense, axes=(1, mode)), 0, mode)
    return Placed(small, slices), dense


def placed_cp(shape, rng):
    return placed(cp, shape, rng)


def placed_folded(shape, rng):
    return placed(folded, shape, rng)


def placed_tucker_float32(shape, rng):
    return placed(tucker_float32, shape, rng)


def placed_centred(shape, rng):
    return placed(centred_tucker, shape, rng)


def blend(shape, rng):
    """Return a weighted sum of models of several kinds, with the dense tensor that its formula gives."""
    parts = [centred_tucker(shape, rng), cp(shape, rng), dense_array(shape, rng)]
    weights = rng.dirichlet(np.ones(len(parts)))
    dense = sum(weight * each for weight, (_, each) in zip(weights, parts, strict=True))
    return Blend([model for model, _ in parts], weights), dense


def blend_float32(shape, rng):
    (one, first), (two, second) = cp_float32(shape, rng), folded_float32(shape, rng)
    return Blend([one, two], [0.75, 0.25]), 0.75 * first + 0.25 * second


def placed_blend(shape, rng):
    return placed(blend, shape, rng)


def merged(factory, shape, rng):
    """Return a model of a tensor with its first and last modes merged, and with them apart if there are only two."""
    ndim = len(shape)
    groups = {2: [], 3: [(0, 2)], 4: [(0, 3)]}.get(ndim, [(0, ndim - 1), (1, ndim - 2)])
    parts = [next((list(group) for group in groups if mode in group), [mode]) for mode in range(ndim)]
    parts = [part for mode, part in enumerate(parts) if part[0] == mode]
    small, dense = factory(tuple(math.prod(shape[mode] for mode in part) for part in parts), rng)
    order = [mode for part in parts for mode in part]
    dense = dense.reshape([shape[mode] for mode in order]).transpose(np.argsort(order))
    return Merged(small, shape, groups), dense


def merged_cp(shape, rng):
    return merged(cp, shape, rng)


def merged_folded(shape, rng):
    return merged(folded, shape, rng)


def merged_tucker_float32(shape, rng):
    return merged(tucker_float32, shape, rng)


def merged_centred(shape, rng):
    return merged(centred_tucker, shape, rng)


def merged_placed(shape, rng):
    return merged(placed_cp, shape, rng)


def placed_merged(shape, rng):
    return placed(merged_cp, shape, rng)


def unfolded(factory, shape, rng):
    """Return a model of a tensor whose second mode is rows of two slots; of an odd size, the last slot is not used."""
    small, dense = factory((shape[0], -(-shape[1] // 2), 2, *shape[2:]), rng)
    return Unfolded(small, 1, shape[1]), dense.reshape(shape[0], -1, *shape[2:])[:, : shape[1]]


def unfolded_cp(shape, rng):
    return unfolded(cp, shape, rng)


def unfolded_folded(shape, rng):
    return unfolded(folded, shape, rng)


def unfolded_tucker_float32(shape, rng):
    return unfolded(tucker_float32, shape, rng)


def unfolded_centred(shape, rng):
    return unfolded(centred_tucker, shape, rng)


def unfolded_placed(shape, rng):
    return unfolded(placed_cp, shape, rng)


def unfolded_ring(shape, rng):
    return unfolded(ring, shape, rng)


def placed_unfolded(shape, rng):
    return placed(unfolded_cp, shape, rng)


def merged_unfolded(shape, rng):
    return merged(unfolded_cp, shape, rng)


# A new model adds a factory: (shape, rng) -> the model, and the dense float64 tensor that its formula gives.
FACTORIES = [
    folded,
    folded_last_mode_only,
    folded_with_a_zero,
    folded_zero,
    folded_float32,
    folded_columns,
    tucker,
    tucker_float32,
    cp,
    cp_zero,
    cp_float32,
    ring,
    ring_zero,
    ring_float32,
    train,
    train_float32,
    centred_folded,
    centred_folded_zero,
    centred_folded_float32,
    centred_tucker,
    centred_cp,
    centred_ring,
    dense_array,
    dense_float32,
    linked_cp,
    linked_tucker_float32,
    placed_cp,
    placed_folded,
    placed_tucker_float32,
    placed_centred,
    blend,
    blend_float32,
    placed_blend,
    merged_cp,
    merged_folded,
    merged_tucker_float32,
    merged_centred,
    merged_placed,
    placed_merged,
    unfolded_cp,
    unfolded_folded,
    unfolded_tucker_float32,
    unfolded_centred,
    unfolded_placed,
    unfolded_ring,
    placed_unfolded,
    merged_unfolded,
]


def close(actual, expected, model):
    tolerance = 1e-9 if model.dtype == np.float64 else 2e-5
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def in_one_line(key):
    return " ".join(repr(key).split())


def all_coordinates(shape):
    return np.indices(shape).reshape(len(shape), -1).T


def outer_index(array, keys):
    """Return `array` with each mode indexed on its own: a number takes its mode away, a list keeps it."""
    for mode in reversed(range(len(keys))):
        array = array[(slice(None),) * mode + (keys[mode],)]
    return array


@st.composite
def index_keys(draw, shape):
    """Draw a key for each mode, or for some at either end of an Ellipsis; none that selects nothing."""
    keys = [
        draw(
            st.one_of(
                st.integers(-size, size - 1),
                st.slices(size).filter(lambda part, size=size: len(range(*part.indices(size)))),
                st.lists(st.integers(-size, size - 1), min_size=1, max_size=4),
            )
        )
        for size in shape
    ]
    kind = draw(st.sampled_from(["every", "fewer", "ellipsis"]))
    if kind == "every":
        return tuple(keys), keys
    first = draw(st.integers(0, len(shape)))
    last = draw(st.integers(first, len(shape))) if kind == "ellipsis" else len(shape)
    full = keys[:first] + [slice(None)] * (last - first) + keys[last:]
    gap = [Ellipsis] if kind == "ellipsis" else []
    return tuple(keys[:first] + gap + keys[last:]), full


@pytest.fixture(scope="module", params=FACTORIES, ids=lambda factory: factory.__name__)
def pair(request):
    return request.param(SHAPE, np.random.default_rng(0))


@pytest.fixture
def model(pair):
    return pair[0]


@pytest.fixture
def dense(pair):
    return pair[1]


def each_factory(test):
    return pytest.mark.parametrize("factory", FACTORIES, ids=lambda factory: factory.__name__)(test)


class TestModelContract:
    # What it is

    def test_the_registry_knows_it_by_its_kind(self, model):
        assert MODELS[model.kind] is type(model)

    def test_shape_and_order(self, model):
        assert model.shape == SHAPE
        assert model.ndim == 3
        assert all(isinstance(rank, int) for rank in model.ranks)

    def test_repr_names_the_class_and_the_shape(self, model):
        assert type(model).__name__ in repr(model)
        assert str(SHAPE) in repr(model)

    def test_nbytes_is_what_its_arrays_hold(self, model):
        held = sum(array.nbytes for array in model.to_arrays().values())
        assert held - 1024 <= model.nbytes <= held

    # Values

    @each_factory
    @settings(max_examples=20, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_dense_and_predicted_values_equal_the_formula(self, factory, data, rng):
        shape = data.draw(shapes(max_entries=500))
        model, dense = factory(shape, rng)
        full = model.to_dense()
        assert full.shape == shape
        close(full, dense, model)
        close(model.predict(all_coordinates(shape)), dense.ravel(), model)

    def test_a_multiple_by_a_power_of_two_has_the_same_digits(self, model):
        for factor in (4.0, 2.0**-20):
            multiple = model.scaled(factor)
            assert (type(multiple), multiple.dtype, multiple.ranks) == (type(model), model.dtype, model.ranks)
            np.testing.assert_array_equal(multiple.to_dense(), factor * model.to_dense())
            np.testing.assert_array_equal(multiple.predict([[1, 2, 3]]), factor * model.predict([[1, 2, 3]]))

    @each_factory
    @settings(max_examples=15, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_slices_can_be_combined(self, factory, data, rng):
        shape = data.draw(shapes(max_entries=300))
        model, dense = factory(shape, rng)
        mode = data.draw(st.integers(0, len(shape) - 1))
        matrix = rng.standard_normal((data.draw(st.integers(1, 4)), shape[mode]))
        if data.draw(st.booleans()):
            matrix = np.abs(matrix) / np.abs(matrix).sum(axis=1, keepdims=True)
        combined = model.multiplied(mode, matrix)
        expected = np.moveaxis(np.tensordot(matrix, dense, axes=(1, mode)), 0, mode)
        assert combined.shape == expected.shape
        close(combined.to_dense(), expected, model)

    def test_type_of_the_values(self, model):
        assert model.to_dense().dtype == model.dtype
        assert model.predict([[0, 1, 2]]).dtype == model.dtype
        assert model[0].dtype == model.dtype
        assert model.restrict([np.arange(size) for size in SHAPE]).dtype == model.dtype

    def test_coordinates_in_any_order_and_more_than_once(self, model, dense):
        coords = np.random.default_rng(1).integers(0, SHAPE, size=(200, 3))
        close(model.predict(coords), dense[tuple(coords.T)], model)
        close(model.predict(coords.tolist()), dense[tuple(coords.T)], model)

    def test_coordinates_of_any_integer_type(self, model, dense):
        for dtype in (np.int8, np.uint8, np.int32, np.uint64):
            close(model.predict(all_coordinates(SHAPE).astype(dtype)), dense.ravel(), model)

    def test_no_coordinates_give_no_values(self, model):
        for dtype in (int, float):
            values = model.predict(np.empty((0, 3), dtype=dtype))
            assert values.shape == (0,)
            assert values.dtype == model.dtype

    def test_bad_coordinates_are_refused(self, model):
        for coords, kind, words in [
            ([[0, 0]], ValueError, ["coords", "3 columns", "(1, 2)"]),
            ([[0, 0, 0, 0]], ValueError, ["coords", "3 columns", "(1, 4)"]),
            ([0, 0, 0], ValueError, ["coords", "one row for each entry", "(3,)"]),
            ([[0, 0, 0], [0, 5, 0]], ValueError, ["coords", "from 0 to 4 in mode 1", "row 1", "(0, 5, 0)"]),
            ([[0, 0, -1]], ValueError, ["coords", "from 0 to 5 in mode 2", "(0, 0, -1)"]),
            ([[0.0, 0.0, 0.0]], TypeError, ["coords", "integers", "float64"]),
            ([[True, False, True]], TypeError, ["coords", "integers", "bool"]),
            ([["a", "b", "c"]], TypeError, ["coords", "integers"]),
            ([[0, 0, 0], [1, 1]], ValueError, ["coords", "rows differ in length"]),
        ]:
            refuses(kind, words, lambda coords=coords: model.predict(coords))

    # Dense

    def test_dense_above_the_limit_is_refused_until_it_is_raised(self, model, dense):
        size = dense.size * model.dtype.itemsize
        refuses(ValueError, [str(SHAPE), f"{size:,}", "max_bytes"], lambda: model.to_dense(max_bytes=size - 1))
        close(model.to_dense(max_bytes=size), dense, model)

    def test_dense_is_a_new_array_each_time(self, model, dense):
        model.to_dense()[...] = 7
        close(model.to_dense(), dense, model)

    # Parts

    @each_factory
    @settings(max_examples=20, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_indexing_equals_that_of_the_dense_array(self, factory, data, rng):
        shape = data.draw(shapes(max_order=5, max_entries=300))
        model, dense = factory(shape, rng)
        key, keys = data.draw(index_keys(shape))
        part = model[key]
        expected = outer_index(dense, keys)
        assert np.shape(part) == expected.shape
        close(part, expected, model)

    def test_keys_that_mean_the_same_to_numpy(self, model, dense):
        for key in [
            1,
            -1,
            slice(None),
            slice(1, 3),
            slice(None, None, -1),
            slice(3, 0, -2),
            slice(-100, 100),
            Ellipsis,
            (),
            (1, 2),
            (1, 2, 3),
            (-1, -2, -3),
            (Ellipsis, 0),
            (0, Ellipsis),
            (0, Ellipsis, 0),
            (0, Ellipsis, 0, 0),
            (slice(1, None, 2), Ellipsis, slice(None, None, -1)),
            [0, 2, 2, -1],
            (slice(None), [1, 3]),
            (Ellipsis, [5, 0]),
            (0, [1, 3], slice(None, None, 2)),
            np.array([1, 0]),
            np.int8(2),
            range(3),
        ]:
            part = model[key]
            assert np.shape(part) == dense[key].shape, in_one_line(key)
            close(part, dense[key], model)

    def test_several_lists_take_their_outer_product(self, model, dense):
        lists = [0, 3], [4, 1, 1], [-1]
        close(model[lists], dense[np.ix_(*lists)], model)
        close(model[lists[0], 2, lists[1]], dense[:, 2][np.ix_(lists[0], lists[1])], model)

    def test_a_part_with_nothing_in_it(self, model, dense):
        for key in (slice(2, 2), (slice(None), []), (Ellipsis, slice(0, 0)), (0, slice(3, 1), 1)):
            part = model[key]
            assert part.shape == dense[key].shape, in_one_line(key)
            assert part.dtype == model.dtype

    def test_truth_values_are_a_mask_or_refused_but_never_read_as_zero_and_one(self, model, dense):
        for mask in ([True, False, False, True], [False] * 4, [True] * 4):
            try:
                part = model[np.array(mask)]
            except IndexError:
                continue
            assert part.shape == dense[mask].shape, mask
            close(part, dense[mask], model)

    def test_bad_keys_are_refused(self, model):
        for key, words in [
            (4, ["4", "mode 0", "from -4 to 3"]),
            (-5, ["-5", "mode 0", "from -4 to 3"]),
            ((0, 5), ["5", "mode 1"]),
            ((Ellipsis, 6), ["6", "mode 2"]),
            (([0, 4],), ["4", "mode 0"]),
            (2**70, ["mode 0"]),
            (-(2**70), ["mode 0"]),
            (1.0, ["mode 0", "whole numbers", "1.0"]),
            ((0, [1.0, 2.0]), ["mode 1", "whole numbers"]),
            ("a", ["mode 0", "whole numbers", "'a'"]),
            (None, ["mode 0", "whole numbers", "None"]),
            ([[0, 1], [1, 0]], ["mode 0", "whole numbers"]),
            (np.zeros((2, 2), dtype=int), ["mode 0", "whole numbers"]),
            ([[0, 1], [1]], ["mode 0", "whole numbers"]),
            ((0, 0, 0, 0), ["order 3", "at most 3"]),
            ((0, 0, 0, 0, Ellipsis), ["order 3", "at most 3"]),
            ((Ellipsis, Ellipsis), ["order 3", "one '...'"]),
        ]:
            lower = [word.replace("mode", "ode") for word in words]  # "Mode" begins a sentence
            refuses(IndexError, lower, lambda key=key: model[key])

    @each_factory
    @settings(max_examples=20, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_restrict(self, factory, data, rng):
        shape = data.draw(shapes(max_entries=300))
        model, dense = factory(shape, rng)
        indices = [rng.integers(0, size, size=rng.integers(1, 5)) for size in shape]
        expected = dense[np.ix_(*indices)]
        part = model.restrict(indices)
        assert type(part) is type(model)
        assert part.shape == expected.shape
        close(part.to_dense(), expected, model)
        close(part.predict(all_coordinates(part.shape)), expected.ravel(), model)

    # Norm and inner product

    @each_factory
    @settings(max_examples=20, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_norm_and_inner_product(self, factory, data, rng):
        shape = data.draw(shapes(max_entries=300))
        (first, x), (second, y) = factory(shape, rng), factory(shape, rng)
        precision = 1e-10 if first.dtype == np.float64 else 1e-5
        tolerance = precision * max(1, np.linalg.norm(x) * np.linalg.norm(y)) * 10
        assert math.isclose(first.inner(second), np.vdot(x, y), abs_tol=tolerance)
        assert math.isclose(second.inner(first), np.vdot(x, y), abs_tol=tolerance)
        np.testing.assert_allclose(first.norm() ** 2, np.vdot(x, x), rtol=1e-3, atol=1e-3)
        assert isinstance(first.norm(), float)
        assert isinstance(first.inner(second), float)

    def test_norm_and_inner_product_of_a_part(self, model, dense):
        indices = [np.array([3, 0, 0]), np.array([2, 1]), np.array([5, 0, 4, 4])]
        part, expected = model.restrict(indices), dense[np.ix_(*indices)]
        assert math.isclose(part.norm(), np.linalg.norm(expected), rel_tol=1e-4, abs_tol=1e-4)
        other, other_expected = model.restrict([index[::-1] for index in indices]), expected[::-1, ::-1, ::-1]
        assert math.isclose(part.inner(other), np.vdot(expected, other_expected), rel_tol=1e-4, abs_tol=1e-4)

    @each_factory
    def test_inner_product_with_another_shape_or_kind_is_refused(self, factory):
        rng = np.random.default_rng(0)
        model, _ = factory(SHAPE, rng)
        other, _ = factory((4, 5, 7), rng)
        refuses(TypeError, ["same kind and shape", "(4, 5, 7)"], lambda: model.inner(other))
        refuses(TypeError, ["same kind and shape"], lambda: model.inner("a model"))

    # Margins

    @each_factory
    @settings(max_examples=20, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_margins_are_the_sums_over_all_other_modes(self, factory, data, rng):
        shape = data.draw(shapes(max_entries=300))
        model, dense = factory(shape, rng)
        mode = data.draw(st.integers(-len(shape), len(shape) - 1))
        others = tuple(axis for axis in range(len(shape)) if axis != mode % len(shape))
        margin = model.margin(mode)
        assert margin.shape == (shape[mode],)
        assert margin.dtype == np.float64
        precision = 1e-12 if model.dtype == np.float64 else 2e-6
        np.testing.assert_allclose(margin, dense.sum(axis=others), atol=precision * (1 + np.abs(dense).sum()))

    def test_the_margin_of_a_mode_that_is_not_there_is_refused(self, model):
        refuses(ValueError, ["mode", "from -3 to 2", "3 was given"], lambda: model.margin(3))
        refuses(TypeError, ["mode", "whole number", "'a'"], lambda: model.margin("a"))

    # Files

    def test_round_trip_through_a_file_without_pickle(self, model, dense, tmp_path):
        path = tmp_path / "model.npz"
        np.savez(path, **model.to_arrays())
        with np.load(path, allow_pickle=False) as arrays:
            again = type(model).from_arrays(model.shape, arrays)
        assert type(again) is type(model)
        assert again.shape == model.shape
        assert again.dtype == model.dtype
        assert again.ranks == model.ranks
        assert again.nbytes == model.nbytes
        np.testing.assert_array_equal(again.to_dense(), model.to_dense())
        close(again.to_dense(), dense, model)


class TestTucker:
    def test_the_sum_of_two_has_the_factors_of_both(self):
        rng = np.random.default_rng(0)
        (first, x), (second, y) = tucker(SHAPE, rng, [2, 1, 3]), tucker(SHAPE, rng, [1, 2, 1])
        assert first.plus(second).ranks == (3, 3, 4)
        close(first.plus(second).to_dense(), x + y, first)


class TestFoldedLowRank:
    def huge(self):
        """Return a model of 24 GB if it were dense, and the three vectors of which it is the product."""
        shape, rng = (2000, 3000, 500), np.random.default_rng(0)
        a, b, c = (vector / np.linalg.norm(vector) for vector in map(rng.standard_normal, shape))
        mode = min(range(3), key=lambda mode: columns(shape, mode))
        assert mode == 1
        component = Component(mode, b[:, None], np.array([2.0]), np.outer(a, c).reshape(-1, 1))
        return FoldedLowRank(shape, [component], [1.0]), (2 * a, b, c)

    def test_a_huge_tensor_is_predicted_and_sliced_without_being_made_dense(self):
        model, (a, b, c) = self.huge()
        coords = np.random.default_rng(1).integers(0, model.shape, size=(100_000, 3))
        tracemalloc.start()
        try:
            values = model.predict(coords)
            fibre = model[1999, :, -1]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        i, j, k = coords.T
        np.testing.assert_allclose(values, a[i] * b[j] * c[k], rtol=1e-12)
        np.testing.assert_allclose(fibre, a[1999] * b * c[-1], rtol=1e-12)
        assert peak < 32e6

    def test_a_huge_tensor_is_not_made_dense_unasked(self):
        model, _ = self.huge()
        refuses(ValueError, ["(2000, 3000, 500)", "24,000,000,000", "max_bytes"], model.to_dense)
        refuses(ValueError, ["24,000,000,000"], lambda: model[...])

    def test_norm_of_a_huge_tensor(self):
        model, _ = self.huge()
        assert math.isclose(model.norm(), 2.0)

    def test_modes_and_ranks(self):
        model, _ = folded(SHAPE, np.random.default_rng(0), {2: 3, 0: 1})
        assert model.modes == (2, 0)
        assert model.ranks == (3, 1)
        assert model.nbytes == 8 * (3 * (6 + 1 + 20) + 1 * (4 + 1 + 30))

    def test_margins_of_a_huge_tensor_are_summed_without_it_being_made_dense(self):
        model, (a, b, c) = self.huge()
        tracemalloc.start()
        try:
            margins = [model.margin(mode) for mode in range(3)]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        for margin, vector in zip(margins, (a, b, c), strict=True):
            np.testing.assert_allclose(margin, vector * (a.sum() * b.sum() * c.sum() / vector.sum()), rtol=1e-9)
        assert peak < 1e6


class TestCP:
    @settings(max_examples=30, deadline=None)
    @given(shape=shapes(max_order=5, max_entries=300), rank=st.integers(0, 4), rng=generators)
    def test_normalised_and_balanced_forms_are_the_same_tensor(self, shape, rank, rng):
        model, dense = cp(shape, rng, rank)
        balanced = model.balanced_factors()
        lengths = [np.linalg.norm(factor, axis=0) for factor in balanced]
        for length in lengths[1:]:
            np.testing.assert_allclose(length, lengths[0], rtol=1e-12)
        normalised = CPModel.normalised(balanced)
        close(normalised.to_dense(), dense, model)
        assert (np.diff(normalised.weights) <= 0).all()
        for factor in normalised.factors:
            np.testing.assert_allclose(np.linalg.norm(factor, axis=0), 1, rtol=1e-12)

    def test_a_term_of_zero_stays_zero(self):
        factors = [np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[3.0, 1.0], [0.0, 1.0]])]
        model = CPModel.normalised(factors)
        np.testing.assert_allclose(model.weights, [math.sqrt(5) * 3, 0])
        np.testing.assert_allclose(model.to_dense(), factors[0] @ factors[1].T)
        np.testing.assert_allclose(CPModel.normalised(model.balanced_factors()).to_dense(), model.to_dense())

    def test_the_rank_is_the_number_of_terms(self):
        model, _ = cp(SHAPE, np.random.default_rng(0), 3)
        assert model.ranks == (3,)
        assert model.nbytes == 8 * 3 * (1 + sum(SHAPE))
        assert repr(model) == "CPModel(shape=(4, 5, 6), ranks=(3,))"

    @pytest.mark.parametrize("weights", [np.ones(3), np.ones((2, 1))])
    def test_factors_that_do_not_fit_are_refused(self, weights):
        factors = [np.ones((size, 2)) for size in SHAPE]
        refuses(ValueError, ["CP model", str(SHAPE), str(weights.shape), "(4, 2)"],
                lambda: CPModel(SHAPE, weights, factors))  # fmt: skip

    def test_dense_makes_little_beside_the_tensor(self):
        shape = (60, 50, 40)
        model = CPModel(shape, np.ones(5), [np.ones((size, 5)) for size in shape])
        tracemalloc.start()
        try:
            model.to_dense()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 1.5 * 8 * math.prod(shape)


class TestRing:
    def huge(self):
        """Return a train of 24 GB if it were dense, with the three vectors of which it is the product."""
        rng = np.random.default_rng(0)
        vectors = [rng.standard_normal(size) for size in (2000, 3000, 500)]
        return TensorTrain((2000, 3000, 500), [vector.reshape(1, -1, 1) for vector in vectors]), vectors

    def test_a_huge_tensor_is_predicted_sliced_and_measured_without_being_made_dense(self):
        model, (a, b, c) = self.huge()
        coords = np.random.default_rng(1).integers(0, model.shape, size=(100_000, 3))
        tracemalloc.start()
        try:
            values, fibre, norm = model.predict(coords), model[1999, :, -1], model.norm()
            margin = model.margin(1)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        i, j, k = coords.T
        np.testing.assert_allclose(values, a[i] * b[j] * c[k], rtol=1e-12)
        np.testing.assert_allclose(fibre, a[1999] * b * c[-1], rtol=1e-12)
        np.testing.assert_allclose(margin, a.sum() * b * c.sum(), rtol=1e-9)
        assert math.isclose(norm, math.prod(np.linalg.norm(each) for each in (a, b, c)))
        assert peak < 32e6

    def test_ranks_link_neighbours(self):
        rng = np.random.default_rng(0)
        assert ring(SHAPE, rng, [2, 3, 4])[0].ranks == (2, 3, 4)
        model = train(SHAPE, rng)[0]
        assert model.ranks == (3, 1)
        assert repr(model) == "TensorTrain(shape=(4, 5, 6), ranks=(3, 1))"

    def test_the_inner_product_of_a_ring_with_a_train(self):
        rng = np.random.default_rng(0)
        (first, x), (second, y) = ring(SHAPE, rng, [2, 3, 4]), train(SHAPE, rng)
        assert math.isclose(first.inner(second), np.vdot(x, y), rel_tol=1e-9)

    def test_cores_that_do_not_fit_are_refused(self):
        good = [np.ones((2, size, 2)) for size in SHAPE]
        for cores in (
            good[:2],
            [*good[:2], np.ones((2, 7, 2))],
            [*good[:2], np.ones((3, 6, 2))],
            [np.ones((2, 2))] * 3,
        ):
            refuses(ValueError, ["TensorRing", str(SHAPE), "core"], lambda cores=cores: TensorRing(SHAPE, cores))
        refuses(ValueError, ["train", "must be 1", "are 2", "TensorRing"], lambda: TensorTrain(SHAPE, good))


class TestCentred:
    def test_the_ranks_and_the_type_are_those_of_the_inner_model(self):
        model, _ = centred_folded_float32(SHAPE, np.random.default_rng(0))
        assert model.ranks == model.model.ranks
        assert model.dtype == np.float32
        assert model.nbytes == model.model.nbytes + 8 * sum(SHAPE)
        assert "FoldedLowRank" in repr(model)
        assert "mean=2.5" in repr(model)

    def test_an_offset_of_another_shape_is_refused(self):
        inner, _ = tucker(SHAPE, np.random.default_rng(0))
        offset = Additive(0.0, [np.zeros(size) for size in (4, 5, 7)])
        refuses(ValueError, ["offset", str(SHAPE), "(4, 5, 7)"], lambda: Centred(inner, offset))

    def test_the_inner_product_with_another_inner_kind_is_refused(self):
        rng = np.random.default_rng(0)
        (first, _), (second, _) = centred_folded(SHAPE, rng), centred_tucker(SHAPE, rng)
        refuses(TypeError, ["same kind and shape", "FoldedLowRank", "Tucker"], lambda: first.inner(second))
        refuses(TypeError, ["same kind and shape"], lambda: first.inner(first.model))
        refuses(TypeError, ["same kind and shape"], lambda: first.model.inner(first))

    def test_no_array_of_its_file_needs_pickle(self):
        model, _ = centred_tucker(SHAPE, np.random.default_rng(0))
        assert all(array.dtype.kind in "fiU" for array in model.to_arrays().values())

    def test_the_offset_of_a_huge_tensor_is_never_made_dense(self):
        inner, _ = TestFoldedLowRank().huge()
        model = Centred(inner, Additive(1.0, [np.zeros(size) for size in inner.shape]))
        sums = math.prod(inner.shape) + 2 * inner.margin(0).sum() + 4
        assert math.isclose(model.norm(), math.sqrt(sums))
        refuses(ValueError, ["24,000,000,000", "max_bytes"], model.to_dense)


def test_a_class_with_a_kind_of_its_own_is_found_when_a_file_is_read():
    class Inherited(Dense):
        pass

    assert MODELS["dense"] is Dense

    class Own(Dense):
        kind = "own"

    try:
        arrays = Centred(Own([[1.0, 2.0]]), Additive(1.0, ([0.0], [0.0, 3.0]))).to_arrays()
        again = Centred.from_arrays((1, 2), arrays)
    finally:
        del MODELS["own"]
    assert type(again.model) is Own
    np.testing.assert_array_equal(again.to_dense(), [[2.0, 6.0]])
