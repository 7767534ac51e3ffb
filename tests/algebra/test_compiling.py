"""Loops are compiled wherever the package is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import tensorfill

PACKAGE = Path(tensorfill.__file__).parent

MULTIPLIES = """
import numpy as np
from tensorfill.algebra.compiled import cp
from tensorfill.algebra.compiled.gram import off_diagonal_gram

print(off_diagonal_gram(np.array([0, 1]), np.array([0, 2]), np.array([0.5, 1.5]), 2).tolist())
"""


def test_where_nothing_can_be_kept_there_is_one_warning_and_an_answer(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "tensorfill", ignore=shutil.ignore_patterns("__pycache__"))
    # Even root cannot make a folder where a file stands.
    (tmp_path / "tensorfill" / "algebra" / "compiled" / "__pycache__").touch()
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONPATH": str(tmp_path)}
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    ran = subprocess.run(
        [sys.executable, "-B", "-c", MULTIPLIES], env=inherited | nowhere, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "[[0.0, 0.75], [0.75, 0.0]]\n", ran.stderr
    assert ran.stderr.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR to a folder that can be written." in ran.stderr


def test_every_loop_is_compiled_in_this_way():
    loops = PACKAGE.rglob("*.py")
    assert [each.name for each in loops if "njit(" in each.read_text(encoding="utf-8")] == ["compiling.py"]
