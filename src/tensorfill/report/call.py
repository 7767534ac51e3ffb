"""The calls of `tensorfill.complete` that repeat a fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..methods.base import Method
from .source import INDENT, WIDEST, SourceText, source_of

if TYPE_CHECKING:
    from ..fit import Fit

OWN = "an object of your own"
"""The comment on a placeholder for an object that cannot be written as source."""


def call_to_repeat(fit: Fit) -> str:
    """Return the call that made a fit, with its seed; chosen settings are searched for again."""
    return _call(fit, fit.recipe.asked)


def call_without_search(fit: Fit) -> str | None:
    """Return the call with the chosen settings; None if nothing was chosen."""
    if fit.path is None or not isinstance(fit.method, Method):
        return None
    # No source text holds the model that a method starts from.
    arguments = {name: value for name, value in fit.recipe.arguments().items() if name != "start"}
    if fit.modes:
        labels = fit.recipe.labels_within(fit.labels)
        named = tuple(labels.called(mode) for mode in fit.modes)
        arguments["method"] = dataclasses.replace(fit.method, modes=named)  # type: ignore[call-arg]
    return _call(fit, arguments)


def _call(fit: Fit, arguments: Mapping[str, Any]) -> str:
    made = {name: source_of(value) for name, value in arguments.items() if name not in ("data", "rng")}
    lines = [f"{INDENT}{_argument(name, value)}" for name, value in made.items()]
    lines.append(f"{INDENT}rng={fit.seed},")
    path = fit.recipe.asked.get("data")
    data = "data" if path is None else source_of(path).text
    imports = frozenset[str]().union(*(value.imports for value in made.values()))
    # Modules before names, in the usual order of imports.
    head = sorted({"import tensorfill", *imports}, key=lambda line: (line.startswith("from"), line))
    return "\n".join([*head, "", "fit = tensorfill.complete(", f"{INDENT}{data},", *lines, ")"])


def _argument(name: str, value: SourceText) -> str:
    text = value.after(f"{name}=").lines(1, WIDEST - len(INDENT) - 1)
    if not value.own:
        return f"{text},"
    whose = "" if value.text in value.own else f"{', '.join(dict.fromkeys(value.own))}: "
    return f"{text},  # {whose}{OWN}"
