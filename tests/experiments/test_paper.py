"""The experiments of the paper: the harness, and a small run of each."""

import io
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

pytest.importorskip("skimage")
sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from paper import fitting, harness
from paper.experiment import Experiment, Finished, Task
from paper.fitting import arguments
from paper.harness import MARK, Book, answer, run_all
from paper.pages import page
from paper.registry import EXPERIMENTS

from run import main

TASKS = [Task("a", "nort", seed, {}, 5.0) for seed in range(3)]


def experiment(**changes):
    given = {
        "run": lambda task: {"rmse": 0.5 + task.seed},
        "published": {("a", "nort", "rmse"): (0.75, 0.1)},
        **changes,
    }
    return Experiment("ours", "Table 0", lambda quick: TASKS[:1] if quick else TASKS, data="", differs="", **given)


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=150)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    """Run tasks here: a process of its own for each would import everything anew."""
    monkeypatch.setattr(
        harness, "_apart", lambda experiment, task: json.loads(answer(experiment, task).removeprefix(MARK))
    )


def test_what_is_finished_is_not_done_again(tmp_path, console):
    done = []

    def run(task):
        done.append(task.seed)
        return {"rmse": 1.0, "curves": {"iteration": [0.0, 1.0]}}

    assert run_all(experiment(run=run), tmp_path, console, budget=-1.0) == 3
    assert run_all(experiment(run=run), tmp_path, console) == 0
    assert run_all(experiment(run=run), tmp_path, console) == 0
    assert done == [0, 1, 2]
    assert Book(tmp_path / "ours.csv").runs[2] == Finished("a", "nort", 2, {**run(TASKS[2]), "limit": 5.0})


def test_a_run_with_more_time_is_done_again(tmp_path):
    book = Book(tmp_path / "ours.csv")
    book.add(Finished("a", "nort", 0, {"failed": "ended after 15 s", "limit": 5.0}))
    assert book.has(TASKS[0])
    assert not book.has(Task("a", "nort", 0, {}, 10.0))


def test_a_refusal_is_a_result(tmp_path, console):
    def refuse(task):
        raise ValueError("method 'x' takes no such tensor")

    assert run_all(experiment(run=refuse), tmp_path, console) == 0
    assert "takes no such tensor" in (tmp_path / "ours.md").read_text()


def test_a_run_that_came_to_nothing_is_tried_again(tmp_path, console, monkeypatch):
    def ended(experiment, task):
        raise harness.NotRun("the data is missing")

    with monkeypatch.context() as patched:
        patched.setattr(harness, "_apart", ended)
        assert run_all(experiment(), tmp_path, console) == 3
    assert "not run: the data is missing" in console.file.getvalue()
    assert run_all(experiment(), tmp_path, console) == 0


BEGUN = "import sys, time; sys.path.insert(0, {folder!r}); from paper.harness import limit_cpu; limit_cpu(1); "


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ("\nwhile True: pass", {"failed": "ended after 1 s of CPU"}),
        ("time.sleep(2); print('RESULT {\"rmse\": 0.5}')", {"rmse": 0.5}),
    ],
)
@pytest.mark.slow
def test_seconds_of_cpu_end_a_process_and_seconds_of_waiting_do_not(work, expected):
    begun = BEGUN.format(folder=str(Path(harness.__file__).parents[1]))
    assert harness.answered([sys.executable, "-c", begun + work], 1) == expected


def test_higher_seeds_can_be_left_for_another_time(tmp_path, console):
    assert run_all(experiment(), tmp_path, console, seeds=1) == 2


def test_the_first_seed_of_every_row_comes_first(tmp_path, console):
    rows = [Task(data, "nort", seed) for data in "ab" for seed in range(2)]
    done = []
    ours = experiment(run=lambda task: done.append(task.key) or {"rmse": 1.0})
    run_all(Experiment(**{**vars(ours), "tasks": lambda quick: rows}), tmp_path, console)
    assert done == [("a", "nort", 0), ("b", "nort", 0), ("a", "nort", 1), ("b", "nort", 1)]


def test_other_methods_can_be_left_for_another_time(tmp_path, console):
    rows = [Task("a", method, 0) for method in ("nort", "complete()")]
    ours = Experiment(**{**vars(experiment()), "tasks": lambda quick: rows})
    assert run_all(ours, tmp_path, console, methods=["complete()"]) == 1
    assert [run.method for run in Book(tmp_path / "ours.csv").runs] == ["complete()"]


def test_runs_at_a_time_are_as_many_as_there_are_jobs(tmp_path, console):
    both_run = threading.Barrier(2, timeout=10)

    def run(task):
        if task.seed < 2:
            both_run.wait()
        return {"rmse": 1.0}

    assert run_all(experiment(run=run), tmp_path, console, jobs=2) == 0
    assert sorted(run.seed for run in Book(tmp_path / "ours.csv").runs) == [0, 1, 2]


@pytest.mark.parametrize("given", [["--jobs", "0"], ["--jobs", "two"], ["--methods", "nosuch"], ["--nosuch"]])
def test_bad_options_are_refused_in_one_sentence(given, capsys):
    assert main(["climate", *given]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_refused_before_any_run(console):
    with pytest.raises(OSError, match=r"^/proc/nowhere/.* cannot be written: .*; choose another path\.$"):
        run_all(experiment(run=lambda task: pytest.fail("a run began")), Path("/proc/nowhere"), console)


def test_an_unknown_experiment_is_refused_in_one_sentence(capsys):
    assert main(["nosuch"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_a_checkout_runs_them_as_a_module():
    checkout = Path(harness.__file__).parents[2]
    runs = [sys.executable, "-m", "experiments"]
    listed = subprocess.run([*runs, "--list"], cwd=checkout, capture_output=True, text=True, check=True)
    assert all(name in listed.stdout for name in EXPERIMENTS)
    unknown = subprocess.run([*runs, "nosuch"], cwd=checkout, capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)


def test_the_page_has_the_figures_of_the_paper_and_ours():
    runs = [Finished("a", "nort", seed, {"rmse": 0.5 + seed, "seconds": 2.0, "memory": 3e6}) for seed in range(2)]
    text = page(experiment(), runs, TASKS, picture=False)
    assert "| `nort` | 1 ± 0.71 | 0.75 ± 0.1 | 1.33 | 2 | 3 | 2 |  |" in text
    assert "2 of 3 runs are done" in text


def test_a_row_is_a_method_and_its_penalty():
    assert arguments("complete()") == {}
    assert arguments("nort:tnn") == {"method": "nort", "penalty": "tnn", "smooth": None, "centre": False}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_run_of_an_experiment_has_a_key_of_its_own(name):
    for quick in (True, False):
        tasks = EXPERIMENTS[name].tasks(quick)
        assert len({task.key for task in tasks}) == len(tasks)
    here = {(task.data, task.method) for task in EXPERIMENTS[name].tasks(False)}
    assert {(data, method) for data, method, _ in EXPERIMENTS[name].published} <= here


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_small_version_of_an_experiment_runs(name, tmp_path, console, monkeypatch):
    chosen = EXPERIMENTS[name]
    tasks = [chosen.tasks(True)[0], chosen.tasks(True)[-1]]
    monkeypatch.setattr(fitting, "load_loops", lambda row: None)
    try:
        answer(chosen, tasks[0])
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    run_all(Experiment(**{**vars(chosen), "tasks": lambda quick: tasks}), tmp_path, console, quick=True)
    for run in Book(tmp_path / f"{name}.csv").runs:
        assert "failed" not in run.measured
        assert run.measured[chosen.measures[0]] > 0
    assert (tmp_path / f"{name}.png").exists() == (chosen.draw is not None)
