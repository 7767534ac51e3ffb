"""``tensorfill compare``."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import tensorfill.comparison
from tensorfill.datasets import synthetic

from .examples import said


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    data = synthetic((14, 13, 12), rank=2, noise=0.01, factors="normal", rng=0)
    path = tmp_path_factory.mktemp("compare") / "cube.npy"
    np.save(path, data.observations.to_dense())
    return path


def test_a_table_of_methods(path, capsys):
    out = said(capsys, "compare", path, "--methods", "nort,tucker_als,nort")
    head, *rows = out.out.split("\n\n")[0].splitlines()
    assert head.split()[:4] == ["method", "held-out", "error", "seconds"]
    errors = {row.split()[0]: float(row.split()[1]) for row in rows}
    assert set(errors) == {"nort", "tucker_als"}
    assert list(errors.values()) == sorted(errors.values())
    assert re.search(rf"^best +{min(errors, key=errors.get)}, ", out.out, re.M)
    assert re.search(r"^data +14 x 13 x 12, ", out.out, re.M)
    # Without a terminal there is a plain line for each stage instead of a bar.
    assert "choosing settings of tucker_als: " in out.err


def test_one_json_object_and_a_drawing(path, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    options = ["--methods", "nort,tucker_als", "--splits", "2", "--holdout", "entry"]
    out = said(capsys, "compare", path, *options, "--plot", tmp_path / "a.png", "--json")
    record = json.loads(out.out)
    assert out.err == ""
    assert {each["method"] for each in record["methods"]} == {"nort", "tucker_als"}
    first, second = record["methods"]
    assert first["held_out"] <= second["held_out"]
    assert record["best"] == first["method"]
    assert isinstance(record["clear"], bool)
    ranks = next(each["chosen"] for each in record["methods"] if each["method"] == "tucker_als")
    assert ranks == {"rank": 2}
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_time_limit_is_no_error(path, capsys):
    record = json.loads(said(capsys, "compare", path, "--methods", "nort", "--time-limit", "1e-6", "--json").out)
    assert record["methods"][0]["trials"] == 1
    assert record["clear"] is True


def test_an_interrupt_keeps_what_is_done(path, monkeypatch, capsys):
    real = tensorfill.comparison._contender

    def interrupted(pipeline, method, *more):
        if method.name == "tucker_als":
            raise KeyboardInterrupt
        return real(pipeline, method, *more)

    monkeypatch.setattr(tensorfill.comparison, "_contender", interrupted)
    for methods in (["--methods", "nort,tucker_als"], []):
        # By default, too, what is not there is named.
        monkeypatch.setattr(tensorfill.comparison, "COMPARED", ("nort", "tucker_als"))
        out = said(capsys, "compare", path, *methods, "--time-limit", "0.1", code=130)
        assert "nort" in out.out
        assert "Interrupted; 1 of 2 methods were compared, without tucker_als." in " ".join(out.err.split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--methods", "nort,nor"], "--methods must be one of 'nort', "),
        (["--plot", "/nowhere/a.png"], "--plot must be a file in a folder that exists"),
        (["--time-limit", "0"], "--time-limit must be a number above 0"),
        (["--splits", "many"], "argument --splits: invalid int value: 'many'"),
        (["--lam", "1"], "unrecognized arguments: --lam 1"),
    ],
)
def test_bad_input_is_refused_before_the_work(options, sentence, path, monkeypatch, capsys):
    def refuse(*arguments, **options):
        pytest.fail("the work was begun")

    monkeypatch.setattr(tensorfill.comparison, "compare", refuse)
    err = said(capsys, "compare", path, *options, code=2).err
    assert len(err.splitlines()) == 1
    assert err.startswith(f"tensorfill: {sentence}")
