"""``tensorfill forecast``."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

import tensorfill
from tensorfill import load
from tensorfill.io import read, write
from tensorfill.labels import Labelled, Labels
from tensorfill.observations import Observations

from .examples import facts, said

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")

QUICK = ("--method", "seasonal_ar", "--quiet")
DAYS = 12


def waves():
    """Return two daily waves over hours of some days, with gaps but no hour without any value."""
    hours = np.arange(24 * DAYS)
    values = np.outer([1.0, 2.0], np.sin(hours * 2 * np.pi / 24)) + np.array([[0.0], [10.0]])
    values += 0.05 * np.random.default_rng(0).standard_normal(values.shape)
    hidden = np.random.default_rng(1).random(values.shape) < 0.1
    hidden[0] &= ~hidden[1]
    return np.where(hidden, np.nan, values)


def expected(steps):
    """Return what comes after the waves, without noise."""
    hours = 24 * DAYS + np.arange(steps)
    return np.outer([1.0, 2.0], np.sin(hours * 2 * np.pi / 24)) + np.array([[0.0], [10.0]])


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """Return a folder with the waves in several formats."""
    folder = tmp_path_factory.mktemp("series")
    hours = np.datetime64("2024-03-01", "ns") + np.arange(24 * DAYS) * np.timedelta64(1, "h")
    labels = Labels(("station", "hour"), (np.array(["North", "South"]), hours), "flow")
    data = Labelled(Observations.from_dense(waves()), labels)
    for name in ("a.csv", "a.nc"):
        write(folder / name, data)
    np.save(folder / "a.npy", waves().reshape(2, DAYS, 24))
    fit = tensorfill.complete(data, method="seasonal_ar", choose=None, rng=0)
    fit.save(folder / "with.npz", data=True)
    fit.save(folder / "without.npz")
    return folder


class TestAnswer:
    def test_labels_go_on_in_a_table_with_bands(self, series, tmp_path, capsys):
        out = tmp_path / "b.csv"
        said(capsys, "forecast", series / "a.csv", "--horizon", "24", "--interval", "0.9", "-o", out, *QUICK)
        table = pandas.read_csv(out)
        assert table.columns.tolist() == ["station", "hour", "flow", "flow_low", "flow_high"]
        assert len(table) == 48
        assert pandas.to_datetime(table["hour"]).min() == pandas.Timestamp("2024-03-13")
        assert pandas.to_datetime(table["hour"]).max() == pandas.Timestamp("2024-03-13 23:00")
        np.testing.assert_allclose(table.query("station == 'South'")["flow"], expected(24)[1], atol=0.2)
        assert (table["flow_low"] < table["flow"]).all()
        assert (table["flow"] < table["flow_high"]).all()

    @pytest.mark.parametrize("name", ["b.tsv", "b.parquet", "b.nc", "b.npz"])
    def test_formats(self, name, series, tmp_path, capsys):
        said(capsys, "forecast", series / "a.nc", "--horizon", "6", "-o", tmp_path / name, *QUICK)
        values = read(tmp_path / name).observations.to_dense()
        np.testing.assert_allclose(values, expected(6), atol=0.2)

    def test_bands_in_a_netcdf_file(self, series, tmp_path, capsys):
        xarray = pytest.importorskip("xarray")
        out = tmp_path / "b.nc"
        said(capsys, "forecast", series / "a.nc", "--horizon", "6", "--interval", "0.8", "-o", out, *QUICK)
        with xarray.open_dataset(out) as found:
            assert set(found) == {"value", "value_low", "value_high"}
            assert found["hour"].values[0] == np.datetime64("2024-03-13")

    def test_two_modes_of_time_end_at_the_horizon_and_are_counted_on(self, series, capsys):
        shown = said(capsys, "forecast", series / "a.npy", "--time", "1,2", "--horizon", "30", *QUICK)
        table = pandas.read_csv(io.StringIO(shown.out))
        assert table.columns.tolist() == ["mode_0", "mode_1", "mode_2", "value"]
        assert table["mode_1"].unique().tolist() == [DAYS, DAYS + 1]
        assert len(table) == 60
        np.testing.assert_allclose(table["value"], expected(30).ravel(), atol=0.25)

    def test_a_robust_loss(self, series, capsys):
        given = ["forecast", series / "a.csv", "--horizon", "2", "--loss", "l1", *QUICK]
        assert len(pandas.read_csv(io.StringIO(said(capsys, *given).out))) == 4

    def test_a_model_with_its_data(self, series, capsys):
        shown = said(capsys, "forecast", series / "with.npz", "--horizon", "5")
        table = pandas.read_csv(io.StringIO(shown.out))
        ahead = load(series / "with.npz").forecast(5, rng=0)
        np.testing.assert_allclose(table["flow"], np.asarray(ahead).ravel())
        assert "5 steps beyond 2024-03-12 23:00" in shown.err


class TestFacts:
    def test_errors_and_weights(self, series, tmp_path, capsys):
        given = ["forecast", series / "a.csv", "--horizon", "24", "--method", "seasonal_ar"]
        found = facts(said(capsys, *given, "-o", tmp_path / "b.csv").out)
        assert found["forecast"].startswith("24 steps beyond 2024-03-12 23:00")
        assert found["errors"].startswith("mean absolute error at earlier ends: blend: 0.")
        assert "last value: " in found["errors"]
        assert "24 steps before" in found["errors"]
        assert found["weights"] == "1.00 24 steps before"
        assert found["written"] == str(tmp_path / "b.csv")

    def test_json(self, series, tmp_path, capsys):
        given = ["forecast", series / "a.csv", "--horizon", "24", "--method", "seasonal_ar", "--json"]
        shown = said(capsys, *given)
        found = json.loads(shown.out)["forecast"]
        assert found["horizon"] == 24
        assert found["errors"]["blend"] < found["errors"]["last value"]
        assert sum(found["weights"].values()) == pytest.approx(1)

    def test_too_few_times_for_bands(self, tmp_path, capsys):
        np.save(tmp_path / "a.npy", np.add.outer(np.arange(4.0), np.sin(np.arange(14))))
        given = ["forecast", tmp_path / "a.npy", "--time", "1", "--horizon", "10", "--interval", "0.9", *QUICK]
        shown = said(capsys, *given, "-o", tmp_path / "b.csv", code=2)
        assert "written without bands: bands and paths rest on forecasts from earlier ends" in " ".join(
            shown.err.split()
        )
        assert pandas.read_csv(tmp_path / "b.csv").shape == (40, 3)


@pytest.mark.usefixtures("no_work")
class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--horizon", "0"], "--horizon must be a whole number of at least 1"),
            ([], "required: --horizon"),
            (["--horizon", "3", "--interval", "2"], "--interval must be"),
            (["--horizon", "3", "--time", "0,1,2"], "as in day,hour, but '0,1,2' was given"),
            (["--horizon", "3", "--interval", "0.9", "-o", "b.npy"], "write such a file, or leave --interval out"),
        ],
    )
    def test_options(self, options, words, series, capsys):
        err = said(capsys, "forecast", series / "a.csv", *options, code=2).err
        assert words in err
        assert len(err.splitlines()) == 1

    def test_a_model_without_data(self, series, capsys):
        err = said(capsys, "forecast", series / "without.npz", "--horizon", "3", code=2).err
        assert "holds no data, which a forecast needs" in err


class TestRefusedByTheLibrary:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ([], "name it, as in --time hour or --time 1"),
            (["--time", "week"], "no mode 'week'"),
            (["--time", "1", "--loss", "huber"], "but Huber was given; leave horizon out"),
        ],
    )
    def test_before_the_search(self, options, words, series, capsys, monkeypatch):
        monkeypatch.setattr("tensorfill.completion.completed", lambda *given, **more: pytest.fail("the work was begun"))
        err = said(capsys, "forecast", series / "a.npy", "--horizon", "3", *options, "--quiet", code=2).err
        assert words in err
        assert len(err.splitlines()) == 1


def test_complete_takes_the_mode_of_time(series, tmp_path, capsys):
    given = ["complete", series / "a.npy", "--time", "1,2", "--method", "seasonal_ar", "--model", tmp_path / "m.npz"]
    said(capsys, *given, "--quiet")
    assert list(load(tmp_path / "m.npz").recipe.asked["time"]) == [1, 2]


def test_dask_takes_no_mode_of_time(series, tmp_path, capsys):
    given = ["complete", series / "a.csv", "--dask", "--time", "hour", "--model", tmp_path / "m"]
    assert "--time cannot be had with --dask" in said(capsys, *given, code=2).err
