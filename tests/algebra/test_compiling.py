"""Loops are compiled wherever the package is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tensorfill

PACKAGE = Path(tensorfill.__file__).parent

MULTIPLIES = """
import numpy as np
from tensorfill.algebra.compiled import cp
from tensorfill.algebra.compiled.gram import off_diagonal_gram

print(off_diagonal_gram(np.array([0, 1]), np.array([0, 2]), np.array([0.5, 1.5]), 2).tolist())
"""


def run_without_package_and_home(tmp_path):
    """Run the loop where neither the folder of the package nor the home folder can be written."""
    shutil.copytree(PACKAGE, tmp_path / "tensorfill", ignore=shutil.ignore_patterns("__pycache__"))
    # Even root cannot make a folder where a file stands.
    (tmp_path / "tensorfill" / "algebra" / "compiled" / "__pycache__").touch()
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)}
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    ran = subprocess.run(
        [sys.executable, "-B", "-c", MULTIPLIES], env=inherited | nowhere, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "[[0.0, 0.75], [0.75, 0.0]]\n", ran.stderr
    return ran


def test_a_folder_for_temporary_files_keeps_what_no_other_can(tmp_path):
    assert run_without_package_and_home(tmp_path).stderr == ""
    folder = tmp_path / f"tensorfill-{os.getuid()}"
    assert folder.stat().st_mode & 0o077 == 0
    assert len(list(folder.rglob("*.nbc"))) == 1


@pytest.mark.parametrize("taken", ["a file", "open to all", "a link"])
def test_where_nothing_can_be_kept_there_is_one_warning_and_an_answer(tmp_path, taken):
    folder = tmp_path / f"tensorfill-{os.getuid()}"
    if taken == "a file":
        folder.touch()
    elif taken == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    ran = run_without_package_and_home(tmp_path)
    assert not list(tmp_path.rglob("*.nbc"))
    assert ran.stderr.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR to a folder that can be written." in ran.stderr


LISTENS = """
from numba.core import event

import tensorfill
from tensorfill.algebra import loops
from tensorfill.datasets import synthetic

loops.FEW_ENTRIES = -1
data = synthetic((30, 31, 32), rank=2, observed=6_000, rng=0).observations
with event.install_recorder("numba:compile") as recorder:
    tensorfill.complete(data, method="grow", rng=0)
    tensorfill.complete(data, method="cp", rank=2, max_iter=3, rng=0)
    tensorfill.complete(data, method="nort", lam=0.01, storage="sparse", max_iter=3, rng=0)
for _, each in recorder.buffer:
    if each.is_start:
        function = each.data["dispatcher"].py_func
        print(f"{function.__module__}.{function.__qualname__}")
"""


@pytest.mark.slow
def test_few_functions_are_compiled_and_no_texts_of_errors(tmp_path):
    """Slices and array expressions compile their errors; arrays of other types compile a loop again."""
    ran = subprocess.run(
        [sys.executable, "-c", LISTENS],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    names = ran.stdout.split()
    assert "tensorfill.algebra.compiled.kernels.walk_columns" in names
    own = [name for name in names if name.startswith("tensorfill.")]
    assert len(own) == len(set(own)), own
    assert not [name for name in names if name.startswith("numba.cpython.unicode")]
    assert len(names) <= 36, names


def test_every_loop_is_compiled_in_this_way():
    loops = PACKAGE.rglob("*.py")
    assert [each.name for each in loops if "njit(" in each.read_text(encoding="utf-8")] == ["compiling.py"]
