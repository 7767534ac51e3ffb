"""``tensorfill report``: a page about a fit."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .._support.checks import whole_number
from .._support.words import bytes_in_words
from .command import Command
from .fitting import add_fitting, fitting
from .forecasting import forecast_of_model
from .options import add_reading, is_model, read_given
from .output import show_facts
from .outputs import check_outputs, rescuing

if TYPE_CHECKING:
    from ..fit import Fit


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a model, or data to complete first")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="HTML", help="the page to write")
    parser.add_argument("--data", type=Path, metavar="FILE", help="for a model: the data it was fitted to")
    parser.add_argument("--title", help="the heading of the page (default: the shape of the tensor)")
    parser.add_argument("--horizon", type=int, metavar="STEPS", help="forecast this many times beyond the last one too")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")
    add_reading(parser)
    add_fitting(parser)


def _run(given: argparse.Namespace) -> int:
    settings = fitting(given)
    horizon = None if given.horizon is None else whole_number(given.horizon, "--horizon", at_least=1)
    check_outputs({"--output": given.output}, [given.file, given.data, given.mask])
    from .._support.optional import need
    from ..plots import drawing_class

    # A missing library is reported before the work, not after it.
    drawing_class()
    need("jinja2", "report")
    if is_model(given.file):
        fit = _with_forecast(given, _loaded(given), horizon)
        fit.report(given.output, title=given.title)
    elif given.data is not None:
        raise ValueError(f"--data is for models, but {given.file} is data itself; leave it out.")
    else:
        from ..completion import complete

        fit = complete(read_given(given, given.file), horizon=horizon, progress=not given.quiet, **settings)
        with rescuing(fit):
            fit.report(given.output, title=given.title)
    if not given.quiet:
        size = bytes_in_words(given.output.stat().st_size)
        show_facts([("fit", repr(fit)), ("written", f"{given.output}, {size}")])
    return 0


def _loaded(given: argparse.Namespace) -> Fit:
    """Return a model, with its data if they are given."""
    from ..fit import load

    fit = load(given.file)
    if given.data is None:
        return fit
    data = read_given(given, given.data)
    if data.observations.shape != fit.shape:
        raise ValueError(
            f"--data must be what the model was fitted to, of shape {fit.shape}, but {given.data} has "
            f"{data.observations.shape}."
        )
    return replace(fit, observations=data.observations)


def _with_forecast(given: argparse.Namespace, fit: Fit, horizon: int | None) -> Fit:
    """Return a model with a forecast of its data, if one is asked for."""
    if horizon is None:
        return fit
    if fit.observations is None:
        raise ValueError(f"--horizon needs data, and {given.file} holds none; give --data FILE, or leave it out.")
    return forecast_of_model(given, fit, horizon)


COMMAND = Command(
    "write one page about a fit",
    _options,
    _run,
    usage="FILE -o HTML",
    details="""
    The page shows the data, what was chosen, how good it is, how to repeat it, and slices. It loads nothing from the
    network. Data is completed first. A model does not hold its data: give that with --data, or the page leaves out
    what needs it.
    """,
    examples=(
        "tensorfill report rain.nc -o rain.html",
        "tensorfill report cars.npz --data cars.mat --missing zero -o cars.html",
    ),
)
"""The subcommand."""
