"""``tensorfill report``."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill.cli import main
from tests import examples

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("reports")
    examples.labelled().save(made / "model.npz")
    seen = examples.labelled().observations
    np.save(made / "data.npy", np.where(seen.mask, seen.array, np.nan))
    np.save(made / "table.npy", np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0)))
    return made


def run(folder, *words):
    return main(["report", *(str(folder / word) if "." in word else word for word in words)])


@pytest.mark.slow
def test_a_model_with_its_data(folder, capsys):
    assert run(folder, "model.npz", "--data", "data.npy", "-o", "a.html", "--title", "Flow") == 0
    text = (folder / "a.html").read_text("utf-8")
    assert "<h1>Flow</h1>" in text
    assert "Error on fitted entries" in text
    assert "a.html" in capsys.readouterr().out


def test_a_model_alone(folder, capsys):
    assert run(folder, "model.npz", "-o", "b.html", "--quiet") == 0
    assert "read from a file" in (folder / "b.html").read_text("utf-8")
    assert capsys.readouterr().out == ""


def test_data_is_completed_first(folder):
    assert run(folder, "table.npy", "-o", "c.html", "--quiet", "--lam", "1") == 0
    assert "the whole matrix" in (folder / "c.html").read_text("utf-8")


def test_bad_input_gets_one_sentence(folder, capsys):
    assert run(folder, "table.npy", "--data", "data.npy", "-o", "d.html") == 2
    assert "--data is for models" in capsys.readouterr().err
    assert run(folder, "model.npz", "--data", "table.npy", "-o", "d.html") == 2
    assert "(8, 6)" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "d.html").exists()


def test_a_forecast_of_a_model_with_its_data(folder):
    examples.forecast().save(folder / "series.npz", data=True)
    assert run(folder, "series.npz", "--horizon", "6", "-o", "s.html", "--quiet") == 0
    assert "6 steps beyond 2024-03-20, hour 11" in (folder / "s.html").read_text("utf-8")


def test_a_forecast_needs_data(folder, capsys):
    assert run(folder, "model.npz", "--horizon", "6", "-o", "t.html") == 2
    assert "--horizon needs data" in capsys.readouterr().err
