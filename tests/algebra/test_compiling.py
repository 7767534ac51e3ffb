"""Loops are compiled wherever the package is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import tensorfill

PACKAGE = Path(tensorfill.__file__).parent

SORTS = """
import numpy as np
from tensorfill.algebra.compiled import gram
from tensorfill.algebra.compiled.sorting import by_column

rows, values = by_column(np.array([5, 6]), np.array([1, 0]), np.array([0.5, 1.5]), np.array([0, 1, 2]))
print(rows.tolist(), values.tolist())
"""


def test_where_nothing_can_be_kept_there_is_one_warning_and_an_answer(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "tensorfill", ignore=shutil.ignore_patterns("__pycache__"))
    # Even root cannot make a folder where a file stands.
    (tmp_path / "tensorfill" / "algebra" / "compiled" / "__pycache__").touch()
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONPATH": str(tmp_path)}
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    ran = subprocess.run(
        [sys.executable, "-B", "-c", SORTS], env=inherited | nowhere, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "[6, 5] [1.5, 0.5]\n", ran.stderr
    assert ran.stderr.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR to a folder that can be written." in ran.stderr


def test_every_loop_is_compiled_in_this_way():
    loops = PACKAGE.rglob("*.py")
    assert [each.name for each in loops if "njit(" in each.read_text(encoding="utf-8")] == ["compiling.py"]
