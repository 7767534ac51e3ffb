"""What docs/extending.md adds, added to a copy of the package as CONTRIBUTING.md says: all contract tests pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

pages = pytest.importorskip("pages", reason="the documentation is not beside these tests")


@dataclass(frozen=True)
class Line:
    """A line of the table of names, and how the line begins before which it is put."""

    line: str
    before: str


LINES = {
    "loss": Line('    "logcosh": "losses.logcosh:LogCosh",', before='    "logistic"'),
    "penalty": Line('    "root": "penalties.root:Root",', before='    "scad": "penalties'),
    "method": Line('    "rankone": ("methods.rankone:RankOne", "One outer product"),', before='    "rescal"'),
    "stage": Line('    "rescale": "choosing.stages.rescaled:Rescaled",', before='    "smooth"'),
}
"""The line in `_support/table.py` for each kind of part."""


@dataclass(frozen=True)
class Part:
    """Something of the page that becomes part of the package.

    Parameters
    ----------
    defines
        How the class begins whose block is the new file.
    file
        Where the new file goes.
    tests
        The contract tests.
    chosen
        Which of them, as an expression of ``pytest -k``: those of what was added, and those of all names together.
    least
        Fewer tests than this are not the contract.
    """

    defines: str
    file: str
    tests: tuple[str, ...]
    chosen: str
    least: int


PARTS = {
    "loss": Part(
        "class LogCosh:",
        "losses/logcosh.py",
        ("losses/test_losses.py", "diagnostics/test_losses.py", "cli/test_help.py"),
        "logcosh or test_losses or options_name",
        least=150,
    ),
    "penalty": Part(
        "class Root(",
        "penalties/root.py",
        (
            "penalties",
            "diagnostics/test_penalties.py",
            "choosing/test_completing.py",
            "report/test_call.py",
            "test_completion.py",
            "cli/test_help.py",
        ),
        "root or MakePenalty or options_name",
        least=50,
    ),
    "method": Part(
        "class RankOne(",
        "methods/rankone.py",
        (
            "methods/test_contract.py",
            "methods/test_units.py",
            "methods/test_resuming.py",
            "report/test_call.py",
            "report/test_report.py",
            "cli/test_help.py",
        ),
        "rankone or options_name",
        least=40,
    ),
    "stage": Part(
        "class Rescaled(",
        "choosing/stages/rescaled.py",
        ("choosing/test_stages.py",),
        "rescale",
        least=5,
    ),
}
"""A further kind of part that people can add is one more entry here and in `LINES`."""


def copied(folder):
    """Return a copy of the package and its tests."""
    leave = shutil.ignore_patterns("__pycache__", ".*")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def add(kind, package):
    """Put a block of the page, and its lines, into a copy of the package."""
    page = pages.blocks(ROOT / "docs" / "extending.md")
    (code,) = (block.code for block in page if f"\n{PARTS[kind].defines}" in block.code)
    (package / PARTS[kind].file).write_text(code)
    table, own = package / "_support" / "table.py", LINES[kind]
    lines = table.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(own.before))
    table.write_text("\n".join([*lines[:at], own.line, *lines[at:], ""]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", PARTS)
def test_what_the_page_adds_passes_the_contract_tests(kind, tmp_path):
    checkout, part = copied(tmp_path), PARTS[kind]
    add(kind, checkout / "src" / "tensorfill")
    tests = [str(Path("tests") / name) for name in part.tests]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *tests, "-k", part.chosen],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-1000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert int(passed[1]) >= part.least, ran.stdout
