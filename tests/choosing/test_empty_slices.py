"""Slices without any observed entry: filled from the others, as held-out slices prefer, with intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete, load
from tensorfill.choosing.doubts import DoubtfulFitWarning
from tensorfill.choosing.error_bars import ErrorBars, SliceErrors
from tensorfill.choosing.stages.empty_slices import EmptySlices, fill_empty_slices
from tensorfill.graphs import chain
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.models import Centred, CPModel, Dense, FoldedLowRank, Tucker
from tensorfill.models.additive import Additive
from tensorfill.models.slices import Empty, Neighbours
from tests.slow import slow_except

GIVEN = {"method": "nort", "lam": 0.1, "choose": Choice(), "smooth": None, "centre": False, "rng": 0}


def ordered(empty, size=30, seed=0):
    """Return a tensor whose slices along mode 0 change slowly, and the same without some slices."""
    rng = np.random.default_rng(seed)
    waves = np.stack([np.cos(np.arange(size) / 6), np.sin(np.arange(size) / 9)], axis=1)
    truth = 5 + np.einsum("ir,jr,kr->ijk", waves, rng.standard_normal((12, 2)), rng.standard_normal((9, 2)))
    data = truth + 0.01 * rng.standard_normal(truth.shape)
    data[list(empty)] = np.nan
    return truth, data


def unordered(empty, size=30, seed=0):
    """Return a tensor whose slices along mode 0 differ at random around a mean, and the same without some slices."""
    rng = np.random.default_rng(seed)
    truth = 10 + rng.standard_normal((12, 9)) + 0.5 * rng.standard_normal((size, 1, 1)) * rng.standard_normal((12, 9))
    data = truth.copy()
    data[list(empty)] = np.nan
    return truth, data


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5, 1.9])
@pytest.mark.parametrize("nugget", [0.0, 0.3, 3.0])
def test_weights_sum_to_one(exponent, nugget):
    weights = Neighbours(exponent, nugget).weights(np.array([4, 9]), np.array([[0, 2, 7, 8], [1, 2, 3, 7]]))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_a_power_of_one_interpolates_linearly_and_holds_the_last_value_beyond_the_end():
    sources = np.array([[2, 5, 8, 11]])
    np.testing.assert_allclose(Neighbours(1.0).weights(np.array([6]), sources), [[0, 2 / 3, 1 / 3, 0]], atol=1e-12)
    np.testing.assert_allclose(Neighbours(1.0).weights(np.array([20]), sources), [[0, 0, 0, 1]], atol=1e-12)


def test_a_large_nugget_is_the_mean():
    weights = Neighbours(1.0, 1e9).weights(np.array([6]), np.array([[2, 5, 8, 11]]))
    np.testing.assert_allclose(weights, 0.25, atol=1e-6)


def test_ordered_slices_are_filled_from_their_neighbours():
    empty = [4, 11, 12, 20]
    truth, data = ordered(empty)
    with pytest.warns(DoubtfulFitWarning, match=r"4 of the 30 slices of mode 0 .* filled from their neighbouring"):
        fit = complete(data, **GIVEN)
    (fill,) = fit.recipe.stage(EmptySlices).fills
    assert fill.neighbours is not None
    assert fill.count == len(empty)
    error = rmse(fit.to_dense()[empty], truth[empty])
    mean = rmse(np.broadcast_to(np.nanmean(data, axis=0), truth[empty].shape), truth[empty])
    assert error < 0.1 * mean
    assert fill.error < 0.2 * mean


def test_slices_without_order_are_filled_with_the_mean_of_the_others():
    empty = [4, 11, 12, 20]
    _, data = unordered(empty)
    with pytest.warns(DoubtfulFitWarning, match="filled from the mean of the other slices, with an error of"):
        fit = complete(data, **GIVEN | {"lam": 1e-3})
    assert [fill.neighbours for fill in fit.recipe.stage(EmptySlices).fills] == [None]
    np.testing.assert_allclose(fit.to_dense()[empty], np.broadcast_to(np.nanmean(data, axis=0), (4, 12, 9)), atol=0.1)


@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
class TestIntervals:
    @pytest.mark.slow
    def test_they_hold_inside(self):
        inside, count = 0, 0
        for seed in range(5):
            empty = [4, 11, 12, 20]
            truth, data = unordered(empty, seed=seed)
            fit = complete(data, **GIVEN | {"lam": 1e-3})
            coords = np.argwhere(np.isnan(data))
            _, low, high = fit.predict(coords, interval=0.9)
            values = truth[tuple(coords.T)]
            inside, count = inside + int(((low <= values) & (values <= high)).sum()), count + len(values)
        assert inside / count > 0.85

    def test_they_are_wider_at_the_end_of_a_mode_than_between_slices(self):
        _, data = ordered([10, 28, 29])
        fit = complete(data, **GIVEN)
        assert [fill.count for fill in fit.recipe.stage(EmptySlices).fills] == [1, 2]
        assert [each.empty.at(np.arange(len(each.empty))).tolist() for each in fit.error_bars.slices] == [
            [10],
            [28, 29],
        ]
        _, low, high = fit.predict([[5, 0, 0], [10, 0, 0], [28, 0, 0]], interval=0.8)
        width = high - low
        assert width[0] < width[1] < width[2] < np.inf

    def test_they_are_infinite_if_too_few_slices_could_be_held_out(self):
        _, data = ordered([3], size=6)
        fit = complete(data, **GIVEN)
        _, low, high = fit.predict([[3, 0, 0], [2, 0, 0]], interval=0.9)
        assert low[0] == -np.inf
        assert high[0] == np.inf
        assert np.isfinite([low[1], high[1]]).all()

    def test_they_are_infinite_where_two_modes_are_empty(self):
        _, data = ordered([10, 11])
        data[:, 4] = np.nan
        fit = complete(data, **GIVEN)
        _, low, high = fit.predict([[10, 4, 0], [10, 3, 0], [9, 4, 0]], interval=0.5)
        assert np.isinf([low[0], high[0]]).all()
        assert np.isfinite([low[1:], high[1:]]).all()

    def test_a_file_keeps_them(self, tmp_path):
        _, data = ordered([10, 28, 29])
        fit = complete(data, **GIVEN)
        fit.save(tmp_path / "fit.npz")
        again = load(tmp_path / "fit.npz")
        coords = [[5, 0, 0], [10, 0, 0], [28, 0, 0]]
        np.testing.assert_array_equal(again.predict(coords, interval=0.8), fit.predict(coords, interval=0.8))
        assert again.recipe.stage(EmptySlices).fills == fit.recipe.stage(EmptySlices).fills

    def test_the_number_of_slices_counts(self):
        empty = Empty(3, np.array([0, 2]), between=True)
        few = SliceErrors(0, empty, np.arange(100.0), 5)
        many = SliceErrors(0, empty, np.arange(100.0), 100)
        assert few.half_width(0.9) == np.inf
        assert 89 <= many.half_width(0.9) <= 92
        assert ErrorBars(np.arange(100.0), slices=[few]).half_widths(np.array([[0], [1]]), 0.5).tolist() == [50.0, 60.0]


@pytest.mark.parametrize("kind", slow_except(["dense", "tucker", "cp", "folded", "centred"], ["tucker", "centred"]))
def test_every_model_is_filled_in_the_same_way(kind):
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((size, 2)) for size in (20, 7, 6)]
    factors[0] = np.cumsum(factors[0], axis=0)
    cp = CPModel((20, 7, 6), np.ones(2), factors)
    tucker = cp.in_tucker_form()
    offset = Additive(3.0, tuple(np.cumsum(rng.standard_normal(size)) for size in cp.shape))
    model = {
        "dense": Dense(cp.to_dense()),
        "tucker": tucker,
        "cp": cp,
        "folded": FoldedLowRank.from_tucker(tucker, (0, 1), (0.5, 0.5)),
        "centred": Centred(tucker, offset),
    }[kind]
    dense = model.to_dense()
    seen = rng.random(dense.shape) < 0.8
    seen[[5, 6, 19]] = False
    observations = Observations.from_dense(dense, seen)
    filled = fill_empty_slices(model, observations, Square())
    other = fill_empty_slices(Dense(dense), observations, Square())
    assert type(filled.model) is type(model)
    answer = filled.model.to_dense()
    kept = np.setdiff1d(np.arange(20), [5, 6, 19])
    np.testing.assert_allclose(answer[kept], dense[kept], atol=1e-9)
    assert rmse(answer[[5, 6, 19]], dense[[5, 6, 19]]) < 1.5 * rmse(
        other.model.to_dense()[[5, 6, 19]], dense[[5, 6, 19]]
    )
    assert isinstance(filled.model, Tucker) == (kind == "tucker")


def test_a_mode_with_a_graph_is_left_to_it():
    _, data = ordered([10, 11])
    fit = complete(data, laplacian={0: chain(30)}, rng=0, method="nort", modes=[0, 1], max_rank=4)
    assert fit.recipe.stage(EmptySlices) is None


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
def test_other_losses_are_filled_too(loss):
    rng = np.random.default_rng(0)
    rate = np.exp(np.outer(np.ones(25), np.linspace(0, 2, 12)))
    data = (rng.poisson(rate) if loss == "poisson" else rng.random((25, 12)) < rate / 8).astype(float)
    data[7] = np.nan
    fit = complete(data, loss=loss, lam=0.3, rng=0)
    expected = fit.predict([[7, place] for place in range(12)])
    assert np.corrcoef(expected, rate[0])[0, 1] > 0.8


def test_one_slice_alone_fills_all_others():
    data = np.full((4, 6, 5), np.nan)
    data[2] = np.outer(np.arange(1.0, 7.0), np.arange(1.0, 6.0))
    with pytest.warns(DoubtfulFitWarning, match="3 of the 4 slices|2 of the 4 slices|1 of the 4 slices"):
        fit = complete(data, method="nort", lam=1e-3, modes=[1, 2], rng=0)
    np.testing.assert_allclose(fit.to_dense(), np.broadcast_to(data[2], data.shape), rtol=0.05, atol=0.05)
