"""The help of the command, and its display."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest

from tensorfill import __version__
from tensorfill.cli import main
from tensorfill.cli.program import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_help_reads_well_at_80_columns(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([name, "--help"])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert f"examples:\n  tensorfill {name}" in text or "| tensorfill" in text


def test_version_and_help(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"tensorfill {__version__}\n"
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert "tensorfill demo --missing 0.5" in text
    assert all(re.search(rf"^    {name}\s", text, re.MULTILINE) for name in COMMANDS)


def test_help_does_not_wait_for_the_methods():
    code = "import sys, tensorfill.cli.program; sys.exit('scipy' in sys.modules or 'tensorfill.methods' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_live_display_on_a_terminal(monkeypatch):
    from rich.console import Console

    from tensorfill._support import progress, progress_views
    from tensorfill.methods.base import Record

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(progress_views, "Console", lambda **options: console)
    with progress.Display(True) as display:
        display.begin("choosing lambda", None)
        display.tried(3, 0.25)
        display.begin("fitting all entries", 500)
        display.iteration(Record(7, 0.1, 12.5, 12.0, (3, 2)))
    text = screen.getvalue()
    assert "fitting all entries" in text
    assert "iteration 7 of at most 500" in text
    assert "objective 12.5, ranks (3, 2), best held-out error 0.25" in text
