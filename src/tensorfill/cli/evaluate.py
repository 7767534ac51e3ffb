"""``tensorfill evaluate``: how near the filled entries are to the truth."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.checks import real_number
from .command import Command
from .complete import described, facts_of_choice
from .options import (
    add_answering,
    add_fitting,
    add_interval,
    add_reading,
    checked_interval,
    fitting,
    is_model,
    read_given,
)
from .talk import share, show_facts, show_json, sizes

if TYPE_CHECKING:
    from .._support.types import Floats, Integers
    from ..fit import Fit
    from ..labels import Labelled, Labels


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, metavar="DATA|MODEL", help="data of which some is held out, or a model")
    parser.add_argument(
        "--test", type=Path, metavar="TEST", help="for a model: a file with entries that it has not seen"
    )
    parser.add_argument(
        "--holdout",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="for data: share of the entries held out (default: 0.1)",
    )
    parser.add_argument(
        "--by",
        choices=("auto", "entry"),
        default="auto",
        help="hold out what goes missing together, be it fibres or blocks (auto, the default), or single entries",
    )
    add_interval(parser, "check how many test entries intervals of this share hold (default: 0.9)", 0.9)
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
    from ..io.fits import load

    fit = load(given.input)
    test = read_given(given, given.test)
    coords = _in_terms_of(fit.labels, fit.shape, test, given.test)
    errors = _errors(fit, coords, test.observations.values, interval)
    facts = [("model", f"{given.input}, {sizes(fit.shape)}"), ("test", f"{given.test}, {len(coords):,} entries")]
    _answer(given, {"model": str(given.input), "test": str(given.test)}, facts, errors)
    return 0


def _data(given: argparse.Namespace, interval: float | None) -> int:
    """Hold entries out of data, complete the rest and compare."""
    settings = fitting(given)
    fraction = real_number(given.holdout, "--holdout", above=0, below=1)
    data = read_given(given, given.input)

    from ..choosing.holdout import make_holdout
    from ..completion import complete
    from ..labels import Labelled
    from ..methods.base import Status

    seen = data.observations
    how = make_holdout(given.by, seen)
    training, test = how.split(seen, fraction, np.random.default_rng(settings["rng"]))
    began = time.monotonic()
    fit = complete(Labelled(training, data.labels), progress=not (given.quiet or given.json), **settings)
    if fit.status is Status.INTERRUPTED:
        # Half an evaluation would be taken for a whole one.
        raise KeyboardInterrupt
    seconds = time.monotonic() - began
    errors = _errors(fit, test.coords, test.values, interval)
    errors["mean_rmse"] = float(np.sqrt(np.mean((test.values - training.values.mean()) ** 2)))
    words = data.labels.named(how.describe(seen.shape))
    facts = [
        ("data", f"{sizes(seen.shape)}, {len(seen):,} entries observed ({share(seen.density)})"),
        ("test", f"{len(test):,} entries held out ({words}) and the rest completed in {seconds:.1f} s"),
        *[fact for fact in facts_of_choice(fit) if fact[0] != "held out"],
    ]
    record = described(fit, training, seconds) | {"test_entries": len(test), "test_by": words}
    _answer(given, record, facts, errors)
    return 0


def _in_terms_of(labels: Labels, shape: tuple[int, ...], test: Labelled, path: Path) -> Integers:
    """Return the coordinates of test entries in the model, by their labels where both have some."""
    seen = test.observations
    if seen.ndim != len(shape):
        raise ValueError(f"{path} must have the {len(shape)} modes of the model, but it has {seen.ndim}.")
    columns = []
    for mode, name in enumerate(labels.names):
        # A table may have its columns in another order.
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
    """Return how far predictions are from the truth, and how much of it intervals hold."""
    from ..metrics import mae, relative_error, rmse

    prediction = fit.predict_mean(coords)
    errors: dict[str, float | None] = {
        "rmse": rmse(prediction, truth),
        "mae": mae(prediction, truth),
        "relative_error": relative_error(prediction, truth) if np.any(truth) else None,
        "interval": interval,
        "coverage": None,
    }
    # Fits with a given lambda and scores have no intervals, which is no reason to say nothing else.
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
        else f"{share(coverage)} of the test entries within {share(interval)} intervals"
    )
    return [
        ("RMSE", f"{errors['rmse'] or 0.0:.5g}{beside}"),
        ("MAE", f"{errors['mae'] or 0.0:.5g}"),
        ("relative", "" if relative is None or math.isnan(relative) else f"{relative:.5g}"),
        ("coverage", held),
    ]


COMMAND = Command(
    "hold entries out, fill them and say how near they come",
    _options,
    _run,
    usage="DATA  or  MODEL --test TEST",
    details="""
    Given data, a share of its entries is held out in the way entries go missing, the rest is completed as `tensorfill
    complete` does, and the held-out entries are compared with what was filled in. Given a model, it is compared with
    the entries of --test. Either way: the root mean square error, the mean absolute error, the error relative to the
    truth, and the share of test entries that intervals hold.
    """,
    examples=(
        "tensorfill evaluate rain.nc",
        "tensorfill evaluate parking.mat --missing zero --holdout 0.3 --json",
        "tensorfill evaluate ratings.npz --test unseen.tns",
    ),
)
"""The subcommand."""
