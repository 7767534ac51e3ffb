"""Options that several subcommands have: how to read a file, how to fit, how to answer."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.checks import real_number, whole_number

if TYPE_CHECKING:
    from ..labels import Labelled

LOSSES = ("square", "huber", "logistic", "poisson", "l1", "capped_l1", "lsp", "mcp", "scad")
PENALTIES = ("lsp", "nuclear", "capped_l1", "tnn", "scad", "mcp")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a file is to be read."""
    group = parser.add_argument_group("the file")
    group.add_argument(
        "--missing",
        choices=("nan", "zero", "absent", "alpha"),
        help="what is missing: NaN (default where a file holds every entry), zeros as well, what is not listed "
        "(default where it lists entries), or transparent pixels; a zero is never missing unless you say so",
    )
    group.add_argument("--format", metavar="NAME", help="its format, where the ending does not say (triples, csv, ...)")
    group.add_argument("--name", help="the array in an .npz, .mat or .nc file that holds several")
    group.add_argument("--value", metavar="COLUMN", help="the column of a table with the values (default: the last)")
    group.add_argument("--mask", type=Path, metavar="FILE", help="picture or array: not zero where observed")
    group.add_argument("--base", type=int, choices=(0, 1), help="the first index of a .tns file (default: found out)")


def reading(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `tensorfill.io.read` that were given, but for `missing` and `format`."""
    return {
        each: getattr(given, each) for each in ("name", "value", "mask", "base") if getattr(given, each) is not None
    }


def read_given(given: argparse.Namespace, path: Path) -> Labelled:
    """Read a file as the options say."""
    from ..io.formats import read

    return read(path, missing=given.missing, format=given.format, **reading(given))


def add_fitting(parser: argparse.ArgumentParser) -> None:
    """Add the options of the fit."""
    group = parser.add_argument_group("the fit (by default everything is chosen on held-out entries)")
    group.add_argument(
        "--loss", default="square", choices=LOSSES, metavar="LOSS", help=f"one of {', '.join(LOSSES)} (default: square)"
    )
    group.add_argument(
        "--penalty",
        default="lsp",
        choices=PENALTIES,
        metavar="NAME",
        help=f"one of {', '.join(PENALTIES)} (default: lsp)",
    )
    group.add_argument(
        "--lam", type=_numbers_or_auto, default="auto", metavar="LAM", help="one number, or one a mode: 1,2,1"
    )
    group.add_argument("--max-rank", type=int, metavar="RANK", help="no component exceeds this rank")
    smooth = group.add_mutually_exclusive_group()
    smooth.add_argument(
        "--smooth",
        type=_listed,
        metavar="MODES",
        help="modes whose neighbours are alike: row,column (default: found out)",
    )
    smooth.add_argument("--no-smooth", action="store_true", help="low rank alone, no smooth part")
    group.add_argument("--bounds", nargs=2, type=float, metavar=("LOW", "HIGH"), help="clip predictions to these")
    group.add_argument("--refine", action="store_true", help="polish by least squares, where held-out entries gain")
    group.add_argument(
        "--max-iter", type=int, default=500, metavar="N", help="at most so many iterations (default: 500)"
    )
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop after this long with the best so far")
    group.add_argument("--seed", type=int, default=0, help="decides everything that is random (default: 0)")


def fitting(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `tensorfill.complete`, checked."""
    limit = given.time_limit
    smooth = None if given.no_smooth else "auto" if given.smooth is None else given.smooth
    if given.refine and given.lam != "auto":
        raise ValueError("--refine needs held-out entries to see if it helps, so --lam must be left out.")
    return {
        "loss": given.loss,
        "penalty": given.penalty,
        "lam": given.lam,
        "max_rank": None if given.max_rank is None else whole_number(given.max_rank, "--max-rank", at_least=1),
        "smooth": smooth,
        "bounds": None if given.bounds is None else tuple(given.bounds),
        "refine": "tucker" if given.refine else None,
        "max_iter": whole_number(given.max_iter, "--max-iter", at_least=1),
        "time_limit": None if limit is None else real_number(limit, "--time-limit", above=0),
        "rng": whole_number(given.seed, "--seed"),
    }


def add_answering(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how to answer."""
    group = parser.add_argument_group("the answer")
    group.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    group.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")


def add_interval(parser: argparse.ArgumentParser, help: str, default: float | None = None) -> None:
    """Add the option of an interval."""
    parser.add_argument("--interval", type=float, default=default, metavar="SHARE", help=help)


def checked_interval(given: argparse.Namespace) -> float | None:
    """Return the share of the interval, if one was asked for."""
    return None if given.interval is None else real_number(given.interval, "--interval", above=0, below=1)


def check_output(path: Path | None, option: str = "--output") -> None:
    """Check that a file can be written where it is asked for; what would stop the run at its end is found out first."""
    if path is not None and (not path.parent.is_dir() or path.is_dir()):
        raise ValueError(f"{option} must be a file in a folder that exists, but {str(path)!r} was given.")


def is_model(path: Path) -> bool:
    """Tell whether a file is a model that `Fit.save` wrote."""
    import zipfile

    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
    return "header.npy" in names and any(name.startswith("model.") for name in names)


def _numbers_or_auto(text: str) -> float | list[float] | str:
    if text == "auto":
        return text
    values = [float(part) for part in text.split(",")]
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise argparse.ArgumentTypeError(f"numbers must be at least 0, but {text!r} was given")
    return values[0] if len(values) == 1 else values


def _listed(text: str) -> list[int | str]:
    """Return modes by number or name."""
    return [int(part) if part.lstrip("-").isdigit() else part for part in text.split(",")]
