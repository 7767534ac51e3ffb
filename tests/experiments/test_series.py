"""The experiment on series: what is hidden, what peers answer, how rows are kept and summed up, and one contest."""

import math
import time

import numpy as np
import pytest
from experiments.arena_tables import read_rows
from experiments.data import DataMissing
from experiments.series import COLUMNS, PEER_COLUMNS, RESULTS, Contest, finished, main, our_answers, peer_answers, run
from experiments.series_contests import AHEAD, GAPS, KINDS, Case, cases, coverage, gaps, measures, origins, takes
from experiments.series_models import dynamic_factors, regressions, structural
from experiments.series_peers import PEERS, Peer, cpu_limit, linear, peer_row, seasonal, spline
from experiments.series_sets import FEW, SAMPLED, SETS, SeriesSet, folded, sample
from experiments.series_tables import page, peers_table, standings, summary

from experiments import series

HOURS = np.datetime64("2020-01-01", "ns") + np.arange(600) * np.timedelta64(1, "h")


def waves(count=4, noise=0.1):
    """Return sines with a period of a day, and noise."""
    rng = np.random.default_rng(0)
    phases = np.linspace(0, 1, count, endpoint=False)[:, None]
    values = np.sqrt(2) * np.sin(2 * np.pi * (np.arange(600) / 24 + phases))
    return values + noise * rng.standard_normal(values.shape), HOURS


WAVES = SeriesSet(waves, (24,), slots=24, crop=500, points=True)


@pytest.fixture
def with_waves(monkeypatch):
    monkeypatch.setitem(SETS, "waves", WAVES)


class Silent:
    """A console that prints nothing."""

    def __init__(self):
        self.lines = []

    def print(self, line):
        self.lines.append(line)


def row_of(columns, **cells):
    """Return a row of a CSV with these cells."""
    return dict.fromkeys(columns, "") | {"set": "s", "kind": "gap6", "seed": "0"} | cells


@pytest.mark.parametrize("length", GAPS.values())
def test_gaps_have_their_length_and_touch_neither_each_other_nor_an_end(length):
    hidden = gaps((5, 2000), length, np.random.default_rng(0))
    assert 0.15 < hidden.mean() < 0.25
    assert not hidden[:, [0, -1]].any()
    edges = np.diff(hidden.astype(int), axis=1)
    for row in edges:
        np.testing.assert_array_equal(np.flatnonzero(row == -1) - np.flatnonzero(row == 1), length)
    assert any((row != hidden[0]).any() for row in hidden[1:])


def test_a_gap_longer_than_a_tenth_of_the_series_is_not_asked_for():
    assert [kind for kind in KINDS if takes(WAVES, kind)] == [kind for kind in KINDS if kind != "gap168"]
    assert not takes(SeriesSet(waves, (24,), 24), "points10")


def test_what_is_hidden_is_tested_and_nothing_else():
    (case,) = cases("waves", WAVES, "gap24", 3)
    values, _ = WAVES.table()
    assert case.data.shape == (4, 500)
    assert (np.isnan(case.data) == np.isfinite(case.truth)).all()
    np.testing.assert_array_equal(np.where(np.isfinite(case.truth), case.truth, case.data), values)
    (again,), (other,) = cases("waves", WAVES, "gap24", 3), cases("waves", WAVES, "gap24", 4)
    np.testing.assert_array_equal(again.data, case.data)
    assert (np.isnan(other.data) != np.isnan(case.data)).any()


def test_points_are_hidden_in_all_steps():
    (case,) = cases("waves", WAVES, "points50", 0)
    assert case.data.shape == (4, 600)
    assert np.isnan(case.data).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("kind", "share"), AHEAD.items())
def test_forecasts_see_nothing_after_their_origin(kind, share):
    found = cases("waves", WAVES, kind, 0)
    values, dates = WAVES.table()
    assert [case.data.shape[1] for case in found] == origins(500, 24)
    for case in found:
        end = case.data.shape[1]
        assert len(case.dates) == end
        assert np.isnan(case.data).mean() == pytest.approx(share, abs=0.05)
        assert not np.isfinite(case.truth[:, :end]).any()
        np.testing.assert_array_equal(case.truth[:, end:], values[:, end : end + 24])
        np.testing.assert_array_equal(case.dates, dates[:end])


def test_origins_are_at_different_times_of_the_day():
    assert len({origin % 24 for origin in origins(2400, 24)}) == 3
    assert len({origin % 12 for origin in origins(732, 12)}) == 3


def test_errors_are_told_by_steps_ahead():
    truth = np.full((1, 10 + 12), np.nan)
    truth[0, 10:] = 0.0
    answer = np.arange(22.0)[None] - 9
    found = measures([Case(np.zeros((1, 10)), HOURS[:10], 12, truth)], [answer])
    assert found["mae"] == pytest.approx(6.5)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(np.arange(1, 13) ** 2)))
    assert (found["mae1"], found["mae6"], found["mae12"]) == (1.0, 6.0, 12.0)
    assert "mae24" not in found


def test_an_answer_with_nan_has_no_error():
    found = measures([Case(np.zeros((1, 2)), HOURS[:2], 0, np.ones((1, 2)))], [np.array([[1.0, np.nan]])])
    assert math.isnan(found["mae"])


def test_coverage_counts_tested_entries():
    truth = np.array([[0.0, np.nan, 2.0, 3.0]])
    case = Case(np.zeros((1, 4)), HOURS[:4], 0, truth)
    low, high = np.full((1, 4), -1.0), np.array([[1.0, 1.0, 2.0, 2.0]])
    assert coverage([case], [low], [high]) == {"coverage": pytest.approx(2 / 3)}


def test_a_large_set_has_a_sample():
    np.testing.assert_array_equal(sample(FEW), np.arange(FEW))
    assert len(set(sample(100))) == SAMPLED
    assert set(sample(100)[[0, -1]]) == {0, 99}


def test_time_is_folded_by_cycles_and_padded():
    cycles = folded(np.arange(7.0)[None], 3)
    np.testing.assert_array_equal(cycles[0], [[0, 1, 2], [3, 4, 5], [6, np.nan, np.nan]])
    assert WAVES.folded(WAVES.table()[0]).shape == (4, 21, 24)
    with pytest.raises(ValueError, match="no cycle of a whole number"):
        SETS["co2"].folded(np.zeros((1, 10)))


def test_simple_peers_answer_as_they_say():
    data = np.array([[1.0, np.nan, 3.0, 10.0, np.nan, np.nan]])
    np.testing.assert_allclose(linear(data, 2), [[1, 2, 3, 10, 10, 10, 10, 10]])
    np.testing.assert_allclose(seasonal(data, 1, 3), [[1, 2, 3, 10, 10, 3, 10]])
    # Of the slot 1 nothing is known: it is interpolated. The mean is of what is before and after.
    np.testing.assert_allclose(seasonal(np.array([[1.0, 2.0, np.nan, 2.0, 3.0]]), 1, 2), [[1, 2, 2, 2, 3, 2]])
    cubes = np.arange(8.0)[None] ** 3
    np.testing.assert_allclose(spline(np.where(cubes == 27, np.nan, cubes), 0), cubes, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*Early stopping criterion")
def test_regressions_fill_and_forecast_waves():
    for kind in ("gap6", "ahead30"):
        found = cases("waves", WAVES, kind, 0)
        answers = [regressions(case.data, case.steps, 24) for case in found]
        assert measures(found, answers)["mae"] < 0.3
        seen = np.isfinite(found[0].data)
        np.testing.assert_array_equal(answers[0][:, : seen.shape[1]][seen], found[0].data[seen])


@pytest.mark.filterwarnings("ignore")  # statsmodels warns of its own code, and says always when it has not converged
@pytest.mark.parametrize("kind", ["gap24", "ahead30"])
def test_state_space_models_know_the_season(kind):
    pytest.importorskip("statsmodels")
    found = cases("waves", WAVES, kind, 0)
    for answer, given in (
        (structural, {"form": "level", "periods": (24,)}),
        (dynamic_factors, {"period": 24, "factors": 1}),
    ):
        answers = [answer(case.data, case.steps, **given) for case in found]
        assert measures(found, answers)["mae"] < 0.15


def test_a_peer_is_at_the_settings_that_are_best_on_the_tested_entries():
    found = cases("waves", WAVES, "gap6", 0)
    constant = Peer(
        lambda data, steps, level: np.full(data.shape, level), lambda periods: [{"level": at} for at in (5.0, 0.0, 2.0)]
    )
    row = peer_row(constant, found, (24,))
    assert row["settings"] == "level 0.0"
    assert row["mae"] == row["sample_mae"] == pytest.approx(np.nanmean(np.abs(found[0].truth)))


def test_a_sampled_peer_has_errors_of_the_sample_only():
    many = SeriesSet(lambda: waves(20), (24,), 24)
    found = cases("many", many, "gap6", 0)
    shapes = []

    def zeros(data, steps):
        shapes.append(data.shape)
        return np.zeros(data.shape)

    row = peer_row(Peer(zeros, sampled=True), found, (24,))
    assert shapes == [(SAMPLED, 600)]
    assert "mae" not in row
    whole = peer_row(Peer(zeros), found, (24,))
    assert whole["sample_mae"] == row["sample_mae"] != whole["mae"]


def test_settings_beyond_the_limit_are_left_out(monkeypatch):
    monkeypatch.setattr("experiments.series_peers.CPU_LIMIT", 0.05)

    def answer(data, steps, busy):
        while busy:
            math.sqrt(2)
        return np.zeros(data.shape)

    found = cases("waves", WAVES, "gap6", 0)
    row = peer_row(Peer(answer, lambda periods: [{"busy": False}, {"busy": True}]), found, (24,))
    assert row["settings"] == "busy False"
    assert row["error"] == "other settings: stopped after 0.05 CPU seconds"
    with pytest.raises(TimeoutError, match="stopped after"):
        peer_row(Peer(answer, lambda periods: [{"busy": True}]), found, (24,))


def test_a_limit_ends_with_its_block():
    with cpu_limit(0.05):
        pass
    began = time.process_time()
    while time.process_time() < began + 0.1:
        math.sqrt(2)


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    done = []

    def answer(contest):
        done.append(contest.key)
        return contest.begin | {"mae": 0.123456789}

    monkeypatch.setattr(series, "peer_answers", answer)
    contests = [Contest("waves", kind, 0, "linear") for kind in ("gap1", "gap6")]
    run(contests[:1], tmp_path / "p.csv", 1, Silent())
    run(contests, tmp_path / "p.csv", 1, Silent())
    assert done == [contest.key for contest in contests]
    assert finished(tmp_path / "p.csv") == {("waves", "gap1", "0", "linear"), ("waves", "gap6", "0", "linear")}
    header, *lines = (tmp_path / "p.csv").read_text().splitlines()
    assert header.startswith("set,kind,seed,peer,settings,mae")
    assert len(lines) == 2
    assert "0.123457" in lines[0]


@pytest.mark.usefixtures("with_waves")
def test_a_call_that_fails_is_a_row(monkeypatch):
    def fails(data, **given):
        raise ValueError("no\nanswer")

    monkeypatch.setattr(series.tensorfill, "complete", fails)
    row = our_answers(Contest("waves", "gap6", 0))
    assert row["error"] == "ValueError: no answer"
    assert "mae" not in row
    monkeypatch.setitem(PEERS, "fails", Peer(fails))
    assert "fails" in peer_answers(Contest("waves", "gap6", 0, "fails"))["error"]


@pytest.mark.usefixtures("with_waves")
def test_a_peer_that_is_not_installed_is_left_out_with_a_message(tmp_path, monkeypatch):
    def missing(data, steps):
        raise DataMissing("that package is not here")

    monkeypatch.setitem(PEERS, "missing", Peer(missing))
    console = Silent()
    run([Contest("waves", kind, 0, "missing") for kind in ("gap1", "gap6")], tmp_path / "p.csv", 1, console)
    assert console.lines == ["missing left out: that package is not here"]
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.usefixtures("with_waves")
def test_a_peer_has_no_row_of_what_it_does_not_do():
    assert peer_answers(Contest("waves", "ahead0", 0, "spline")) == ""


def test_a_set_without_data_is_left_out_with_a_message(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORFILL_DATA", str(tmp_path / "nowhere"))
    console = Silent()
    assert series.available(["taxis"], console) == []
    assert console.lines[0].startswith("taxis skipped: The shared data is not in")


def test_a_run_is_compared_with_the_best_peer_at_the_entries_of_both():
    ours = row_of(COLUMNS, mae="1.2", rmse="2", sample_mae="0.9", sample_rmse="1", coverage="0.9", cpu="3")
    peers = [
        row_of(PEER_COLUMNS, peer="a", mae="1", rmse="1"),
        row_of(PEER_COLUMNS, peer="b", sample_mae="0.5", sample_rmse="4"),
        row_of(PEER_COLUMNS, peer="c", error="it failed"),
        row_of(PEER_COLUMNS, peer="d", mae="0.1", rmse="0.1", kind="gap1"),
    ]
    (found,) = standings([ours], peers)
    assert (found.peer, found.sampled, found.ratio, found.squared) == ("b", True, pytest.approx(1.8), 2.0)
    (whole,) = standings([ours], peers[:1])
    assert (whole.peer, whole.sampled, whole.ratio) == ("a", False, 1.2)
    text = summary([ours], peers)
    assert "| s gap6 | 0 | 0.900 | 0.500 | b* | 1.800 | 2.000 | 90% |" in text
    assert "| gaps | 1 | 1.800 |" in text
    assert "b*" not in summary([ours], peers[:1])


def test_a_run_that_failed_is_behind_the_best_peer():
    failed = row_of(COLUMNS, error="no answer")
    peers = [row_of(PEER_COLUMNS, peer=name, mae=mae, rmse=mae) for name, mae in (("a", "2"), ("b", "1"))]
    (found,) = standings([failed], peers)
    assert math.isinf(found.ratio)
    assert found.peer == "b"
    assert "no answer" in summary([failed], peers)


def test_a_contest_without_peers_has_no_ratio():
    (found,) = standings([row_of(COLUMNS, mae="1")], [])
    assert found.peer == ""
    assert math.isnan(found.ratio)


def test_the_page_names_the_best_peer():
    ours = row_of(COLUMNS, mae="1.2", rmse="2", coverage="0.9", cpu="3")
    peers = [row_of(PEER_COLUMNS, peer="a", mae="1", rmse="1"), row_of(PEER_COLUMNS, peer="b", sample_mae="0.5")]
    text = page([ours, ours | {"kind": "gap1"}], [peers[0], peers[0] | {"kind": "gap1"}])
    assert "| series | gap1 | gap6 |" in text
    assert "| s | 1.20 a; 90% | 1.20 a; 90% |" in text
    assert "| s gap6 | 0 | **1.000** | 0.500* |" in peers_table(peers)


def test_the_rows_of_the_peers_are_of_contests_that_there_are():
    rows = read_rows(RESULTS / "series_peers.csv")
    assert rows
    assert tuple(rows[0]) == PEER_COLUMNS
    assert {row["set"] for row in rows} == set(SETS)
    assert {row["kind"] for row in rows} == set(KINDS)
    assert {row["peer"] for row in rows} <= set(PEERS)
    keys = [tuple(row[name] for name in PEER_COLUMNS[:4]) for row in rows]
    assert len(set(keys)) == len(keys)


def test_bad_options_get_a_sentence(tmp_path, capsys):
    assert main(["--summary", "never"], tmp_path) == 2
    assert "There is no series_never.csv" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--peers", "--sets", "mars"], tmp_path)
    assert "there is no 'mars'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--peers", "--jobs", "0"], tmp_path)
    assert "give a whole number of at least 1" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("with_waves")
def test_a_contest_is_run_and_summed_up(tmp_path, capsys):
    some = ["--sets", "waves", "--kinds", "gap6"]
    assert main(["--peers", "--only", "linear,spline,seasonal,regressions", *some], tmp_path) == 0
    assert main(["--label", "now", *some], tmp_path) == 0
    assert main(["--table"], tmp_path) == 0
    assert main(["--page", "now"], tmp_path) == 0
    assert main(["--summary", "now"], tmp_path) == 0
    assert "| waves gap6 | 0 |" in capsys.readouterr().out
    (ours,) = read_rows(tmp_path / "series_now.csv")
    assert ours["error"] == ""
    # Noise of a tenth cannot be predicted.
    assert 0.07 < float(ours["mae"]) < 0.3
    assert 0.8 < float(ours["coverage"]) <= 1
    assert len(read_rows(tmp_path / "series_peers.csv")) == 4
