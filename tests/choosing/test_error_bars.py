"""Intervals that adapt, and keep their coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import tensorfill
from tensorfill import Choice, complete
from tensorfill.choosing.error_bars import ErrorBars, HeldOut
from tensorfill.choosing.error_scale import ErrorScale, Groups
from tensorfill.observations import Observations

from ..refusal import refuses

SHAPE = (40, 30)


def uneven(seed, count, scale, shape=SHAPE):
    """Return entries with predictions, errors of different size, and their error bars and coordinates."""
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(size, size=count) for size in shape], axis=1)
    predictions = rng.uniform(1, 100, count)
    errors = rng.standard_normal(count) * scale(coords, predictions)
    return coords, predictions, errors


SCALES = {
    "prediction": lambda coords, predictions: predictions / 10,
    "index": lambda coords, predictions: np.where(coords[:, 0] < 4, 10.0, 1.0),
    "same": lambda coords, predictions: np.ones(len(coords)),
}


def bars_of(coords, predictions, errors, **more):
    seen = Observations(np.unique(coords, axis=0), np.ones(len(np.unique(coords, axis=0))), SHAPE)
    held_out = HeldOut(coords, predictions + errors, predictions, np.ones_like(coords), seen)
    return ErrorBars(np.abs(errors), held_out=held_out, **more)


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.slow
def test_coverage_holds_overall_and_where_errors_are_large(kind):
    hits, hard = [], []
    for seed in range(20):
        coords, predictions, errors = uneven(seed, 1400, SCALES[kind])
        bars = bars_of(coords[:400], predictions[:400], errors[:400])
        new = slice(400, None)
        half = bars.half_widths(coords[new], 0.9, predictions[new])
        inside = np.abs(errors[new]) <= half
        sizes = SCALES[kind](coords[new], predictions[new])
        hits.append(inside.mean())
        hard.append(inside[sizes >= np.quantile(sizes, 0.9)].mean())
    # Scales that are learnt from few errors differ, and then intervals are rather too wide than too narrow.
    assert 0.88 < np.mean(hits) < 0.96
    assert np.mean(hard) > 0.8


@pytest.mark.parametrize("kind", ["prediction", "index"])
def test_what_errors_depend_on_is_found_and_shortens_intervals(kind):
    coords, predictions, errors = uneven(0, 2000, SCALES[kind])
    bars = bars_of(coords, predictions, errors)
    assert {"prediction": "prediction", "index": "index 0"}[kind] in bars.depends_on
    assert np.median(bars.half_widths(coords, 0.9, predictions)) < 0.9 * bars.half_width(0.9)


def test_errors_that_depend_on_nothing_have_one_width():
    coords, predictions, errors = uneven(0, 2000, SCALES["same"])
    bars = bars_of(coords, predictions, errors)
    assert bars.depends_on == ()
    half = bars.half_widths(coords[:5], 0.9, predictions[:5])
    np.testing.assert_array_equal(half, bars.half_width(0.9))


def test_the_two_scales_give_the_quantile_of_errors_moved_to_the_entry():
    """Against the definition, error by error."""
    coords, predictions, errors = uneven(1, 600, SCALES["prediction"])
    bars = bars_of(coords, predictions, errors)
    assert bars.depends_on
    where = np.array([[3, 4], [20, 20]])
    at = np.array([5.0, 90.0])
    first, second = bars._scales_at(where, at)
    for number, half in enumerate(bars.half_widths(where, 0.9, at)):
        other = np.where(bars._half == 0, second[number], first[number])
        moved = np.sort(np.abs(errors) / bars._own_scale * other)
        assert half == pytest.approx(moved[int(np.ceil(0.9 * 601)) - 1], rel=0.02)


def test_a_scale_is_a_product_of_factors():
    rng = np.random.default_rng(0)
    one, two = rng.integers(3, size=5000), rng.integers(4, size=5000)
    sizes = np.array([1.0, 2.0, 4.0])[one] * np.array([1.0, 1.0, 3.0, 0.5])[two]
    groups = Groups({"one": one, "two": two}, {"one": 3, "two": 4})
    scale = ErrorScale.fitted(groups, sizes, np.ones(5000), ["one", "two"])
    np.testing.assert_allclose(scale.at(groups, 5000), sizes, rtol=0.03)


# Through the front door


def low_rank(seed=0, shape=(30, 20, 6)):
    rng = np.random.default_rng(seed)
    truth = 10 * np.einsum("i,j,k", *(rng.uniform(0.5, 1.5, size) for size in shape))
    data = truth + 0.05 * truth * rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.7, data, np.nan), data


HOLES, WHOLE = low_rank()
FIT = {"method": "cp", "rank": 1, "choose": Choice(validation=0.2), "smooth": None, "centre": False, "rng": 0}


@pytest.fixture(scope="module")
def fit():
    return complete(HOLES, **FIT)


def test_intervals_of_a_fit_adapt_and_survive_a_file(fit, tmp_path):
    missing = np.argwhere(np.isnan(HOLES))
    values, low, high = fit.predict(missing, interval=0.9)
    truth = WHOLE[np.isnan(HOLES)]
    assert 0.85 < np.mean((low <= truth) & (truth <= high)) < 0.95
    assert fit.error_bars.depends_on
    large = values > np.quantile(values, 0.9)
    assert np.mean((high - low)[large]) > 1.5 * np.mean((high - low)[~large])
    fit.save(tmp_path / "fit.npz")
    again = tensorfill.load(tmp_path / "fit.npz").predict(missing, interval=0.9)
    np.testing.assert_allclose(again, (values, low, high))


def test_ends_lie_within_bounds():
    fit = complete(HOLES, bounds=(0, 15), **FIT)
    _, low, high = fit.predict(np.argwhere(np.isnan(HOLES)), interval=0.99)
    assert low.min() >= 0
    assert high.max() <= 15


def test_counts_have_whole_ends_that_are_not_negative():
    rng = np.random.default_rng(0)
    rates = np.outer(rng.uniform(0.2, 6, 40), rng.uniform(0.2, 2, 30))
    counts = rng.poisson(rates).astype(float)
    holes = np.where(rng.random(counts.shape) < 0.7, counts, np.nan)
    missing = np.isnan(holes)
    poisson = complete(holes, loss="poisson", method="cp", rank=1, choose=Choice(validation=0.2), rng=0)
    square = complete(holes, method="cp", rank=1, choose=Choice(validation=0.2), smooth=None, rng=0)
    for fit in (poisson, square):
        values, low, high = fit.predict(np.argwhere(missing), interval=0.9)
        assert low.min() >= 0
        assert np.mean((low <= counts[missing]) & (counts[missing] <= high)) > 0.87
    values, low, high = poisson.predict(np.argwhere(missing), interval=0.9)
    assert np.array_equal(low, np.round(low))
    assert np.array_equal(high, np.round(high))
    assert (values >= 0).all()


def test_yes_or_no_is_ruled_out_or_left_open():
    rng = np.random.default_rng(0)
    score = 4 * np.outer(rng.standard_normal(40), rng.standard_normal(30))
    yes = (rng.random(score.shape) < 1 / (1 + np.exp(-score))).astype(float)
    holes = np.where(rng.random(yes.shape) < 0.6, yes, np.nan)
    missing = np.isnan(holes)
    fit = complete(holes, loss="logistic", lam=1.0, choose=Choice(validation=0.2), rng=0)
    values, low, high = fit.predict(np.argwhere(missing), interval=0.9)
    assert set(np.unique([low, high])) <= {0.0, 1.0}
    assert np.mean((low <= yes[missing]) & (yes[missing] <= high)) > 0.86
    assert 0 < np.mean(low == high) < 1
    assert ((values >= 0) & (values <= 1)).all()
    sets = fit.sample(2, rng=0)
    assert set(np.unique(sets)) == {0.0, 1.0}


def labelled(kind):
    names = {"i": np.arange(30), "j": [f"s{n}" for n in range(20)], "k": list("abcdef")}
    array = xr.DataArray(HOLES, names, name="rain")
    if kind == "xarray":
        return array
    if kind == "dataset":
        return array.to_dataset("k").rename({letter: f"v{letter}" for letter in "abcdef"})
    long = array.to_series().rename("rain")
    if kind == "wide":
        return long.unstack("j")
    return pl.from_pandas(long.reset_index()) if kind == "polars" else long.reset_index()


@pytest.mark.parametrize("kind", ["xarray", "dataset", "pandas", "polars", "wide"])
def test_filled_data_has_its_ends_beside_it(kind):
    data = labelled(kind)
    fit = complete(data, **FIT)
    both, filled = fit.filled(interval=0.8), fit.filled()
    name = {"dataset": "va", "wide": "s3"}.get(kind, "rain")
    low, high, value = (np.asarray(both[f"{name}{end}"]).ravel() for end in ("_low", "_high", ""))
    np.testing.assert_array_equal(value, np.asarray(filled if kind == "xarray" else filled[name]).ravel())
    assert (low <= value).all()
    assert (high >= value).all()
    kept = low == high
    assert 0.5 < kept.mean() < 0.9


def test_an_array_has_its_ends_in_arrays(fit):
    filled, low, high = fit.filled(interval=0.8)
    np.testing.assert_array_equal(filled, fit.filled())
    seen = ~np.isnan(HOLES)
    np.testing.assert_array_equal(low[seen], HOLES[seen])
    assert (high[~seen] > low[~seen]).all()


def test_draws_keep_what_was_observed_and_spread_as_errors_do(fit):
    sets = np.array(fit.sample(20, rng=0))
    seen = ~np.isnan(HOLES)
    assert (sets[:, seen] == HOLES[seen]).all()
    spread = sets[:, ~seen].std(axis=0)
    assert 0.5 < np.median(spread / (0.05 * WHOLE[~seen])) < 2
    np.testing.assert_array_equal(fit.sample(2, rng=1), fit.sample(2, rng=1))
    assert isinstance(complete(labelled("pandas"), **FIT).sample(1, rng=0)[0], pd.DataFrame)


def test_draws_without_what_they_rest_on_are_refused(fit):
    refuses(ValueError, ["held-out", "choose=Choice()"], lambda: complete(HOLES, lam=1.0, rng=0).sample(2))
    refuses(ValueError, ["n must", "0"], lambda: fit.sample(0))


def test_intervals_of_a_fit_with_a_graph_reach_indices_that_were_never_held_out():
    rng = np.random.default_rng(0)
    stations = np.linspace(0, 3, 24)
    truth = np.sin(stations)[:, None, None] * rng.uniform(1, 2, (1, 12, 10)) + 0.1 * rng.standard_normal((24, 12, 10))
    truth[-3:] = np.nan
    fit = complete(truth, laplacian={0: tensorfill.graphs.chain(24)}, lam=1.0, choose=Choice(), rng=0)
    assert 23 not in fit.held_out.coords[:, 0]
    _, low, high = fit.predict([[23, 0, 0], [0, 11, 9]], interval=0.9)
    assert (low < high).all()
