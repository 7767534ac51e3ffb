"""Warnings about answers that should not be trusted."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support.types import Floats
from .._support.words import percent, written
from ..labels import Labels
from ..losses import Huber, Square, restore
from ..losses.robust import is_robust
from ..metrics import rmse
from ..observations import Observations
from .baselines import INTERPOLATION, Baseline
from .completing import Answer
from .holdout.held_out import HeldOut
from .holdout.kinds import Holdout
from .stages.empty_slices import EmptySlices
from .task import Task

NEAR_ZERO = 0.95
"""A fit whose error is above this share of that of zero has found almost nothing."""

ENOUGH = 10_000
"""About this many observed entries suffice to estimate the error."""


LEAST_VARIATION = 0.3
"""Held-out entries whose standard deviation is below this share of that of all observed ones do not show the error of
large ones."""

ENOUGH_TO_TELL = 10
"""Fewer held-out entries may be alike by chance."""

FEW = 3
"""At most this many entries are named, if they are more than half of the squared error."""

ENOUGH_FOR_FEW = 50
"""Among fewer held-out entries than this, a few may have half of the squared error by chance."""

MANY_ZEROS = 0.05
"""From this share on, zeros may represent missing entries."""


class DoubtfulFitWarning(UserWarning):
    """An answer that should not be trusted."""


class NothingMissingWarning(UserWarning):
    """Data without any missing entry."""


def warn_of_a_fit_near_zero(answer: Answer, task: Task) -> None:
    """Warn of an answer that is hardly better than zero at held-out entries, or at observed ones if there are none."""
    if not isinstance(task.loss, Square | Huber) or not answer.result.status.is_finished or _are_slices(answer):
        return
    held_out = None if answer.error_bars is None else answer.error_bars.held_out
    if held_out is None:
        some = slice(None, None, max(1, len(task.observations) // ENOUGH))
        where, values = "observed entries", task.observations.values[some]
        error = rmse(answer.result.model.predict(task.observations.coords[some]), values)
    else:
        where, values = "held-out entries", held_out.observed
        error = rmse(held_out.predicted, values)
    warn_if_near_zero(error, rmse(np.zeros_like(values), values), where)


def warn_if_near_zero(error: float, zero: float, where: str) -> None:
    """Warn if the root mean square error of an answer is hardly below that of 0 at the same entries."""
    if error > NEAR_ZERO * zero > 0:
        warnings.warn(
            f"The answer is hardly better than 0 everywhere: its root mean square error on {where} is {error:.4g}, and "
            f"that of 0 is {zero:.4g}; the data may be noise, not of low rank, or too few entries.",
            DoubtfulFitWarning,
            stacklevel=4,
        )


def _are_slices(answer: Answer) -> bool:
    """Return whether whole slices were held out, which low rank alone predicts as 0."""
    return answer.recipe.holdout is not None and answer.recipe.holdout.is_slices


def doubt_of(baselines: Sequence[Baseline], error: float, labels: Labels) -> str | None:
    """Return a message if a simple answer is better than a fit with this held-out error."""
    better = [baseline for baseline in baselines if baseline.is_better]
    if not better:
        return None
    best = min(better, key=lambda baseline: baseline.error)
    return (
        f"This fit is worse than {best.in_words(labels)}: its root mean square error on held-out entries is "
        f"{written(error)}, and that of the simple answer is {written(best.error)}; do not trust it, and look for what "
        "is wrong with the data or the settings."
    )


def doubt_of_variation(held_out: Floats, observed: Floats) -> str | None:
    """Return a message if the held-out entries vary much less than all observed ones do.

    Then a few large entries hold most of the variation, and hardly any of them is held out.

    >>> ordinary = np.linspace(-1.0, 1.0, 101)
    >>> doubt_of_variation(ordinary[::10], ordinary) is None
    True
    >>> print(doubt_of_variation(ordinary[::10], np.append(ordinary, 1e3)))
    The error does not hold for the largest entries: ...
    """
    largest = float(np.abs(observed).max(initial=0.0)) or 1.0
    some, every = (largest * float(np.std(each / largest, dtype=np.float64)) for each in (held_out, observed))
    if len(held_out) < ENOUGH_TO_TELL or not some < LEAST_VARIATION * every:
        return None
    return (
        f"The error does not hold for the largest entries: the standard deviation of the held-out entries is "
        f"{written(some)}, and that of all observed ones is {written(every)}; take logarithms if values differ by "
        "orders of magnitude, or loss='l1' if a few are wrong."
    )


def warn_of_variation(answer: Answer, task: Task) -> None:
    """Warn of held-out entries that vary much less than all observed ones do."""
    held_out = None if answer.error_bars is None else answer.error_bars.held_out
    if held_out is None or is_robust(task.loss):
        return
    loss: Any = task.loss
    doubt = doubt_of_variation(held_out.observed, restore(loss, task.observations.values))
    if doubt is not None:
        warnings.warn(doubt, DoubtfulFitWarning, stacklevel=3)


def doubt_of_few_entries(held_out: HeldOut, labels: Labels) -> str | None:
    """Return a message if a few held-out entries, all far from their predictions, have most of the squared error.

    They are far if they are off by more than any two of the others differ: a method that shrinks the largest entries
    of heavy tails too much is not a sign of wrong data.
    """
    count, errors = len(held_out), held_out.residuals / (held_out.residuals.max(initial=0.0) or 1.0)
    if count < ENOUGH_FOR_FEW:
        return None
    largest = np.argsort(-errors)[:FEW]
    shares = np.cumsum(errors[largest] ** 2) / max(float(np.sum(errors**2)), 1.0)
    few = largest[: 1 + int(np.searchsorted(shares, 0.5))]
    others = np.delete(held_out.observed, few)
    if shares[-1] <= 0.5 or held_out.residuals[few].min() <= np.ptp(others):
        return None
    named = "; ".join(
        f"{labels.entry(held_out.coords[place])} is {written(held_out.observed[place])}, and "
        f"{written(held_out.predicted[place])} was predicted"
        for place in few
    )
    return (
        f"{len(few)} of {count:,} held-out entries {'has' if len(few) == 1 else 'have'} "
        f"{percent(shares[len(few) - 1])} of the squared error: {named}; if such entries are wrong, remove them, "
        "or use loss='l1'."
    )


def warn_of_few_entries(answer: Answer, task: Task, labels: Labels) -> None:
    """Warn of a few entries that have most of the squared error."""
    held_out = None if answer.error_bars is None else answer.error_bars.held_out
    if held_out is None or not isinstance(task.loss, Square):
        return
    doubt = doubt_of_few_entries(held_out, labels)
    if doubt is not None:
        warnings.warn(doubt, DoubtfulFitWarning, stacklevel=3)


def warn_of_corrupt_entries(answer: Answer) -> None:
    """Warn of entries that were judged corrupt, though the caller did not say that there may be any."""
    if answer.corrupt is not None:
        count, of = int(answer.corrupt.sum()), len(answer.corrupt)
        warnings.warn(
            f"{count:,} of {of:,} entries are out of all proportion to the others, and were left out as with "
            "loss='l1'; see Fit.outliers, and give loss='square' to fit them too.",
            DoubtfulFitWarning,
            stacklevel=3,
        )


def warn_of_a_simple_answer(answer: Answer, labels: Labels) -> None:
    """Warn of an answer that is worse than the mean or the effects of each index, at the same held-out entries."""
    if answer.error_bars is None or _are_slices(answer):
        return
    simple = [baseline for baseline in answer.baselines if baseline.kind != INTERPOLATION]
    doubt = doubt_of(simple, answer.error_bars.rmse, labels)
    if doubt is not None:
        warnings.warn(doubt, DoubtfulFitWarning, stacklevel=3)


def doubt_of_resemblance(holdout: Holdout | None) -> str | None:
    """Return a message if the held-out entries are not like the missing ones.

    >>> doubt_of_resemblance(Holdout((1, 1), (30, 20), auc=0.6)) is None
    True
    >>> print(doubt_of_resemblance(Holdout((1, 1), (30, 20), auc=0.9)))
    Nothing like the missing entries could be held out: ...
    """
    if holdout is None or holdout.auc is None or not holdout.is_unlike:
        return None
    return (
        f"Nothing like the missing entries could be held out: {percent(holdout.auc)} of pairs of a held-out and a "
        "missing entry can be told apart by how far fitted entries are and how many there are (50% if they are alike); "
        "the error at missing entries may be larger, and intervals are based on the held-out entries most like them."
    )


def warn_of_resemblance(answer: Answer) -> None:
    """Warn of held-out entries that are not like the missing ones."""
    doubt = None if answer.error_bars is None else doubt_of_resemblance(answer.recipe.holdout)
    if doubt is not None:
        warnings.warn(doubt, DoubtfulFitWarning, stacklevel=3)


def warn_of_nothing_missing(seen: Observations, loss: object) -> None:
    """Warn before the fit that no entry is missing, unless a robust loss looks for corrupt ones."""
    if len(seen) < math.prod(seen.shape) or is_robust(loss):
        return
    zeros = float(np.mean(seen.values == 0))
    asked = (
        f" {percent(zeros)} of them are 0: if zeros stand for missing entries, say missing='zero'."
        if zeros >= MANY_ZEROS
        else " If some value stands for missing entries, set it to NaN; to smooth the data, ask for fit.to_dense()."
    )
    warnings.warn(
        f"Nothing is missing: all {len(seen):,} entries are observed, so filled() returns the data as it is.{asked}",
        NothingMissingWarning,
        stacklevel=3,
    )


def warn_of_empty_slices(answer: Answer, task: Task, labels: Labels) -> None:
    """Warn of slices without any observed entry, and say how they were filled."""
    stage = answer.recipe.stage(EmptySlices)
    for fill in () if stage is None else stage.fills:
        size, called = task.observations.shape[fill.mode], repr(labels.called(fill.mode))
        off = f", with an error of {fill.error:.4g} at slices that were held out" if np.isfinite(fill.error) else ""
        warnings.warn(
            f"{fill.count:,} of the {size:,} slices of mode {called} have no observed entry; "
            f"they are filled from {fill}{off}; a graph may do better: laplacian={{{called}: graph}}.",
            DoubtfulFitWarning,
            stacklevel=3,
        )
