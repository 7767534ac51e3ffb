"""What a report says of a fit, in words and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..labels import Labels
from ..plots.drawing import label_of
from ..plots.errors import fitted_sample, half_width
from ..plots.views import predicts_probabilities, predicts_scores, seen_values
from .numbers import bytes_in_words, duration, percent, sizes, written

if TYPE_CHECKING:
    from ..fit import Fit
    from ..observations import Observations

Facts = list[tuple[str, str]]
"""Names and what is to be said of each."""

MANY = 100_000
"""The error on fitted entries is that of a sample of so many."""

SHARES = (0.5, 0.8, 0.9, 0.95)
"""The intervals whose widths are told."""

LOSSES_IN_WORDS = {
    "square": "square: half the squared difference",
    "huber": "Huber: squared for small differences, absolute for large ones",
    "logistic": "logistic, for values of two kinds; predictions are scores",
    "poisson": "Poisson, for counts; predictions are logarithms of expected counts",
    "l1": "absolute difference, for data with corrupt entries",
}
PENALTIES_IN_WORDS = {
    "lsp": "log-sum: the logarithm of 1 + s / theta for each singular value s",
    "nuclear": "nuclear norm: the sum of the singular values",
    "capped_l1": "capped l1: singular values up to theta, and theta beyond",
    "tnn": "truncated nuclear norm: the first theta singular values are free",
    "scad": "SCAD: large singular values cost no more than theta allows",
    "mcp": "MCP: large singular values cost no more than theta allows",
}


@dataclass(frozen=True)
class Mode:
    """A row of the table of modes."""

    name: str
    size: str
    labels: str
    observed: str
    empty: str
    lam: str
    theta: str
    rank: str


@dataclass(frozen=True)
class Tile:
    """A number at the head of the page, and what it is."""

    name: str
    value: str
    note: str


def mode_called(labels: Labels, mode: int) -> str:
    """Return what a sentence calls a mode."""
    called = labels.called(mode)
    return called if isinstance(called, str) else f"mode {called}"


def spread_of(fit: Fit) -> float:
    """Return the standard deviation of the observed values; NaN where they are not at hand."""
    if fit.observations is None:
        return math.nan
    return float(seen_values(fit, fit.observations.values).std(dtype=np.float64))


def what_went_in(fit: Fit) -> Facts:
    """Return facts about the data."""
    facts = [("Shape", sizes(fit.shape)), ("Entries", f"{math.prod(fit.shape):,}")]
    seen = fit.observations
    if seen is not None:
        values = seen_values(fit, seen.values)
        zeros = int((values == 0).sum())
        facts += [
            ("Observed", f"{len(seen):,} ({percent(seen.density)}), held {'densely' if seen.is_dense else 'sparsely'}"),
            ("Range", f"from {written(float(values.min()))} to {written(float(values.max()))}"),
            (
                "Mean and spread",
                f"{written(float(values.mean(dtype=np.float64)))}, standard deviation {written(spread_of(fit))}",
            ),
            ("Zeros", f"{zeros:,} of the observed values are 0" if zeros else "none of the observed values is 0"),
        ]
    if fit.settings.get("holdout"):
        together = fit.labels.named(str(fit.settings["holdout"]))
        facts.append(("Held out, as it goes missing", together))
    if fit.labels.value != "value":
        facts.append(("Values", fit.labels.value))
    return facts


def what_was_chosen(fit: Fit) -> Facts:
    """Return facts about the settings, in words."""
    settings, labels = fit.settings, fit.labels
    loss, penalty = str(settings.get("loss")), str(settings.get("penalty"))
    facts = [("Method", "NORT" if settings.get("method") == "nort" else str(settings.get("method")))]
    facts.append(("Loss", LOSSES_IN_WORDS.get(loss, loss)))
    if "penalty" in settings:
        facts.append(("Penalty", PENALTIES_IN_WORDS.get(penalty, penalty)))
    tried = "given" if fit.path is None else f"chosen on held-out entries among {len(fit.path)} that were tried"
    facts.append(("Regularisation", tried))
    if settings.get("centre"):
        facts.append(("Centred", "the mean and the effect of each index were taken away first and added again"))
    if settings.get("smooth") is not None:
        along = " and ".join(mode_called(labels, mode) for mode in settings["smooth"])
        facts.append(("Smooth field", f"along {along}, through what low rank leaves, as held-out entries gained by it"))
    if settings.get("refine"):
        facts.append(("Polished", "by least squares on the ranks that were found"))
    if fit.bounds is not None:
        facts.append(("Bounds", f"predictions are clipped to {written(fit.bounds[0])} and {written(fit.bounds[1])}"))
    if settings.get("momentum") is not None:
        momentum = settings["momentum"]
        words = {True: "yes, with restarts", False: "no"}.get(momentum, str(momentum))
        facts.append(("Momentum", words))
    limit = settings.get("time_limit")
    timed = "" if limit is None else f", or {duration(limit)}"
    facts.append(("Stops at", f"tolerance {settings.get('tol'):g}, {settings.get('max_iter'):,} iterations{timed}"))
    facts.append(("Model", f"{_kind(fit)}, {bytes_in_words(fit.nbytes)}"))
    return facts


def how_good(fit: Fit) -> Facts:
    """Return facts about errors, in the units of the data and relative to its spread."""
    facts: Facts = []
    spread = spread_of(fit)
    if fit.residuals is not None and not predicts_scores(fit):
        facts.append(("Held-out error", f"{written(fit.held_out_error)} (root mean square)"))
        if spread > 0:
            facts.append(
                (
                    "Relative to the spread",
                    f"{percent(fit.held_out_error / spread)} of the standard deviation {written(spread)} of the data",
                )
            )
        facts.append(("Typical held-out error", f"{written(float(np.median(fit.residuals)))} (median)"))
        facts.append(("Held-out entries", f"{len(fit.residuals):,}"))
    if fit.path is not None and predicts_scores(fit):
        facts.append(("Held-out loss", f"{written(fit.path.best.held_out)} (root of twice the mean loss), the least"))
    return facts + _fitted_error(fit, spread)


def widths(fit: Fit) -> list[tuple[str, str]]:
    """Return shares of entries and half the width of the interval that holds them, where there are intervals."""
    found = [(f"{share:.0%}", half_width(fit, share)) for share in SHARES]
    return [(share, f"± {written(half)}") for share, half in found if math.isfinite(half)]


def tiles(fit: Fit) -> list[Tile]:
    """Return the numbers at the head of the page."""
    made = []
    if fit.observations is not None:
        made.append(Tile("Observed", percent(fit.observations.density), f"{len(fit.observations):,} entries"))
    if fit.residuals is not None and not predicts_scores(fit):
        spread = spread_of(fit)
        note = f"{percent(fit.held_out_error / spread)} of the spread" if spread > 0 else "root mean square"
        made.append(Tile("Held-out error", written(fit.held_out_error), note))
        half = half_width(fit)
        if math.isfinite(half):
            made.append(Tile("90% of entries within", f"± {written(half, 3)}", "of their prediction"))
    ranks = " · ".join(map(str, fit.ranks)) if fit.ranks else "none"
    regularised = [mode_called(fit.labels, mode) for mode in fit.settings.get("modes", ())]
    made.append(Tile("Ranks", ranks, ", ".join(regularised) if len(regularised) == len(fit.ranks) else "of the model"))
    if len(fit.history):
        last = fit.history[-1]
        made.append(Tile("Last run", f"{last.iteration:,} iterations", duration(last.seconds)))
    return made


def modes(fit: Fit) -> list[Mode]:
    """Return the table of modes."""
    settings = fit.settings
    regularised = list(settings.get("modes", ()))
    rows = []
    for mode, size in enumerate(fit.shape):
        place = regularised.index(mode) if mode in regularised else None
        own = len(fit.ranks) == len(regularised)
        observed, empty = ("", "") if fit.observations is None else _shares(fit.observations, mode)
        rows.append(
            Mode(
                name=mode_called(fit.labels, mode),
                size=f"{size:,}",
                labels=_first_and_last(fit.labels, mode, size),
                observed=observed,
                empty=empty,
                lam="not regularised" if place is None else written(settings["lam"][place]),
                theta="" if place is None else _theta(settings["theta"][place]),
                rank="" if place is None or not own else str(fit.ranks[place]),
            )
        )
    return rows


def empty_slices(fit: Fit) -> list[str]:
    """Return sentences about slices of which nothing was observed."""
    seen = fit.observations
    if seen is None:
        return []
    found = []
    for mode, size in enumerate(seen.shape):
        empty = size - len(np.unique(seen.coords[:, mode]))
        if empty:
            found.append(
                f"{empty:,} of the {size:,} slices of {mode_called(fit.labels, mode)} have no observed entry: low rank "
                "alone cannot fill them, and predicts 0 there unless a graph, a smooth field or centring tells more."
            )
    return found


def _fitted_error(fit: Fit, spread: float) -> Facts:
    if fit.observations is None:
        return []
    seen, predicted = fitted_sample(fit, MANY)
    sample = f", of a sample of {len(seen):,}" if len(seen) < len(fit.observations) else ""
    if predicts_probabilities(fit):
        right = float(((predicted > 0.5) == (seen > 0.5)).mean())
        return [("Fitted entries", f"{percent(right)} are on the right side of one half{sample}")]
    error = float(np.sqrt(np.mean((seen - predicted) ** 2)))
    relative = f", {percent(error / spread)} of the spread" if spread > 0 else ""
    return [("Error on fitted entries", f"{written(error)}{relative}{sample}; new entries are farther off")]


def _shares(seen: Observations, mode: int) -> tuple[str, str]:
    """Return the least and the largest share observed of a slice, and how many slices are empty."""
    counts = np.bincount(seen.coords[:, mode], minlength=seen.shape[mode])
    each = math.prod(seen.shape) / seen.shape[mode]
    low, high = percent(float(counts.min()) / each), percent(float(counts.max()) / each)
    return low if low == high else f"{low} to {high}", f"{int((counts == 0).sum()):,}"


def _first_and_last(labels: Labels, mode: int, size: int) -> str:
    if labels.keys[mode] is None:
        return f"0 to {size - 1:,}"
    first, last = (_cut(label_of(labels, mode, index)) for index in (0, size - 1))
    return first if size == 1 else f"{first} to {last}"


def _cut(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _theta(theta: float | None) -> str:
    return "none" if theta is None else written(theta)


def _kind(fit: Fit) -> str:
    return {
        "folded": "a sum of folded matrices of low rank",
        "tucker": "a Tucker model",
        "centred": "a mean, the effect of each index, and a model of low rank",
        "dense": "every entry by itself, as a smooth field is part of it",
    }.get(fit.model.kind, fit.model.kind)
