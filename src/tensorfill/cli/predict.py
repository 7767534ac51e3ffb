"""``tensorfill predict``: predict entries with a model."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.checks import listed
from .._support.optional import need
from .command import Command
from .options import add_interval, checked_interval
from .output import say
from .outputs import add_safe, check_outputs, safely

if TYPE_CHECKING:
    from .._support.types import Integers
    from ..fit import Fit
    from ..labels import Labels

TABLES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
"""The formats of the result, by extension."""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help="the file that `complete --model` wrote")
    parser.add_argument("coords", type=Path, metavar="COORDS", help="which entries, one per line; - is standard input")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="a .csv, .tsv or .parquet file (default: CSV on standard output)",
    )
    add_interval(parser, "add columns with the ends of intervals that hold this share of the truth: 0.9")
    parser.add_argument(
        "--base", type=int, choices=(0, 1), help="the first index of a file without names (default: as in .tns files)"
    )
    parser.add_argument(
        "--unknown",
        choices=("error", "nan"),
        default="error",
        help="rows with a label that the model does not know: error refuses them all (the default), nan leaves these "
        "without an answer and says how many there are",
    )
    add_safe(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors, warnings and the answer")


def _run(given: argparse.Namespace) -> int:
    interval = checked_interval(given)
    check_outputs({"--output": given.output}, [given.model, given.coords])
    kind = "csv" if given.output is None else TABLES.get(given.output.suffix.lower())
    if kind is None:
        raise ValueError(f"--output must end in .csv, .tsv or .parquet, but {str(given.output)!r} was given.")
    how = safely(given, kind)
    need("pandas", "files")
    if kind == "parquet":
        need("pyarrow", "files")

    from ..fit import load

    fit = load(given.model)
    asked = _asked(given.coords, fit, given.base)
    answer = fit.predict(asked, interval=interval, unknown=given.unknown)
    _write(answer, given.output, kind, how)
    if given.output is not None and not given.quiet:
        say(f"{len(answer):,} predictions written to {given.output}.")
    return 0


def _asked(path: Path, fit: Fit, base: int | None) -> Any:
    """Return a table with a column of labels for each mode."""
    from ..io.arrays import npy_array
    from ..io.source import Source
    from ..io.tables import parquet_table

    if str(path) != "-" and not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    if str(path) == "-":
        text = sys.stdin.read()
    else:
        source = Source(path)
        with source.named("a list of entries"):
            if path.suffix.lower() == ".parquet":
                return _columns_of_modes(parquet_table(source), fit.labels, path)
            if path.suffix.lower() == ".npy":
                return _labelled(_whole(npy_array(source), path), fit, path, 0 if base is None else base)
            with source.opened() as file:
                text = file.read().decode("utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise ValueError(f"{path} must have a line for each entry, but it has none.")
    return _from_text(lines, path, fit, base)


def _from_text(lines: list[str], path: Path, fit: Fit, base: int | None) -> Any:
    """Return the table in a text, which has column names in its first line or only whole numbers."""
    pandas = need("pandas", "files")
    between = next((each for each in ("\t", ",") if each in lines[0]), None)
    first = lines[0].split(between)
    if all(_is_number(field) for field in first):
        rows = [line.split(between) for line in lines]
        wrong = next((row for row in rows if len(row) != len(first) or not all(map(_is_number, row))), None)
        if wrong is not None:
            raise ValueError(
                f"each line of {path} must be {len(first)} numbers, as the first is, but one is {' '.join(wrong)!r}."
            )
        return _labelled(np.array(rows, dtype=np.float64), fit, path, base)
    import io

    # Text labels stay text, even if they look like numbers, such as 00501.
    texts = {
        name: str
        for name, keys in zip(fit.labels.names, fit.labels.keys, strict=True)
        if keys is not None and all(isinstance(key, str) for key in keys.tolist())
    }
    table = pandas.read_csv(io.StringIO("\n".join(lines)), sep=between or r"\s+", keep_default_na=False, dtype=texts)
    return _columns_of_modes(table, fit.labels, path)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _whole(array: Any, path: Path) -> Any:
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        raise ValueError(f"{path} must hold rows of whole numbers, but it holds {array.dtype} of shape {array.shape}.")
    return array


def _labelled(rows: Any, fit: Fit, path: Path, base: int | None) -> Any:
    """Return a table of labels from rows of indices, which may be followed by a value as in a .tns file."""
    pandas = need("pandas", "files")
    ndim = len(fit.shape)
    if rows.shape[1] not in (ndim, ndim + 1):
        raise ValueError(
            f"each line of {path} must be {ndim} indices, one for each of {listed(fit.labels.names)}, and maybe a "
            f"value, which is ignored, but there are {rows.shape[1]} columns."
        )
    indices = rows[:, :ndim]
    if not np.array_equal(indices, np.round(indices)):
        raise ValueError(f"indices in {path} must be whole numbers; give a first line with the names to ask by label.")
    coords: Integers = indices.astype(np.int64)
    first = (0 if coords.min() == 0 else 1) if base is None else base
    coords = coords - first
    _check_inside(coords, fit, path)
    if first and any(keys is None for keys in fit.labels.keys):
        warnings.warn(f"indices in {path} were taken to count from 1; in the answer they count from 0.", stacklevel=2)
    return pandas.DataFrame(
        {
            name: coords[:, mode] if keys is None else keys[coords[:, mode]]
            for mode, (name, keys) in enumerate(zip(fit.labels.names, fit.labels.keys, strict=True))
        }
    )


def _check_inside(coords: Integers, fit: Fit, path: Path) -> None:
    wrong = ((coords < 0) | (coords >= np.array(fit.shape))).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"indices in {path} must be within {fit.shape}, but row {int(wrong.argmax()) + 1} is not; give --base if "
            "they do not count from 1."
        )


def _columns_of_modes(table: Any, labels: Labels, path: Path) -> Any:
    """Return the columns of a table that name modes, with labels of the model's type."""
    for name in labels.names:
        if name not in table.columns:
            raise ValueError(
                f"{path} must have a column for each mode, {listed(labels.names)}, but it has no {name!r}; its "
                f"columns are {listed(map(str, table.columns))}."
            )
    chosen = table[list(labels.names)].copy()
    for name, keys in zip(labels.names, labels.keys, strict=True):
        # Texts that look like numbers are read as numbers.
        if keys is not None and keys.dtype.kind in "UOT" and chosen[name].dtype.kind in "iufb":
            chosen[name] = chosen[name].astype(str)
    return chosen


def _write(table: Any, path: Path | None, kind: str, how: dict[str, Any]) -> None:
    from ..io.table_writing import write_table, write_text

    if path is None:
        write_text(sys.stdout, kind, table, **how)
    else:
        write_table(path, kind, table, **how)


COMMAND = Command(
    "ask a model for entries",
    _options,
    _run,
    usage="MODEL COORDS [-o OUT]",
    details="""
    COORDS is a table (.csv, .tsv, .parquet, or text with blanks) whose first line names the modes, with the labels that
    the data had, or indices from 0 if it had none; or lines of whole numbers without names, which count from 1 as in
    .tns files unless a 0 occurs. The answer is a table of the labels, or of indices from 0, with a column of
    predictions. For counts and yes-or-no data (--loss poisson, logistic) it is the expected count or the probability.
    """,
    examples=(
        "tensorfill predict ratings.npz questions.tns",
        "tensorfill predict rain.npz wanted.csv --interval 0.9 -o answers.csv",
        "printf 'station,month\\nAspen,7\\n' | tensorfill predict rain.npz -",
    ),
)
"""The subcommand."""
