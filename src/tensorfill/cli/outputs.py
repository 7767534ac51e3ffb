"""Checks of output files before any work, and the rescue of a fit if they cannot be written.

A fit may take hours, and must not be lost because a folder is write-protected or a name was given twice.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import say

if TYPE_CHECKING:
    from ..fit import Fit

STANDARD_INPUT = Path("-")


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Check that every output of a command can be written, and that none overwrites an input or another output.

    Parameters
    ----------
    outputs
        The files to write, by the options that name them; None for those that were not given.
    inputs
        The files that the command reads.
    """
    wanted = {option: path for option, path in outputs.items() if path is not None}
    for option, path in wanted.items():
        if not path.parent.is_dir() or path.is_dir():
            raise ValueError(f"{option} must be a file in a folder that exists, but {str(path)!r} was given.")
        for source in inputs:
            if source not in (None, STANDARD_INPUT) and _are_same(path, source):
                raise ValueError(
                    f"{option} must not be a file that is read, but {str(path)!r} is {str(source)!r}; choose another "
                    "name."
                )
    for (first, one), (second, other) in combinations(wanted.items(), 2):
        if _are_same(one, other):
            raise ValueError(f"{first} and {second} must be different files, but both are {str(one)!r}.")

    from ..io.atomic import check_writable

    for path in wanted.values():
        check_writable(path)


def _are_same(one: Path, other: Path) -> bool:
    """Return whether two paths denote the same file, which need not exist, also through links."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def add_safe(parser: argparse.ArgumentParser) -> None:
    """Add the option for tables that are opened in a spreadsheet."""
    parser.add_argument(
        "--safe-csv",
        action="store_true",
        help="in a .csv or .tsv file, put an apostrophe before texts that a spreadsheet would take for formulas",
    )


def safely(given: argparse.Namespace, kind: str | None) -> dict[str, Any]:
    """Return the option of `tensorfill.io.write` for a safe table, if it was requested.

    Parameters
    ----------
    given
        The options.
    kind
        The format of the output; None if there is none.
    """
    if not given.safe_csv:
        return {}
    if kind not in ("csv", "tsv"):
        raise ValueError("--safe-csv is for an output that ends in .csv or .tsv; leave it out, or write such a file.")
    return {"safe": True}


@contextmanager
def rescuing(fit: Fit, name: str = "model.npz") -> Iterator[None]:
    """Save a fit in a temporary folder if an error occurs within the context, and print where."""
    try:
        yield
    except (OSError, ValueError, TypeError):
        # If nothing can be written anywhere, the first error is enough.
        with suppress(OSError, ValueError, TypeError):
            say(f"The fit is not lost: its model was written to {_rescued(fit, name)}.")
        raise


def _rescued(fit: Fit, name: str) -> Path:
    """Save a fit in a new temporary folder, which does not stay if that fails."""
    folder = Path(tempfile.mkdtemp(prefix="tensorfill-"))
    try:
        fit.save(folder / name, data=fit.observations is not None)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder / name
