"""A fit in a few lines: its data, its error beside that of simple baselines, its settings, and the time it took."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._support.words import numbers, percent, sizes, written
from ..choosing.doubts import doubt_of, doubt_of_few_entries, doubt_of_resemblance, doubt_of_variation
from ..choosing.recipe import Recipe
from ..choosing.stages.base import After
from ..losses import Logistic, Square, is_score
from ..methods.simple import Interpolation, Simple
from .forecasts import forecast_in_words

if TYPE_CHECKING:
    from ..fit import Fit

WORTH_SAYING = 0.01
"""A smaller correction of the error is not mentioned."""

WIDTH = 10
"""The width of the column of names."""


def facts_of(fit: Fit) -> list[tuple[str, str]]:
    """Return the most important facts, as names and texts; texts may be empty."""
    return [
        ("data", _data(fit)),
        ("method", _method(fit)),
        ("loss", _loss(fit)),
        ("error", _error(fit)),
        ("alike", _alike(fit)),
        ("gaps", gaps_in_words(fit)),
        ("compared", compared_in_words(fit)),
        ("forecast", forecast_in_words(fit)),
        ("stopped", str(fit.status)),
        ("time", "" if fit.timing is None else str(fit.timing)),
    ]


def text_of(fit: Fit) -> str:
    """Return the lines that ``print(fit)`` writes."""
    lines = [f"Fit of a {sizes(fit.shape)} tensor"]
    lines += [f"  {name:<{WIDTH}}{text}" for name, text in facts_of(fit) if text]
    lines += [f"  {'WARNING':<{WIDTH}}{doubt}" for doubt in doubts_of(fit)]
    return "\n".join(lines)


def doubts_of(fit: Fit) -> list[str]:
    """Return warnings: a simple baseline is better, or the error does not hold, or a few entries make it."""
    labels = fit.recipe.labels_within(fit.labels)
    doubts = [doubt_of(fit.baselines, fit.held_out_error, labels), doubt_of_resemblance(fit.recipe.holdout)]
    if fit.held_out is not None and fit.observations is not None and fit.corrupt is None:
        doubts.append(doubt_of_variation(fit.held_out.observed, fit.observations.values))
        doubts.append(doubt_of_few_entries(fit.held_out, fit.labels) if isinstance(fit.loss, Square) else None)
    return [doubt for doubt in doubts if doubt is not None]


def measured(fit: Fit) -> str:
    """Return what `Fit.held_out_error` measures, in words."""
    if isinstance(fit.loss, Logistic):
        kind = "probability and observed 0 or 1" if fit.loss.low == 0 else "expected and observed -1 or 1"
        return f"root mean square difference of {kind}"
    if is_score(fit.loss):
        return "root mean square difference of expected and observed value"
    return "root mean square"


def compared_in_words(fit: Fit) -> str:
    """Return the errors of simple baselines on the same held-out entries."""
    labels = fit.recipe.labels_within(fit.labels)
    simple = "; ".join(f"{each.in_words(labels)}: {written(each.error)}" for each in fit.baselines)
    raw = fit.held_out_error / (1 + _correction(fit))
    return f"{written(raw)} before it was raised; {simple}" if simple and _correction(fit) else simple


def _correction(fit: Fit) -> float:
    """Return by how much the error was raised, because held-out entries chose the settings; 0 if it is negligible."""
    more = 0.0 if fit.error_bars is None else fit.error_bars.inflation - 1
    return more if more > WORTH_SAYING else 0.0


def _data(fit: Fit) -> str:
    seen = fit.observations
    if seen is None:
        return ""
    grown = "" if fit.added is None else f"; the update added {added_in_words(fit)}"
    return f"{len(seen):,} entries observed ({percent(seen.density)}){grown}"


def added_in_words(fit: Fit) -> str:
    """Return how many indices of each mode the last update added.

    >>> from types import SimpleNamespace
    >>> from tensorfill.labels import Labels
    >>> labels = Labels(("station", "day"), (None, None))
    >>> added_in_words(SimpleNamespace(labels=labels, added=(0, 2))), added_in_words(SimpleNamespace(added=(0, 0)))
    ('2 new indices of day', 'no new indices')
    """
    counts = [(count, fit.labels.in_words(mode)) for mode, count in enumerate(fit.added or ()) if count]
    words = (f"{count:,} new {'index' if count == 1 else 'indices'} of {name}" for count, name in counts)
    return ", ".join(words) or "no new indices"


def _method(fit: Fit) -> str:
    if fit.recipe.beside:
        return blend_in_words(fit)
    alone = _alone(fit.recipe)
    parts = [method_in_words(fit), *([] if alone else _ranks(fit))]
    parts += [f"lam {numbers(fit.lam)}"] if fit.lam and not alone else []
    parts += _briefs(fit.recipe)
    parts += [f"the best of {len(fit.path)} trials"] if fit.path is not None and len(fit.path) > 1 else []
    return ", ".join(parts)


def _loss(fit: Fit) -> str:
    """Return the loss, if it was given or the data suggested it, and how many entries it left out."""
    asked = fit.recipe.asked.get("loss", "")
    left_out = 0 if fit.corrupt is None else int(fit.corrupt.sum())
    return f"{asked}, {left_out:,} entries judged corrupt" if left_out else str(asked)


def _alone(recipe: Recipe) -> list[After]:
    """Return the stages that do without the answer of the method."""
    return [stage for stage in recipe.after if isinstance(stage, After) and stage.alone]


def _briefs(recipe: Recipe) -> list[str]:
    """Return the stages around the method, a few words each."""
    alone = _alone(recipe)
    return [stage.brief for stage in recipe.stages if stage.brief and stage not in alone]


def blend_in_words(fit: Fit) -> str:
    """Return the parts of a blend with their weights; nothing if the fit is none."""
    pairs = zip(fit.recipe.weights, fit.recipe.parts, strict=True)
    parts = [", ".join([f"{weight:.2f} {_called(part, fit)}", *_briefs(part)]) for weight, part in pairs]
    return f"a blend of {'; '.join(parts)}" if fit.recipe.beside else ""


def method_in_words(fit: Fit) -> str:
    """Return the name of the method, with the mode of an interpolation, or the stage that does without a method."""
    return "blend" if fit.recipe.beside else _called(fit.recipe, fit)


def _called(recipe: Recipe, fit: Fit) -> str:
    method = recipe.method
    for stage in _alone(recipe):
        return f"{stage.title.lower()} alone"
    labels = recipe.labels_within(fit.labels)
    along = f" along {labels.in_words(method.along)}" if isinstance(method, Interpolation) else ""
    return f"{method.name}{along}"


def _ranks(fit: Fit) -> list[str]:
    if not any(fit.ranks) and isinstance(fit.method, Simple):
        return []
    return [f"rank{'s' if len(fit.ranks) > 1 else ''} {' '.join(map(str, fit.ranks)) or 'none'}"]


def _alike(fit: Fit) -> str:
    auc = fit.resemblance
    return "" if auc is None else f"held-out and missing entries: AUC {auc:.2f} (0.5: alike, 1: nothing in common)"


def gaps_in_words(fit: Fit) -> str:
    """Return which values are missing more often; nothing if that may be chance."""
    holdout = fit.recipe.holdout
    which = None if holdout is None else holdout.missing_more_often
    if which is None:
        return ""
    often = f"{which} values are missing more often (AUC {fit.missing_by_value:.2f})"
    return f"{often}; held-out entries are weighted by that"


def _error(fit: Fit) -> str:
    if fit.residuals is None or math.isnan(fit.held_out_error):
        return "not known: nothing was held out"
    holdout = fit.recipe.holdout
    which = "" if holdout is None else f" ({holdout.in_words(fit.labels)})"
    text = f"{written(fit.held_out_error)} on {len(fit.residuals):,} held-out entries{which}, {measured(fit)}"
    more = _correction(fit)
    return f"{text}, raised by {percent(more)} because they chose the settings" if more else text
