"""Labels through the one call."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sparse
import xarray

from tensorfill import Choice, Fit, Nort, complete, graphs, load
from tensorfill.choosing.doubts import NothingMissingWarning

from ..refusal import refuses

SHAPE = (8, 7, 6)


def rain():
    rng = np.random.default_rng(0)
    truth = np.einsum("i,j,k->ijk", *(rng.uniform(1, 2, size) for size in SHAPE))
    truth[rng.random(SHAPE) < 0.3] = np.nan
    coords = {
        "station": [f"s{number}" for number in range(8)],
        "day": np.arange("2024-02-26", "2024-03-04", dtype="datetime64[D]").astype("datetime64[ns]"),
    }
    return xarray.DataArray(truth, coords, dims=["station", "day", "hour"], name="rain")


@pytest.fixture(scope="module")
def data():
    return rain()


@pytest.fixture(scope="module")
def fit(data):
    return complete(data, lam=0.1, rng=0)


def test_every_kind_of_data_gives_the_same_answer(data, fit):
    array = data.values
    seen = ~np.isnan(array)
    table = data.to_series().rename("rain")
    stored = sparse.COO(np.stack(np.nonzero(seen)), array[seen], shape=SHAPE)
    others = [
        complete(array, lam=0.1, rng=0),
        complete(table, lam=0.1, rng=0),
        complete(table.dropna().reset_index()[["rain", "station", "day", "hour"]], value="rain", lam=0.1, rng=0),
        complete(stored, missing="absent", lam=0.1, rng=0),
        complete(np.nan_to_num(array), missing="zero", lam=0.1, rng=0),
    ]
    for other in others:
        np.testing.assert_allclose(other[...], fit[...], atol=1e-10)
    assert isinstance(fit, Fit)


def test_the_answer_is_of_the_kind_that_came_in(data, fit):
    xarray.testing.assert_identical(fit.filled().where(data.notnull()), data)
    assert fit.to_dense().dims == data.dims
    table = data.to_dataframe()
    filled = complete(table, lam=0.1, rng=0).filled()
    pd.testing.assert_series_equal(filled["rain"], fit.filled().to_series(), check_index_type=False)
    assert isinstance(complete(data.values, lam=0.1, rng=0).filled(), np.ndarray)


def test_modes_are_named_wherever_they_are_numbered(data):
    laplacian = graphs.chain(7)
    by_name = complete(
        data,
        modes=["station", "hour"],
        laplacian={"day": laplacian},
        smooth=["day"],
        choose=Choice(holdout=("slice", "day")),
        rng=0,
    )
    by_number = complete(
        data, modes=[0, 2], laplacian={1: laplacian}, smooth=[1], choose=Choice(holdout=("slice", 1)), rng=0
    )
    np.testing.assert_array_equal(by_name[...], by_number[...])
    assert by_name.modes == (0, 2)
    assert by_name.recipe.holdout.in_words(by_name.labels) == "whole slices of day"


@pytest.mark.parametrize(
    "setting",
    [
        {"modes": ["time"]},
        {"laplacian": {"time": 1}},
        {"smooth": ["time"]},
        {"choose": Choice(holdout=("fibre", "time"))},
    ],
)
def test_an_unknown_mode_gets_one_sentence(data, setting):
    refuses(ValueError, ["no mode 'time'", "'station', 'day', 'hour'"], lambda: complete(data, **setting))


def test_data_without_names_can_be_named_by_number_only(data):
    refuses(ValueError, ["no mode 'time'", "'mode_0'"], lambda: complete(data.values, modes=["time"]))


def test_a_method_object_goes_with_labels(data):
    fit = complete(data, method=Nort(lam=0.1), rng=0)
    assert fit.labels.names == data.dims


def test_a_warning_calls_empty_slices_by_name(data):
    with pytest.warns(
        UserWarning, match=r"1 of the 8 slices of mode 'station' have .*laplacian=\{'station': graph\}\.$"
    ):
        complete(data.where(data.station != "s3"), lam=0.1, rng=0)


def test_whole_numbers_are_denoised():
    counts = np.arange(120).reshape(6, 5, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NothingMissingWarning)
        np.testing.assert_array_equal(complete(counts, lam=0.1, rng=0).filled(), counts)


def test_labels_survive_in_a_file(data, fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz")
    xarray.testing.assert_identical(again.to_dense(), fit.to_dense())
    assert again.labels.names == fit.labels.names
    for one, other in zip(again.labels.keys, fit.labels.keys, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.at(station="s3", day="2024-02-29", hour=2) == fit[3, 3, 2]


def test_what_came_from_a_function_of_ones_own_is_an_array_after_a_file(fit, tmp_path):
    own = Fit(fit.model, fit.status, fit.history, fit.recipe, labels=fit.labels, restore=lambda dense: "mine")
    assert own.to_dense() == "mine"
    own.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(load(tmp_path / "fit.npz").to_dense(), fit[...])


def test_a_method_object_may_name_modes(data):
    by_name = complete(data, method=Nort(lam=0.1, modes=["hour", "station"]), rng=0)
    assert by_name.modes == (0, 2)
