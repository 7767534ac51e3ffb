"""The facts about a fit in a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._support.timing import Timing
from .._support.words import bytes_in_words, duration, percent, sizes, written
from ..choosing.stages.empty_slices import EmptySlices
from ..labels import Labels
from ..losses import is_score
from ..losses.robust import is_robust
from ..methods.base import Method
from ..plots.drawing import label_of
from ..plots.errors import fitted_sample, half_width
from ..plots.naming import method_name, rank_modes
from ..plots.views import is_yes_or_no
from ..results.forecasts import beginning_in_words, errors_in_words, weights_in_words
from ..results.words import blend_in_words, doubts_of, gaps_in_words, measured
from .words import loss_in_words, model_in_words, penalty_in_words, settings_in_words

if TYPE_CHECKING:
    from ..fit import Fit
    from ..observations import Observations

Facts = list[tuple[str, str]]
"""Pairs of a name and a text."""

MANY = 100_000
"""The largest sample from which the error on fitted entries is computed."""

SHARES = (0.5, 0.8, 0.9, 0.95)
"""The coverages whose widths are listed."""

STOP_RULES = ("max_iter", "tol")
IN_THE_TABLE = ("lam", "theta", "penalty", "modes")
"""Settings that are shown in the table of modes, for a method that regularises modes."""


MEANINGS = {
    "cut": "Singular values below the cut become 0: the larger it is, the simpler the answer.",
    "q": "theta divided by the cut: 1 shrinks all singular values much, near 0 it keeps those above the cut.",
    "rank": "How many patterns of each mode, or terms, the answer is made of.",
    "ridge": "The weight of the squares of the factors: the larger it is, the nearer the answer is to 0.",
    "lam": "The weight of the regularisation: the larger it is, the simpler the answer.",
}
"""An explanation of each setting that a search tries."""


@dataclass(frozen=True)
class ModeFacts:
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
    """A number at the top of the page, with its name."""

    name: str
    value: str
    note: str
    alarming: bool = False


def spread_of(fit: Fit) -> float:
    """Return the standard deviation of the observed values; NaN for a fit without its data."""
    if fit.observations is None:
        return math.nan
    return float(fit.observations.values.std(dtype=np.float64))


def what_went_in(fit: Fit) -> Facts:
    """Return facts about the data."""
    facts = [("Shape", sizes(fit.shape, times="×")), ("Entries", f"{math.prod(fit.shape):,}")]
    seen = fit.observations
    if seen is not None:
        values = seen.values
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
    if fit.recipe.holdout is not None:
        facts.append(("Held out", fit.recipe.holdout.in_words(fit.labels)))
    gaps = gaps_in_words(fit)
    if gaps:
        facts.append(("Gaps", gaps))
    if fit.labels.value != "value":
        facts.append(("Values", fit.labels.value))
    return facts


def what_was_chosen(fit: Fit) -> Facts:
    """Return facts about the method, its settings, and the stages around it."""
    facts = [("Method", method_name(fit.method)), *_what_was_tried(fit), ("Loss", loss_in_words(fit.loss))]
    penalties = dict.fromkeys(penalty_in_words(penalty) for penalty in fit.penalties)
    if penalties:
        facts.append(("Penalty", "; ".join(penalties)))
    settings = settings_in_words(fit.method, but=STOP_RULES + (IN_THE_TABLE if fit.modes else ()))
    if settings:
        facts.append(("Other settings" if fit.modes else "Settings", settings))
    facts += _stages(fit)
    facts += _when_it_stops(fit)
    facts.append(("Model", f"{model_in_words(fit.model)}, {bytes_in_words(fit.nbytes)}"))
    facts.append(("Seed", str(fit.seed)))
    return facts


def _what_was_tried(fit: Fit) -> Facts:
    """Return how the settings were found."""
    if not fit.path:
        return [("Search", "none: all settings were given")]
    methods = dict.fromkeys(method_name(point.method) for point in fit.path)
    several = [("Methods tried", ", ".join(methods))] if len(methods) > 1 else []
    trials = "one trial" if len(fit.path) == 1 else f"the best of {len(fit.path)} trials"
    return [*several, ("Search", f"{trials} on held-out entries")]


def _stages(fit: Fit) -> Facts:
    """Return facts about the stages around the method."""
    recipe, facts = fit.recipe, []
    if is_robust(recipe.asked.get("loss", "square")):
        facts.append(("Corrupt entries", "expected: entries far from the model count little, or not at all"))
    facts += [(stage.title, stage.in_words(fit.labels)) for stage in recipe.stages if stage.chosen]
    if recipe.beside:
        facts.append(("Blend", f"{blend_in_words(fit)}; all that is said of a method here is about the first"))
    if fit.bounds is not None:
        facts.append(("Bounds", _clipped(*fit.bounds)))
    return facts


def _when_it_stops(fit: Fit) -> Facts:
    # Of a user-defined method, a file holds only the name.
    if not isinstance(fit.method, Method):
        return []
    limit = fit.recipe.asked.get("time_limit")
    timed = "" if limit is None else f", or {duration(limit)}"
    return [("Stops at", f"tolerance {fit.method.tol:g}, {fit.method.max_iter:,} iterations{timed}")]


def how_good(fit: Fit) -> Facts:
    """Return facts about errors, in the units of the data and relative to its spread."""
    facts: Facts = []
    spread = spread_of(fit)
    if fit.residuals is not None:
        facts.append(("Held-out error", f"{written(fit.held_out_error)} ({measured(fit)})"))
        if spread > 0:
            facts.append(
                (
                    "Relative to the spread",
                    f"{percent(fit.held_out_error / spread)} of the standard deviation {written(spread)} of the data",
                )
            )
        facts.append(("Typical held-out error", f"{written(float(np.median(fit.residuals)))} (median)"))
        facts.append(("Held-out entries", f"{len(fit.residuals):,}"))
    if fit.path is not None and is_score(fit.loss):
        facts.append(("Held-out loss", f"{written(fit.path.best.held_out)} (root of twice the mean loss), the lowest"))
    return facts + _fitted_error(fit, spread)


def forecast(fit: Fit) -> Facts:
    """Return facts about the forecast: where it begins, its errors at earlier ends, and its parts."""
    found = fit.ahead
    if found is None:
        return []
    facts = [("Forecast", beginning_in_words(fit, found))]
    if not found.errors:
        return [*facts, ("Its errors", "not known: there are too few times for an earlier end")]
    facts.append(("Mean absolute error at earlier ends", errors_in_words(found)))
    facts.append(("Weights in the blend", weights_in_words(found)))
    return facts


def baselines(fit: Fit) -> list[tuple[str, str, str]]:
    """Return the held-out error of the fit and of simple baselines: the name, the error, and how they compare."""
    if not fit.baselines:
        return []
    own = fit.held_out_error
    rows, labels = [("this fit", written(own), "")], fit.recipe.labels_within(fit.labels)
    for each in fit.baselines:
        ratio = f"{percent(own / each.error)} of its error" if each.error > 0 else ""
        said = "better than this fit" if each.is_better else f"the fit has {ratio}" if ratio else ""
        rows.append((each.in_words(labels), written(each.error), said))
    return rows


def time_spent(fit: Fit) -> Facts:
    """Return the time of each stage of the run."""
    if fit.timing is None:
        return []
    stages = [(stage.name.capitalize(), duration(stage.seconds)) for stage in fit.timing.stages]
    return [*stages, ("In all", duration(fit.timing.total))]


def meanings(fit: Fit) -> Facts:
    """Return an explanation of each technical term on the page."""
    tried = {name for point in fit.path or () for name in point.tried}
    words = [(name, text) for name, text in MEANINGS.items() if name in tried]
    if "cut" in tried and len(fit.modes) > 1:
        words.append(("shares, or weights", "How much of the regularisation each mode gets; they add up to 1."))
    if np.isfinite(fit.history["f_tau"]).any():
        words.append(
            ("F_tau", "The objective as the method sees it, a close upper estimate that falls at every iteration.")
        )
    return words


def widths(fit: Fit) -> list[tuple[str, str]]:
    """Return coverages with half the width of their intervals, if there are intervals."""
    found = [(f"{share:.0%}", half_width(fit, share)) for share in SHARES]
    return [(share, f"± {written(half)}") for share, half in found if math.isfinite(half)]


def tiles(fit: Fit) -> list[Tile]:
    """Return the numbers at the top of the page."""
    made = []
    if fit.observations is not None:
        made.append(Tile("Observed", percent(fit.observations.density), f"{len(fit.observations):,} entries"))
    if fit.residuals is not None:
        doubts = doubts_of(fit)
        made.append(Tile("Held-out error", written(fit.held_out_error), _beside(fit), alarming=bool(doubts)))
        half = half_width(fit)
        if math.isfinite(half):
            made.append(Tile("90% of entries within", f"± {written(half, 3)}", "of their prediction"))
    ranks = " · ".join(map(str, fit.ranks)) if fit.ranks else "none"
    labels = fit.recipe.labels_within(fit.labels)
    whose = ", ".join(labels.in_words(mode) for mode in rank_modes(fit)) or "of the model"
    made.append(Tile("Rank" if len(fit.ranks) == 1 else "Ranks", ranks, whose))
    if len(fit.history):
        last = fit.history[-1]
        unit = "iteration" if last.iteration == 1 else "iterations"
        made.append(Tile("Final run", f"{last.iteration:,} {unit}", duration(last.seconds)))
    if fit.timing is not None:
        made.append(Tile("Time in all", duration(fit.timing.total), _longest(fit.timing)))
    return made


def _beside(fit: Fit) -> str:
    """Return the held-out error relative to the best simple baseline, or else to the spread of the data."""
    if fit.baselines:
        best = min(fit.baselines, key=lambda baseline: baseline.error)
        return f"best simple answer: {written(best.error)}, {best.in_words(fit.recipe.labels_within(fit.labels))}"
    spread = spread_of(fit)
    return f"{percent(fit.held_out_error / spread)} of the spread" if spread > 0 else "root mean square"


def _longest(timing: Timing) -> str:
    """Return the stage that took the most time."""
    longest = max(timing.stages, key=lambda stage: stage.seconds)
    return f"{percent(longest.seconds / timing.total)} {longest.name}" if timing.total > 0 else ""


def modes(fit: Fit) -> list[ModeFacts]:
    """Return the table of modes."""
    lam = dict(zip(fit.modes, fit.lam, strict=False))
    theta = dict(zip(fit.modes, fit.theta, strict=False))
    ranks = dict(zip(rank_modes(fit), fit.ranks, strict=False))
    rows = []
    for mode, size in enumerate(fit.shape):
        own = fit.recipe.modes_within(mode, len(fit.shape))
        observed, empty = ("", "") if fit.observations is None else _shares(fit.observations, mode)
        rows.append(
            ModeFacts(
                name=fit.labels.in_words(mode),
                size=f"{size:,}",
                labels=_first_and_last(fit.labels, mode, size),
                observed=observed,
                empty=empty,
                lam=", ".join(written(lam[each]) for each in own if each in lam) or ("not regularised" if lam else ""),
                theta=", ".join(_theta(theta[each]) for each in own if each in theta),
                rank=", ".join(str(ranks[each]) for each in own if each in ranks),
            )
        )
    return rows


def empty_slices(fit: Fit) -> list[str]:
    """Return sentences about slices without any observed entry."""
    found = []
    stage = fit.recipe.stage(EmptySlices)
    for fill in () if stage is None else stage.fills:
        size, called = fit.shape[fill.mode], fit.labels.in_words(fill.mode)
        off = f", with an error of {written(fill.error)} at held-out slices" if math.isfinite(fill.error) else ""
        found.append(
            f"{fill.count:,} of the {size:,} slices of {called} have no observed entry. They are filled from "
            f"{fill}{off}; a graph may do better."
        )
    return found


def _fitted_error(fit: Fit, spread: float) -> Facts:
    if fit.observations is None:
        return []
    entries = fitted_sample(fit, MANY)
    seen, predicted = entries.observed, entries.predicted
    sample = f", of a sample of {len(seen):,}" if len(seen) < len(fit.observations) else ""
    if is_yes_or_no(fit):
        middle = (1 + float(getattr(fit.loss, "low", 0.0))) / 2
        right = float(((predicted > middle) == (seen > middle)).mean())
        return [("Fitted entries", f"{percent(right)} are on the right side of {written(middle)}{sample}")]
    error = float(np.sqrt(np.mean((seen - predicted) ** 2)))
    relative = f", {percent(error / spread)} of the spread" if spread > 0 else ""
    return [("Error on fitted entries", f"{written(error)}{relative}{sample}; new entries have larger errors")]


def _shares(seen: Observations, mode: int) -> tuple[str, str]:
    """Return the smallest and the largest observed share of a slice, and the number of empty slices."""
    # A mode may be far longer than the list of its slices with entries.
    present, counts = np.unique(seen.coords[:, mode], return_counts=True)
    empty = seen.shape[mode] - len(present)
    each = math.prod(seen.shape) / seen.shape[mode]
    low, high = percent(0.0 if empty else float(counts.min()) / each), percent(float(counts.max()) / each)
    return low if low == high else f"{low} to {high}", f"{empty:,}"


def _first_and_last(labels: Labels, mode: int, size: int) -> str:
    if labels.keys[mode] is None:
        return f"0 to {size - 1:,}"
    first, last = (_cut(label_of(labels, mode, index)) for index in (0, size - 1))
    return first if size == 1 else f"{first} to {last}"


def _clipped(low: float, high: float) -> str:
    """Return the bounds of predictions as text; one of the two may be infinite."""
    if math.isfinite(low) and math.isfinite(high):
        return f"predictions are clipped to {written(low)} and {written(high)}"
    return (
        f"predictions are at least {written(low)}" if math.isfinite(low) else f"predictions are at most {written(high)}"
    )


def _cut(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _theta(theta: float | None) -> str:
    return "none" if theta is None else written(theta)


def _called(fit: Fit, mode: int | str) -> str:
    """Return the name of a mode that the caller gave by name or number."""
    return fit.labels.in_words(fit.labels.mode(mode))
