"""The arena: what its patterns hide, how its rows are kept and summed up, and one contest."""

import math

import numpy as np
import pytest
from experiments.arena import Contest, contest_rows, finished, main, peer_rows, run
from experiments.arena_data import HALVES, SETS, DataMissing, DataSet, packaged, standardised
from experiments.arena_patterns import LEFT, PATTERNS, hide
from experiments.arena_peers import METHODS
from experiments.arena_tables import best_peers, outcomes, page, summary

from experiments import arena
from tensorfill import Choice, Observations

CUBE = DataSet(lambda: np.random.default_rng(0).normal(size=(20, 24, 6)), (1,), time=1, fibre=2)
MATRIX = DataSet(lambda: np.random.default_rng(0).normal(size=(40, 12)), (1,), time=1, fibre=1)
TIME_FIRST = DataSet(lambda: np.random.default_rng(0).normal(size=(24, 10, 4)), (0,), time=0, fibre=1)
SHAPES = {"cube": CUBE, "matrix": MATRIX, "time-first": TIME_FIRST}


class Silent:
    """A console that prints nothing."""

    def __init__(self):
        self.lines = []

    def print(self, line):
        self.lines.append(line)


def rows_of(*ratios, half="tuning", **changes):
    """Return rows of a run, and of peers with an error of 1."""
    keys = [{"set": "s", "pattern": "random", "seed": str(seed)} for seed in range(len(ratios))]
    usual = {"half": half, "coverage": "0.9", "claimed": "1", "said": "", "cpu": "4", "single_cpu": "2"}
    usual |= {"chosen": "nort", "error": ""} | changes
    runs = [key | usual | {"rmse": str(ratio)} for key, ratio in zip(keys, ratios, strict=True)]
    return runs, [key | {"peer": "cp", "rmse": "1"} for key in keys] + [key | {"peer": "x", "rmse": ""} for key in keys]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_pattern_hides_known_entries_and_no_whole_slice(name, pattern):
    truth = SHAPES[name].truth()
    truth[np.random.default_rng(1).random(truth.shape) < 0.1] = np.nan
    hidden = hide(truth, SHAPES[name], pattern, 3)
    assert 0.02 < hidden.mean() < 0.4
    assert np.isfinite(truth[hidden]).all()
    left = np.isfinite(truth) & ~hidden
    for mode in range(truth.ndim):
        assert np.moveaxis(left, mode, 0).reshape(truth.shape[mode], -1).sum(axis=1).min() >= LEFT
    np.testing.assert_array_equal(hide(truth, SHAPES[name], pattern, 3), hidden)
    # Few indices can be chosen twice by chance, but not every time.
    assert any((hide(truth, SHAPES[name], pattern, seed) != hidden).any() for seed in (4, 5, 6))


def test_fibres_are_whole_and_half_of_a_row_of_a_matrix():
    hidden = hide(CUBE.truth(), CUBE, "fibres", 0)
    assert set(hidden.sum(axis=2).ravel()) == {0, 6}
    halves = hide(MATRIX.truth(), MATRIX, "fibres", 0)
    assert set(halves.sum(axis=1)) == {0, 6}
    # Where columns have an order, a half is a run of them: it begins once.
    assert (np.diff(halves.astype(int), axis=1, prepend=0) == 1).sum(axis=1).max() == 1


def test_blocks_are_runs_along_time():
    hidden = hide(CUBE.truth(), CUBE, "blocks", 0)
    began = (np.diff(hidden.astype(int), axis=1, prepend=0) == 1).sum()
    assert hidden.sum() / began > 2
    assert hidden.sum() / (np.diff(hidden.astype(int), axis=0, prepend=0) == 1).sum() < 2


def test_slices_lose_four_of_five_entries():
    shares = hide(CUBE.truth(), CUBE, "slices", 0).mean(axis=(1, 2))
    assert (shares > 0).sum() == 4
    assert 0.65 < shares[shares > 0].mean() < 0.95


def test_a_corner_is_all_that_is_late_of_some():
    hidden = hide(CUBE.truth(), CUBE, "corner", 0)
    assert not hidden[:, :16].any()
    assert set(hidden[:, 16:].mean(axis=(1, 2))) == {0.0, 1.0}
    assert hidden[:, 16:].all(axis=(1, 2)).sum() == 4
    first = hide(TIME_FIRST.truth(), TIME_FIRST, "corner", 0)
    assert not first[:16].any()
    assert first[16:].all(axis=(0, 2)).sum() == 2


def test_large_values_go_missing_more_often():
    large = DataSet(lambda: np.random.default_rng(0).normal(size=(60, 50, 20)), (), time=1, fibre=2)
    truth = large.truth()
    hidden = hide(truth, large, "value", 0)
    cuts = np.quantile(truth, [0.1, 0.9])
    assert hidden[truth < cuts[0]].mean() == pytest.approx(0.12, abs=0.02)
    assert hidden[truth > cuts[1]].mean() == pytest.approx(0.48, abs=0.02)


def test_what_is_never_seen_is_hidden_whatever_the_pattern():
    truth = SETS["emission"].truth()
    _, emitted, excited = np.indices(truth.shape)
    for pattern in PATTERNS:
        hidden = hide(truth, SETS["emission"], pattern, 0)
        # A slice that lies wholly below the diagonal keeps a few entries.
        assert hidden[emitted / 39 < excited / 29].mean() > 0.95


def test_halves_alternate_in_alphabetical_order():
    assert list(SETS) == sorted(SETS)
    assert list(HALVES.values()) == ["tuning", "report"] * (len(SETS) // 2)


def test_standardised_slices_have_mean_0_and_deviation_1():
    data = np.random.default_rng(0).normal(5, 3, size=(8, 9, 4))
    data[0, 0, 0], data[..., 3] = np.nan, 7.0
    scaled = standardised(data, 2)
    np.testing.assert_allclose(np.nanmean(scaled, axis=(0, 1)), 0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(scaled, axis=(0, 1)), [1, 1, 1, 0])


def test_a_package_that_is_not_there_is_named():
    with pytest.raises(DataMissing, match="no_such_package cannot be imported"):
        packaged("no_such_package.datasets")


def test_a_set_without_data_is_left_out_with_a_message(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORFILL_DATA", str(tmp_path / "nowhere"))
    console = Silent()
    assert arena.available(["air", "low-rank"], console) == ["low-rank"]
    assert console.lines[0].startswith("air skipped: The shared data is not in")


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    done = []

    def answer(contest):
        done.append(contest.key)
        return [contest.begin | {"rmse": 0.123456789, "error": "", "chosen": "nort"}]

    monkeypatch.setattr(arena, "contest_rows", answer)
    contests = [Contest("low-rank", pattern, 0) for pattern in ("random", "corner")]
    run(contests[:1], tmp_path / "a.csv", False, 1, Silent())
    run(contests, tmp_path / "a.csv", False, 1, Silent())
    assert done == [contest.key for contest in contests]
    assert finished(tmp_path / "a.csv") == {contest.key for contest in contests}
    header, *lines = (tmp_path / "a.csv").read_text().splitlines()
    assert header.startswith("set,pattern,seed,half")
    assert len(lines) == 2
    assert "0.123457" in lines[0]


def test_a_call_that_fails_is_a_row(monkeypatch):
    def fails(data, **given):
        raise ValueError("no\nanswer")

    monkeypatch.setattr(arena.tensorfill, "complete", fails)
    (row,) = contest_rows(Contest("low-rank", "corner", 0))
    assert row["error"] == "ValueError: no answer"
    assert "rmse" not in row
    peers = peer_rows(Contest("low-rank", "corner", 0))
    assert {each["error"] for each in peers} == {"ValueError: no answer"}
    assert {each["peer"] for each in peers} >= set(METHODS)


def test_the_test_entries_choose_the_settings_of_a_peer_and_are_not_fitted():
    data, _, test = Contest("low-rank", "corner", 0).data()
    other = Observations(test.coords, 2 * test.values, test.shape)
    given = {"method": arena.tensorfill.CP(rank=3, ridge=0.1), "centre": False, "smooth": None, "rng": 0}
    answers = [
        arena.tensorfill.complete(data, choose=Choice(validation=each), **given).predict(test.coords)
        for each in (test, other)
    ]
    # They may choose where the last fit starts, or when it stops, and no more.
    np.testing.assert_allclose(*answers, atol=0.02 * test.values.std())


def test_the_best_peer_is_the_one_with_the_lowest_error():
    key = {"set": "s", "pattern": "random", "seed": "0"}
    rows = [key | {"peer": name, "rmse": error} for name, error in (("a", "2"), ("b", "1.5"), ("c", ""), ("d", "nan"))]
    assert best_peers(rows) == {("s", "random", "0"): ("b", 1.5)}


def test_outcomes_are_ratios_and_a_failure_is_infinite():
    good, failed = outcomes(*rows_of(1.2, ""))
    assert (good.ratio, good.fits, good.peer, good.holds) == (1.2, 2.0, "cp", True)
    assert good.claimed == pytest.approx(1 / 1.2)
    assert math.isinf(failed.ratio)


def test_coverage_outside_of_the_limits_must_be_said_beforehand():
    assert [outcomes(*rows_of(1.0, coverage=each))[0].holds for each in ("0.86", "0.87", "0.93", "0.94")] == [
        False, True, True, False,
    ]  # fmt: skip
    assert outcomes(*rows_of(1.0, coverage="0.1", said="warned"))[0].holds


def test_a_summary_compares_what_all_runs_have():
    before, peers = rows_of(1.0, 2.0, 1.02, 0.5)
    after, _ = rows_of(0.9, 0.9, 1.0)
    lines = [line.split(" | ") for line in summary({"before": before, "after": after}, peers).splitlines()]
    # A line for each run of the half, of all, and of the one pattern, below the header and the rule.
    assert [line[0] for line in lines[2:]] == ["| before", "| after"] * 3
    assert lines[2][1:7] == ["tuning half", "3", "1.020", "2.00", "33%", "0%"]
    assert lines[3][1:7] == ["tuning half", "3", "0.900", "1.00", "0%", "67%"]


def test_the_page_names_the_peer_that_is_ahead():
    text = page(*rows_of(1.2))
    assert "| s | tuning | 1.20 cp; 90% | - |" in text
    assert "| s | tuning | 1.00; 90% | - |" in page(*rows_of(1.0))


def test_the_tables_of_the_documentation_are_those_of_a_run():
    peers = arena.read_rows(arena.RESULTS / "arena_peers.csv")
    runs = [path for path in arena.RESULTS.glob("arena_*.csv") if path.stem != "arena_peers"]
    shown = (arena.RESULTS / "arena.md").read_text(encoding="utf-8")
    assert shown in [page(arena.read_rows(path), peers) for path in runs]


def test_bad_options_get_a_sentence(tmp_path, capsys):
    assert main(["--summary", "never"], tmp_path) == 2
    assert "There is no arena_never.csv" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--peers", "--sets", "low-rank,mars"], tmp_path)
    assert "there is no 'mars'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_contest_is_run_and_summed_up(tmp_path, capsys):
    some = ["--sets", "low-rank,wine", "--patterns", "random"]
    assert main(["--peers", *some], tmp_path) == 0
    assert main(["--label", "now", *some], tmp_path) == 0
    assert main(["--page", "now"], tmp_path) == 0
    assert main(["--summary", "now", "--each"], tmp_path) == 0
    printed = capsys.readouterr().out
    assert "| now | all | 2 |" in printed
    low_rank, _ = outcomes(arena.read_rows(tmp_path / "arena_now.csv"), arena.read_rows(tmp_path / "arena_peers.csv"))
    # Noise of a tenth of the spread cannot be predicted, and rank 3 can be found: all that is left is the noise.
    assert low_rank.error == pytest.approx(0.1 * np.std(SETS["low-rank"].truth()), rel=0.2)
    assert 0.9 < low_rank.ratio < 1.1
    assert low_rank.fits > 1
    assert {row["peer"] for row in arena.read_rows(tmp_path / "arena_peers.csv") if row["set"] == "wine"} >= {
        "neighbours", "regressions", "trees", "nort",
    }  # fmt: skip
