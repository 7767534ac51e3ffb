"""``tensorfill complete``: fill the missing entries of a file."""

from __future__ import annotations

import argparse
import math
import signal
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import table
from .._support.words import bytes_in_words, percent
from .command import Command
from .facts import facts_of_fit, fit_record
from .fitting import add_fitting, fitting
from .on_dask import BY_SIGNAL, add_dask, complete_on_dask, is_for_dask
from .options import add_answering, add_interval, add_keeping, add_reading, checked_interval, keeping, read_given
from .output import say, show_facts, show_json
from .outputs import add_safe, check_outputs, rescuing, safely

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._support.types import Floats
    from ..choosing.holdout.splits import Choice
    from ..fit import Fit
    from ..labels import Labelled
    from ..observations import Observations

NO_INTERVALS = 2
"""The exit code of a fit without the requested intervals."""

WITH_ENDS = ("csv", "tsv", "parquet", "netcdf")
"""The formats that hold the ends of intervals."""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, metavar="IN", help="the file with missing entries")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="the filled file; its ending says the format")
    parser.add_argument("--model", type=Path, metavar="FILE", help="keep the model here, as .npz, for predict and plot")
    parser.add_argument(
        "--with-data", action="store_true", help="keep the data in the model too, for `tensorfill update`"
    )
    parser.add_argument(
        "--everywhere",
        action="store_true",
        help="write the model's value of observed entries too, instead of what was observed",
    )
    add_interval(
        parser,
        "write the ends of intervals that hold this share of the filled entries, 0.9, to a table or .nc file, as "
        "x_low and x_high beside x; print their half width",
    )
    add_safe(parser)
    add_reading(parser)
    add_fitting(parser)
    add_keeping(parser)
    add_dask(parser)
    add_answering(parser)


def _run(given: argparse.Namespace) -> int:
    if is_for_dask(given):
        return complete_on_dask(given)
    settings, interval = fitting(given) | keeping(given), checked_interval(given)
    kind = _check_outputs(given)
    how = safely(given, kind)
    data = read_given(given, given.input)

    from .._support.interrupts import Interrupts
    from ..choosing.holdout.splits import Choice
    from ..completion import complete
    from ..methods.base import Status

    if interval is not None and settings["choose"] is None:
        # Intervals need held-out entries, even if there is nothing to choose.
        settings["choose"] = Choice()
    if interval is not None:
        _check_interval(interval, data, settings["choose"], settings["rng"])
    if kind is not None:
        _check_answer(given, data, kind, interval)
    if kind is not None and _is_filled(given, data):
        _write_back(given, data, kind, interval, how)
        return 0
    began = time.monotonic()
    # From here on there is a result, which is written in spite of Ctrl-C or SIGTERM.
    with Interrupts(terminated=True) as interrupts:
        fit = complete(data, progress=not (given.quiet or given.json), **settings)
        seconds = time.monotonic() - began
        half, reason = (None, "") if interval is None else _half_width(fit, interval)
        with rescuing(fit), ExitStack() as at_the_end:
            # If the model cannot be written, the filled file still is.
            if kind is not None:
                at_the_end.callback(_write, given, data, fit, kind, None if half is None else interval, how)
            if given.model is not None:
                fit.save(given.model, data=given.with_data)
        _answer(given, data, fit, seconds, interval, half)
    if fit.status is Status.INTERRUPTED:
        say("Interrupted; what was written is the best answer so far.")
        return BY_SIGNAL + (interrupts.number or signal.SIGINT)
    if reason:
        say(f"The answer was written without intervals: {reason}")
        return NO_INTERVALS
    return 0


def _check_outputs(given: argparse.Namespace) -> str | None:
    """Return the format of the filled file, if there is one, after checking all outputs."""
    if given.output is None and given.model is None:
        raise ValueError("there is nothing to write; give -o OUT for the filled file, or --model FILE, or both.")
    outputs = {"--output": given.output, "--model": given.model, "--checkpoint": given.checkpoint}
    check_outputs(outputs, [given.input, given.mask])
    if given.output is None:
        return None
    from ..io.formats import check_installed

    return check_installed(given.output)


def _check_interval(interval: float, data: Labelled, choice: Choice, seed: int) -> None:
    """Raise an error if an interval needs more held-out entries than there will be."""
    from ..choosing.error_bars import check_share
    from ..choosing.holdout.splits import make_splits
    from ..losses import Square

    by_number = replace(choice, holdout=data.labels.holdout(choice.holdout))
    splits, _ = make_splits(data.observations, Square(), by_number, np.random.default_rng(seed))
    count = sum(len(split.held_out) for split in splits)
    check_share(
        interval, count, f"{count} held-out entries", interval="--interval", validation="--validation or --splits"
    )


def _half_width(fit: Fit, interval: float) -> tuple[float | None, str]:
    """Return the half width of intervals; or None, and why there are too few held-out entries."""
    try:
        return fit.half_width(interval), ""
    except ValueError as error:
        return None, str(error)


def _check_answer(given: argparse.Namespace, data: Labelled, kind: str, interval: float | None) -> None:
    """Raise an error if an output cannot hold the result."""
    from ..io.ends import names_with_ends
    from ..io.formats import check_holds
    from ..io.table_writing import check_columns

    seen = data.observations
    _refuse_what_is_too_large(seen, given.input)
    # Zeros that take no memory, because only the shape and the type of the result matter.
    zeros = np.broadcast_to(np.float64(0), seen.shape)
    restore = _restore(given, data, kind)
    check_holds(given.output, zeros if restore is None else restore(zeros), labels=data.labels)
    if _has_ends(given, kind, interval):
        check_columns(names_with_ends(data.labels), data.labels)


def _refuse_what_is_too_large(observations: Observations, path: Path) -> None:
    from ..models.base import DENSE_LIMIT

    needed = math.prod(observations.shape) * 8
    if needed > DENSE_LIMIT and not observations.is_dense:
        raise ValueError(
            f"{path} has {math.prod(observations.shape):,} entries, and all of them filled take "
            f"{bytes_in_words(needed)}; leave -o out, keep the model with --model FILE, and ask it for the entries you "
            "need with `tensorfill predict`."
        )


def _restore(given: argparse.Namespace, data: Labelled, kind: str) -> Callable[[Floats], Any] | None:
    """Return the function that restores the original kind of object, with more than an array has, such as units.

    Only the format of the input can hold that.
    """
    from ..io.formats import format_of

    return data.restore if kind == format_of(given.input, given.format) else None


def _has_ends(given: argparse.Namespace, kind: str, interval: float | None) -> bool:
    return interval is not None and kind in WITH_ENDS and not given.everywhere


def _is_filled(given: argparse.Namespace, data: Labelled) -> bool:
    """Return whether the filled file is the data as it is, and no model is asked for.

    With a robust loss, entries that are judged corrupt are replaced, even if none is missing.
    """
    seen = data.observations
    whole = len(seen) == math.prod(seen.shape)
    return whole and given.model is None and not given.everywhere and given.loss not in table.ROBUST


def _write_back(
    given: argparse.Namespace, data: Labelled, kind: str, interval: float | None, how: dict[str, Any]
) -> None:
    """Write data of which nothing is missing, and say so."""
    from ..adapters.restoring import Restorer
    from ..io.ends import write_with_ends
    from ..io.formats import write

    dense, restore = data.observations.to_dense(max_bytes=math.inf), _restore(given, data, kind)
    if _has_ends(given, kind, interval):
        ends = restore.with_ends(dense, dense, dense) if isinstance(restore, Restorer) else (dense, dense, dense)
        write_with_ends(given.output, kind, ends, data.labels, **how)
    else:
        write(given.output, dense if restore is None else restore(dense), labels=data.labels, **how)
    if given.json:
        seen = data.observations
        record = {"shape": seen.shape, "names": data.labels.names, "observed": len(seen), "density": 1.0}
        show_json(record | _paths(given))
    zeros = "--missing zero if zeros stand for missing entries, or " if np.any(dense == 0) else ""
    say(
        f"Nothing is missing: all {dense.size:,} entries are observed, so {given.output} has the data as it is; give "
        f"{zeros}--everywhere or --model FILE to fit a model."
    )


def _write(
    given: argparse.Namespace, data: Labelled, fit: Fit, kind: str, interval: float | None, how: dict[str, Any]
) -> None:
    from ..io.ends import write_with_ends
    from ..io.formats import write

    restored = replace(fit, restore=_restore(given, data, kind))
    if _has_ends(given, kind, interval):
        filled = restored.filled(interval=interval, max_bytes=math.inf)
        write_with_ends(given.output, kind, filled, fit.labels, **how)
    elif given.everywhere:
        write(given.output, restored.to_dense(max_bytes=math.inf), labels=data.labels, **how)
    else:
        write(given.output, restored.filled(max_bytes=math.inf), labels=data.labels, **how)


def _answer(
    given: argparse.Namespace, data: Labelled, fit: Fit, seconds: float, interval: float | None, half: float | None
) -> None:
    if given.json:
        show_json(
            fit_record(fit, len(data.observations), seconds)
            | {"interval": interval, "half_width": half}
            | _paths(given)
        )
    elif not given.quiet:
        within = f"{percent(interval)} of such entries within ±{half:.4g}" if interval and half else ""
        written = ", ".join(f"{path} ({what})" for what, path in _paths(given).items() if path)
        show_facts([*facts_of_fit(fit, len(data.observations), seconds), ("interval", within), ("written", written)])


def _paths(given: argparse.Namespace) -> dict[str, str | None]:
    return {
        "output": None if given.output is None else str(given.output),
        "model": None if given.model is None else str(given.model),
    }


COMMAND = Command(
    "fill the missing entries of a file",
    _options,
    _run,
    usage="IN [-o OUT] [--model FILE]",
    details="""
    Files are .tns, .npz, .npy, .mat, .nc, .csv, .tsv, .parquet, pictures and movies; OUT may be of another kind than
    IN. Observed entries stay as they are. Missing ones get the expected value: a count with --loss poisson, and a
    number between the two values with --loss logistic. A tensor that is too large to write entry by entry is kept as a
    model, which `tensorfill predict` asks. If nothing is missing, the data is written back at once, unless --everywhere
    or --model asks for a fit.

    Ctrl-C and SIGTERM stop with the best answer so far, which is written; the exit code is then 130 or 143. A run that
    stops at its time limit is no error. With --checkpoint, the same command goes on with a run that was stopped or
    killed.

    With --dask, IN is a long table in Parquet files that need not fit in memory: a file, a folder or a pattern in
    quotes. NORT runs on the workers of a Dask cluster, and the model is a folder that they write.
    """,
    examples=(
        "tensorfill complete rain.nc -o filled.nc",
        "tensorfill complete parking.mat --missing zero -o filled.mat --interval 0.9",
        "tensorfill complete photo.png --mask mask.png --bounds 0 255 -o whole.png",
        "tensorfill complete ratings.tns --model ratings.npz --time-limit 60",
        "tensorfill complete ratings.tns --model ratings.npz --checkpoint run.npz",
        "tensorfill complete visits.csv --value count --loss poisson -o all.csv",
        "tensorfill complete cube.npy --method tucker_als --set rank=3 -o full.npy",
        "tensorfill complete log/ --dask --workers 4 --memory 1GiB --model log-fit",
    ),
)
"""The subcommand."""
