"""``tensorfill evaluate``: how close predictions are to the truth."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.checks import real_number
from .._support.words import percent, sizes
from .command import Command
from .facts import facts_of_choice, fit_record
from .fitting import add_fitting, fitting
from .options import add_answering, add_interval, add_reading, checked_interval, is_model, read_given
from .output import show_facts, show_json

if TYPE_CHECKING:
    from .._support.types import Floats, Integers
    from ..fit import Fit
    from ..labels import Labelled, Labels


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", type=Path, metavar="DATA|MODEL", help="data, from which entries are held out, or a model"
    )
    parser.add_argument(
        "--test", type=Path, metavar="TEST", help="for a model: a file with entries that it has not seen"
    )
    parser.add_argument(
        "--test-share",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="for data: share of the entries to test with (default: 0.1), held out as --holdout says",
    )
    add_interval(parser, "count the test entries within intervals of this share (default: 0.9)", 0.9)
    add_reading(parser)
    add_fitting(parser)
    add_answering(parser)


def _run(given: argparse.Namespace) -> int:
    interval = checked_interval(given)
    if is_model(given.input):
        return _model(given, interval)
    if given.test is not None:
        raise ValueError(f"--test is for models, but {given.input} is data; leave --test out, or give a model.")
    return _data(given, interval)


def _model(given: argparse.Namespace, interval: float | None) -> int:
    """Compare a model with entries of a file."""
    if given.test is None:
        raise ValueError(f"{given.input} is a model, so --test FILE must say which entries to compare it with.")
    from ..fit import load

    fit = load(given.input)
    test = read_given(given, given.test)
    coords = _coords_in_model(fit.labels, fit.shape, test, given.test)
    errors = _errors(fit, coords, test.observations.values, interval)
    facts = [("model", f"{given.input}, {sizes(fit.shape)}"), ("test", f"{given.test}, {len(coords):,} entries")]
    _answer(given, {"model": str(given.input), "test": str(given.test)}, facts, errors)
    return 0


def _data(given: argparse.Namespace, interval: float | None) -> int:
    """Hold entries out of data, complete the rest and compare."""
    settings = fitting(given)
    fraction = real_number(given.test_share, "--test-share", above=0, below=1)
    data = read_given(given, given.input)

    from ..choosing.holdout.kinds import make_holdout
    from ..completion import complete
    from ..labels import Labelled
    from ..methods.base import Status

    seen = data.observations
    how = make_holdout(data.labels.holdout(given.holdout or "auto"), seen)
    training, test = how.split(seen, fraction, np.random.default_rng(settings["rng"]))
    began = time.monotonic()
    fit = complete(Labelled(training, data.labels), progress=not (given.quiet or given.json), **settings)
    if fit.status is Status.INTERRUPTED:
        # A partial evaluation could be mistaken for a complete one.
        raise KeyboardInterrupt
    seconds = time.monotonic() - began
    errors = _errors(fit, test.coords, test.values, interval)
    errors["mean_rmse"] = float(np.sqrt(np.mean((test.values - training.values.mean()) ** 2)))
    words = how.in_words(data.labels)
    facts = [
        ("data", f"{sizes(seen.shape)}, {len(seen):,} entries observed ({percent(seen.density)})"),
        ("test", f"{len(test):,} entries held out ({words}) and the rest completed in {seconds:.1f} s"),
        *[fact for fact in facts_of_choice(fit) if fact[0] != "held out"],
    ]
    record = fit_record(fit, len(training), seconds) | {"test_entries": len(test), "test_by": words}
    _answer(given, record, facts, errors)
    return 0


def _coords_in_model(labels: Labels, shape: tuple[int, ...], test: Labelled, path: Path) -> Integers:
    """Return the coordinates of the test entries in the model, by label if both have labels."""
    seen = test.observations
    if seen.ndim != len(shape):
        raise ValueError(f"{path} must have the {len(shape)} modes of the model, but it has {seen.ndim}.")
    columns = []
    for mode, name in enumerate(labels.names):
        # A table may have its columns in a different order.
        at = test.labels.names.index(name) if name in test.labels.names else mode
        keys, index = test.labels.keys[at], seen.coords[:, at]
        if keys is not None:
            index = labels.positions(mode, keys[index])
        columns.append(index)
    coords = np.stack(columns, axis=1)
    if (coords >= np.array(shape)).any():
        raise ValueError(f"{path} must be within the shape of the model, {shape}, but its shape is {seen.shape}.")
    return coords


def _errors(fit: Fit, coords: Integers, truth: Floats, interval: float | None) -> dict[str, float | None]:
    """Return how far predictions are from the truth, and the share of it within the intervals."""
    from ..metrics import mae, relative_error, rmse

    prediction = fit.predict(coords)
    errors: dict[str, float | None] = {
        "rmse": rmse(prediction, truth),
        "mae": mae(prediction, truth),
        "relative_error": relative_error(prediction, truth) if np.any(truth) else None,
        "interval": interval,
        "coverage": None,
    }
    # With too few held-out entries there are no intervals, but the errors are still printed.
    if interval is not None and fit.residuals is not None and len(fit.residuals) * (1 - interval) > 1:
        try:
            _, low, high = fit.predict(coords, interval=interval)
        except ValueError:
            return errors
        errors["coverage"] = float(np.mean((low <= truth) & (truth <= high)))
    return errors


def _answer(
    given: argparse.Namespace,
    record: dict[str, Any],
    facts: list[tuple[str, str]],
    errors: dict[str, float | None],
) -> None:
    if given.json:
        show_json(record | errors)
    elif not given.quiet:
        show_facts([*facts, *_in_words(errors)])


def _in_words(errors: dict[str, float | None]) -> list[tuple[str, str]]:
    mean, coverage, interval = errors.get("mean_rmse"), errors["coverage"], errors["interval"]
    beside = "" if mean is None else f" (the mean of the data: {mean:.5g})"
    relative = errors["relative_error"]
    held = (
        ""
        if coverage is None or interval is None
        else f"{percent(coverage)} of the test entries within {percent(interval)} intervals"
    )
    return [
        ("RMSE", f"{errors['rmse'] or 0.0:.5g}{beside}"),
        ("MAE", f"{errors['mae'] or 0.0:.5g}"),
        ("relative", "" if relative is None or math.isnan(relative) else f"{relative:.5g}"),
        ("coverage", held),
    ]


COMMAND = Command(
    "hold entries out, fill them and compare",
    _options,
    _run,
    usage="DATA  or  MODEL --test TEST",
    details="""
    With data, a share of its entries is held out in the way in which entries go missing, the rest is completed as
    `tensorfill complete` does, and the held-out entries are compared with what was filled in. A model is compared with
    the entries of --test. Printed are the root mean square error, the mean absolute error, the error relative to the
    truth, and the share of the test entries within the intervals.
    """,
    examples=(
        "tensorfill evaluate rain.nc",
        "tensorfill evaluate parking.mat --missing zero --test-share 0.3 --json",
        "tensorfill evaluate traffic.nc --holdout slice:station --method cp",
        "tensorfill evaluate ratings.npz --test unseen.tns",
    ),
)
"""The subcommand."""
