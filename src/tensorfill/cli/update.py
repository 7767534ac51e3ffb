"""``tensorfill update``: update a model with more data."""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.checks import real_number, whole_number
from .command import Command
from .facts import facts_of_fit, fit_record
from .options import add_answering, add_reading, read_given
from .output import say, show_facts, show_json
from .outputs import check_outputs, rescuing

if TYPE_CHECKING:
    from ..labels import Labelled, Labels

INTERRUPTED = 130


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help="the file that `complete --model` wrote")
    parser.add_argument("new", type=Path, metavar="NEWDATA", help="the new entries, with labels as the old data had")
    parser.add_argument("-o", "--output", type=Path, metavar="MODEL2", required=True, help="the new model, as .npz")
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="the data of MODEL, if that was written without --with-data"
    )
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop after this long with the best so far")
    parser.add_argument("--seed", type=int, default=0, help="decides everything that is random (default: 0)")
    add_reading(parser)
    add_answering(parser)


def _run(given: argparse.Namespace) -> int:
    check_outputs({"--output": given.output}, [given.model, given.new, given.data, given.mask])
    limit = None if given.time_limit is None else real_number(given.time_limit, "--time-limit", above=0)
    seed = whole_number(given.seed, "--seed")

    from ..fit import load
    from ..methods.base import Status

    fit = load(given.model)
    if given.data is not None:
        from ..choosing.updating import grown
        from ..observations import Observations

        old = read_given(given, given.data)
        # By label, because a file may list them in a different order.
        again = grown(fit.labels, Observations([[0] * len(fit.shape)], [0.0], fit.shape), old).new
        if again.shape != fit.shape:
            raise ValueError(f"--data must be the data of {given.model}, of shape {fit.shape}, not {again.shape}.")
        fit = dataclasses.replace(fit, observations=again)
    elif fit.observations is None:
        raise ValueError(
            f"{given.model} holds no data; give the file that it was fitted to with --data, or write models with "
            "`complete --model FILE --with-data`."
        )
    new = _with_texts(read_given(given, given.new), fit.labels)
    began = time.monotonic()
    later = fit.update(new, time_limit=limit, rng=seed, progress=not (given.quiet or given.json))
    seconds = time.monotonic() - began
    seen: Any = later.observations
    with rescuing(later):
        later.save(given.output, data=True)
    if given.json:
        added = dict(zip(later.labels.names, later.added or (), strict=True))
        show_json(fit_record(later, len(seen), seconds) | {"added": added, "model": str(given.output)})
    elif not given.quiet:
        from ..results.words import added_in_words

        show_facts(
            [
                ("new", f"{len(new.observations):,} entries, {added_in_words(later)}"),
                *facts_of_fit(later, len(seen), seconds),
                ("written", f"{given.output} (model, with its data)"),
            ]
        )
    if later.status is Status.INTERRUPTED:
        say("Interrupted; what was written is the best answer so far.")
        return INTERRUPTED
    return 0


def _with_texts(new: Labelled, labels: Labels) -> Labelled:
    """Return new data with texts as labels where a file has whole numbers and the model has texts."""
    texts = {
        name
        for name, keys in zip(labels.names, labels.keys, strict=True)
        if keys is not None and all(isinstance(key, str) for key in keys.tolist())
    }
    own = zip(new.labels.names, new.labels.keys, strict=True)
    keys = [
        each.astype(str) if each is not None and name in texts and each.dtype.kind in "iu" else each
        for name, each in own
    ]
    return dataclasses.replace(new, labels=dataclasses.replace(new.labels, keys=tuple(keys)))


COMMAND = Command(
    "go on from a model with more data",
    _options,
    _run,
    usage="MODEL NEWDATA -o MODEL2",
    details="""
    The method, its settings and the stages around it stay as they were chosen, so this takes a fraction of the time of
    `complete`. NEWDATA has the columns, or modes, of the old data, with labels of the same kinds. New labels, such as a
    new day, user or station, become new indices, which are counted. Entries that are there already are replaced. MODEL
    must hold its data (`complete --model FILE --with-data`), or --data must name it.
    """,
    examples=(
        "tensorfill update march.npz april-1st.csv -o april.npz",
        "tensorfill update ratings.npz new.tns --data ratings.tns -o ratings2.npz",
    ),
)
"""The subcommand."""
