"""The facts about a fit, as text for people and as records for programs."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from .._support.words import numbers, percent, sizes
from .output import as_options

if TYPE_CHECKING:
    from ..fit import Fit


def facts_of_fit(fit: Fit, observed: int, seconds: float) -> list[tuple[str, str]]:
    """Return the facts about a fit, given the number of observed entries and the time."""
    return [
        ("data", f"{sizes(fit.shape)}, {observed:,} entries observed ({percent(observed / math.prod(fit.shape))})"),
        *facts_of_choice(fit),
        ("stopped", as_options(str(fit.status))),
        ("took", f"{seconds:.1f} s, with {fit.history[-1].iteration} iterations in the last fit"),
    ]


def facts_of_choice(fit: Fit) -> list[tuple[str, str]]:
    """Return the facts about the chosen settings."""
    from ..results.words import compared_in_words, doubts_of, gaps_in_words

    tried = f", of {len(fit.path)} tried" if fit.path else ""
    chosen = settings_in_words(fit)
    return [
        ("method", _method(fit)),
        ("loss", loss_in_words(fit)),
        ("settings", f"{chosen}{tried}" if chosen else ""),
        ("ranks", _ranks(fit)),
        *((stage.title.lower(), stage.in_words(fit.labels)) for stage in fit.recipe.stages),
        ("held out", _held_out(fit)),
        ("gaps", gaps_in_words(fit)),
        ("compared", compared_in_words(fit)),
        *(("warning", doubt) for doubt in doubts_of(fit)),
    ]


def _method(fit: Fit) -> str:
    """Return the name of the method, and of the others that were tried."""
    from ..results.words import blend_in_words, method_in_words

    if fit.recipe.beside:
        return blend_in_words(fit)
    others = [point.method.name for point in fit.path or () if point.method.name != fit.method.name]
    beside = f", better than {', '.join(dict.fromkeys(others))} on held-out entries" if others else ""
    return f"{method_in_words(fit)}{beside}"


def _held_out(fit: Fit) -> str:
    """Return what was held out together, and the error there."""
    holdout = fit.recipe.holdout
    return "" if holdout is None else f"{holdout.in_words(fit.labels)}, error {fit.held_out_error:.4g}"


def settings_in_words(fit: Fit) -> str:
    """Return the regularisation, or the settings of a method without it that differ from their default."""
    if fit.lam:
        penalties = dict.fromkeys(_called(penalty) for penalty in fit.penalties)
        words = [f"lambda {numbers(fit.lam)}"]
        words += [f"penalty {' and '.join(penalties)}"] if penalties else []
        words += [f"theta {numbers(fit.theta)}"] if any(theta is not None for theta in fit.theta) else []
        return ", ".join(words)
    usual = {each.name: each.default for each in dataclasses.fields(fit.method)}
    changed = {name: value for name, value in method_settings(fit).items() if value != usual[name]}
    return ", ".join(f"{name} {_value(value)}" for name, value in changed.items())


def _value(value: Any) -> str:
    """Return the value of a setting, a number with three significant digits."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def method_settings(fit: Fit) -> dict[str, Any]:
    """Return the settings of the method by name; empty if a file holds only its text."""
    from ..methods.base import Method
    from ..methods.registry import setting_names

    method: Any = fit.method
    if not isinstance(method, Method):
        return {}
    return {name: getattr(method, name) for name in setting_names(type(method))}


def loss_in_words(fit: Fit) -> str:
    """Return the name of the loss as given, or else its own."""
    asked = fit.recipe.asked.get("loss")
    return asked if isinstance(asked, str) else _called(fit.loss)


def _called(thing: Any) -> str:
    """Return the registered name of a loss or penalty, or else its text."""
    from ..losses import LOSSES
    from ..penalties import PENALTIES

    registries = [*LOSSES.items(), *PENALTIES.items()]
    return next((name for name, kind in registries if type(thing) is kind), str(thing))


def _ranks(fit: Fit) -> str:
    """Return each rank with the name of its mode."""
    from ..plots.naming import rank_names

    names = rank_names(fit.recipe.labels_within(fit.labels), fit.modes, len(fit.ranks))
    if names == ["rank"]:
        return str(fit.ranks[0])
    return ", ".join(f"{name}: {rank}" for name, rank in zip(names, fit.ranks, strict=True))


def recipe_record(fit: Fit) -> dict[str, Any]:
    """Return how a fit was made, for other programs."""
    recipe = fit.recipe
    return {
        "method": fit.method.name,
        "settings": method_settings(fit),
        "loss": loss_in_words(fit),
        "penalty": list(dict.fromkeys(_called(penalty) for penalty in fit.penalties)),
        "lam": fit.lam,
        "theta": fit.theta,
        "ranks": fit.ranks,
        "blend": [
            {"method": part.method.name, "weight": weight}
            for weight, part in zip(recipe.weights, recipe.parts, strict=True)
        ],
        "around": {stage.name: stage.in_words(fit.labels) for stage in recipe.stages},
        "held_out": None if recipe.holdout is None else recipe.holdout.in_words(fit.labels),
        "held_out_error": fit.held_out_error,
        "baselines": [
            {"kind": each.kind, "mode": each.mode, "error": each.error, "is_better": each.is_better}
            for each in fit.baselines
        ],
        "stages": {} if fit.timing is None else {stage.name: stage.seconds for stage in fit.timing.stages},
        "tried": None if fit.path is None else len(fit.path),
        "seed": fit.seed,
        "iterations": fit.history[-1].iteration,
        "status": fit.status.name,
    }


def fit_record(fit: Fit, observed: int, seconds: float) -> dict[str, Any]:
    """Return a fit with its number of observed entries and its time, for other programs."""
    data = {
        "shape": fit.shape,
        "names": fit.labels.names,
        "observed": observed,
        "density": observed / math.prod(fit.shape),
    }
    return data | recipe_record(fit) | {"seconds": seconds}
