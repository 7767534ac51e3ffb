"""``tensorfill complete``: fill the missing entries of a file."""

from __future__ import annotations

import argparse
import math
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.words import bytes_in_words, percent
from .command import Command
from .facts import facts_of_fit, fit_record
from .fitting import add_fitting, fitting
from .options import (
    add_answering,
    add_interval,
    add_keeping,
    add_reading,
    check_output,
    checked_interval,
    keeping,
    read_given,
)
from .output import say, show_facts, show_json

if TYPE_CHECKING:
    from ..fit import Fit
    from ..labels import Labelled
    from ..observations import Observations

BY_SIGNAL = 128
"""The exit code after a signal is this plus its number: 130 for Ctrl-C, 143 for SIGTERM."""

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
    add_reading(parser)
    add_fitting(parser)
    add_keeping(parser)
    add_answering(parser)


def _run(given: argparse.Namespace) -> int:
    settings, interval = fitting(given) | keeping(given), checked_interval(given)
    _check_outputs(given)
    data = read_given(given, given.input)
    if given.output is not None:
        _refuse_what_is_too_large(data.observations, given.input)

    from .._support.interrupts import Interrupts
    from ..choosing.splits import Choice
    from ..completion import complete
    from ..methods.base import Status

    if interval is not None and settings["choose"] is None:
        # Intervals rest on held-out entries, even if there is nothing to choose.
        settings["choose"] = Choice()
    began = time.monotonic()
    # From here on there is an answer, and neither Ctrl-C nor SIGTERM keeps it from being written.
    with Interrupts(terminated=True) as interrupts:
        fit = complete(data, progress=not (given.quiet or given.json), **settings)
        seconds = time.monotonic() - began
        half = None if interval is None else fit.half_width(interval)
        if given.model is not None:
            fit.save(given.model, data=given.with_data)
        if given.output is not None:
            _write(given, data, fit, interval)
        _answer(given, data, fit, seconds, interval, half)
    if fit.status is Status.INTERRUPTED:
        say("Interrupted; what was written is the best answer so far.")
        return BY_SIGNAL + (interrupts.number or signal.SIGINT)
    return 0


def _check_outputs(given: argparse.Namespace) -> None:
    """Find problems with the output before the work begins."""
    if given.output is None and given.model is None:
        raise ValueError("there is nothing to write; give -o OUT for the filled file, or --model FILE, or both.")
    check_output(given.output)
    check_output(given.model, "--model")
    check_output(given.checkpoint, "--checkpoint")
    if given.output is not None:
        from ..io.formats import format_of

        format_of(given.output)


def _refuse_what_is_too_large(observations: Observations, path: Path) -> None:
    from ..models.base import DENSE_LIMIT

    needed = math.prod(observations.shape) * 8
    if needed > DENSE_LIMIT and not observations.is_dense:
        raise ValueError(
            f"{path} has {math.prod(observations.shape):,} entries, and all of them filled take "
            f"{bytes_in_words(needed)}; leave -o out, keep the model with --model FILE, and ask it for the entries you "
            "need with `tensorfill predict`."
        )


def _write(given: argparse.Namespace, data: Labelled, fit: Fit, interval: float | None) -> None:
    from ..io.formats import format_of, write

    kind = format_of(given.output)
    # The original object knows more than an array, such as units, but only its own format can hold that.
    same = kind == format_of(given.input, given.format)
    restore = data.restore if same else None
    if interval is not None and kind in WITH_ENDS and not given.everywhere:
        _write_with_ends(given.output, kind, replace(fit, restore=restore), interval)
        return
    if given.everywhere:
        content: Any = replace(fit, restore=restore).to_dense(max_bytes=math.inf)
    else:
        content = replace(fit, restore=restore).filled(max_bytes=math.inf)
    write(given.output, content, labels=data.labels)


def _write_with_ends(path: Path, kind: str, fit: Fit, interval: float) -> None:
    """Write the filled data with the ends of intervals, to a format that can hold them."""
    from ..io.ends import write_with_ends

    write_with_ends(path, kind, fit.filled(interval=interval, max_bytes=math.inf), fit.labels)


def _answer(
    given: argparse.Namespace, data: Labelled, fit: Fit, seconds: float, interval: float | None, half: float | None
) -> None:
    if given.json:
        show_json(
            fit_record(fit, data.observations, seconds) | {"interval": interval, "half_width": half} | _paths(given)
        )
    elif not given.quiet:
        within = f"{percent(interval)} of such entries within ±{half:.4g}" if interval and half else ""
        written = ", ".join(f"{path} ({what})" for what, path in _paths(given).items() if path)
        show_facts([*facts_of_fit(fit, data.observations, seconds), ("interval", within), ("written", written)])


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
    model, which `tensorfill predict` asks.

    Ctrl-C and SIGTERM stop with the best answer so far, which is written; the exit code is then 130 or 143. A run that
    stops at its time limit is no error. With --checkpoint, the same command goes on with a run that was stopped or
    killed.
    """,
    examples=(
        "tensorfill complete rain.nc -o filled.nc",
        "tensorfill complete parking.mat --missing zero -o filled.mat --interval 0.9",
        "tensorfill complete photo.png --mask mask.png --bounds 0 255 -o whole.png",
        "tensorfill complete ratings.tns --model ratings.npz --time-limit 60",
        "tensorfill complete ratings.tns --model ratings.npz --checkpoint run.npz",
        "tensorfill complete visits.csv --value count --loss poisson -o all.csv",
        "tensorfill complete cube.npy --method tucker_als --set rank=3 -o full.npy",
    ),
)
"""The subcommand."""
