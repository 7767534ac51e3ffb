"""The entries of a part, put together from pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.distributed.assembly import part_from_pieces
from tensorfill.labels import Labels
from tensorfill.observations import Observations


def labels_of(shape):
    names = tuple(f"m{mode}" for mode in range(len(shape)))
    return Labels(names, tuple(np.arange(size) for size in shape), "y")


@given(
    shape=st.lists(st.integers(1, 5), min_size=2, max_size=4),
    seed=st.integers(0, 100),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    data=st.data(),
)
def test_a_part_is_the_observations_of_its_slices(shape, seed, cuts, data):
    rng = np.random.default_rng(seed)
    mode = data.draw(st.integers(0, len(shape) - 1))
    first = data.draw(st.integers(0, shape[mode] - 1))
    last = data.draw(st.integers(first + 1, shape[mode]))
    whole = [np.arange(first, last) if axis == mode else np.arange(size) for axis, size in enumerate(shape)]
    every = np.stack([each.ravel() for each in np.meshgrid(*whole, indexing="ij")], axis=1)
    some = every[rng.permutation(len(every))[: max(1, len(every) // 2)]].astype(np.int32)
    values = rng.normal(size=len(some)).astype(np.float32)
    at = sorted(min(cut, len(some)) for cut in cuts)
    pieces = list(zip(np.split(some, at), np.split(values, at), strict=True))
    part = part_from_pieces(pieces, labels_of(shape), mode, first, last)
    shifted = some - np.where(np.arange(len(shape)) == mode, first, 0)
    expected = Observations(shifted, values, [len(each) for each in whole])
    assert part.shape == expected.shape
    assert part.dtype == np.float32
    assert part.coords.dtype == expected.coords.dtype
    assert part.coords.flags.f_contiguous
    assert np.array_equal(part.coords, expected.coords)
    assert np.array_equal(part.values, expected.values)


def test_an_entry_that_two_chunks_have_is_named():
    pieces = [(np.array([[1, 2], [2, 0]]), np.array([1.0, 2.0])), (np.array([[1, 2]]), np.array([3.0]))]
    with pytest.raises(ValueError, match=r"2 rows have m0=1, m1=2, and 1 of 3 rows are repeats; leave some out"):
        part_from_pieces(pieces, labels_of((3, 4)), 0, 1, 3)


def test_a_tensor_with_more_places_than_int64_has(monkeypatch):
    monkeypatch.setattr("tensorfill.distributed.assembly.TOO_FAR", 5)
    pieces = [(np.array([[2, 2], [1, 0]]), np.array([1.0, 2.0]))]
    part = part_from_pieces(pieces, labels_of((3, 4)), 0, 1, 3)
    assert part.coords.tolist() == [[0, 0], [1, 2]]
    assert part.values.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("positions", [[], [1, 1], [2, 1], [-1, 2], [1, 6]])
def test_positions_that_are_no_entries(positions):
    with pytest.raises(ValueError, match=r"positions must increase from 0 or more within a tensor of shape \(2, 3\)"):
        Observations.from_positions(np.array(positions, dtype=np.int64), np.ones(len(positions)), (2, 3))
