"""``tensorfill info``: the contents of a file."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.moments import written_label
from .._support.words import bytes_in_words, percent, sizes
from .command import Command
from .facts import facts_of_choice, recipe_record
from .options import add_reading, is_model, read_given, reading
from .output import as_options, show_facts, show_json

if TYPE_CHECKING:
    from ..fit import Fit
    from ..labels import Labelled, Labels
    from ..observations import Observations


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="data, or a model")
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _run(given: argparse.Namespace) -> int:
    if is_model(given.file):
        from ..fit import load

        fit = load(given.file)
        if given.json:
            show_json(_model_record(given.file, fit))
        else:
            show_facts(_model_facts(given.file, fit))
        return 0
    data, repeats = _read(given)
    record = _data_record(given.file, data, repeats)
    if given.json:
        show_json(record)
    else:
        show_facts(_data_facts(record, data.labels))
    return 0


def _read(given: argparse.Namespace) -> tuple[Labelled, int]:
    """Return the data, and the number of repeated entries in a .tns file, which are allowed here."""
    from ..io import frostt
    from ..io.formats import format_of, read

    if format_of(given.file, given.format) != "tns":
        return read_given(given, given.file), 0
    data = read(given.file, missing=given.missing, format=given.format, duplicates="mean", **reading(given))
    return data, frostt.repeats(given.file, given.base, given.max_bytes)


def _data_record(path: Path, data: Labelled, repeats: int) -> dict[str, Any]:
    from ..choosing.holdout.kinds import make_holdout

    seen = data.observations
    values = seen.values
    pattern = None if seen.density == 1 else make_holdout("auto", seen).in_words(data.labels)
    return {
        "file": str(path),
        "shape": seen.shape,
        "names": data.labels.names,
        "labels": [None if keys is None else [_plain(keys[0]), _plain(keys[-1])] for keys in data.labels.keys],
        "observed": len(seen),
        "density": seen.density,
        "missing": math.prod(seen.shape) - len(seen),
        "missing_together": pattern,
        "empty_slices": _empty_slices(seen),
        "duplicates": repeats,
        "least": float(values.min()),
        "largest": float(values.max()),
        "mean": float(values.mean()),
        "zeros": int(np.count_nonzero(values == 0)),
        "whole_numbers": bool(np.all(values == np.round(values))),
        "bytes_dense": 8 * math.prod(seen.shape),
        "bytes_sparse": len(seen) * (8 + seen.ndim * (4 if max(seen.shape) < 2**31 else 8)),
    }


def _empty_slices(seen: Observations) -> list[int]:
    """Return the number of slices without any observed entry, for each mode."""
    if seen.is_dense:
        # Computing the coordinates of a movie would take longer than everything else.
        axes = range(seen.ndim)
        return [int((~seen.mask.any(axis=tuple(axis for axis in axes if axis != mode))).sum()) for mode in axes]
    return [size - len(np.unique(seen.coords[:, mode])) for mode, size in enumerate(seen.shape)]


def _data_facts(record: dict[str, Any], labels: Labels) -> list[tuple[str, str]]:
    whole = ", whole numbers" if record["whole_numbers"] else ""
    names = zip(labels.names, record["shape"], record["empty_slices"], strict=True)
    empty = [f"{count:,} of {size:,} along {name}" for name, size, count in names if count]
    return [
        ("file", record["file"]),
        ("shape", sizes(record["shape"])),
        *_modes(labels, record["shape"]),
        (
            "observed",
            f"{record['observed']:,} of {math.prod(record['shape']):,} entries ({percent(record['density'])})",
        ),
        ("missing", _pattern(record)),
        ("empty", f"slices without any entry: {', '.join(empty)}" if empty else ""),
        ("repeated", f"{record['duplicates']:,} entries are listed again" if record["duplicates"] else ""),
        ("values", f"{record['least']:.6g} to {record['largest']:.6g}, mean {record['mean']:.6g}{whole}"),
        ("zeros", _zeros(record)),
        (
            "memory",
            f"{bytes_in_words(record['bytes_sparse'])} as a list, {bytes_in_words(record['bytes_dense'])} in full",
        ),
    ]


def _zeros(record: dict[str, Any]) -> str:
    if not record["zeros"]:
        return "none"
    words = f"{record['zeros']:,} ({percent(record['zeros'] / record['observed'])} of those observed)"
    return words if record["missing"] else f"{words}; if they mean missing entries, give --missing zero"


def _pattern(record: dict[str, Any]) -> str:
    if not record["missing"]:
        return "nothing"
    return f"{record['missing']:,} entries, which go missing as {record['missing_together']}"


def _modes(labels: Labels, shape: tuple[int, ...]) -> list[tuple[str, str]]:
    """Return the names of the modes with their first and last labels, if they have labels."""
    if labels.are_plain:
        return []
    words = []
    for name, keys, size in zip(labels.names, labels.keys, shape, strict=True):
        ends = (
            ""
            if keys is None
            else f" ({_brief(keys[0])})"
            if size == 1
            else f" ({_brief(keys[0])} to {_brief(keys[-1])})"
        )
        words.append(f"{name}{ends}")
    return [("modes", ", ".join(words))]


def _brief(label: Any) -> str:
    """Return a short form of a label: a number without rounding digits."""
    return f"{label:.6g}" if isinstance(label, float | np.floating) else written_label(label)


def _plain(label: Any) -> Any:
    """Return a label for JSON: numbers unchanged, and everything else as readable text."""
    return label if isinstance(label, bool | int | float | np.number) else written_label(label)


def _model_record(path: Path, fit: Fit) -> dict[str, Any]:
    model = {"file": str(path), "kind": fit.model.kind, "shape": fit.shape, "names": fit.labels.names}
    memory = {"bounds": fit.bounds, "bytes": fit.nbytes, "bytes_dense": 8 * math.prod(fit.shape)}
    return model | recipe_record(fit) | memory


def _model_facts(path: Path, fit: Fit) -> list[tuple[str, str]]:
    return [
        ("file", f"{path}, a model ({fit.model.kind})"),
        ("shape", sizes(fit.shape)),
        *_modes(fit.labels, fit.shape),
        *facts_of_choice(fit),
        ("bounds", "" if fit.bounds is None else f"{fit.bounds[0]:g} to {fit.bounds[1]:g}"),
        ("stopped", as_options(str(fit.status))),
        ("took", f"{fit.history[-1].iteration} iterations, {fit.history[-1].seconds:.1f} s in the last fit"),
        ("memory", f"{bytes_in_words(fit.nbytes)}; in full it would be {bytes_in_words(8 * math.prod(fit.shape))}"),
    ]


COMMAND = Command(
    "show what is in a file: shape, what is missing and how, range, memory",
    _options,
    _run,
    usage="FILE",
    details="""
    For data, entries go missing one by one, in whole fibres or in blocks, and `complete` holds out entries in the same
    way. For a model, what was chosen and why the run stopped.
    """,
    examples=(
        "tensorfill info flights.tns",
        "tensorfill info parking.mat --missing zero",
        "tensorfill info climate.npz --name X --json",
    ),
)
"""The subcommand."""
