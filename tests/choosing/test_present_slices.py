"""A run on the slices that have entries gives the answer of one on all slices."""

import numpy as np
import pytest

import tensorfill
from tensorfill import Choice, Clock, Observations
from tensorfill.choosing.stages import present_slices
from tensorfill.choosing.stages.empty_slices import EmptySlices
from tensorfill.choosing.stages.present_slices import PresentSlices
from tensorfill.choosing.task import Task
from tensorfill.graphs import chain
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tests.slow import slow_except

pytestmark = pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")


def mostly_empty(seed=0, entries=900):
    """Return entries of a rank-one tensor with effects, in every fifth slice of two modes."""
    rng = np.random.default_rng(seed)
    shape = (60, 50, 12)
    coords = np.stack(
        [5 * rng.integers(12, size=entries), 5 * rng.integers(10, size=entries), rng.integers(12, size=entries)]
    )
    coords = np.unique(coords.T, axis=0)
    factors = [1 + 0.5 * rng.standard_normal(size) for size in shape]
    values = np.prod([factor[index] for factor, index in zip(factors, coords.T, strict=True)], axis=0)
    return Observations(coords, values + 0.01 * rng.standard_normal(len(coords)), shape)


@pytest.fixture
def thinning(monkeypatch):
    """Thin out modes of any length."""
    monkeypatch.setattr(present_slices, "LONG", 1)


@pytest.mark.parametrize("method", slow_except(["grow", "nort", "cp"], ["grow", "cp"]))
def test_the_answer_is_the_same(method, monkeypatch):
    observations = mostly_empty()
    settings = {"rank": 1} if method == "cp" else {}
    seen = np.zeros(observations.shape, dtype=bool)
    seen[np.ix_(*(np.unique(column) for column in observations.coords.T))] = True
    whole, thinned = [], []
    for fits, long in ((whole, 2**16), (thinned, 1)):
        monkeypatch.setattr(present_slices, "LONG", long)
        fits.append(tensorfill.complete(observations, method=method, smooth=None, rng=0, **settings))
    one, other = whole[0], thinned[0]
    assert other.shape == observations.shape
    np.testing.assert_allclose(other.to_dense()[seen], one.to_dense()[seen], atol=0.05)
    assert [(fill.mode, fill.count) for fill in other.recipe.stage(EmptySlices).fills] == [
        (fill.mode, fill.count) for fill in one.recipe.stage(EmptySlices).fills
    ]
    everywhere = np.indices(observations.shape).reshape(3, -1).T
    for mine, theirs in zip(other.error_bars.slices, one.error_bars.slices, strict=True):
        inside = [each.empty.has(everywhere[:, each.mode]) for each in (mine, theirs)]
        np.testing.assert_array_equal(*inside)


@pytest.mark.usefixtures("thinning")
def test_a_fit_has_intervals_files_and_updates_on_all_slices(tmp_path):
    observations = mostly_empty()
    shapes = set()
    fit = tensorfill.complete(
        observations, method="grow", smooth=None, rng=0, callback=lambda _, model: shapes.add(model.shape) or False
    )
    assert shapes == {observations.shape}
    assert np.isin(fit.error_bars.held_out.coords[:, 0], observations.coords[:, 0]).all()
    _, low, high = fit.predict([[5, 5, 0], [7, 5, 0]], interval=0.5)
    assert (low < high).all()
    fit.save(tmp_path / "fit.npz")
    again = tensorfill.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.predict(observations.coords), fit.predict(observations.coords))
    assert fit.update(mostly_empty(seed=1, entries=50), rng=0).shape == observations.shape


def kept(**asked):
    """Return the modes that are thinned out."""
    task = Task(mostly_empty(), Square(), **asked)
    _, lift = PresentSlices(frozenset(task.ordered_modes)).reduce(Problem(task.observations, task.loss), Clock())
    return sorted(getattr(lift, "kept", ()))


class TestWhichModes:
    @pytest.mark.usefixtures("thinning")
    def test_those_that_are_mostly_empty(self):
        assert kept() == [0, 1]

    def test_none_that_is_short(self):
        assert kept() == []

    @pytest.mark.usefixtures("thinning")
    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ({"graphs": {0: chain(60)}}, [1]),
            ({"asked": {"smooth": [1]}}, [0]),
            ({"same": (0, 1)}, []),
            ({"choice": Choice(validation=mostly_empty(1, 20))}, []),
        ],
        ids=["graph", "smooth", "same", "validation"],
    )
    def test_none_whose_other_slices_count(self, asked, expected):
        assert kept(**asked) == expected
