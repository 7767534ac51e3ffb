"""The additive tensor against dense ones; what is refused, and how."""

from __future__ import annotations

import functools
import math

import numpy as np
from hypothesis import given, settings

from tensorfill.models.additive import Additive

from ..refusal import refuses
from ..strategies import generators, shapes


def random_offset(shape, rng):
    return Additive(rng.standard_normal(), [rng.standard_normal(size) for size in shape])


def dense(offset):
    return offset.mean + functools.reduce(np.add.outer, offset.effects)


class TestAdditive:
    @settings(max_examples=40, deadline=None)
    @given(shape=shapes(max_entries=300), rng=generators)
    def test_values_parts_margins_and_inner_products_equal_those_of_the_dense_tensor(self, shape, rng):
        offset, other = random_offset(shape, rng), random_offset(shape, rng)
        tensor, modes = dense(offset), range(len(shape))
        assert offset.shape == shape
        np.testing.assert_allclose(offset.predict(np.indices(shape).reshape(len(shape), -1).T), tensor.ravel())
        added = np.ones(shape)
        offset.add_to(added)
        np.testing.assert_allclose(added, 1 + tensor, atol=1e-12)
        indices = [rng.integers(0, size, size=rng.integers(1, 4)) for size in shape]
        np.testing.assert_allclose(dense(offset.restrict(indices)), tensor[np.ix_(*indices)])
        for mode in modes:
            sums = tensor.sum(axis=tuple(axis for axis in modes if axis != mode))
            np.testing.assert_allclose(offset.margin(mode), sums, atol=1e-10)
        product = offset.inner([other.margin(mode) for mode in modes])
        assert math.isclose(product, np.vdot(tensor, dense(other)), rel_tol=1e-9, abs_tol=1e-9)

    def test_a_shape_of_more_entries_than_integers_count(self):
        offset = Additive(1.0, [np.zeros(10)] * 25)
        assert offset.margin(0)[0] == 1e24
        assert math.isclose(offset.inner([offset.margin(mode) for mode in range(25)]), 1e25)
        assert offset.predict([[9] * 25]).tolist() == [1.0]

    def test_it_does_not_follow_the_arrays_it_was_made_of(self):
        effects = [np.zeros(2), np.zeros(3)]
        offset = Additive(0.0, effects)
        effects[0][:] = 7
        assert offset.predict([[1, 2]]).tolist() == [0.0]
        assert offset.nbytes == 40
        assert repr(offset) == "Additive(shape=(2, 3), mean=0)"

    def test_what_is_no_offset_gets_one_sentence(self):
        refuses(ValueError, ["effects[1]", "vector", "(2, 2)"], lambda: Additive(0.0, [[1.0], np.zeros((2, 2))]))
        refuses(ValueError, ["effects[0]", "finite"], lambda: Additive(0.0, [[np.nan], [1.0]]))
        refuses(ValueError, ["mean", "finite", "inf"], lambda: Additive(math.inf, [[1.0], [1.0]]))
        refuses(TypeError, ["effects[0]", "real numbers"], lambda: Additive(0.0, [["a"], [1.0]]))
        refuses(ValueError, ["coords", "from 0 to 1 in mode 0"], lambda: Additive(0, [[1, 2], [3]]).predict([[2, 0]]))
