"""The runs behind the front door: a fit as it is asked for, or one whose regularisation is chosen first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._support.progress import Display
from .._support.types import Floats
from ..graphs.reduction import Reduced
from ..losses import Huber, Square
from ..methods.base import Callback, Method, Record, Result, Status
from ..methods.nort import Nort
from ..methods.nort.continuation import approach
from ..methods.problem import Problem
from ..methods.tucker_als import can_refine
from ..methods.tucker_als import refine as polish
from ..models import Centred, FoldedLowRank, Model
from ..models.additive import Additive, fit_additive
from ..observations import Observations
from ..penalties.family import Family
from ..selection import Path
from .holdout import Split
from .smooth_field import Smoothed, Smoothing, choose_smoothing, loss_alone, losses_of, smooth_modes
from .trials import Chooser, Stopped, Trial, are_better

REFINE_SWEEPS = 4
"""Sweeps of alternating least squares in a polish."""

WORTH_CENTRING = 1.5
"""Centring is tried where the mean and the effects alone come this near to the best error without."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run came to.

    Parameters
    ----------
    method, result
        The method with its final settings, and its answer.
    path
        The regularisations that were tried, where one was chosen.
    residuals
        How far the held-out entries were from a fit without them, where there were any.
    holdout
        What was held out, in words.
    refined
        Whether the answer was polished by least squares.
    centred
        Whether the mean and the effects of the data were taken away first.
    smoothing
        The smooth field that is part of the answer, if any.
    """

    method: Method
    result: Result
    path: Path | None = None
    residuals: Floats | None = None
    holdout: str | None = None
    refined: bool = False
    centred: bool = False
    smoothing: Smoothing | None = None


def fit_as_given(
    method: Method,
    problem: Problem,
    start: Model | None,
    rng: np.random.Generator,
    display: Display,
    callback: Callback | None,
) -> Outcome:
    """Run a method as it is."""
    display.begin("fitting", method.max_iter)
    return Outcome(method, method.solve(problem, start=start, rng=rng, callback=watching(display, callback)))


def fit_from_above(
    method: Nort, problem: Problem, rng: np.random.Generator, display: Display, callback: Callback | None
) -> Outcome:
    """Run NORT from the answer of larger lambdas, for as long as its time limit allows in all."""
    began = time.monotonic()
    display.begin("coming down to lambda", None)
    above = approach(method, problem, rng, watching(display, callback, counting=False))
    if above is None:
        return fit_as_given(method, problem, None, rng, display, callback)
    if above.status not in (Status.CONVERGED, Status.MAX_ITER):
        return Outcome(method, above)
    timed = method
    if method.time_limit is not None:
        timed = replace(method, time_limit=max(method.time_limit - (time.monotonic() - began), 1e-9))
    outcome = fit_as_given(timed, problem, above.model, rng, display, callback)
    return replace(outcome, method=method)


@dataclass(eq=False)
class Automatic:
    """A fit whose regularisation is chosen on held-out entries.

    Between the choice and the fit of all entries, the fits without the held-out entries are brought to their end, since
    their errors there are what error bars rest on. Where the run is stopped, the best answer so far is the outcome.

    Parameters
    ----------
    settings
        The method; its lambda and penalty are replaced.
    problem
        All entries; without the slices that have none, where graphs tell these.
    reduced
        The graphs, and the way back to all slices, if there are any.
    splits
        The entries to fit and those to score with.
    family
        The penalties to choose among.
    holdout
        What was held out, in words.
    centre
        Whether to take the mean and the effects away first, or ``"auto"``.
    refine
        ``"tucker"`` for a polish by least squares, or None.
    smooth
        The modes whose neighbours are alike, ``"auto"``, or None.
    """

    settings: Nort
    problem: Problem
    reduced: Reduced | None
    splits: Sequence[Split]
    family: Family
    holdout: str
    centre: bool | str
    refine: str | None
    smooth: Sequence[int] | str | None
    rng: np.random.Generator
    display: Display
    callback: Callback | None

    def __post_init__(self) -> None:
        limit = self.settings.time_limit
        self._deadline = None if limit is None else time.monotonic() + limit
        self._choosers: list[Chooser] = []

    def run(self) -> Outcome:
        """Choose, then fit all entries with what was chosen."""
        self.display.begin("choosing lambda", None)
        try:
            chooser = self._chosen()
            self.display.begin("fitting without the held-out entries", chooser.settings.max_iter)
            without = self._brought_to_the_end(chooser)
        except Stopped as stop:
            return self._best_so_far(stop.status)
        models, refined = self._polished_if_better(chooser, [result.model for result in without])
        self.display.begin("looking for smoothness", None)
        smoothed = self._smoothed_if_better(chooser, models)
        result = self._fit_of_all(chooser, without[0].model, refined, smoothed)
        final = chooser.final(len(self.problem.observations))
        return self._outcome(chooser, final, result, models, refined, smoothed)

    def _chosen(self) -> Chooser:
        """Return the chooser that found the best regularisation, of the data as it is or of the centred data."""
        if self.centre is True:
            return self._choose(centred=True)
        plain = self._choose(centred=False)
        if self.centre == "auto" and self._takes_differences and self._may_help(plain.leader):
            centred = self._choose(centred=True)
            if centred.leader.beats(plain.leader):
                return centred
        return plain

    @property
    def _takes_differences(self) -> bool:
        """Whether the loss compares values of one kind, so that some of them can be taken away from both."""
        return isinstance(self.problem.loss, Square | Huber)

    @cached_property
    def _smooth_weights(self) -> dict[int, float]:
        """The weight of each mode that may be smooth; those with a graph are smooth already."""
        if not self._takes_differences:
            return {}
        graphs = () if self.reduced is None else self.reduced.graphs
        weights = smooth_modes(self.problem.observations, self.smooth)
        return {mode: weight for mode, weight in weights.items() if mode not in graphs}

    @cached_property
    def _loss_of_a_field_alone(self) -> float:
        """What a smooth field has at the held-out entries, the rival of low rank."""
        return loss_alone(self.splits, self._smooth_weights)

    def _choose(self, *, centred: bool) -> Chooser:
        splits = [_centred_split(split) for split in self.splits] if centred else self.splits
        points = [] if not self._choosers else self._choosers[-1].points
        chooser = Chooser(
            self.settings, splits, self.family, self.rng, watching(self.display, self.callback, counting=False),
            lambda point: self.display.tried(len(points), point.held_out), self._deadline, centred, points,
            self._loss_of_a_field_alone,
        )  # fmt: skip
        self._choosers.append(chooser)
        chooser.choose()
        return chooser

    def _may_help(self, leader: Trial) -> bool:
        """Tell whether the mean and the effects alone come near to the best so far."""
        losses = [split.problem.loss.value(*_alone(split)) for split in self.splits]
        alone = np.sqrt(2 * np.mean(np.concatenate(losses)))
        return bool(alone <= WORTH_CENTRING * leader.point.held_out)

    def _brought_to_the_end(self, chooser: Chooser) -> tuple[Result, ...]:
        """Return the fits without the held-out entries, solved as far as the caller asks."""
        method = chooser.final(len(chooser.splits[0].problem.observations))
        results = chooser.solve(method, chooser.leader.models, chooser.leader.candidate.mu)
        chooser.best = replace(chooser.leader, results=results)
        for result in results:
            if result.status not in (Status.CONVERGED, Status.MAX_ITER):
                raise Stopped(result.status)
        return results

    def _fit_of_all(self, chooser: Chooser, start: Model, refined: Polish | None, smoothed: Smoothed | None) -> Result:
        whole = Split(self.problem, self.splits[0].held_out, self.reduced)
        offset = _offset_of(whole) if chooser.centred else None
        problem = (_centred_split(whole) if chooser.centred else whole).at(chooser.leader.candidate.mu)
        method = chooser.final(len(problem.observations))
        if self._deadline is not None:
            method = replace(method, time_limit=max(self._deadline - time.monotonic(), 1e-9))
        self.display.begin("fitting all entries", method.max_iter)
        watch = watching(self.display, self.callback)
        # A graph tells slices that are held out, and they are no part of the problem then.
        warm = start if start.shape == problem.observations.shape else None
        result = method.solve(problem, start=warm, rng=self.rng, callback=watch)
        if refined is not None:
            result = replace(result, model=refined(problem, result.model))
        if smoothed is not None:
            centred = _is_centred(chooser, smoothed)
            offset = offset if centred else None
            data = problem.observations if centred else whole.problem.observations
            result = replace(result, model=smoothed.smoothing.added_to(result.model, data))
        if offset is not None:
            result = replace(result, model=Centred(result.model, offset))
        return result if self.reduced is None else replace(result, model=self.reduced.extend(result.model))

    def _smoothed_if_better(self, chooser: Chooser, models: Sequence[Model]) -> Smoothed | None:
        """Return answers with smooth fields, if these are asked for or lower the held-out error."""
        weights = self._smooth_weights
        alone = chooser.splits if self.centre is True else self.splits
        found = choose_smoothing(chooser.splits, models, alone, weights)
        if found is None or self.smooth != "auto" or are_better(found.losses, losses_of(chooser.splits, models)):
            return found
        return None

    def _polished_if_better(self, chooser: Chooser, models: Sequence[Model]) -> tuple[Sequence[Model], Polish | None]:
        """Return the models, polished by least squares if that is asked for and lowers the held-out error."""
        if self.refine is None or not all(isinstance(model, FoldedLowRank) for model in models):
            return models, None

        def score(each: Sequence[Model]) -> float:
            return sum(float(split.losses(model).sum()) for split, model in zip(chooser.splits, each, strict=True))

        best, chosen = models, None
        # What is left of noise beyond a gap among the singular values would be fitted in earnest.
        for how in (Polish(), Polish(to_the_gap=True)):
            polished = [how(split.problem, model) for split, model in zip(chooser.splits, models, strict=True)]
            if score(polished) < score(best):
                best, chosen = polished, how
        return best, chosen

    def _best_so_far(self, status: Status) -> Outcome:
        """Return the best answer there is where the run was stopped: that of the first split."""
        best = [chooser for chooser in self._choosers if chooser.best is not None]
        if not best:
            raise KeyboardInterrupt
        chooser = best[0]
        for other in best[1:]:
            if other.leader.beats(chooser.leader):
                chooser = other
        leader = chooser.leader
        result = replace(leader.results[0], status=status)
        if chooser.centred:
            result = replace(result, model=Centred(result.model, _offset_of(self.splits[0])))
        if self.splits[0].reduced is not None:
            result = replace(result, model=self.splits[0].reduced.extend(result.model))
        return self._outcome(chooser, leader.method, result, leader.models)

    def _outcome(
        self,
        chooser: Chooser,
        method: Nort,
        result: Result,
        without: Sequence[Model],
        refined: Polish | None = None,
        smoothed: Smoothed | None = None,
    ) -> Outcome:
        splits, models = (chooser.splits, without) if smoothed is None else (smoothed.splits, smoothed.models)
        residuals = [
            np.abs(split.predict(model) - split.held_out.values) for split, model in zip(splits, models, strict=True)
        ]
        return Outcome(
            method=replace(method, time_limit=self.settings.time_limit),
            result=result,
            path=Path(chooser.points),
            residuals=np.concatenate(residuals),
            holdout=self.holdout,
            refined=refined is not None,
            centred=_is_centred(chooser, smoothed),
            smoothing=None if smoothed is None else smoothed.smoothing,
        )


GAP = 3.0
"""Singular values that mean something seldom fall by this factor from one to the next; to those of noise they do."""


@dataclass(frozen=True)
class Polish:
    """Least squares on the ranks that were found, or on those up to the largest gap among the singular values."""

    to_the_gap: bool = False

    def __call__(self, problem: Problem, model: Model) -> Model:
        """Return the polished model; one of another kind than NORT's is left as it is."""
        if not isinstance(model, FoldedLowRank):
            return model
        if self.to_the_gap:
            model = model.truncated([_before_the_gap(part.s) for part in model.components])
        # Ranks with too many unknowns for it are no reason to stop at the end of a long search.
        return polish(problem, model, sweeps=REFINE_SWEEPS) if can_refine(problem, model) else model


def _before_the_gap(s: Floats) -> int:
    """Return how many singular values there are before the largest ratio of one to the next, if that is a gap.

    >>> _before_the_gap(np.array([9.0, 7.0, 0.5, 0.4])), _before_the_gap(np.array([9.0, 4.0, 2.0]))
    (2, 3)
    """
    ratios = s[:-1] / s[1:]
    return int(np.argmax(ratios)) + 1 if ratios.max(initial=0) > GAP else len(s)


def _is_centred(chooser: Chooser, smoothed: Smoothed | None) -> bool:
    """Tell whether the answer is of centred data; a smooth field that does without low rank may not be."""
    return chooser.centred and (smoothed is None or smoothed.splits is chooser.splits)


def watching(display: Display, callback: Callback | None, *, counting: bool = True) -> Callback:
    """Return a callback that shows each iteration, if they are to be counted, and then asks the caller's own."""

    def watch(record: Record, model: Model) -> object:
        if counting:
            display.iteration(record)
        return None if callback is None else callback(record, model)

    return watch


def _offset_of(split: Split) -> Additive:
    """Return the mean and the effects of the entries to fit."""
    return fit_additive(split.problem.observations)


def _without(observations: Observations, offset: Additive) -> Observations:
    return observations.with_values(observations.values - offset.predict(observations.coords))


def _centred_split(split: Split) -> Split:
    """Return a split with the mean and the effects of the entries to fit taken away from all of them."""
    offset = _offset_of(split)
    problem = Problem(_without(split.problem.observations, offset), split.problem.loss)
    return Split(problem, _without(split.held_out, _extended(offset, split)), split.reduced)


def _alone(split: Split) -> tuple[Floats, Floats]:
    """Return what the mean and the effects alone predict of the held-out entries, and these."""
    return _extended(_offset_of(split), split).predict(split.held_out.coords), split.held_out.values


def _extended(offset: Additive, split: Split) -> Additive:
    """Return the mean and the effects for all slices, where graphs tell those that are not fitted."""
    effects = list(offset.effects)
    for extension in () if split.reduced is None else split.reduced.extensions:
        effects[extension.mode] = extension.matrix @ effects[extension.mode]
    return Additive(offset.mean, tuple(effects))
