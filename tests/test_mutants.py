"""The table of mutants is up to date, and its runner tells killed from alive; `make mutants` runs the mutants."""

from __future__ import annotations

import ast
import functools

import pytest
from rich.console import Console

from tests import mutants
from tests.mutants import MUTANTS, ROOT, Copy, Outcome, is_stale, named, outcome_of
from tests.mutations import Mutant


@functools.cache
def names_in(file):
    """Return the names of the tests in a file."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_not_stale(mutant):
    assert not is_stale(mutant), f"change `old` of this mutant: it must occur once in {mutant.file}"
    assert mutant.old != mutant.new
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert (ROOT / "tests" / file).is_file(), test
        assert not name or name.partition("[")[0].rpartition("::")[2] in names_in(file), test


def test_mutants_differ():
    assert len({(mutant.file, mutant.name) for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


def test_mutants_are_found_by_words():
    assert named([]) == list(MUTANTS)
    assert {mutant.file for mutant in named(["momentum.py"])} == {"methods/nort/momentum.py"}
    assert named(["no such word"]) == []


METRICS = ("metrics.py", "return float(np.mean(np.abs(prediction - truth)))")
SMALL = ("test_metrics.py",)
OF_EACH = {
    Outcome.KILLED: Mutant("wrong", *METRICS, "return 7.0", SMALL),
    Outcome.ALIVE: Mutant("the same", *METRICS, "return float(np.abs(prediction - truth).mean())", SMALL),
    Outcome.EXPLAINED: Mutant("the same", *METRICS, "return float(np.abs(prediction - truth).mean())", SMALL, "same"),
    Outcome.STALE: Mutant("not there", "metrics.py", "no such text", "7", SMALL),
}


@pytest.mark.slow
def test_the_runner_tells_outcomes_apart_and_restores_the_copy(tmp_path):
    copy = Copy(tmp_path / "copy")
    path = tmp_path / "copy" / "src" / "tensorfill" / "metrics.py"
    text, time = path.read_text("utf-8"), path.stat().st_mtime_ns
    for outcome, mutant in OF_EACH.items():
        assert outcome_of(mutant, copy) is outcome
        assert path.read_text("utf-8") == text
        assert path.stat().st_mtime_ns == time
    # A mutant that cannot be imported, or whose tests are not there, says nothing about the tests.
    assert outcome_of(Mutant("broken", *METRICS, "return (", SMALL), copy) is Outcome.STALE
    assert outcome_of(Mutant("no test", *METRICS, "return 7.0", (f"{SMALL[0]}::test_no",)), copy) is Outcome.STALE


@pytest.mark.parametrize("outcome", Outcome)
def test_the_exit_code_says_whether_one_is_alive_or_stale(outcome, monkeypatch, tmp_path):
    class Unchanged:
        def __init__(self, folder):
            pass

        def tested(self, tests):
            return 0

    monkeypatch.setattr(mutants, "Copy", Unchanged)
    monkeypatch.setattr(mutants, "outcome_of", lambda mutant, copy: outcome)
    with (tmp_path / "said.txt").open("w+") as file:
        code = mutants.run([OF_EACH[outcome]], Console(file=file, width=200))
        file.seek(0)
        said = file.read()
    assert code == (1 if outcome in (Outcome.ALIVE, Outcome.STALE) else 0)
    assert f"{outcome.value:9} metrics.py" in said
    assert f"1 {outcome.value}" in said
