"""The options of a fit: the method and its settings, the loss, the stages around the method, what is held out."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from .._support import table
from .._support.checks import listed, real_number, whole_number

if TYPE_CHECKING:
    from ..choosing.holdout.splits import Choice

LOSSES = (*table.LOSSES, *table.ROBUST)

SHORTHANDS = {"lam": "--lam", "penalty": "--penalty", "max_rank": "--max-rank", "max_iter": "--max-iter"}
"""The settings of a method that have a separate option."""

WORDS = {"none": None, "true": True, "false": False}
"""Values of settings that are written as words."""


def add_fitting(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tensorfill.complete`."""
    add_method(parser)
    group = add_stages(parser)
    group.add_argument(
        "--bounds", nargs=2, type=_bound, metavar=("LOW", "HIGH"), help="clip predictions to these; none is no limit"
    )
    group.add_argument(
        "--merge",
        action="append",
        type=_named_modes,
        metavar="MODES",
        help="modes that the method treats as one, as in day,hour; give it again for another group",
    )
    group.add_argument(
        "--time",
        type=_time,
        metavar="MODES",
        default="auto",
        help="the mode of time: hour; or two that are one time, the slow one first: day,hour; or none (default: auto, "
        "which goes by labels and names)",
    )
    group.add_argument(
        "--fold",
        type=_fold,
        metavar="MODE=PERIOD",
        help="a mode that the method treats as two, as in time=24 for rows of 24",
    )
    add_choosing(parser)


def fitting(given: argparse.Namespace) -> dict[str, Any]:
    """Validate the options, and return the arguments of `tensorfill.complete`."""
    bounds = None if given.bounds is None else tuple(given.bounds)
    merge = "auto" if given.merge is None else given.merge
    fold = "auto" if given.fold is None else given.fold
    others = {"bounds": bounds, "merge": merge, "fold": fold, "time": given.time, "choose": choosing(given)}
    return method_and_settings(given) | stages(given) | others


def add_method(parser: argparse.ArgumentParser) -> None:
    """Add the options of the method."""
    group = parser.add_argument_group("the method (settings that are not given are chosen on held-out entries)")
    group.add_argument(
        "--method",
        type=names,
        default=["auto"],
        metavar="NAME[,NAME...]",
        help=f"one of {', '.join(table.METHODS)}; several, for the best on held-out entries; or auto (the default)",
    )
    group.add_argument(
        "--set",
        action="append",
        type=_setting,
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the method, as in rank=3 or modes=0,2; give it again for another",
    )
    group.add_argument("--lam", type=_numbers_or_auto, metavar="LAM", help="one number, or one for each mode: 1,2,1")
    group.add_argument(
        "--penalty", choices=table.PENALTIES, metavar="NAME", help=f"one of {', '.join(table.PENALTIES)} (default: lsp)"
    )
    group.add_argument("--max-rank", type=int, metavar="RANK", help="no component exceeds this rank")
    group.add_argument("--max-iter", type=int, metavar="N", help="at most this many iterations")


def method_and_settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return the method and its settings as arguments of `tensorfill.complete`.

    If there are several methods, each gets the settings that it has.
    """
    settings = given_settings(given)
    chosen: list[str] = given.method
    from ..methods.registry import AUTOMATIC, make_method, method_named, setting_names

    tried = AUTOMATIC if chosen == ["auto"] else chosen
    known = {name: setting_names(method_named(name, "--method")) for name in tried}
    for setting in settings:
        if not any(setting in own for own in known.values()):
            every = dict.fromkeys(name for own in known.values() for name in own)
            raise ValueError(
                f"{_option(setting)} is no setting of method {listed(tried)}; the settings are {listed(every)}."
            )
    made = [
        make_method(name, {each: settings[each] for each in settings if each in own}) for name, own in known.items()
    ]
    if len(chosen) == 1:
        return {"method": chosen[0]} | settings
    return {"method": made if settings else chosen}


def given_settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the method by name, from the shorthands and from --set; none may be given twice."""
    if given.max_rank is not None:
        whole_number(given.max_rank, "--max-rank", at_least=1)
    if given.max_iter is not None:
        whole_number(given.max_iter, "--max-iter", at_least=1)
    pairs = [(name, getattr(given, name)) for name in SHORTHANDS if getattr(given, name) is not None]
    settings: dict[str, Any] = {}
    for name, value in [*pairs, *given.set]:
        if name in settings:
            raise ValueError(f"the setting {name!r} must be given once, but {_option(name)} repeats it.")
        settings[name] = value
    return settings


def _option(setting: str) -> str:
    """Return the option for a setting."""
    return SHORTHANDS.get(setting, f"--set {setting}")


def add_stages(parser: argparse.ArgumentParser, *, smooth: bool = True) -> argparse._ArgumentGroup:
    """Add the loss, the stages around the method, the time limit and the seed, and return their group.

    Parameters
    ----------
    parser
        The parser of a subcommand.
    smooth
        Whether smooth modes are detected by default.
    """
    group = parser.add_argument_group("the fit")
    group.add_argument(
        "--loss",
        default="auto",
        choices=("auto", *LOSSES),
        metavar="LOSS",
        help=f"one of {', '.join(LOSSES)} (default: auto, which is square, or what suits the data better)",
    )
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--smooth",
        type=_modes,
        metavar="MODES",
        default="auto" if smooth else None,
        help=f"modes with smooth neighbours: row,column or auto (default: {'auto' if smooth else 'none'})",
    )
    if smooth:
        either.add_argument(
            "--no-smooth", dest="smooth", action="store_const", const=None, help="the method alone, no smooth field"
        )
    group.add_argument(
        "--refine", action="store_true", help="polish by least squares, if held-out entries gain (method nort)"
    )
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop after this long with the best so far")
    group.add_argument("--seed", type=int, default=0, help="decides everything that is random (default: 0)")
    return group


def stages(given: argparse.Namespace) -> dict[str, Any]:
    """Return the loss, the stages, the time limit and the seed as arguments of `tensorfill.complete`."""
    limit = given.time_limit
    return {
        "loss": given.loss,
        "smooth": given.smooth,
        "refine": "tucker" if given.refine else None,
        "time_limit": None if limit is None else real_number(limit, "--time-limit", above=0),
        "rng": whole_number(given.seed, "--seed"),
    }


def add_choosing(parser: argparse.ArgumentParser) -> None:
    """Add the options for the held-out entries."""
    group = parser.add_argument_group("what is held out to choose settings and for intervals")
    group.add_argument(
        "--holdout",
        type=_holdout,
        metavar="HOW",
        help="what goes missing together (auto, the default), entry, fibre:MODE, slice:MODE, or a block: 1,5,20",
    )
    group.add_argument("--validation", type=float, metavar="SHARE", help="share of the entries (default: 0.1)")
    group.add_argument(
        "--splits", type=int, metavar="N", help="hold out anew this many times (default: 1 to 5, for 300 entries)"
    )


def choosing(given: argparse.Namespace) -> Choice | None:
    """Return the choice of held-out entries, or None if no option was given."""
    said: dict[str, Any] = {}
    if given.holdout is not None:
        said["holdout"] = given.holdout
    if given.validation is not None:
        said["validation"] = real_number(given.validation, "--validation", above=0, below=1)
    if given.splits is not None:
        said["splits"] = whole_number(given.splits, "--splits", at_least=1)
    if not said:
        return None
    from ..choosing.holdout.splits import Choice

    return Choice(**said)


# Values of options


def names(text: str) -> list[str]:
    """Return the names in a list with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _modes(text: str) -> list[int | str] | str:
    """Return modes by number or name, or ``"auto"``."""
    return text if text == "auto" else _named_modes(text)


def _named_modes(text: str) -> list[int | str]:
    """Return modes by number or name."""
    return [_mode(part) for part in names(text)]


def _fold(text: str) -> dict[int | str, int]:
    """Return the period of a mode."""
    mode, equals, period = text.rpartition("=")
    if not equals or not period.strip().isdigit():
        raise argparse.ArgumentTypeError(f"a mode and a period as in time=24 are needed, but {text!r} was given")
    return {_mode(mode.strip()): int(period)}


def _mode(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def _time(text: str) -> int | str | tuple[int | str, ...] | None:
    """Return the mode of time, or two of them; None for no time.

    >>> _time("hour"), _time("day,hour"), _time("1"), _time("none")
    ('hour', ('day', 'hour'), 1, None)
    """
    if text.strip().lower() in ("auto", "none"):
        return None if text.strip().lower() == "none" else "auto"
    modes = _named_modes(text)
    if len(modes) not in (1, 2):
        raise argparse.ArgumentTypeError(
            f"it must be auto, none, a mode, or two modes with the slow one first, as in day,hour, but {text!r} was "
            "given"
        )
    return modes[0] if len(modes) == 1 else tuple(modes)


def _bound(text: str) -> float | None:
    """Return a number, or None for no limit."""
    return None if text.strip().lower() == "none" else float(text)


def _numbers_or_auto(text: str) -> float | list[float] | str:
    if text == "auto":
        return text
    values = [float(part) for part in text.split(",")]
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise argparse.ArgumentTypeError(f"numbers must be at least 0, but {text!r} was given")
    return values[0] if len(values) == 1 else values


def _setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of a setting."""
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value.strip()):
        raise argparse.ArgumentTypeError(f"a setting must be NAME=VALUE, as in rank=3, but {text!r} was given")
    return name.strip().replace("-", "_"), _value(value)


def _value(text: str) -> Any:
    """Return a number, a truth value, none, a text, or a list of these with commas between them.

    >>> _value("3"), _value("1e-3"), _value("row,2"), _value("0,"), _value("none"), _value("exact")
    (3, 0.001, ['row', 2], [0], None, 'exact')
    """
    if "," in text:
        return [_value(part) for part in names(text)]
    word = text.strip()
    if word.lower() in WORDS:
        return WORDS[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _holdout(text: str) -> str | tuple[str, int | str] | list[int]:
    """Return what is held out together, as `Choice` takes it."""
    if text in ("auto", "entry"):
        return text
    kind, colon, mode = text.partition(":")
    if kind in ("fibre", "slice") and colon and mode:
        return kind, _mode(mode)
    sizes = names(text)
    if len(sizes) > 1 and all(size.isdigit() for size in sizes):
        return [int(size) for size in sizes]
    raise argparse.ArgumentTypeError(
        f"it must be auto, entry, fibre:MODE, slice:MODE or the sizes of a block with commas, but {text!r} was given"
    )
