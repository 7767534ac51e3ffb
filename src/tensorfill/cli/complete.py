"""``tensorfill complete``: fill the missing entries of a file."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.types import Floats
from .command import Command
from .options import (
    add_answering,
    add_fitting,
    add_interval,
    add_reading,
    check_output,
    checked_interval,
    fitting,
    read_given,
)
from .talk import as_options, bytes_in_words, numbers, say, share, show_facts, show_json, sizes

if TYPE_CHECKING:
    from ..fit import Fit
    from ..labels import Labelled
    from ..observations import Observations

INTERRUPTED = 130


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, metavar="IN", help="the file with holes")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="the filled file; its ending says the format")
    parser.add_argument("--model", type=Path, metavar="FILE", help="keep the model here, as .npz, for predict and plot")
    parser.add_argument(
        "--everywhere",
        action="store_true",
        help="write the model's value of observed entries too, not what was observed",
    )
    add_interval(parser, "say within how much of the truth this share of the filled entries is: 0.9")
    add_reading(parser)
    add_fitting(parser)
    add_answering(parser)


def _run(given: argparse.Namespace) -> int:
    settings, interval = fitting(given), checked_interval(given)
    _check_outputs(given)
    data = read_given(given, given.input)
    if given.output is not None:
        _refuse_what_is_too_large(data.observations, given.input)

    from ..completion import complete
    from ..methods.base import Status

    began = time.monotonic()
    fit = complete(data, progress=not (given.quiet or given.json), **settings)
    seconds = time.monotonic() - began
    half = _half_width(fit, interval)
    if given.model is not None:
        fit.save(given.model)
    if given.output is not None:
        _write(given, data, fit)
    _answer(given, data, fit, seconds, interval, half)
    if fit.status is Status.INTERRUPTED:
        say("Interrupted; what was written is the best answer so far.")
        return INTERRUPTED
    return 0


def _check_outputs(given: argparse.Namespace) -> None:
    """Find out before the work what would stop it at its end."""
    if given.output is None and given.model is None:
        raise ValueError("there is nothing to write; give -o OUT for the filled file, or --model FILE, or both.")
    check_output(given.output)
    check_output(given.model, "--model")
    if given.output is not None:
        from ..io.formats import format_of

        format_of(given.output)
    if given.interval is not None and given.lam != "auto":
        raise ValueError("--interval rests on held-out entries, and with --lam there are none; leave --lam out.")


def _refuse_what_is_too_large(observations: Observations, path: Path) -> None:
    from ..models.base import DENSE_LIMIT

    needed = math.prod(observations.shape) * 8
    if needed > DENSE_LIMIT and not observations.is_dense:
        raise ValueError(
            f"{path} has {math.prod(observations.shape):,} entries, and all of them filled take "
            f"{bytes_in_words(needed)}; leave -o out, keep the model with --model FILE, and ask it for the entries you "
            "need with `tensorfill predict`."
        )


def filled(fit: Fit, observations: Observations, *, everywhere: bool = False) -> Floats:
    """Return the data with its missing entries filled in, on the scale of the data.

    Parameters
    ----------
    fit
        The fit.
    observations
        The data as it was read.
    everywhere
        Whether observed entries are the model's too.
    """
    from ..losses import LOSSES

    array: Floats = replace(fit, restore=None).to_dense(max_bytes=math.inf)
    mean = getattr(LOSSES.get(fit.settings["loss"], object)(), "mean", None)
    if mean is not None:
        array = mean(array)
    if not everywhere:
        array.reshape(-1)[observations.positions] = observations.values
    return array


def _write(given: argparse.Namespace, data: Labelled, fit: Fit) -> None:
    from ..io.formats import format_of, write

    array: Any = filled(fit, data.observations, everywhere=given.everywhere)
    # What came in knows more than an array does, such as units, but only its own format can hold that.
    if data.restore is not None and format_of(given.output) == format_of(given.input, given.format):
        array = data.restore(array)
    write(given.output, array, labels=data.labels)


def _half_width(fit: Fit, interval: float | None) -> float | None:
    """Return half the width of an interval, which is the same at every entry."""
    if interval is None:
        return None
    _, low, high = replace(fit, bounds=None).predict([[0] * len(fit.shape)], interval=interval)
    return float(high[0] - low[0]) / 2


def _answer(
    given: argparse.Namespace, data: Labelled, fit: Fit, seconds: float, interval: float | None, half: float | None
) -> None:
    if given.json:
        show_json(
            described(fit, data.observations, seconds) | {"interval": interval, "half_width": half} | _paths(given)
        )
    elif not given.quiet:
        within = f"{share(interval)} of such entries within ±{half:.4g}" if interval and half else ""
        written = ", ".join(f"{path} ({what})" for what, path in _paths(given).items() if path)
        show_facts([*facts_of_fit(fit, data.observations, seconds), ("interval", within), ("written", written)])


def _paths(given: argparse.Namespace) -> dict[str, str | None]:
    return {
        "output": None if given.output is None else str(given.output),
        "model": None if given.model is None else str(given.model),
    }


def described(fit: Fit, observations: Observations, seconds: float) -> dict[str, Any]:
    """Return a fit in words and numbers for machines."""
    return {
        "shape": fit.shape,
        "names": fit.labels.names,
        "observed": len(observations),
        "density": observations.density,
        "loss": fit.settings["loss"],
        "penalty": fit.settings.get("penalty"),
        "lam": fit.lam,
        "theta": fit.theta,
        "ranks": fit.ranks,
        "smooth": fit.settings["smooth"],
        "centre": fit.settings["centre"],
        "held_out": fit.settings["holdout"],
        "held_out_error": fit.held_out_error,
        "tried": None if fit.path is None else len(fit.path),
        "iterations": fit.history[-1].iteration,
        "status": fit.status.name,
        "seconds": seconds,
    }


def facts_of_fit(fit: Fit, observations: Observations, seconds: float) -> list[tuple[str, str]]:
    """Return a fit in words for people."""
    return [
        ("data", f"{sizes(fit.shape)}, {len(observations):,} entries observed ({share(observations.density)})"),
        *facts_of_choice(fit),
        ("stopped", as_options(str(fit.status))),
        ("took", f"{seconds:.1f} s, of which the last fit took {fit.history[-1].iteration} iterations"),
    ]


def facts_of_choice(fit: Fit) -> list[tuple[str, str]]:
    """Return what was chosen, in words for people."""
    settings = fit.settings
    tried = f", of {len(fit.path)} tried" if fit.path else ""
    names = fit.labels.names
    smooth = "" if settings["smooth"] is None else f"along {', '.join(names[mode] for mode in settings['smooth'])}"
    holdout = (
        ""
        if settings["holdout"] is None
        else f"{fit.labels.named(settings['holdout'])}, error there {fit.held_out_error:.4g}"
    )
    return [
        ("chosen", f"lambda {numbers(fit.lam)}, theta {numbers(fit.theta)}{tried}" if fit.lam else ""),
        ("ranks", _ranks(fit)),
        ("smooth", smooth),
        ("centred", "mean and effects of each index taken away first" if settings["centre"] else ""),
        ("held out", holdout),
    ]


def _ranks(fit: Fit) -> str:
    """Return the rank of each regularised mode with its name."""
    modes = fit.settings.get("modes", ())
    if len(modes) != len(fit.ranks):
        modes = range(len(fit.ranks))
    return ", ".join(f"{fit.labels.names[mode]} {rank}" for mode, rank in zip(modes, fit.ranks, strict=True))


COMMAND = Command(
    "fill the missing entries of a file",
    _options,
    _run,
    usage="IN [-o OUT] [--model FILE]",
    details="""
    Files are .tns, .npz, .npy, .mat, .nc, .csv, .tsv, .parquet, pictures and movies; OUT may be of another kind than
    IN. Observed entries stay as they are. A tensor too large to be written entry by entry is kept as a model, which
    `tensorfill predict` asks.

    Ctrl-C stops with the best answer so far, which is written; the exit code is 130 then. A run that stops at its time
    limit is no error.
    """,
    examples=(
        "tensorfill complete rain.nc -o filled.nc",
        "tensorfill complete parking.mat --missing zero -o filled.mat --interval 0.9",
        "tensorfill complete photo.png --mask mask.png --bounds 0 255 -o whole.png",
        "tensorfill complete ratings.tns --model ratings.npz --time-limit 60",
        "tensorfill complete visits.csv --value count --loss poisson -o all.csv",
    ),
)
"""The subcommand."""
