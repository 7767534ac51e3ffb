"""Trials on held-out entries, for any method: run it on every split, score it, and keep the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..._support.clock import Clock
from ..._support.parallel import side_by_side
from ..._support.types import Floats
from ...losses import is_score
from ...methods.base import Callback, Method, Record, Result, Status
from ...methods.objective import Objective
from ...methods.problem import Problem
from ...models import Model
from ...observations import Observations
from ..context import Context
from ..holdout.splits import Split
from ..recipe import Recipe
from ..run import run
from .base import BEYOND_DOUBT, PathPoint, Trial, are_better

STIFFNESSES = (0.03, 0.3, 3.0)
"""The weights of the graph Laplacians that are tried, relative to the mean degree."""

CHECKED_EVERY, FIRST_CHECK = 3, 6
"""The interval in iterations at which a variation of an answer is checked, and the first iteration at which it may be
abandoned."""


class HeldOutSplit(Protocol):
    """The fitted and the held-out entries, here or on workers; those of `Split` are on this machine."""

    @property
    def problem(self) -> Objective[Any, Any]:
        """The problem of the fitted entries."""

    @property
    def held_out(self) -> object:
        """The held-out entries."""

    @property
    def held_out_values(self) -> Floats:
        """The values of the held-out entries."""

    def at(self, mu: float) -> Objective[Any, Any]:
        """Return the problem with the roughness of its graphs."""

    def losses(self, model: Model) -> Floats:
        """Return the loss of a model of the problem at each held-out entry."""

    def training_losses(self, model: Model) -> Floats:
        """Return the loss of a model of the problem at some of the fitted entries."""


LEAST_PART = 0.01
"""The least share of the squared error by which a blend with another answer must lower it, if that is to matter."""


@dataclass(frozen=True, eq=False)
class Ahead:
    """What an answer reaches at the held-out entries.

    Parameters
    ----------
    losses
        Its losses.
    errors
        Its errors; None for scores, of which there is no blend.
    """

    losses: Floats
    errors: Floats | None


@dataclass(eq=False)
class Trials:
    """Runs methods on the same splits and keeps the best.

    Parameters
    ----------
    splits
        One or more splits into fitted and held-out entries, after the stages before the method.
    context
        The context of the run. Its callback is called after every iteration on the first split.
    before
        The stages before the method, one word each.
    tried
        Called after every trial.
    rival
        The mean held-out loss of an answer of another kind. A search may stop early if it is far from it.
    found
        The best trial of other methods behind the same stages, for a warm start.
    ahead
        What the best answer of other methods reaches, if there is one.
    """

    splits: Sequence[HeldOutSplit]
    context: Context
    before: tuple[str, ...] = ()
    tried: Callable[[Trial], None] | None = None
    rival: float = math.inf
    found: Trial | None = None
    ahead: Ahead | None = None
    best: Trial | None = None

    def __post_init__(self) -> None:
        self.points: list[PathPoint] = []
        self._rngs = self.context.rng.spawn(len(self.splits))

    @property
    def rng(self) -> np.random.Generator:
        """The random generator of the search."""
        return self.context.rng

    @property
    def clock(self) -> Clock:
        """The clock, which ends a search when it expires, and whose journal stores its work."""
        return self.context.clock

    @property
    def problems(self) -> Sequence[Objective[Any, Any]]:
        """The problem of the fitted entries of every split, without the roughness of graphs."""
        return [split.problem for split in self.splits]

    @property
    def local(self) -> Sequence[Split]:
        """The splits whose entries are on this machine."""
        return [split for split in self.splits if isinstance(split, Split)]

    @property
    def local_problems(self) -> Sequence[Problem]:
        """The problems of these splits."""
        return [split.problem for split in self.local]

    @property
    def stiffnesses(self) -> Sequence[float]:
        """The weights of the graph Laplacians to try; none without graphs, or if their weight is given."""
        return STIFFNESSES if any(split.graphs and split.mu is None for split in self.local) else ()

    def problem_at(self, mu: float) -> Objective[Any, Any]:
        """Return the problem of the first split, with the roughness of its graphs."""
        return self.splits[0].at(mu)

    @property
    def leader(self) -> Trial:
        """The best trial so far."""
        if self.best is None:
            raise ValueError("There is no best trial before the first one.")
        return self.best

    @cached_property
    def clipped(self) -> bool:
        """Whether comparisons clip the largest losses: those of measurements, which may have outliers."""
        return not is_score(self.splits[0].problem.loss) and len(np.unique(self.held_out_values)) > 2

    @property
    def unseen(self) -> Sequence[Observations | None]:
        """The held-out entries of every split in the coordinates of its problem; None if that leaves out slices."""
        return [split.unseen for split in self.local]

    @property
    def held_out_values(self) -> Floats:
        """The values of the held-out entries of every split, in order."""
        return np.concatenate([split.held_out_values for split in self.splits])

    def predictions(self, models: Sequence[Model]) -> Floats:
        """Return the predictions at the held-out entries, from one model for each split."""
        return np.concatenate([split.predict(model) for split, model in zip(self.local, models, strict=True)])

    def may_matter(self, trial: Trial) -> bool:
        """Return whether a trial may win or have a part in a blend; else its search is not worth more time.

        It may if a weighted mean of it and the best answer of other methods is clearly better than that answer. Scores
        are not blended, so it may unless that answer is better beyond doubt.
        """
        if self.ahead is None:
            return True
        if self.ahead.errors is None:
            return not are_better(self.ahead.losses, trial.losses, clipped=self.clipped, by=BEYOND_DOUBT)
        return has_a_part(self.predictions(trial.models) - self.held_out_values, self.ahead.errors)

    def prefer(self, trial: Trial) -> None:
        """Set a trial as the best so far, by a criterion of the search."""
        self.best = trial

    def run(
        self,
        method: Method,
        start: Trial | Sequence[Model] | None,
        *,
        tried: Mapping[str, float],
        candidate: Any = None,
        mu: float = 0.0,
        max_iter: int | None = None,
        tol: float | None = None,
        variation: bool = False,
        early: bool = False,
    ) -> Trial:
        """Run a method on every split, score it, and keep it if it is the best so far.

        Parameters
        ----------
        method
            The method, without open settings.
        start
            An earlier trial or a model for each split, for a warm start.
        tried
            The settings that the path records.
        candidate
            The settings as represented by the search.
        mu
            The weight of the graph Laplacians.
        max_iter, tol
            Stopping rules of the trial, if stricter than those of the method.
        variation
            Whether it is abandoned when its held-out error is not below that of `start` and does not fall.
        early
            Whether these stopping rules belong to what is tried; see `Trial`.

        Raises
        ------
        Stopped
            If the callback, the time limit or Ctrl-C stopped the run; the trial has been scored by then.
        """
        short = replace(
            method,
            max_iter=method.max_iter if max_iter is None else min(method.max_iter, max_iter),
            tol=method.tol if tol is None else tol,
        )
        results = self.solve(short, start.models if isinstance(start, Trial) else start, mu, variation=variation)
        trial = replace(self._scored(method, results, tried, candidate, mu), ran=short)
        trial = trial.as_stopped() if early else trial
        self.points.append(trial.point)
        if trial.beats(self.best):
            self.best = trial
        if self.tried is not None:
            self.tried(trial)
        for result in results:
            result.finished_or_stopped()
        return trial

    def solve(
        self,
        method: Method,
        starts: Sequence[Model] | None,
        mu: float,
        *,
        variation: bool = False,
        thoroughly: bool = False,
    ) -> tuple[Result, ...]:
        """Run a method on every split in parallel; see `run` and `tensorfill.choosing.run`."""

        def task(number: int) -> Callable[[], Result]:
            split, own = self.splits[number], replace(self.context, rng=self._rngs[number])
            problem, recipe = split.at(mu), Recipe(method=method)
            start = None if starts is None else starts[number]
            if number > 0:
                own = replace(own, callback=None)
            if start is None or not variation:
                return lambda: run(recipe, problem, start, own, thoroughly=thoroughly)
            watch = GivingUp(split, start, own.callback)
            unrecorded = replace(own, callback=watch, clock=self.clock.unrecorded())
            # Abandoning a trial depends on held-out entries too, so the journal stores the trial and not its parts.
            return lambda: self.clock.journal.recall(
                ("variation", method, problem, start, split.held_out),
                lambda _: watch.finished(run(recipe, problem, start, unrecorded)),
                rng=own.rng,
                is_finished=lambda result: result.finished,
            )

        return side_by_side([task(number) for number in range(len(self.splits))])

    def _scored(
        self, method: Method, results: tuple[Result, ...], tried: Mapping[str, float], candidate: Any, mu: float
    ) -> Trial:
        models = [result.model for result in results]
        pairs = zip(self.splits, models, strict=True)
        training = np.concatenate([split.training_losses(model) for split, model in pairs])
        losses = np.concatenate([split.losses(model) for split, model in zip(self.splits, models, strict=True)])
        point = PathPoint(
            method=method,
            tried=dict(tried),
            ranks=results[0].history[-1].ranks,
            training=error_of(training),
            held_out=error_of(losses),
            standard_error=standard_error_of(losses),
            iterations=max(result.history[-1].iteration for result in results),
            seconds=sum(result.history[-1].seconds for result in results),
            before=self.before,
            mu=mu,
        )
        return Trial(method, point, results, losses, candidate, self.clipped)


def has_a_part(errors: Floats, ahead: Floats) -> bool:
    """Return whether a weighted mean of two answers has clearly smaller errors than the one that is ahead."""
    change = errors - ahead
    slope, curvature = -float(np.mean(ahead * change)), float(np.mean(change**2))
    weight = min(max(slope, 0.0) / curvature, 1.0) if curvature else 0.0
    gain = weight * (2 * slope - weight * curvature)
    return gain > LEAST_PART * float(np.mean(ahead**2))


class GivingUp:
    """A callback that stops a trial when it is no better than its start and does not improve.

    Parameters
    ----------
    split
        The split with the held-out entries to check.
    start
        The warm start of the trial.
    callback
        The callback of the caller, which is called first.
    """

    def __init__(self, split: HeldOutSplit, start: Model, callback: Callback | None) -> None:
        self._split, self._callback = split, callback
        self._errors = [error_of(split.losses(start))]
        self._given_up = False

    def __call__(self, record: Record, model: Model) -> object:
        """Return whether to stop."""
        if self._callback is not None and self._callback(record, model):
            return True
        if record.iteration % CHECKED_EVERY == 0:
            self._errors.append(error_of(self._split.losses(model)))
            first, last = self._errors[0], self._errors[-1]
            self._given_up = record.iteration >= FIRST_CHECK and last >= max(first, self._errors[-2])
        return self._given_up

    def finished(self, result: Result) -> Result:
        """Return the result; an abandoned trial counts as finished, since the run itself was not stopped."""
        return replace(result, status=Status.MAX_ITER) if self._given_up else result


def error_of(losses: Floats) -> float:
    """Return the root of twice the mean loss: the root mean square error for the square loss."""
    return float(np.sqrt(2 * np.mean(losses, dtype=np.float64)))


def standard_error_of(losses: Floats) -> float:
    """Return the standard error of `error_of`, by the delta method: d sqrt(2 m) = dm / sqrt(2 m)."""
    error = error_of(losses)
    if error == 0:
        return 0.0
    return float(np.std(losses, dtype=np.float64)) / math.sqrt(len(losses)) / error


class Search(Protocol):
    """How the open settings of a method are chosen."""

    @property
    def conclusive(self) -> bool:
        """Whether no other method can improve its answer."""

    def run(self, trials: Trials) -> Iterator[None]:
        """Try settings until the best are found; `trials` stores them.

        It pauses where it may end: after its first look, and whenever the next step takes long.
        """

    def finish(self, trials: Trials) -> None:
        """Improve the best trial by expensive steps; called if `run` found a better answer than other searches."""

    def final(self, trials: Trials, entries: int) -> Method:
        """Return the method with the settings of the best trial, for a fit of this many entries."""


def search_through(search: Search, trials: Trials) -> Trial:
    """Return the best trial of a search that runs to its end."""
    for _ in search.run(trials):
        pass
    return trials.leader
