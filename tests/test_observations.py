"""Observations: what is accepted, what is refused and in which words, order, duplicates, splits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tensorfill.observations import Observations
from tests.refusal import refuses

COORDS = [[2, 0, 1], [0, 3, 1], [0, 3, 0]]
VALUES = [5.0, 0.0, -1.0]
SHAPE = (3, 4, 2)
NAN, INF = np.nan, np.inf


def sparse(**changes):
    return Observations(**({"coords": COORDS, "values": VALUES, "shape": SHAPE} | changes))


def dense_example(seed=0, shape=(6, 7, 5), missing=0.4):
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape)
    array[rng.random(shape) < missing] = np.nan
    array[0, 0, 0] = 0.0
    return array


def both_kinds(array):
    dense = Observations.from_dense(array)
    order = np.random.default_rng(1).permutation(len(dense))
    return dense, Observations(dense.coords[order], dense.values[order], dense.shape)


def rows(obs):
    return {tuple(row) for row in obs.coords.tolist()}


def entries(obs):
    return dict(zip(map(tuple, obs.coords.tolist()), obs.values.tolist(), strict=True))


# What is refused


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"values": [5.0, NAN, -1.0]}, ValueError, ["finite", "row 1", "nan"]),
        ({"values": [5.0, 0.0, -INF]}, ValueError, ["finite", "row 2", "-inf"]),
        ({"values": np.ma.masked_values(VALUES, 0.0)}, ValueError, ["finite", "row 1"]),
        ({"values": [1j, 2, 3]}, TypeError, ["real numbers", "complex128"]),
        ({"values": ["1", "2", "3"]}, TypeError, ["real numbers", "<U1"]),
        ({"values": [1.0, None, 3.0]}, TypeError, ["real numbers", "object"]),
        ({"values": [1.0, [2.0], 3.0]}, ValueError, ["values", "regular"]),
        ({"values": [[5.0], [0.0], [1.0]]}, ValueError, ["values", "(3,)", "(3, 1)"]),
        ({"values": 5.0}, ValueError, ["values", "(3,)", "()"]),
        ({"values": [5.0, 0.0]}, ValueError, ["values", "(3,)", "(2,)"]),
        ({"values": []}, ValueError, ["values", "(3,)", "(0,)"]),
        (
            {"coords": [[2, 0, 1], [0, 4, 1], [9, 3, 0]]},
            ValueError,
            ["0 to 3 in mode 1", "row 1", "(0, 4, 1)"],
        ),
        ({"coords": [[2, 0, 1], [0, 3, 1], [0, -1, 0]]}, ValueError, ["row 2", "(0, -1, 0)", "count from 0"]),
        ({"coords": np.array(COORDS, float)}, TypeError, ["integers", "float64", "astype"]),
        ({"coords": np.array(COORDS, bool)}, TypeError, ["integers", "bool", "astype"]),
        ({"coords": [["a", "b", "c"]] * 3}, TypeError, ["integers"]),
        ({"coords": [[2**70, 0, 0]] * 3}, TypeError, ["integers", "object"]),
        ({"coords": np.ma.masked_equal(COORDS, 3)}, ValueError, ["coords", "masked"]),
        ({"coords": [[0, 0, 0], [1, 1]]}, ValueError, ["coords", "regular"]),
        ({"coords": [0, 1, 2]}, ValueError, ["3 columns", "(3,)"]),
        ({"coords": [[0, 1], [1, 1], [2, 2]]}, ValueError, ["3 columns", "(3, 2)"]),
        ({"coords": [], "values": []}, ValueError, ["at least one entry"]),
        ({"coords": np.empty((0, 3), int), "values": []}, ValueError, ["at least one entry"]),
        ({"shape": 24}, TypeError, ["shape", "24"]),
        ({"shape": np.array(24)}, TypeError, ["shape", "24"]),
        ({"shape": (3, 4.0, 2)}, TypeError, ["shape[1]", "4.0"]),
        ({"shape": (3, 4, 0)}, ValueError, ["shape[2]", "at least 1", "0"]),
        ({"shape": (-3, 4, 2)}, ValueError, ["shape[0]", "-3"]),
        ({"shape": (3, 4, True)}, TypeError, ["shape[2]", "bool"]),
        ({"shape": (3, 4, 2**63)}, ValueError, ["smaller than 2**63"]),
        ({"shape": ()}, ValueError, ["two modes", "()"]),
        ({"shape": (3,)}, ValueError, ["two modes", "(3,)"]),
        ({"duplicates": "first"}, ValueError, ["duplicates", "'first'", "'mean'"]),
    ],
)
def test_sparse_input_is_refused_in_one_sentence(changes, kind, words):
    refuses(kind, words, lambda: sparse(**changes))


@pytest.mark.parametrize(
    ("array", "mask", "kind", "words"),
    [
        ([[1.0, INF], [NAN, 2.0]], None, ValueError, ["finite", "inf", "(0, 1)"]),
        ([[1.0, NAN], [-INF, 2.0]], [[True, True]] * 2, ValueError, ["finite", "-inf", "(1, 0)"]),
        ([[NAN, NAN]], None, ValueError, ["at least one entry", "2"]),
        ([[1.0, NAN]], [[False, True]], ValueError, ["at least one entry"]),
        (np.ma.masked_all((2, 2)), None, ValueError, ["at least one entry"]),
        ([[1.0, 2.0]], [[True], [False]], ValueError, ["mask", "(1, 2)", "(2, 1)"]),
        ([[1.0, 2.0]], True, ValueError, ["mask", "(1, 2)", "()"]),
        ([[1.0, 2.0]], [[1, 0]], TypeError, ["mask", "boolean", "int64"]),
        ([[1.0, 2.0]], np.ma.array([[True, True]], mask=[[True, False]]), ValueError, ["mask", "masked"]),
        ([1.0, 2.0], None, ValueError, ["two modes"]),
        (1.0, None, ValueError, ["two modes"]),
        (np.empty((3, 0)), None, ValueError, ["shape[1]", "0"]),
        ([[1j, 2]], None, TypeError, ["real numbers", "complex"]),
        ([["a", "b"]], None, TypeError, ["real numbers"]),
        ([[1.0, None]], None, TypeError, ["real numbers", "object"]),
        ([[1.0], [1.0, 2.0]], None, ValueError, ["array", "regular"]),
    ],
)
def test_dense_input_is_refused_in_one_sentence(array, mask, kind, words):
    refuses(kind, words, lambda: Observations.from_dense(array, mask))


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"fraction": 0}, ValueError, ["fraction", "0"]),
        ({"fraction": 1.0}, ValueError, ["fraction", "1.0"]),
        ({"fraction": NAN}, ValueError, ["fraction"]),
        ({"fraction": "a"}, TypeError, ["fraction"]),
        ({"by": "row"}, ValueError, ["by", "'row'", "'fibre'"]),
        ({"by": "fibre"}, ValueError, ["mode", "'fibre'"]),
        ({"by": "slice"}, ValueError, ["mode", "'slice'"]),
        ({"mode": 1}, ValueError, ["mode", "'entry'"]),
        ({"by": "block", "mode": 1}, ValueError, ["mode", "'block'"]),
        ({"by": "slice", "mode": 3}, ValueError, ["mode", "3"]),
        ({"by": "slice", "mode": 1.0}, TypeError, ["mode", "1.0"]),
        ({"block": (1, 1, 1)}, ValueError, ["block", "'entry'"]),
        ({"by": "block", "block": 2}, TypeError, ["block", "2"]),
        ({"by": "block", "block": (2, 2)}, ValueError, ["block", "3 sizes", "(2, 2)"]),
        ({"by": "block", "block": (2, 0, 2)}, ValueError, ["block[1]", "0"]),
        ({"by": "block", "block": (9, 9, 9)}, ValueError, ["only one", "smaller"]),
        ({"rng": "seed"}, TypeError, ["rng", "Generator", "'seed'"]),
        ({"rng": -1}, ValueError, ["rng", "-1"]),
    ],
)
def test_split_refuses_in_one_sentence(arguments, kind, words):
    refuses(kind, words, lambda: sparse().split(**arguments))


@pytest.mark.parametrize("arguments", [{}, {"by": "fibre", "mode": 0}, {"by": "slice", "mode": 2}, {"by": "block"}])
def test_one_entry_cannot_be_split(arguments):
    one = sparse(coords=[[0, 0, 0]], values=[1.0])
    refuses(ValueError, ["at least two groups"], lambda: one.split(**arguments))


@pytest.mark.parametrize(
    ("action", "kind", "words"),
    [
        (lambda obs: obs.select([1, 0, 1]), TypeError, ["keep", "boolean"]),
        (lambda obs: obs.select([True, False]), ValueError, ["keep", "(3,)", "(2,)"]),
        (lambda obs: obs.select([False] * 3), ValueError, ["keep", "at least one"]),
        (lambda obs: obs.with_values([1.0, 2.0]), ValueError, ["values", "(3,)", "(2,)"]),
        (lambda obs: obs.with_values([1.0, NAN, 2.0]), ValueError, ["finite", "row 1"]),
        (lambda obs: obs.with_values([1.0, 1j, 2.0]), TypeError, ["real numbers"]),
        (lambda obs: obs.astype(int), TypeError, ["float32 or float64", "int"]),
        (lambda obs: obs.astype("nonsense"), TypeError, ["float32 or float64", "nonsense"]),
        (lambda obs: obs.with_values([1.0, 1e300, 0.0]).astype("f4"), ValueError, ["float32", "1e+300"]),
        (lambda obs: obs.astype("f4").with_values([1.0, 1e300, 0.0]), ValueError, ["float32", "1e+300"]),
        (lambda obs: obs.to_dense("x"), TypeError, ["fill", "'x'"]),
        (lambda obs: obs.to_dense(max_bytes=191), ValueError, ["192 bytes", "max_bytes=191", "slices"]),
        (lambda obs: obs.to_dense(max_bytes=0), ValueError, ["max_bytes", "0"]),
        (lambda obs: setattr(obs, "shape", (1, 2)), AttributeError, ["cannot be changed", "shape"]),
    ],
)
@pytest.mark.parametrize("kind_of_storage", ["sparse", "dense"])
def test_methods_refuse_in_one_sentence(kind_of_storage, action, kind, words):
    obs = sparse()
    if kind_of_storage == "dense":
        obs = Observations.from_dense(obs.to_dense())
    refuses(kind, words, lambda: action(obs))


def test_sparse_observations_have_no_stored_array():
    refuses(AttributeError, ["array", "to_dense"], lambda: sparse().array)
    refuses(AttributeError, ["mask", "to_dense"], lambda: sparse().mask)


# What is kept, and in which order


def test_rows_are_sorted_and_values_follow():
    obs = sparse()
    assert obs.coords.tolist() == [[0, 3, 0], [0, 3, 1], [2, 0, 1]]
    assert obs.values.tolist() == [-1.0, 0.0, 5.0]
    assert obs.positions.tolist() == [6, 7, 17]
    assert (obs.coords.dtype, obs.positions.dtype, obs.dtype) == (np.int32, np.int64, np.float64)
    assert (obs.shape, obs.ndim, len(obs), obs.density, obs.is_dense) == (SHAPE, 3, 3, 3 / 24, False)


def test_sorted_input_is_not_sorted_again(monkeypatch):
    obs = sparse()
    monkeypatch.setattr(np, "lexsort", lambda keys: pytest.fail("sorted again"))
    again = Observations(obs.coords, obs.values, obs.shape)
    assert entries(again) == entries(obs)


@pytest.mark.parametrize("code", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"])
def test_integers_of_any_width_are_accepted(code):
    obs = sparse(coords=np.array(COORDS, dtype=code))
    assert entries(obs) == entries(sparse())
    wide = Observations(np.array([[100, 0]], dtype=code), [1.0], (1000, 1000))
    assert wide.positions.tolist() == [100_000]


def test_large_unsigned_coordinates_do_not_wrap():
    coords = np.array([[2**64 - 1, 0, 0]], dtype=np.uint64)
    refuses(ValueError, [str(2**64 - 1), "row 0"], lambda: Observations(coords, [1.0], SHAPE))
    top = 2**63 - 2
    obs = Observations(np.array([[top, 1]], dtype=np.uint64), [1.0], (2**63 - 1, 2))
    assert obs.coords.tolist() == [[top, 1]]


@pytest.mark.parametrize("numbers", [[3, 0, 1], [True, False, True], np.array([1, 0, 2], "f2"), [1.5, 0, 2]])
def test_real_numbers_become_float64(numbers):
    assert sparse(values=numbers).dtype == np.float64
    obs = Observations.from_dense([numbers, numbers])
    assert obs.dtype == np.float64
    assert len(obs) == 6


def test_index_type_follows_the_largest_mode():
    assert Observations([[0, 2**31 - 2]], [1.0], (1, 2**31 - 1)).coords.dtype == np.int32
    assert Observations([[0, 2**31 - 1]], [1.0], (1, 2**31)).coords.dtype == np.int64


def test_large_sparse_tensor():
    shape = (3_000_000, 3_000_000, 1_000)
    rng = np.random.default_rng(0)
    coords = rng.integers(0, shape, size=(1000, 3))
    obs = Observations(coords, np.arange(1000.0), shape)
    assert obs.coords.tolist() == sorted(coords.tolist())
    assert obs.positions[0] == np.ravel_multi_index(tuple(obs.coords[0]), shape)
    assert obs.density == 1000 / 9e15
    refuses(ValueError, ["72,000,000,000,000,000 bytes", "max_bytes"], obs.to_dense)
    assert repr(obs).endswith("observed=1,000 of 9,000,000,000,000,000 (1.11e-11%), sparse)")


HUGE = (2**40, 5, 2**62, 2**31, 3)


def huge_coords(n=300):
    rng = np.random.default_rng(3)
    return rng.integers(0, (3, 5, 4, 3, 3), size=(n, 5)) + np.array([2**40 - 5, 0, 2**62 - 5, 2**31 - 5, 0])


def test_shape_whose_product_passes_int64():
    coords = np.unique(huge_coords(), axis=0)
    order = np.random.default_rng(4).permutation(len(coords))
    obs = Observations(coords[order], order.astype(float), HUGE)
    np.testing.assert_array_equal(obs.coords, coords)
    np.testing.assert_array_equal(obs.values, np.arange(len(coords)))
    assert 0 < obs.density < 1e-30
    refuses(ValueError, ["2**63", "coords"], lambda: obs.positions)
    refuses(ValueError, ["bytes"], obs.to_dense)
    for arguments in (
        {},
        {"by": "fibre", "mode": 0},
        {"by": "slice", "mode": 2},
        {"by": "block", "block": [2] * 5},
    ):
        training, held = obs.split(0.3, rng=0, **arguments)
        assert entries(training) | entries(held) == entries(obs)
        assert not rows(training) & rows(held)
    again = Observations(obs.coords, obs.values, HUGE)
    assert entries(again) == entries(obs)


def test_rows_of_a_huge_shape_are_ordered_by_their_first_mode():
    obs = Observations([[2**39, 0, 0, 0, 0], [0, 1, 2**61, 5, 1]], [1.0, 2.0], HUGE)
    assert obs.values.tolist() == [2.0, 1.0]


def test_duplicates_in_a_shape_whose_product_passes_int64():
    coords = huge_coords()
    coords = np.concatenate([coords, coords[:7]])
    values = np.arange(len(coords), dtype=float)
    obs = Observations(coords, values, HUGE, duplicates="last")
    assert entries(obs) == dict(zip(map(tuple, coords.tolist()), values.tolist(), strict=True))
    refuses(ValueError, ["repeats", "'mean'"], lambda: Observations(coords, values, HUGE))


# Duplicates


def test_duplicates_are_refused_by_default():
    coords = [[1, 1, 1], [0, 2, 0], [2, 0, 0], [0, 2, 0], [1, 1, 1], [0, 2, 0]]
    words = ["row 3", "(0, 2, 0)", "3 of 6", "'mean'", "'last'", "'sum'"]
    refuses(ValueError, words, lambda: Observations(coords, np.arange(6.0), SHAPE))


def test_sorted_duplicates_are_noticed():
    coords = [[0, 0, 0], [0, 0, 0], [1, 0, 0]]
    refuses(ValueError, ["row 1", "(0, 0, 0)", "1 of 3"], lambda: sparse(coords=coords))


def test_sums_that_overflow_are_refused():
    refuses(
        ValueError,
        ["finite"],
        lambda: Observations([[0, 0], [0, 0]], [1e308, 1e308], (1, 1), duplicates="sum"),
    )


@st.composite
def repeated_entries(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=2, max_size=4)))
    row = st.tuples(*(st.integers(0, size - 1) for size in shape))
    listed = draw(st.lists(st.tuples(row, st.floats(-1e6, 1e6)), min_size=1, max_size=40))
    return shape, listed


@settings(max_examples=60, deadline=None)
@given(repeated_entries())
def test_duplicates_agree_with_a_dictionary(case):
    shape, listed = case
    groups: dict[tuple[int, ...], list[float]] = {}
    for row, value in listed:
        groups.setdefault(row, []).append(value)
    coords, values = [row for row, _ in listed], [value for _, value in listed]
    rules = {"mean": lambda some: sum(some) / len(some), "last": lambda some: some[-1], "sum": sum}
    for name, rule in rules.items():
        obs = Observations(coords, values, shape, duplicates=name)
        expected = {row: rule(groups[row]) for row in sorted(groups)}
        assert [tuple(row) for row in obs.coords.tolist()] == list(expected)
        np.testing.assert_allclose(obs.values, list(expected.values()), rtol=1e-12, atol=1e-8)


# Dense storage


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=4, max_side=4),
        elements=st.sampled_from([NAN, 0.0, -0.0, 1.0, -2.5]),
    )
)
def test_dense_and_sparse_round_trips(array):
    if np.isnan(array).all():
        return
    obs = Observations.from_dense(array)
    assert obs.is_dense
    np.testing.assert_array_equal(obs.coords, np.argwhere(~np.isnan(array)))
    np.testing.assert_array_equal(obs.values, array[~np.isnan(array)])
    np.testing.assert_array_equal(obs.positions, np.flatnonzero(~np.isnan(array)))
    np.testing.assert_array_equal(obs.to_dense(), array)
    listed = Observations(obs.coords[::-1], obs.values[::-1], obs.shape)
    assert not listed.is_dense
    assert len(listed) == len(obs) == (~np.isnan(array)).sum()
    assert listed.density == obs.density
    for one in (obs, listed):
        np.testing.assert_array_equal(one.to_dense(), array)
        np.testing.assert_array_equal(one.positions, obs.positions)
        np.testing.assert_array_equal(one.to_dense(fill=0), np.nan_to_num(array))
        assert one.coords.dtype == np.int32
        assert all(one.coords[:, mode].flags.c_contiguous for mode in range(one.ndim))


def test_a_zero_is_an_observation():
    obs = Observations.from_dense([[0.0, NAN], [1.0, 0.0]])
    assert entries(obs) == {(0, 0): 0.0, (1, 0): 1.0, (1, 1): 0.0}
    assert np.isnan(obs.to_dense()[0, 1])
    assert obs.to_dense(fill=-7)[0, 1] == -7
    assert len(Observations.from_dense(np.zeros((2, 3)))) == 6
    assert entries(Observations([[0, 0]], [0.0], (2, 2))) == {(0, 0): 0.0}


def test_nan_mask_and_masked_array_each_make_an_entry_missing():
    array = np.ma.array([[1.0, NAN, 3.0], [4.0, INF, 6.0]], mask=[[0, 0, 1], [0, 1, 0]])
    assert rows(Observations.from_dense(array)) == {(0, 0), (1, 0), (1, 2)}
    seen = np.array([[False, True, True], [True, True, True]])
    assert rows(Observations.from_dense(array, seen)) == {(1, 0), (1, 2)}
    assert rows(Observations.from_dense(array.data, ~array.mask)) == {(0, 0), (1, 0), (1, 2)}
    assert rows(Observations.from_dense(np.ma.array([[1, 2]], mask=[[1, 0]]))) == {(0, 1)}


def test_any_memory_layout_is_accepted():
    array = dense_example()
    for one in (np.asfortranarray(array), array[::-1][::-1], array.astype(">f8")):
        obs = Observations.from_dense(one)
        np.testing.assert_array_equal(obs.to_dense(), array)
        assert obs.array.flags.c_contiguous
        assert (obs.array[~obs.mask] == 0).all()


# Nothing changes


@pytest.mark.parametrize("storage", [0, 1])
def test_arrays_cannot_be_written_to(storage):
    obs = both_kinds(dense_example())[storage]
    parts = [*obs.split(0.2, rng=0), obs.astype(np.float32), obs.with_values(obs.values * 2), obs]
    for one in parts:
        held = [one.coords, one.values, one.positions] + ([one.array, one.mask] if one.is_dense else [])
        for array in held:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_later_changes_of_the_input_are_not_seen():
    coords, values = np.array([[0, 0], [0, 1]], dtype=np.int32), np.array([1.0, 2.0])
    obs = Observations(coords, values, (2, 2))
    array, mask = np.array([[1.0, 2.0], [3.0, NAN]]), np.ones((2, 2), dtype=bool)
    dense = Observations.from_dense(array, mask)
    other_values = np.array([5.0, 6.0])
    other = obs.with_values(other_values)
    for given_array in (coords, values, array, mask, other_values):
        assert given_array.flags.writeable
        given_array[...] = 0
    assert entries(obs) == {(0, 0): 1.0, (0, 1): 2.0}
    assert entries(dense) == {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 3.0}
    assert entries(other) == {(0, 0): 5.0, (0, 1): 6.0}


def test_input_is_not_modified():
    array = np.array([[1.0, NAN], [INF, 4.0]])
    before = array.copy()
    Observations.from_dense(array, np.array([[True, True], [False, True]]))
    np.testing.assert_array_equal(array, before)
    coords = np.array(COORDS)
    sparse(coords=coords)
    assert coords.tolist() == COORDS


@pytest.mark.parametrize("storage", [0, 1])
def test_results_may_be_written_to(storage):
    obs = both_kinds(dense_example())[storage]
    before = entries(obs)
    obs.to_dense()[...] = 0
    assert entries(obs) == before


# Other values, other types, fewer entries


@pytest.mark.parametrize("storage", [0, 1])
def test_astype_and_with_values(storage):
    obs = both_kinds(dense_example())[storage]
    narrow = obs.astype(np.float32)
    assert narrow.dtype == narrow.values.dtype == narrow.to_dense().dtype
    assert narrow.dtype == np.float32
    assert narrow.is_dense == obs.is_dense
    np.testing.assert_array_equal(narrow.values, obs.values.astype(np.float32))
    np.testing.assert_array_equal(narrow.coords, obs.coords)
    assert narrow.with_values(obs.values).dtype == np.float32
    assert narrow.split(rng=0)[1].dtype == np.float32
    assert narrow.astype("float64").dtype == np.float64
    doubled = obs.with_values(2 * obs.values)
    assert doubled.is_dense == obs.is_dense
    np.testing.assert_array_equal(doubled.to_dense(), 2 * obs.to_dense())


@pytest.mark.parametrize("storage", [0, 1])
def test_select(storage):
    obs = both_kinds(dense_example())[storage]
    keep = obs.values > 0
    kept = obs.select(keep)
    np.testing.assert_array_equal(kept.coords, obs.coords[keep])
    np.testing.assert_array_equal(kept.values, obs.values[keep])
    np.testing.assert_array_equal(kept.to_dense(), np.where(obs.to_dense() > 0, obs.to_dense(), np.nan))
    assert len(kept) == keep.sum()
    assert kept.is_dense == obs.is_dense


def test_repr():
    assert repr(sparse()) == "Observations(shape=(3, 4, 2), observed=3 of 24 (12.5%), sparse)"
    assert repr(Observations.from_dense(np.ones((40, 50)))) == (
        "Observations(shape=(40, 50), observed=2,000 of 2,000 (100%), dense)"
    )


# Splits

WAYS = [
    {},
    {"by": "entry"},
    *({"by": by, "mode": mode} for by, mode in itertools.product(["fibre", "slice"], [0, 1, 2, -1])),
    {"by": "block"},
    {"by": "block", "block": (2, 3, 4)},
    {"by": "block", "block": (1, 100, 2)},
]


def group_of(row, by="entry", mode=None, block=None):
    if by == "fibre":
        return tuple(np.delete(row, mode))
    if by == "slice":
        return (row[mode],)
    if by == "block":
        return tuple(index // step for index, step in zip(row, block or (1, 1, 1), strict=True))
    return row


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("way", WAYS)
def test_every_split(way, fraction):
    dense, listed = both_kinds(dense_example())
    training, held = dense.split(fraction, rng=5, **way)
    assert not rows(training) & rows(held)
    assert entries(training) | entries(held) == entries(dense)
    groups = [{group_of(row, **way) for row in rows(part)} for part in (training, held)]
    assert not groups[0] & groups[1]
    assert training.is_dense
    assert held.is_dense
    assert training.array is dense.array
    assert np.isnan(training.to_dense()[held.mask]).all()
    again = dense.split(fraction, rng=np.random.default_rng(5), **way)
    from_listed = listed.split(fraction, rng=5, **way)
    for part, same, other in zip((training, held), again, from_listed, strict=True):
        assert entries(part) == entries(same) == entries(other)
        assert not other.is_dense
    largest = max(np.unique([hash(group_of(row, **way)) for row in rows(dense)], return_counts=True)[1])
    assert abs(len(held) - fraction * len(dense)) <= largest


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 60), st.floats(0.001, 0.999), st.integers(0, 2**32))
def test_split_by_entry_holds_out_the_asked_number(n, fraction, seed):
    obs = Observations.from_dense(np.ones((n, 1)))
    training, held = obs.split(fraction, rng=seed)
    assert len(held) == min(max(round(fraction * n), 1), n - 1)
    assert len(training) + len(held) == n


def test_different_seeds_split_differently():
    obs = Observations.from_dense(dense_example())
    assert rows(obs.split(rng=0)[1]) != rows(obs.split(rng=1)[1])
    assert len(obs.split()[1]) == round(0.1 * len(obs))


def test_a_generator_moves_on():
    obs, rng = Observations.from_dense(dense_example()), np.random.default_rng(0)
    assert rows(obs.split(rng=rng)[1]) != rows(obs.split(rng=rng)[1])


def test_every_entry_can_be_held_out():
    obs = Observations.from_dense(np.ones((3, 4)))
    drawn = set().union(*(rows(obs.split(0.2, rng=seed)[1]) for seed in range(60)))
    assert drawn == rows(obs)


@pytest.mark.parametrize("seed", range(10))
def test_one_large_slice_does_not_swallow_the_split(seed):
    array = np.full((21, 100), np.nan)
    array[0] = 1.0
    array[1:, :2] = 1.0
    held = Observations.from_dense(array).split(0.1, by="slice", mode=0, rng=seed)[1]
    assert len(held) == 14


@pytest.mark.parametrize("seed", range(5))
def test_blocks_of_about_a_tenth_by_default(seed):
    obs = Observations.from_dense(np.ones((40, 30, 3)))
    training, held = obs.split(0.1, by="block", rng=seed)
    boxes = [{(i // 4, j // 3, k) for i, j, k in rows(part)} for part in (training, held)]
    assert not boxes[0] & boxes[1]
    assert len(held) == 12 * len(boxes[1]) == 360
