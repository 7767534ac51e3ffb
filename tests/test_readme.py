"""The Python blocks of the README run, one after the other, and print what the README shows."""

import contextlib
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@pytest.fixture(scope="module")
def readme(tmp_path_factory):
    """Return the names that the blocks define, what each block printed and what the README shows, and the folder."""
    folder, names, outputs = tmp_path_factory.mktemp("readme"), {}, []
    with contextlib.chdir(folder):
        for code, shown in BLOCK.findall(README.read_text(encoding="utf-8")):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, names)
            outputs.append((printed.getvalue(), shown))
    return names, outputs, set(os.listdir(folder))


def test_the_examples_do_what_they_say(readme):
    names, outputs, files = readme
    assert len(outputs) == 4
    assert not np.isnan(names["filled"]).any()
    assert np.abs(names["filled"] - names["truth"]).max() < 0.05
    assert names["answer"]["rain"].item() == pytest.approx(names["truth"][3, 1, 5], abs=0.05)
    assert np.mean((names["low"] <= names["values"]) & (names["values"] <= names["high"])) > 0.85
    assert names["again"].ranks == (3, 3, 3)
    assert files == {"fit.npz", "methods.png"}


def test_the_first_example_prints_what_it_says(readme):
    printed, shown = (_without_times(text) for text in readme[1][0])
    # Another machine's BLAS may change the last digits, but no more than that.
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split()
    said, got = (np.array(NUMBER.findall(text), dtype=float) for text in (shown, printed))
    assert got == pytest.approx(said, rel=0.05, abs=0.002)


def _without_times(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith("  time"))


def test_the_comparison_prints_the_table_that_it_shows(readme):
    compared = readme[0]["compared"]
    printed, shown = (text.splitlines() for text in readme[1][2])
    assert [line.split() for line in printed[:1]] == [line.split() for line in shown[:1]]
    # Seconds and memory differ from run to run, and methods that tie may change places.
    assert sorted(line.split()[0] for line in printed[1:]) == sorted(line.split()[0] for line in shown[1:])
    errors = {line.split()[0]: float(line.split()[1]) for line in shown[1:]}
    for each in compared:
        assert each.held_out == pytest.approx(errors[each.name], rel=0.02)
