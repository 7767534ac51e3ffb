"""A tensor in parts: every part is a smaller tensor, and together they are the whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.algebra.component import Component
from tensorfill.algebra.unfolding import columns
from tensorfill.distributed.cutting import Cut, cut_evenly
from tensorfill.models import FoldedLowRank

shapes = st.lists(st.integers(2, 6), min_size=2, max_size=4).map(tuple)


@st.composite
def cuts(draw):
    shape = draw(shapes)
    mode = draw(st.integers(0, len(shape) - 1))
    inner = draw(st.sets(st.integers(1, shape[mode] - 1), max_size=3))
    return Cut(shape, mode, (0, *sorted(inner), shape[mode]))


@given(cuts(), st.integers(0, 3), st.data())
def test_rows_that_are_cut_and_joined_are_the_same(cut, rank, data):
    mode = data.draw(st.integers(0, len(cut.shape) - 1))
    v = np.random.default_rng(0).standard_normal((columns(cut.shape, mode), rank))
    pieces = [cut.rows_of(v, mode, part) for part in range(cut.parts)]
    np.testing.assert_array_equal(cut.joined(pieces, mode), v)


@given(cuts(), st.data())
def test_a_component_on_a_part_is_the_part_of_the_component(cut, data):
    mode = data.draw(st.integers(0, len(cut.shape) - 1))
    rng = np.random.default_rng(1)
    u, v = rng.standard_normal((cut.shape[mode], 2)), rng.standard_normal((columns(cut.shape, mode), 2))
    whole = FoldedLowRank(cut.shape, [Component(mode, u, np.array([2.0, 1.0]), v)], [1.0]).to_dense()
    for part, rows in enumerate(cut.ranges):
        own = Component(mode, u[rows] if mode == cut.mode else u, np.array([2.0, 1.0]), cut.rows_of(v, mode, part))
        found = FoldedLowRank(cut.shape_of(part), [own], [1.0]).to_dense()
        np.testing.assert_allclose(found, np.take(whole, range(rows.start, rows.stop), axis=cut.mode))


@given(st.lists(st.integers(0, 20), min_size=2, max_size=30).filter(any), st.integers(1, 6))
def test_parts_have_about_the_same_number_of_entries(counts, parts):
    counts = np.array(counts)
    cut = cut_evenly((len(counts), 3), 0, counts, parts)
    assert cut.bounds[0] == 0
    assert cut.bounds[-1] == len(counts)
    entries = [counts[rows].sum() for rows in cut.ranges]
    assert 1 <= cut.parts <= parts
    assert min(entries) >= 1
    if cut.parts == parts:
        assert max(entries) <= counts.sum() / parts + 2 * counts.max()


@given(cuts())
def test_every_index_is_in_its_part(cut):
    indices = np.arange(cut.shape[cut.mode])
    found = cut.part_of(indices)
    for part, rows in enumerate(cut.ranges):
        assert set(found[rows]) == {part}
