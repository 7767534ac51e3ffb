"""The default search: a walk along each axis that a method declares, each point with a warm start from the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...methods.base import Axis, Method
from ...models import Model
from .base import Trial
from .trials import Trials

PATIENCE = 3
"""A walk ends after this many points without a better score."""

CLEARLY_WORSE = 1.3
"""A walk ends at once if the score is this much worse than the best."""


class Walk:
    """Chooses the open settings of a method one after the other.

    Along an axis, every value is tried with a warm start from the last, until the held-out error no longer falls; if
    the values have no order, all are tried. The next axis starts from the best. A method without open settings is
    tried unchanged.

    Parameters
    ----------
    method
        The method with its open settings.
    """

    conclusive = False

    def __init__(self, method: Method) -> None:
        self._method = method

    def run(self, trials: Trials) -> Iterator[None]:
        """Walk along every axis in turn."""
        axes = self._method.axes(trials.local_problems[0], trials.rng)
        chosen: dict[str, Any] = {axis.setting: axis.meanwhile for axis in axes}
        for place, axis in enumerate(axes):
            before = trials.best
            self._walk(trials, axis, chosen)
            if trials.best is not before:
                chosen[axis.setting] = getattr(trials.leader.method, axis.setting)
            is_chosen = all(other.setting != axis.setting for other in axes[place + 1 :])
            if is_chosen:
                yield
        if not axes:
            trials.run(self._method, None, tried={})
        self._stiffen(trials)

    def finish(self, trials: Trials) -> None:
        """Do nothing."""

    def final(self, trials: Trials, entries: int) -> Method:
        """Return the method of the best trial, rescaled to the number of entries."""
        fitted = len(trials.problems[0].observations)
        return trials.leader.method.rescaled(entries / fitted)

    def _walk(self, trials: Trials, axis: Axis, chosen: dict[str, Any]) -> None:
        last = best = trials.best
        since = 0
        for value in axis.values:
            settings = chosen | {axis.setting: value}
            method = replace(self._method, **settings)
            start = self._found(trials) if last is None else last
            last = trials.run(method, start, tried=_numbers(settings), max_iter=method.trial_iterations)
            best, since = (last, 0) if last.beats(best) else (best, since + 1)
            if axis.ordered and (since >= PATIENCE or _clearly_worse(last, best)):
                return

    def _found(self, trials: Trials) -> Sequence[Model] | None:
        """Return the answers of another method to start from, if they have the rank that is given for this one."""
        rank, pairs = (
            getattr(self._method, "rank", None),
            zip(trials.found.models if trials.found else (), trials.local_problems, strict=False),
        )
        fitting = [model for model, problem in pairs if self._method.can_start_from(model, problem)]
        same = len(fitting) == len(trials.local_problems) and all(model.ranks == (rank,) for model in fitting)
        return fitting if same else None

    def _stiffen(self, trials: Trials) -> None:
        """Try the graph Laplacians, from weak to strong, while the score improves."""
        for mu in trials.stiffnesses if self._method.takes_roughness else ():
            before = trials.leader
            trials.run(before.method, before, tried=before.point.tried, mu=mu)
            if trials.leader is before:
                return


def _clearly_worse(last: Trial, best: Trial | None) -> bool:
    return best is not None and last.point.held_out > CLEARLY_WORSE * best.point.held_out


def _numbers(settings: dict[str, Any]) -> dict[str, float]:
    """Return the settings that the path records; a setting with several values has a name for each.

    >>> _numbers({"rank": 3, "weights": (0.5, 0.25), "periods": ()})
    {'rank': 3, 'periods': 0, 'weights_0': 0.5, 'weights_1': 0.25}
    """
    settings = {name: 0 if value == () else value for name, value in settings.items()}
    several = {
        f"{name}_{place}": each
        for name, value in settings.items()
        if isinstance(value, tuple)
        for place, each in enumerate(value)
    }
    return {name: value for name, value in (settings | several).items() if isinstance(value, int | float)}
