"""The methods that a run tries: those given by name, or the meaning of ``"auto"`` or ``"all"`` for the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from .._support.checks import listed
from ..labels import Labels
from ..losses import Square, is_score
from ..losses.robust import is_robust, make_robust
from ..methods.base import Method, Unsuited
from ..methods.problem import Problem
from ..methods.registry import AUTOMATIC, AUTOMATIC_FOR_SCORES, FURTHER, METHODS, make_method, setting_names
from ..methods.rescal import Rescal
from ..methods.seasonal_ar import SeasonalAR
from ..methods.seasonal_ar.process import FIXED, WANDERING
from .holdout.splits import Choice
from .task import Job, Task

MOST_ENTRIES = 100_000
"""With more observed entries than this, further methods take long, and there is less to gain by a blend."""

LEAST_OBSERVED = 0.2
"""Methods that hold the whole tensor are tried too if it has at most the entries above divided by this share."""

LARGEST, MOST_PRODUCTS, LEAST_IN_TIME = 2**24, 2 * 10**9, 0.02
"""Series in time are tried together if they have at most so large a tensor, of which at least this share is observed,
and if a step, with products for all pairs of series at each time, takes a second or less."""

MOST_NAMED = 6
"""The largest number of alternatives in the error message for a method."""


def candidates(
    method: Any, settings: Mapping[str, Any], job: Job, automatic_choice: Sequence[str] | None = None
) -> list[Method]:
    """Return the methods to try, each checked against the data and the stages around it.

    `automatic_choice` is the meaning of ``"auto"``, by default what suits the loss; ``"all"`` means every method of the
    registry. Of both, those that support the data are tried.
    """
    task = job.task
    misplaced = [each.name for each in fields(Choice) if each.name in settings]
    if misplaced:
        raise ValueError(f"{listed(misplaced)} is part of choose; give it as choose=Choice({misplaced[0]}=...).")
    automatic = isinstance(method, str) and method in ("auto", "all")
    several = method if isinstance(method, list | tuple) else [method]
    if automatic:
        named = (automatic_choice or _suited(task, settings)) if method == "auto" else tuple(METHODS)
        several, settings = _automatic(named, settings, task.same)
    if not several:
        raise ValueError("method must name at least one method, but the list is empty.")
    if len(several) > 1 and settings and not automatic:
        raise ValueError(
            f"{listed(settings)} must be left out if several methods are tried; "
            "give method objects with their settings instead."
        )
    if method == "auto" and automatic_choice is None and not settings:
        several = [*several, *_in_time(task)]
    found: list[Method] = []
    for each in several:
        made = _with_mode_numbers(make_method(each, settings), task.labels_within(job.labelled.labels))
        told = _told_time(made, task)
        try:
            for one in told:
                _check(one, task)
        except ValueError as refusal:
            # "auto" tries the methods that support the data; for a method given by name, the error is raised.
            if not automatic or (len(found) == 0 and each == several[-1]):
                raise _naming_others(refusal, task) from None
            continue
        if automatic and each != several[-1] and len(task.observations) < made.fewest_entries:
            continue
        found += told
    return found


def _suited(task: Task, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the methods that ``"auto"`` tries, by the loss, the size of the data, and whether anything is given."""
    seen = task.observations
    if is_score(task.loss):
        return AUTOMATIC_FOR_SCORES[-2 if len(seen) > MOST_ENTRIES else 0 :]
    if settings or task.stages_asked() or len(seen) > MOST_ENTRIES:
        return AUTOMATIC
    small = math.prod(seen.shape) <= MOST_ENTRIES / LEAST_OBSERVED
    return (*AUTOMATIC, *(name for name in FURTHER if small or not METHODS[name].whole_tensors))


def _in_time(task: Task) -> list[Method]:
    """Return a joint autoregression, if there is a mode of time and it takes no longer than other methods."""
    if task.axis is None or task.stages_asked() or not isinstance(task.loss, Square):
        return []
    shape = task.observations.shape
    size, times = math.prod(shape), math.prod(shape[mode] for mode in task.axis.modes)
    if size > LARGEST or size // times * size > MOST_PRODUCTS or len(task.observations) < LEAST_IN_TIME * size:
        return []
    return [SeasonalAR()]


def _told_time(method: Method, task: Task) -> list[Method]:
    """Return a method for series with the mode of time, and in several forms where it leaves these open.

    They are contenders of their own, as a blend of two is often better than both: without periods and with those of the
    mode, with fixed levels and with wandering ones.
    """
    if not isinstance(method, SeasonalAR) or method.along is not None or task.axis is None or task.merging:
        return [method]
    told, own = replace(method, along=task.axis.modes), task.axis.exact_periods
    periods = list(dict.fromkeys([(), own])) if told.periods == "auto" else [told.periods]
    if told.level != "auto":
        return [replace(told, periods=each) for each in periods]
    fixed = [replace(told, periods=each, level=FIXED) for each in periods]
    return [*fixed, replace(fixed[-1], level=WANDERING)]


def _check(method: Method, task: Task) -> None:
    """Raise an error if a method does not support the data or the stages around it."""
    task.check(method)
    # For a method without a robust loss, corrupt entries are left out and the rest is fitted with the square loss.
    loss: Any = task.loss
    if is_robust(loss):
        loss = make_robust(loss) if method.takes_robust else Square()
    method.check(Problem(task.within, loss))


def _naming_others(refusal: ValueError, task: Task) -> ValueError:
    """Return the error for a method that does not support the data, with the names of methods that do."""
    if not isinstance(refusal, Unsuited):
        return refusal
    able = []
    for name, kind in METHODS.items():
        with suppress(ValueError):
            _check(kind(), task)
            able.append(name)
    return Unsuited(
        f"{str(refusal).removesuffix('.')}; {listed(able[:MOST_NAMED])} can take it." if able else str(refusal)
    )


def _automatic(
    methods: Sequence[str], settings: Mapping[str, Any], same: tuple[int, int] | None
) -> tuple[list[str | Method], Mapping[str, Any]]:
    """Return the methods that ``"auto"`` tries, and the settings that they still need.

    If two modes have the same entities, RESCAL is included.
    """
    if same is None or any(name not in setting_names(Rescal) for name in settings):
        return [*_with_settings(methods, settings)], settings
    others = [name for name in methods if name != Rescal.name]
    known = [name for name in others if all(setting in setting_names(METHODS[name]) for setting in settings)]
    return [*(make_method(name, settings) for name in known), Rescal(same=same, **settings)], {}


def _with_settings(methods: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Return the methods that have all of these settings."""
    known = {name: setting_names(METHODS[name]) for name in methods}
    found = [name for name in methods if all(setting in known[name] for setting in settings)]
    if not found:
        every = dict.fromkeys(setting for name in methods for setting in known[name])
        unknown = [setting for setting in settings if setting not in every]
        raise ValueError(
            f"method 'auto' tries {listed(methods)}, which have no setting {listed(unknown)}; their settings are "
            f"{listed(every)}; name the method that has it, as in method='cp'."
            if unknown
            else f"No method has all of {listed(settings)}: "
            + "; ".join(f"{name!r} has {listed(_of_these(settings, known[name]))}" for name in methods)
            + "; leave out those of one method."
        )
    return found


def _of_these(settings: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [setting for setting in settings if setting in names]


def _with_mode_numbers(method: Method, labels: Labels) -> Method:
    """Return a method whose modes are numbers, from one that may name them."""
    numbered = {name: getattr(method, name, None) for name in ("modes", "mode", "along")}
    found = {name: labels.numbers(given) for name, given in numbered.items() if given is not None}
    for name in ("mode", "along"):
        if isinstance(found.get(name), str) and found[name] != "auto":
            found[name] = labels.mode(found[name])
    return replace(method, **found) if found else method
