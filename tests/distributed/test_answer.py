"""A fit whose model is on workers answers, is saved and is loaded as one in memory is."""

from __future__ import annotations

import itertools
import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import tensorfill
from tensorfill.fit import Fit

from .test_table import long_table

dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from tensorfill.distributed.answer import SpreadFit, load  # noqa: E402  needs Dask
from tensorfill.distributed.model import SpreadModel  # noqa: E402


def cut(model, client, mode, bounds):
    """Return a model in parts on the workers."""
    everything = [np.arange(size) for size in model.shape]
    parts = [
        model.restrict([np.arange(first, last) if axis == mode else own for axis, own in enumerate(everything)])
        for first, last in itertools.pairwise(bounds)
    ]
    return SpreadModel(client, model.shape, mode, bounds, client.scatter(parts, hash=False))


def spread_fit(fit, client, mode, bounds):
    own = {each.name: getattr(fit, each.name) for each in fields(Fit)}
    return SpreadFit(**own | {"model": cut(fit.model, client, mode, bounds)})


@pytest.fixture(scope="module")
def fit():
    table = long_table(90)
    made = tensorfill.complete(
        table, method="nort", lam=0.5, penalty="nuclear", smooth=None, centre=False, bounds=(-1.0, 1.0), rng=0
    )
    assert made.model.kind == "folded"
    return replace(made, observations=None)


CUTS = [(0, (0, 1, 4, 6)), (1, (0, 5)), (2, (0, 3, 4))]


@pytest.fixture(params=CUTS, ids=["mode 0", "one part", "a mode that is not regularised"])
def pair(request, fit, client):
    return fit, spread_fit(fit, client, *request.param)


def all_coords(shape):
    return np.stack(np.unravel_index(np.random.default_rng(0).permutation(np.prod(shape)), shape), axis=1)


def test_it_says_what_the_fit_in_memory_says(pair):
    fit, spread = pair
    coords = all_coords(fit.shape)
    np.testing.assert_allclose(spread.predict(coords), fit.predict(coords), atol=1e-12)
    np.testing.assert_allclose(spread.predict(coords[:1]), fit.predict(coords[:1]), atol=1e-12)
    np.testing.assert_allclose(spread[2, :, [3, 0]], fit[2, :, [3, 0]], atol=1e-12)
    np.testing.assert_allclose(spread[[4, 1, 4], 1:3], fit[[4, 1, 4], 1:3], atol=1e-12)
    assert spread.norm() == pytest.approx(fit.norm())
    for mode in range(3):
        np.testing.assert_allclose(spread.model.margin(mode), fit.model.margin(mode), atol=1e-12)
    np.testing.assert_allclose(spread.model.scaled(2.0).to_dense(), 2 * fit.model.to_dense(), atol=1e-12)
    pd.testing.assert_frame_equal(spread.to_dense(), fit.to_dense())
    for name in ("ranks", "lam", "status", "method", "shape", "labels", "path"):
        assert getattr(spread, name) == getattr(fit, name)
    assert list(spread.history) == list(fit.history)
    assert str(spread) == str(fit)
    assert repr(spread) == f"Spread{fit!r}"


def test_together(pair):
    fit, spread = pair
    whole = spread.together()
    assert type(whole) is Fit
    for name, array in fit.model.to_arrays().items():
        assert np.array_equal(whole.model.to_arrays()[name], array)
    with pytest.raises(ValueError, match=r"the model takes .*, above max_bytes=100; raise max_bytes"):
        spread.together(max_bytes=100)


def test_a_table_of_dask_gets_a_column(pair):
    fit, spread = pair
    asked = long_table(50, seed=3).drop(columns="stars").assign(note="kept")[["day", "note", "user", "item"]]
    table = dd.from_pandas(asked, npartitions=4)
    answer = spread.predict(table)
    assert answer.npartitions == 4
    assert answer.divisions == table.divisions
    pd.testing.assert_frame_equal(answer.compute(), fit.predict(table.compute()), check_exact=False)
    pd.testing.assert_series_equal(answer.dtypes, answer.compute().dtypes)


def test_what_a_table_of_dask_must_have(pair):
    _, spread = pair
    table = long_table(50)
    with pytest.raises(ValueError, match="the table must not have a column 'stars'"):
        spread.predict(dd.from_pandas(table, npartitions=2))
    with pytest.raises(ValueError, match="it has no 'user'"):
        spread.predict(dd.from_pandas(table[["item", "day"]], npartitions=2))
    with pytest.raises(ValueError, match="interval must be left out for a table of Dask"):
        spread.predict(dd.from_pandas(table[["user", "item", "day"]], npartitions=2), interval=0.9)
    table.loc[40, "user"] = "nobody"
    with pytest.raises(ValueError, match="partition 1: 'user' has no label 'nobody'"):
        spread.predict(dd.from_pandas(table[["user", "item", "day"]], npartitions=2)).compute()


def test_saved_and_loaded_on_one_machine_and_on_workers(pair, client, tmp_path):
    fit, spread = pair
    spread.save(tmp_path / "fit")
    manifest = json.loads((tmp_path / "fit" / "manifest.json").read_text())
    assert len(manifest["parts"]) == len(spread.model.parts)
    coords = all_coords(fit.shape)
    for again in (tensorfill.load(tmp_path / "fit"), load(tmp_path / "fit", client)):
        assert np.array_equal(again.predict(coords), spread.predict(coords))
        assert (again.status, again.method, again.bounds) == (fit.status, fit.method, fit.bounds)
        # A text, because NaN differs from itself.
        assert str(list(again.history)) == str(list(fit.history))
        for own, expected in zip(again.labels.keys, fit.labels.keys, strict=True):
            assert own.tolist() == expected.tolist()
        pd.testing.assert_frame_equal(again.to_dense(), fit.to_dense())
    # Again, from a fit that was loaded: files of the first are gone.
    again.save(tmp_path / "fit")
    assert len(list((tmp_path / "fit").iterdir())) == 3 + len(spread.model.parts)
    assert np.array_equal(tensorfill.load(tmp_path / "fit").predict(coords), spread.predict(coords))


def test_workers_do_not_trust_files(fit, client, tmp_path):
    spread_fit(fit, client, *CUTS[0]).save(tmp_path / "fit")
    [part] = (tmp_path / "fit").glob("part-00002-*.npz")
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    with pytest.raises(ValueError, match=r"part-00002-\w+.npz is not a file that Fit.save wrote, or it is damaged"):
        load(tmp_path / "fit", client)


def test_a_folder_that_is_too_large_for_this_machine(pair, tmp_path):
    pair[1].save(tmp_path / "fit")
    with pytest.raises(ValueError, match=r"fit holds at least .*, above max_bytes=1,000"):
        tensorfill.load(tmp_path / "fit", max_bytes=1000)


def test_an_error_leaves_an_earlier_fit_as_it_was(fit, client, tmp_path, monkeypatch):
    spread = spread_fit(fit, client, *CUTS[0])
    spread.save(tmp_path / "fit")
    before = {path.name: path.read_bytes() for path in (tmp_path / "fit").iterdir()}

    def full(*_):
        raise OSError("the disk is full.")

    monkeypatch.setattr("tensorfill.distributed.answer.write_rest", full)
    with pytest.raises(OSError, match="the disk is full"):
        spread.save(tmp_path / "fit")
    assert {path.name: path.read_bytes() for path in (tmp_path / "fit").iterdir()} == before


def test_where_a_fit_cannot_be_saved(fit, client, tmp_path):
    spread = spread_fit(fit, client, *CUTS[0])
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "0.parquet").write_text("data")
    with pytest.raises(OSError, match="must be a new folder or hold a fit, but it has other files"):
        spread.save(tmp_path / "entries")
    with pytest.raises(OSError, match="within one that exists"):
        spread.save(tmp_path / "nowhere" / "fit")
    with pytest.raises(OSError, match="within one that exists"):
        spread.save(tmp_path / "entries" / "0.parquet")
    with pytest.raises(ValueError, match="data must be False"):
        spread.save(tmp_path / "fit", data=True)


def test_a_part_that_is_lost_and_a_fit_that_is_closed(fit, client):
    spread = spread_fit(fit, client, *CUTS[0])
    client.cancel(spread.model.parts[1])
    with pytest.raises(ConnectionError, match="a Dask worker is gone, and its part of the model with it; load the fit"):
        spread.predict([[0, 0, 0]])
    closed = []
    spread = replace(spread_fit(fit, client, *CUTS[0]), ended=lambda: closed.append(True))
    spread.close()
    assert closed == [True]
    with pytest.raises(ValueError, match="the fit was closed"):
        spread.predict([[0, 0, 0]])


def test_what_needs_all_factors_in_one_place_is_refused(fit, client):
    spread = spread_fit(fit, client, *CUTS[0])
    with pytest.raises(TypeError, match="bring it to this machine first"):
        spread.model.multiplied(0, np.eye(6))
    with pytest.raises(TypeError, match="models of the same parts"):
        spread.inner(spread_fit(fit, client, *CUTS[1]))
