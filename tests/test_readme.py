"""The README's first example runs and prints what it says."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parents[1] / "README.md"
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 3
    assert not np.isnan(names["filled"]).any()
    assert np.abs(names["filled"] - names["truth"]).max() < 0.05
    assert names["answer"]["rain"].item() == pytest.approx(names["truth"][3, 1, 5], abs=0.05)
    assert np.mean((names["low"] <= names["values"]) & (names["values"] <= names["high"])) > 0.85
    assert (tmp_path / "fit.npz").exists()


def test_the_first_example_prints_what_it_says():
    code, output = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README.read_text(), re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    # Another machine's BLAS may change the last digits and the number of iterations, but no more than that.
    assert re.sub(NUMBER, "#", printed.getvalue()).split() == re.sub(NUMBER, "#", output).split()
    said, got = (np.array(re.findall(NUMBER, text), dtype=float) for text in (output, printed.getvalue()))
    iterations = 9
    assert got[:6] == pytest.approx(said[:6])
    assert np.delete(got, iterations) == pytest.approx(np.delete(said, iterations), rel=0.05, abs=0.002)
