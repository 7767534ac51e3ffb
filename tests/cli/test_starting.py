"""Ctrl-C while the command starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tensorfill

INTERRUPTS = """
import signal
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    # This is what modules in C do that import others.
    raise ImportError("something failed to import") from None
"""

STARTS = """
import signal, sys
# A shell starts a program in the background without it.
signal.signal(signal.SIGINT, signal.default_int_handler)
from tensorfill.cli import main
sys.exit(main(["--version"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("module", ["rich", "numpy", "argparse"])
def test_an_interrupt_during_the_imports_is_a_sentence(module, tmp_path):
    (tmp_path / f"{module}.py").write_text(INTERRUPTS)
    path = os.pathsep.join([str(tmp_path), str(Path(tensorfill.__file__).parent.parent)])
    ran = subprocess.run(
        [sys.executable, "-c", STARTS],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (130, "")
    assert ran.stderr == "tensorfill: Interrupted; nothing was written.\n"
