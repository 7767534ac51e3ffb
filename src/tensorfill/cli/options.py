"""Options that several subcommands share: how to read a file, what to print, where to write."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.checks import real_number

if TYPE_CHECKING:
    from ..labels import Labelled

LARGE = 2**26
"""Reading a larger file, in bytes, shows its progress."""


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading a file."""
    group = parser.add_argument_group("the file")
    group.add_argument(
        "--missing",
        choices=("nan", "zero", "absent", "alpha"),
        help="what is missing: NaN (default if a file holds every entry), zeros as well, entries that are not listed "
        "(default if it lists entries), or transparent pixels; a zero is never missing unless you say so",
    )
    group.add_argument("--format", metavar="NAME", help="its format, if the ending does not say (triples, csv, ...)")
    group.add_argument("--name", help="the array in an .npz, .mat or .nc file that holds several")
    group.add_argument("--value", metavar="COLUMN", help="the column of a table with the values (default: the last)")
    group.add_argument(
        "--layout", choices=("long", "wide"), help="of a table: a row for each entry, or a value in each cell"
    )
    group.add_argument("--mask", type=Path, metavar="FILE", help="picture or array: not zero where observed")
    group.add_argument(
        "--max-bytes",
        type=float,
        metavar="BYTES",
        help="what the content may take, unpacked (default: half of the memory); raise it for files that you trust",
    )
    group.add_argument("--base", type=int, choices=(0, 1), help="the first index of a .tns file (default: detected)")


def reading(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `tensorfill.io.read` that were given, except `missing` and `format`."""
    return {
        each: getattr(given, each)
        for each in ("name", "value", "layout", "mask", "base", "max_bytes")
        if getattr(given, each) is not None
    }


def read_given(given: argparse.Namespace, path: Path) -> Labelled:
    """Read a file with the given options."""
    from ..io.formats import read

    large = path.is_file() and path.stat().st_size > LARGE
    return read(path, missing=given.missing, format=given.format, progress=large, **reading(given))


def add_keeping(parser: argparse.ArgumentParser) -> None:
    """Add the options for checkpoints."""
    group = parser.add_argument_group("a long run")
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="keep finished work here, as .npz; the same command goes on from it after the run was stopped or killed",
    )
    group.add_argument("--start-over", action="store_true", help="replace a checkpoint instead of going on from it")


def keeping(given: argparse.Namespace) -> dict[str, Any]:
    """Return the checkpoint and whether to resume, as arguments of `tensorfill.complete`."""
    if given.start_over and given.checkpoint is None:
        raise ValueError("--start-over needs a checkpoint to replace; give --checkpoint FILE too.")
    if given.checkpoint is not None and given.checkpoint in (given.input, given.output, given.model):
        raise ValueError(f"--checkpoint must be a separate file, but {str(given.checkpoint)!r} has another use too.")
    return {"checkpoint": given.checkpoint, "resume": False if given.start_over else "auto"}


def add_answering(parser: argparse.ArgumentParser) -> None:
    """Add the options for printing."""
    group = parser.add_argument_group("the answer")
    group.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    group.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")


def add_interval(parser: argparse.ArgumentParser, help: str, default: float | None = None) -> None:
    """Add the option of an interval."""
    parser.add_argument("--interval", type=float, default=default, metavar="SHARE", help=help)


def checked_interval(given: argparse.Namespace) -> float | None:
    """Return the requested coverage of intervals, if any."""
    return None if given.interval is None else real_number(given.interval, "--interval", above=0, below=1)


def is_model(path: Path) -> bool:
    """Return whether a path is a file written by `Fit.save`, or a folder with a fit from a cluster."""
    from ..io.archive import names_of_arrays
    from ..io.fit_folders import MANIFEST

    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    if path.is_dir():
        return (path / MANIFEST).is_file()
    names = names_of_arrays(path)
    return "header" in names and any(name.startswith("model.") for name in names)
