"""``tensorfill forecast``: values beyond the last time."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.checks import whole_number
from .._support.words import percent, sizes
from .command import Command
from .facts import facts_of_choice, fit_record
from .fitting import add_fitting, fitting
from .forecasting import forecast_of_model
from .options import add_answering, add_interval, add_reading, checked_interval, is_model, read_given
from .output import as_options, say, show_facts, show_json
from .outputs import add_safe, check_outputs, rescuing, safely

if TYPE_CHECKING:
    from .._support.types import Floats
    from ..fit import Fit
    from ..forecasting import Forecast
    from ..labels import Labels

WITH_BANDS = ("csv", "tsv", "parquet", "netcdf")
"""The formats that hold the ends of bands."""

TABLES = ("csv", "tsv", "parquet")

NO_BANDS, INTERRUPTED = 2, 130
"""Exit codes."""


@dataclass(frozen=True)
class Future:
    """A forecast, ready to be written.

    Parameters
    ----------
    parts
        The values, and the ends of the bands if there are any.
    labels
        The labels of these.
    restore
        Makes the kind of table or array that the input has; None for an array.
    """

    parts: list[Floats]
    labels: Labels
    restore: Any


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, metavar="FILE", help="data, or a model that holds its data")
    parser.add_argument("--horizon", type=int, required=True, metavar="STEPS", help="how many times beyond the last")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="the file to write (default: CSV on standard output)"
    )
    add_interval(
        parser,
        "write the ends of bands that hold this share of the values, 0.9, to a table or .nc file, as x_low and x_high "
        "beside x",
    )
    add_safe(parser)
    add_reading(parser)
    add_fitting(parser)
    add_answering(parser)


def _run(given: argparse.Namespace) -> int:
    horizon, interval = whole_number(given.horizon, "--horizon", at_least=1), checked_interval(given)
    settings = fitting(given)
    kind = _checked_output(given, interval)
    how = safely(given, kind)

    from ..methods.base import Status

    began = time.monotonic()
    fit, found = _from_model(given, horizon) if is_model(given.input) else _from_data(given, horizon, settings)
    interval, reason = _known(found, interval)
    with nullcontext() if given.output is None else rescuing(fit):
        _write(given, _future(given, fit, found, interval, kind), kind, how)
    _answer(given, fit, found, interval, time.monotonic() - began)
    if fit.status is Status.INTERRUPTED and not is_model(given.input):
        say("Interrupted; what was written is the best answer so far.")
        return INTERRUPTED
    if reason:
        say(f"The forecast was written without bands: {as_options(reason)}")
        return NO_BANDS
    return 0


def _checked_output(given: argparse.Namespace, interval: float | None) -> str:
    """Return the format of the output, after checking that it can be written."""
    from .._support.optional import need

    check_outputs({"--output": given.output}, [given.input, given.mask])
    if given.output is None:
        need("pandas", "files")
        return "csv"
    from ..io.formats import check_installed

    kind = check_installed(given.output)
    if interval is not None and kind not in WITH_BANDS:
        raise ValueError(
            f"--interval needs a table (.csv, .tsv, .parquet) or an .nc file to write bands to, but --output is "
            f"{str(given.output)!r}; write such a file, or leave --interval out."
        )
    return kind


def _from_data(given: argparse.Namespace, horizon: int, settings: dict[str, Any]) -> tuple[Fit, Forecast]:
    """Complete data, and forecast it."""
    data = read_given(given, given.input)

    from ..completion import complete
    from ..io.ends import names_with_ends
    from ..io.table_writing import check_columns

    if given.output is None or given.interval is not None:
        check_columns(names_with_ends(data.labels), data.labels)
    fit = complete(data, horizon=horizon, progress=not (given.quiet or given.json), **settings)
    found: Any = fit.ahead
    return fit, found


def _from_model(given: argparse.Namespace, horizon: int) -> tuple[Fit, Forecast]:
    """Forecast the data of a model."""
    from ..fit import load

    fit = load(given.input)
    if fit.observations is None:
        raise ValueError(
            f"{given.input} holds no data, which a forecast needs; give the data itself, or write models with "
            "`complete --model FILE --with-data`."
        )
    fit = forecast_of_model(given, fit, horizon)
    found: Any = fit.ahead
    return fit, found


def _known(found: Forecast, interval: float | None) -> tuple[float | None, str]:
    """Return the coverage of the bands; or None, and why there are none."""
    if interval is None:
        return None, ""
    try:
        found.half_width(interval)
    except ValueError as error:
        return None, str(error)
    return interval, ""


def _future(given: argparse.Namespace, fit: Fit, found: Forecast, interval: float | None, kind: str) -> Future:
    """Return what is written; only the format of the input can hold more than an array has, such as units."""
    from ..adapters.restoring import regrown
    from ..forecasting import first_times, values_and_ends
    from ..io.formats import format_of

    parts, labels = first_times(found, found.horizon, values_and_ends(fit, found, interval))
    same = given.output is not None and not is_model(given.input) and kind == format_of(given.input, given.format)
    restore = regrown(fit.restore, labels, parts[0].shape) if same else None
    return Future(parts, labels if restore is not None else _counted_on(fit, found, labels, parts[0].shape), restore)


def _counted_on(fit: Fit, found: Forecast, labels: Labels, shape: tuple[int, ...]) -> Labels:
    """Return labels in which times without labels are counted on from those of the data."""
    mode = found.axis.modes[0]
    if labels.keys[mode] is not None:
        return labels
    further = fit.shape[mode] + np.arange(shape[mode])
    return replace(labels, keys=(*labels.keys[:mode], further, *labels.keys[mode + 1 :]))


def _write(given: argparse.Namespace, future: Future, kind: str, how: dict[str, Any]) -> None:
    from ..io.ends import table_of, write_with_ends
    from ..io.formats import write
    from ..io.table_writing import write_table, write_text

    parts, labels, restore = future.parts, future.labels, future.restore
    if restore is None and kind in TABLES:
        # Of two modes of time, the last row may go beyond the horizon.
        table = table_of(parts, labels).dropna(subset=[labels.value])
        if given.output is not None:
            write_table(given.output, kind, table, **how)
        elif not given.json:
            write_text(sys.stdout, kind, table, **how)
    elif len(parts) == 1:
        write(given.output, parts[0] if restore is None else restore(parts[0]), labels=labels, **how)
    else:
        ends = tuple(parts) if restore is None else restore.with_ends(*parts)
        write_with_ends(given.output, kind, ends, labels, **how)


def _answer(given: argparse.Namespace, fit: Fit, found: Forecast, interval: float | None, seconds: float) -> None:
    from ..results.forecasts import beginning_in_words, end_in_words, errors_in_words, weights_in_words

    seen: Any = fit.observations
    if given.json:
        forecast = {
            "horizon": found.horizon,
            "beyond": end_in_words(fit, found),
            "errors": found.errors,
            "weights": found.weights,
            "interval": interval,
            "output": None if given.output is None else str(given.output),
        }
        show_json(fit_record(fit, len(seen), seconds) | {"forecast": forecast})
    elif not given.quiet:
        facts = [
            ("data", f"{sizes(fit.shape)}, {len(seen):,} entries observed ({percent(seen.density)})"),
            *[fact for fact in facts_of_choice(fit) if fact[0] in ("method", "loss", "warning")],
            ("forecast", beginning_in_words(fit, found)),
            ("errors", _errors(errors_in_words(found))),
            ("weights", weights_in_words(found)),
            ("interval", "" if interval is None else f"bands hold {percent(interval)} of the values at earlier ends"),
            ("took", f"{seconds:.1f} s"),
            ("written", "" if given.output is None else str(given.output)),
        ]
        show_facts(facts, beside=given.output is None)


def _errors(words: str) -> str:
    return f"mean absolute error at earlier ends: {words}" if words else "not known: too few times for an earlier end"


COMMAND = Command(
    "forecast what comes after the last time",
    _options,
    _run,
    usage="FILE --horizon STEPS [-o OUT]",
    details="""
    FILE is data with a mode of time, or a model with its data (`complete --model MODEL --with-data`). Labels of time go
    on; times without labels are counted on. Of two modes of time, such as day,hour, --horizon counts steps of the fast
    one. The forecast is a blend of a joint seasonal autoregression, the last value of each series, and its value one
    period before. Their errors at earlier ends of the data, which are printed, choose the weights and the bands.

    The gaps of data are filled first, as `complete` does. --method seasonal_ar does so without trying other methods.
    """,
    examples=(
        "tensorfill forecast traffic.csv --horizon 24 -o tomorrow.csv",
        "tensorfill forecast rain.nc --horizon 12 --interval 0.9 -o next.nc",
        "tensorfill forecast flow.npy --time 0,1 --horizon 48",
        "tensorfill forecast march.npz --horizon 7",
    ),
)
"""The subcommand."""
