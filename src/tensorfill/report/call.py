"""The call of Python that repeats a fit."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..losses import LOSSES
from ..methods.nort.method import STEP_MARGIN, default_modes
from ..penalties import PENALTIES

if TYPE_CHECKING:
    from ..fit import Fit

ALWAYS = ("lam", "theta", "penalty")
"""Said where they are given, whether or not they are what `complete` takes by itself."""

HOMES = {kind.__name__: "losses" for kind in LOSSES.values()} | {
    kind.__name__: "penalties" for kind in PENALTIES.values()
}
"""Where the losses and penalties come from that a setting may be written with, by class."""


def call_to_repeat(fit: Fit) -> str:
    """Return the call that made a fit, as far as the fit knows it.

    Where lambda was chosen the call chooses it again. The seed is not part of a fit.
    """
    chosen = fit.path is not None
    return _call(fit, _common(fit) | ({} if chosen else _exact(fit)), seed=True)


def call_without_search(fit: Fit) -> str | None:
    """Return the call that takes over what was chosen; None where it was not, or where a call cannot say it."""
    settings = fit.settings
    beyond = settings.get("centre") or settings.get("smooth") or settings.get("refine")
    if fit.path is None or beyond or settings.get("method") != "nort" or not settings.get("lam"):
        return None
    return _call(fit, _common(fit) | _exact(fit), seed=False)


def _common(fit: Fit) -> dict[str, Any]:
    """Return the settings that a call says in any case where they are not the usual ones."""
    settings = fit.settings
    said = {name: settings.get(name) for name in ("method", "loss", "penalty") if name in settings}
    said |= {name: settings[name] for name in ("momentum", "max_iter", "tol", "time_limit") if name in settings}
    if fit.path is not None and len(fit.path):
        said["modes"] = _unusual_modes(fit, fit.path[0].modes)
        said["refine"] = settings.get("refine")
    said["bounds"] = fit.bounds
    if fit.model.dtype == np.float32:
        said["dtype"] = "float32"
    return said


def _exact(fit: Fit) -> dict[str, Any]:
    """Return the regularisation itself."""
    settings = fit.settings
    if settings.get("method") != "nort":
        return {}
    modes = tuple(settings["modes"])
    most = [min(fit.shape[mode], math.prod(fit.shape) // fit.shape[mode]) for mode in modes]
    limits = settings["max_rank"]
    theta = settings["theta"]
    return {
        "lam": _one_or_each(settings["lam"]),
        "theta": None if any(value is None for value in theta) else _one_or_each(theta),
        "modes": _unusual_modes(fit, modes),
        "max_rank": None if list(limits) == most else _one_or_each(limits),
        "tau": None if _is_usual_tau(settings) else settings["tau"],
    }


def _call(fit: Fit, said: Mapping[str, Any], *, seed: bool) -> str:
    from ..completion import complete

    usual = {name: given.default for name, given in inspect.signature(complete).parameters.items()}
    lines, imports = [], set()
    for name, value in said.items():
        if value is None or (name not in ALWAYS and value == usual[name]):
            continue
        made = re.match(r"(\w+)\(", value) if isinstance(value, str) else None
        if made is None:
            lines.append(f"    {name}={_literal(value)},")
            continue
        home = HOMES.get(made[1])
        if home is not None:
            imports.add(f"from tensorfill.{home} import {made[1]}")
        lines.append(f"    {name}={_one_line(value)},{'' if home else '  # an object of your own'}")
    if seed:
        lines.append("    rng=0,  # the seed that was used, which a fit does not keep")
    head = ["import tensorfill", *sorted(imports), ""]
    return "\n".join([*head, "fit = tensorfill.complete(", "    data,", *lines, ")"])


def _unusual_modes(fit: Fit, modes: tuple[int, ...]) -> list[str | int] | None:
    return None if tuple(modes) == default_modes(fit.shape) else [fit.labels.called(mode) for mode in modes]


def _is_usual_tau(settings: Mapping[str, Any]) -> bool:
    kind = LOSSES.get(str(settings["loss"]))
    return kind is not None and math.isclose(settings["tau"], STEP_MARGIN * kind().curvature, rel_tol=1e-9)


def _one_or_each(values: Any) -> Any:
    each = [value.item() if isinstance(value, np.generic) else value for value in values]
    return each[0] if len(set(each)) == 1 else each


def _literal(value: Any) -> str:
    if isinstance(value, list | tuple):
        inside = ", ".join(_literal(each) for each in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    text = repr(value)
    # In double quotes, as the rest of the call, where nothing within stands in the way.
    return f'"{text[1:-1]}"' if isinstance(value, str) and text[0] == "'" and '"' not in value else text


def _one_line(text: str) -> str:
    return " ".join(text.split())
