"""``tensorfill compare``: several methods on the same held-out entries."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.table import METHODS
from .._support.words import percent, sizes
from .command import Command
from .fitting import add_choosing, add_stages, choosing, names, stages
from .options import add_answering, add_reading, read_given
from .output import say, show_facts, show_json, show_text
from .outputs import check_outputs

if TYPE_CHECKING:
    from ..comparison import Comparison, Contender
    from ..labels import Labelled

INTERRUPTED = 130


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file with missing entries")
    parser.add_argument(
        "--methods",
        type=names,
        default=["auto"],
        metavar="NAME,NAME...",
        help=f"some of {', '.join(METHODS)}; all, for every method that takes the data; or auto, the default, "
        "for those that suit most data",
    )
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the comparison, as PNG")
    add_reading(parser)
    add_stages(parser, smooth=False)
    add_choosing(parser)
    add_answering(parser)


def _run(given: argparse.Namespace) -> int:
    settings = stages(given) | {"choose": choosing(given)}
    methods = _methods(given)
    check_outputs({"--plot": given.plot}, [given.file, given.mask])
    if given.plot is not None:
        from ..plots import drawing_class

        # A missing matplotlib is reported before the work, not after it.
        drawing_class()
    data = read_given(given, given.file)

    from ..comparison import compare

    compared = compare(data, methods, progress=not (given.quiet or given.json), **settings)
    # The result is printed first, so that a full disk costs only the figure.
    if given.json:
        show_json(_record(given, data, compared))
    elif not given.quiet:
        _show(given, data, compared)
    if given.plot is not None:
        compared.plot(file=given.plot)
    if compared.left_out:
        every = len(compared) + len(compared.left_out)
        say(f"Interrupted; {len(compared)} of {every} methods were compared, without {', '.join(compared.left_out)}.")
        return INTERRUPTED
    return 0


def _methods(given: argparse.Namespace) -> str | list[str]:
    from ..methods import registry

    if given.methods in (["auto"], ["all"]):
        return str(given.methods[0])
    return list(dict.fromkeys(registry.method_named(name, "--methods").name for name in given.methods))


def _record(given: argparse.Namespace, data: Labelled, compared: Comparison) -> dict[str, Any]:
    seen = data.observations
    return {
        "file": str(given.file),
        "shape": seen.shape,
        "observed": len(seen),
        "density": seen.density,
        "best": compared.best.name,
        "clear": compared.is_clear(),
        "methods": [_contender_record(each) for each in compared],
        "left_out": compared.left_out,
        "plot": None if given.plot is None else str(given.plot),
    }


def _contender_record(contender: Contender) -> dict[str, Any]:
    return {
        "method": contender.name,
        "held_out": contender.held_out,
        "standard_error": contender.standard_error,
        "seconds": contender.seconds,
        "memory": contender.memory,
        "ranks": contender.ranks,
        "chosen": contender.tried,
        "stages": contender.stages,
        "trials": contender.trials,
    }


def _show(given: argparse.Namespace, data: Labelled, compared: Comparison) -> None:
    seen = data.observations
    show_text(str(compared))
    show_text("")
    show_facts(
        [
            ("data", f"{sizes(seen.shape)}, {len(seen):,} entries observed ({percent(seen.density)})"),
            ("best", _best(compared)),
            ("written", "" if given.plot is None else str(given.plot)),
        ]
    )


def _best(compared: Comparison) -> str:
    best = compared.best.name
    if len(compared) == 1:
        return best
    second = compared[1].name
    return f"{best}, {'by more than chance' if compared.is_clear() else f'but {second} is as good within chance'}"


COMMAND = Command(
    "compare methods on the same held-out entries",
    _options,
    _run,
    usage="FILE [--methods NAME,NAME...] [--plot PNG]",
    details="""
    Every method chooses its settings on the same held-out entries and is scored on them. The table shows the error with
    its standard error, the seconds and the memory that the choice took, the ranks, and what was chosen. The time limit
    is for all methods together.
    """,
    examples=(
        "tensorfill compare rain.nc",
        "tensorfill compare cars.mat --missing zero --methods nort,cp --splits 3",
        "tensorfill compare traffic.csv --time-limit 120 --plot methods.png --json",
    ),
)
"""The subcommand."""
