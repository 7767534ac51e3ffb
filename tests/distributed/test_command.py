"""``tensorfill complete --dask``."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import tensorfill
import tensorfill.distributed

from ..cli.examples import facts, said

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from .test_answer import spread_fit  # noqa: E402  needs Dask


@pytest.fixture
def log(tmp_path):
    """Return a folder with a table of rank 1 in two files."""
    user, item, day = np.unravel_index(np.random.default_rng(0).permutation(9 * 8 * 10)[:500], (9, 8, 10))
    table = pd.DataFrame({"user": user, "item": item, "day": day, "stars": (1.0 + user) * (1 + item) * (1 + day)})
    (tmp_path / "log").mkdir()
    for number, part in enumerate((table[:300], table[300:])):
        part.to_parquet(tmp_path / "log" / f"{number}.parquet")
    return tmp_path / "log"


@pytest.fixture
def asked(monkeypatch, client):
    """Replace the cluster by that of the tests and the fit by one in memory; return what was asked for."""
    noted = {}
    on_tests = client

    def complete(files, client=None, **options):
        noted.update(options, files=files)
        table = pd.concat([chunk.read(files.columns) for chunk in files.chunks])
        fit = tensorfill.complete(
            table, method="nort", lam=1.0, penalty="nuclear", smooth=None, centre=False, layout="long", rng=0
        )
        spread = spread_fit(fit, on_tests, 0, (0, 4, 9))
        return replace(spread, entries=len(table), ended=lambda: noted.update(ended=True))

    class Client:
        def __init__(self, address, **how):
            noted["address"] = address

        def __enter__(self):
            return on_tests

        def __exit__(self, *error):
            pass

    monkeypatch.setitem(vars(tensorfill.distributed), "complete", complete)
    monkeypatch.setattr(distributed, "Client", Client)
    return noted


def test_a_folder_becomes_a_folder(log, asked, tmp_path, capsys):
    out = said(capsys, "complete", log, "--dask", "--workers", "3", "--memory", "1GiB", "--model", tmp_path / "fit")
    shown = facts(out.out)
    assert shown["data"] == "9 x 8 x 10, 500 entries observed (69.4%)"
    assert (shown["method"], shown["parts"]) == ("nort", "on 2 workers")
    assert shown["written"].endswith("fit (model)")
    assert (asked["n_workers"], asked["memory_limit"], asked["ended"]) == (3, 2**30, True)
    fit = tensorfill.load(tmp_path / "fit")
    assert fit.labels.names == ("user", "item", "day")
    # The other commands take the folder for a model.
    (tmp_path / "questions.csv").write_text("user,item,day\n3,2,4\n")
    answer = said(capsys, "predict", tmp_path / "fit", tmp_path / "questions.csv").out
    assert float(answer.splitlines()[1].split(",")[-1]) == pytest.approx(fit.predict([[3, 2, 4]])[0])
    assert "nort" in said(capsys, "info", tmp_path / "fit").out


def test_what_is_asked_for(log, asked, tmp_path, capsys):
    options = ["--lam", "2", "--max-rank", "4", "--set", "tol=1e-5", "--loss", "huber", "--validation", "0.2"]
    options += ["--value", "stars", "--missing", "zero", "--checkpoint", tmp_path / "run", "--seed", "7"]
    options += ["--scheduler", "tcp://there:8786", "--json"]
    out = said(capsys, "complete", log / "*.parquet", "--dask", "--model", tmp_path / "fit", *options)
    record = json.loads(out.out)
    assert (record["observed"], record["model"]) == (500, str(tmp_path / "fit"))
    wanted = {"lam": 2.0, "max_rank": 4, "tol": 1e-5, "loss": "huber", "validation": 0.2, "value": "stars"}
    wanted |= {"missing": "zero", "checkpoint": tmp_path / "run", "rng": 7, "address": "tcp://there:8786"}
    assert {name: asked[name] for name in wanted} == wanted
    assert "n_workers" not in asked


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "matches several files; give --dask"),
        (["--workers", "2"], "--workers is for a Dask cluster; give --dask too"),
        (["--dask", "-o", "all.parquet"], "-o cannot be had with --dask"),
        (["--dask", "--interval", "0.9"], "--interval cannot be had with --dask"),
        (["--dask", "--smooth", "day"], "--smooth cannot be had with --dask"),
        (["--dask", "--method", "cp"], "--method must be nort with --dask, but 'cp'"),
        (["--dask", "--memory", "much"], "--memory must be a size such as 1GiB or 500MB, but 'much'"),
        (["--dask", "--workers", "0"], "--workers must be a whole number of at least 1"),
        (["--dask", "--workers", "2", "--scheduler", "tcp://there:1"], "--workers is for processes on this machine"),
    ],
)
def test_what_is_refused_before_any_work(log, asked, options, sentence, tmp_path, capsys):
    out = said(capsys, "complete", log, "--model", tmp_path / "fit", *options, code=2)
    assert sentence in out.err
    assert "files" not in asked


def test_paths_that_are_refused(log, asked, tmp_path, capsys):
    assert "give --model FOLDER" in said(capsys, "complete", log, "--dask", code=2).err
    assert "it has other files" in said(capsys, "complete", log, "--dask", "--model", log, code=2).err
    assert "check the path" in said(capsys, "complete", log / "x", "--dask", "--model", tmp_path / "fit", code=2).err
    assert not (tmp_path / "fit").exists()
