"""The weighted sum of the answers of a blend, where some parts have no answer for times without any entry."""

import numpy as np

from tensorfill import Nort, SeasonalAR
from tensorfill.choosing.recipe import Recipe
from tensorfill.choosing.weighted import weighted
from tensorfill.models import Dense
from tensorfill.observations import Observations

SEEN = np.array([[1.0, np.nan, 3.0], [4.0, np.nan, np.nan]])
PARTS = [Recipe(method=Nort()), Recipe(method=SeasonalAR(along=[1], periods=()))]
WEIGHTS = np.array([0.75, 0.25])
MODELS = [Dense(np.zeros((2, 3))), Dense(np.full((2, 3), 8.0))]


def test_only_parts_that_have_an_answer_count_at_a_time_without_entries():
    found = weighted(PARTS, WEIGHTS, MODELS, Observations.from_dense(SEEN)).to_dense()
    np.testing.assert_allclose(found, [[2.0, 8.0, 2.0], [2.0, 8.0, 2.0]])


def test_without_such_times_it_is_the_plain_sum():
    whole = Observations.from_dense(np.ones((2, 3)))
    np.testing.assert_allclose(weighted(PARTS, WEIGHTS, MODELS, whole).to_dense(), 2.0)
    alone = weighted(PARTS[:1], np.ones(1), MODELS[:1], Observations.from_dense(SEEN))
    np.testing.assert_allclose(alone.to_dense(), 0.0)


def test_a_blend_has_an_answer_where_one_part_has():
    blend = Recipe(method=Nort(), beside=())
    assert blend.reached == frozenset()
    assert PARTS[1].reached == {1}
