"""``tensorfill experiment``: the tables and figures of the paper, repeated."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from .command import Command

RUNNER = Path("experiments") / "run.py"
"""The path of the experiments in a checkout of the source."""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="which experiments, or all; see --list")
    parser.add_argument("--list", action="store_true", help="say which experiments there are")
    parser.add_argument("--quick", action="store_true", help="run a small version of each, in a minute or two")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="begin no further run after this time")
    parser.add_argument("--patience", type=float, metavar="TIMES", help="stretch the time limit of every run")
    parser.add_argument("--seeds", type=int, metavar="COUNT", help="run the first seeds of each only")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="run rows of these methods only")
    parser.add_argument("--jobs", type=int, metavar="COUNT", help="runs at a time, on one core each (default: 1)")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write results there (default: experiments/results)"
    )


def _run(given: argparse.Namespace) -> int:
    command = [sys.executable, str(_runner()), *given.names]
    command += ["--list"] if given.list else []
    command += ["--quick"] if given.quick else []
    command += [] if given.budget is None else ["--budget", str(given.budget)]
    command += [] if given.patience is None else ["--patience", str(given.patience)]
    command += [] if given.seeds is None else ["--seeds", str(given.seeds)]
    command += [] if given.jobs is None else ["--jobs", str(given.jobs)]
    command += [] if given.methods is None else ["--methods", *given.methods]
    command += [] if given.output is None else ["--output", str(given.output)]
    return subprocess.run(command, check=False).returncode


def _runner() -> Path:
    """Return the file that runs experiments, in the current folder or in the checkout of the package."""
    places = [Path.cwd(), *Path(__file__).resolve().parents]
    for place in places:
        if (place / RUNNER).is_file() and (place / "src" / "tensorfill").is_dir():
            return place / RUNNER
    raise FileNotFoundError(
        "The experiments come with the source of tensorfill, not with the installed package; run this command in the "
        "folder of a checkout."
    )


COMMAND = Command(
    "repeat an experiment of the paper",
    _options,
    _run,
    usage="NAME... [--quick] [--budget SECONDS]",
    details="""
    Results go to experiments/results: a table with the paper's figures beside ours, every run as CSV, and a picture.
    What is finished is kept, so that a run that was stopped goes on. Data that is not on this machine is named.
    """,
    examples=(
        "tensorfill experiment --list",
        "tensorfill experiment recovery --quick",
        "tensorfill experiment all --budget 3600 --jobs 2",
        "tensorfill experiment images --methods nort 'complete()'",
    ),
)
"""The subcommand."""
