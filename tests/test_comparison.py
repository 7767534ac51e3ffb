"""Several methods on the same held-out entries."""

from __future__ import annotations

import numpy as np
import pytest

import tensorfill
from tensorfill import Choice, Nort, Problem, compare
from tensorfill._support.memory import PeakMemory
from tensorfill.choosing import candidates as choosing_candidates
from tensorfill.choosing.search.base import are_better
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods import registry
from tensorfill.metrics import rmse
from tests.refusal import refuses

DATA = synthetic((20, 18, 16), rank=2, rng=0)


@pytest.fixture(scope="module")
def table():
    return compare(DATA.observations, ["nort", "tucker_als"], rng=0)


def test_the_lowest_error_comes_first_with_its_cost(table):
    assert table.best is table[0]
    assert table["held_out"].tolist() == sorted(table["held_out"])
    assert table.best.name == "tucker_als"
    assert table.best.tried == {"rank": 2}
    assert table.best.ranks == (2, 2, 2)
    assert (table["seconds"] > 0).all()
    assert (table["standard_error"] > 0).all()
    assert ((table["memory"] >= 0) | np.isnan(table["memory"])).all()
    assert table[1].tried.keys() >= {"cut", "q"}


def test_the_scores_are_those_of_complete(table):
    fit = tensorfill.complete(DATA.observations, method="tucker_als", smooth=None, rng=0)
    assert fit.held_out_error == pytest.approx(table.best.held_out, rel=0.1)


def test_its_methods_are_those_for_a_fit_of_all_entries(table):
    for row in table:
        fit = tensorfill.complete(DATA.observations, method=row.name, smooth=None, rng=0)
        assert fit.method == row.method.resolved(Problem(DATA.observations, Square()))
        again = tensorfill.complete(DATA.observations, method=row.method, smooth=None, centre=False, rng=0)
        assert rmse(again.predict(DATA.test.coords), DATA.test.values) < 1.5 * DATA.limit


def test_printed_it_is_a_table(table):
    lines = str(table).splitlines()
    assert len(lines) == 3
    assert lines[0].split("  ")[0] == "method"
    assert lines[1].startswith("tucker_als")
    assert "±" in lines[1]
    assert "rank 2" in lines[1]


def test_a_difference_by_chance_is_not_clear(table):
    assert table.is_clear() is are_better(table[0].losses, table[1].losses)
    same = compare(DATA.observations, [Nort(lam=0.05), Nort(lam=0.05)], rng=0)
    assert not same.is_clear()


def test_objects_stages_and_splits():
    found = compare(DATA.observations, [Nort(penalty="mcp"), "tucker_als"], centre=True, choose=Choice(splits=2), rng=0)
    assert {"centred"} == {stage for row in found for stage in row.stages}
    assert len(found[0].losses) == pytest.approx(0.2 * len(DATA.observations), abs=4)


def test_time_is_shared_and_what_there_is_by_then_is_scored():
    found = compare(DATA.observations, ["nort", "tucker_als"], time_limit=1e-6, rng=0)
    assert len(found) == 2
    assert np.isfinite(found["held_out"]).all()


def test_ctrl_c_keeps_the_methods_that_are_done(monkeypatch):
    from tensorfill.methods.tucker_als import TuckerAls

    def interrupt(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(TuckerAls, "axes", interrupt)
    found = compare(DATA.observations, ["nort", "tucker_als", "cp"], rng=0)
    assert found["name"].tolist() == ["nort"]
    assert found.left_out == ("tucker_als", "cp")
    assert str(found).endswith("\nNot compared, because the run was stopped: tucker_als, cp.")
    assert repr(found) == "Comparison(1 method, the best is nort, without tucker_als, cp)"
    with pytest.raises(KeyboardInterrupt):
        compare(DATA.observations, ["tucker_als", "nort"], rng=0)


def test_bad_methods_get_one_sentence():
    refuses(ValueError, ["method", "'nort'", "'magic'"], lambda: compare(DATA.observations, ["magic"]))
    refuses(ValueError, ["method", "empty"], lambda: compare(DATA.observations, []))


def test_it_is_drawn(table, tmp_path):
    pytest.importorskip("matplotlib")
    axes = table.plot(file=tmp_path / "table.png")
    assert (tmp_path / "table.png").stat().st_size > 1000
    words = " ".join(text.get_text() for text in axes.figure.findobj() if hasattr(text, "get_text"))
    assert "Tucker" in words
    assert "NORT" in words


def test_peak_memory_is_above_what_was_held():
    with PeakMemory() as peak:
        block = np.ones(10_000_000)
    if np.isnan(peak.bytes):
        pytest.skip("this system does not say how much memory a process holds")
    assert 0.9 * block.nbytes < peak.bytes < 3 * block.nbytes


def test_large_losses_count_if_they_are_not_a_few():
    # The two hundredth part of the entries is large; one answer has them right, the other all others.
    rng = np.random.default_rng(0)
    large = np.arange(20_000) % 200 == 0
    right_at_large = np.where(large, 10.0, 1.0) * rng.chisquare(1, 20_000)
    right_elsewhere = np.where(large, 1000.0, 0.9) * rng.chisquare(1, 20_000)
    assert are_better(right_at_large, right_elsewhere)
    assert not are_better(right_elsewhere, right_at_large)


def test_a_few_losses_do_not_decide():
    rng = np.random.default_rng(0)
    better, worse = 0.9 * rng.chisquare(1, 5000), rng.chisquare(1, 5000)
    better[7] = 1e6
    assert are_better(better, worse)


def test_all_is_every_method_that_takes_the_data(monkeypatch):
    few = {name: registry.METHODS[name] for name in ("nort", "softimpute", "tucker_als")}
    for module in (registry, choosing_candidates):
        monkeypatch.setattr(module, "METHODS", few)
    data = DATA.observations
    yes_or_no = data.with_values((data.values > 0).astype(float))
    compared = compare(yes_or_no, "all", loss="logistic", centre=False, rng=0)
    assert sorted(compared["name"]) == ["nort", "softimpute"]


def test_what_a_notebook_shows():
    data = tensorfill.datasets.synthetic((10, 9, 8), rank=1, rng=0).observations
    html = tensorfill.compare(data, methods=["cp"], rng=0)._repr_html_()
    assert "Comparison(1 method, the best is cp)" in html
    assert "held-out error" in html
    assert "array" not in html
