"""A run behind the front door, from a task to an answer.

One clock, one guard against interrupts and one best answer so far go with all of it. A run that is stopped, by the
caller, the clock or the keyboard, answers with the best it has: before the first trial, that is the mean and the effect
of each index. While an answer is put together, Ctrl-C is only noted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support.clock import Clock, TimeUp
from .._support.ordering import joint_keys
from .._support.types import Booleans, Floats, Integers
from ..graphs import KernelGraph
from ..losses import Square
from ..losses.robust import EFFICIENT, is_robust, make_robust, noise_scale
from ..methods.base import Callback, Method, Record, Result, Stopped
from ..methods.problem import Problem
from ..methods.simple import Effects
from ..models import Model
from ..observations import Observations
from .baselines import Baseline, baselines_of
from .choose import choose
from .contest import Contest
from .context import Context
from .corrupt import Watch, named_robust, rough_fit
from .error_bars import ErrorBars
from .holdout.by_value import value_auc
from .holdout.held_out import HeldOut
from .holdout.kinds import Holdout
from .holdout.resemblance import MISSING, sample_of_missing, weights_of
from .holdout.splits import Split, fitted_and_held_out, whole_split
from .judging import corrupt_entries
from .outliers import are_outliers
from .recipe import Omitted, Portion, Recipe, Start
from .run import run, status_of
from .scored import Scored
from .search.base import PathPoint
from .simple import effects_alone
from .stages.base import Before, Lift, Reduced
from .stages.centre import Centre, is_of_differences
from .stages.empty_slices import EmptySlices, fill_empty_slices
from .stages.graphs import Graphs, with_widths
from .stages.present_slices import PresentSlices
from .stages.scale import Scale
from .task import Task

STOPS = (Stopped, TimeUp, KeyboardInterrupt)
"""What ends a run before its time."""

WIDTH = 3.0
"""With a robust loss, values further from the median than this many times the spread of most are moved to there."""


WorthIt = Callable[[Booleans], bool] | None


class NotWorthIt(Exception):
    """Raised if leaving out the entries that were judged corrupt is not worth a search."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a run returns.

    Parameters
    ----------
    recipe, result
        What was done to all entries, and the result.
    points
        Every trial, in order; empty if nothing was held out.
    error_bars
        The errors at what was held out; None if nothing was.
    corrupt
        Which observed entries were judged corrupt; None if none were judged.
    baselines
        Simple answers at the same held-out entries.
    """

    recipe: Recipe
    result: Result
    points: Sequence[PathPoint] = ()
    error_bars: ErrorBars | None = None
    corrupt: Booleans | None = None
    baselines: tuple[Baseline, ...] = ()


def completed(
    task: Task,
    methods: Sequence[Method],
    context: Context,
    *,
    choosing: bool,
    every: bool,
    simple: bool = False,
    blend: bool = False,
    worth_it: WorthIt = None,
) -> Answer:
    """Return the answer to a task.

    Parameters
    ----------
    task
        What is asked.
    methods
        The methods to try.
    context
        The clock and the rest that accompanies the run.
    choosing
        Whether entries are held out to choose what is left open.
    every
        Whether all methods are tried; see `choose`.
    simple, blend
        Whether simple answers are contenders too, and whether the answer may be a blend.
    worth_it
        Given which entries a robust loss leaves out, whether to go on; if not, `NotWorthIt` is raised.
    """
    work, methods = Work.of(task, methods, context, worth_it=worth_it)
    if choosing:
        answer = work.best_of(methods, every=every, simple=simple, blend=blend)
    else:
        answer = work.as_given(methods[0])
    answer = filled(answer, work.places, work.fitted, tuple(task.graphs))
    return work.context.scale.up(answer, answer.recipe.method)


class Work:
    """A task at work: scaled, without slices that take no part, and with the best answer so far.

    Parameters
    ----------
    task, context
        What is asked, in the unit that it is fitted in, and what accompanies the run.
    places
        The way back to slices that take no part.
    given
        The entries in the unit and at the places that they were given in.
    worth_it
        Given which entries a robust loss leaves out, whether to go on; if not, `NotWorthIt` is raised.
    """

    def __init__(
        self, task: Task, context: Context, places: Lift, given: Observations, *, worth_it: WorthIt = None
    ) -> None:
        self.task, self.context, self.places = task, context, places
        self._given = given
        self._worth_it = worth_it
        self._contest: Contest | None = None
        self._rough: tuple[Method, Result] | None = None
        self._corrupt: Booleans | None = None
        self.fitted = task.observations

    @classmethod
    def of(
        cls, task: Task, methods: Sequence[Method], context: Context, *, worth_it: WorthIt = None
    ) -> tuple[Work, list[Method]]:
        """Return the work of a task, and its methods in the same unit."""
        given, scale = task.observations, Scale.of(task.within, task.loss, methods)
        task = scale.down(task)
        whole = Problem(task.observations, task.loss)  # type: ignore[arg-type]
        problem, places = PresentSlices(frozenset(task.ordered_modes)).reduce(whole, context.clock)
        recipe = Recipe(method=methods[0], start=task.start, beside=task.beside).started(places.start)
        task = replace(task, observations=problem.observations, start=recipe.start, beside=recipe.beside)
        context = replace(context, scale=scale)
        within = Reduced(problem).by(task.merging, context.clock)
        context = replace(context, callback=shown(context, lambda model: places.model(within.whole(model))))
        work = cls(task, context, places, given, worth_it=worth_it)
        return work, [scale.down(each) for each in methods]

    def as_given(self, method: Method) -> Answer:
        """Run a method and the stages that are given, with nothing held out."""
        task, context = self.task, self.context
        try:
            with context.interrupts.welcome():
                # The recipes of a blend were chosen without corrupt entries, and so were settings for squares only, and
                # what is repeated.
                leave_out = bool(task.beside) or method.square_only or task.start.left_out is not None
                problem, near = self._judged(method, leave_out=leave_out, robust=method.takes_robust)
                start = task.start if task.start.model is not None else replace(task.start, model=near)
                part = Reduced(problem).by(task.merging, context.clock)
                own = None if task.start.model is None else part.start(task.start.model)
                if own is not None and not method.can_start_from(own, part.problem):
                    # The method says what it can start from.
                    method.prepare(part.problem, own, context.rng)
                context.display.begin("fitting", method.max_iter, method.tol)
                recipe = Recipe(
                    task.before,
                    method=method,
                    after=task.after,
                    beside=task.beside,
                    loss=problem.loss,
                    start=replace(task.start, left_out=self._left_out),
                )
                result = run(recipe, problem, start.model, context.again())
                if start.model is None and result.history[-1].iteration == 0:
                    # Without an iteration the method has no answer yet.
                    result.finished_or_stopped()
        except STOPS as stop:
            return self._best_so_far(stop)
        return Answer(_resolved(recipe, problem), result, corrupt=self._corrupt_beside(result.model))

    def contest(self, methods: Sequence[Method]) -> Contest:
        """Choose the width of kernels, judge which entries are corrupt, if the loss asks for it, and hold entries out.

        If every method takes the robust loss itself, all entries stay, and held-out ones are judged by that loss too.
        """
        task, context = self.task, self.context
        if any(isinstance(graph, KernelGraph) for graph in task.graphs.values()):
            context.display.begin("choosing the width of a graph", None)
        graphs = with_widths(task.graphs, task.observations, context.rng, context.clock)
        # Entries are held out before any is left out, so that answers to several losses are of the same held-out ones.
        parts, holdout = fitted_and_held_out(task.observations, task.choice, context.rng, graphs, task.times_with_gaps)
        problem, _ = self._judged(methods[0], leave_out=True, robust=all(method.takes_robust for method in methods))
        if self._corrupt is not None and self._corrupt.any():
            corrupt = task.observations.select(self._corrupt)
            parts = [
                (entries_without(fitted, corrupt), entries_without(held_out, corrupt)) for fitted, held_out in parts
            ]
        splits = [whole_split(*part, problem.loss, graphs) for part in parts]
        mu = next((stage.mu for stage in task.before if isinstance(stage, Graphs)), None)
        given = tuple(stage for stage in task.before if not isinstance(stage, Graphs | Centre))
        splits = [replace(split, mu=mu).by(given, context.clock) for split in splits]
        unordered = task.unordered
        for stage in task.merging:
            unordered = stage.numbers(unordered, task.observations.ndim)
        self._contest = Contest(
            problem, splits, holdout, graphs, dict(task.asked), context, given, unordered, task.axis
        )
        return self._contest

    def best_of(self, methods: Sequence[Method], *, every: bool, simple: bool = False, blend: bool = False) -> Answer:
        """Choose what the methods leave open on held-out entries, keep the best, and fit all entries with it."""
        try:
            with self.context.interrupts.welcome():
                contest = self.contest(methods)
                scored = choose(contest, methods, every=every, simple=simple, blend=blend)
                recipe, result = self._refitted(contest, scored)
                recipe = replace(recipe, start=replace(recipe.start, left_out=self._left_out))
        except STOPS as stop:
            return self._compared(self._best_so_far(stop))
        return self._compared(self._with_error_bars(contest, scored, recipe, result))

    # The stages

    def _judged(self, method: Method, *, leave_out: bool, robust: bool) -> tuple[Problem, Model | None]:
        """Return the problem and, for a robust loss, where to start.

        With methods that take a `robust` loss as it is, all entries stay. With others, the entries that are judged
        corrupt are left out if that is asked for; if not, they stay, and the loss allows for them.
        """
        entries, loss, context = self.task.observations, self.task.loss, self.context
        if not is_robust(loss):
            return Problem(entries, loss), None  # type: ignore[arg-type]
        if robust:
            return Problem(entries, make_robust(loss)), None  # type: ignore[arg-type]
        known = self.task.start.left_out
        if leave_out and known is not None and known.are_of(self._given):
            return self._without(known.entries), None
        context.display.begin("looking for corrupt entries", None)
        # Of low rank is what the method has, in which modes may be merged.
        part = Reduced(Problem(entries, Square())).by(self.task.merging, context.clock)
        within = part.problem.observations

        def keep(method: Method, result: Result) -> None:
            self._rough = method, replace(result, model=part.core(result.model))

        watch = Watch(context.callback, context.clock, keep, is_asked=self._worth_it is None)
        ranks: Any = {"modes": getattr(method, "modes", None), "max_rank": getattr(method, "max_rank", None)}
        if leave_out:
            corrupt = corrupt_entries(within, **ranks, rng=context.seeded(), watch=watch)
            # The merged tensor may have the entries in another order.
            numbered = within.astype(np.float64).with_values(np.arange(len(within)))
            placed = replace(part, problem=Problem(numbered, Square())).placed
            corrupt = corrupt[placed.values.astype(np.int64)]
            if self._worth_it is not None and not self._worth_it(corrupt):
                raise NotWorthIt
            return self._without(corrupt), None
        rough = rough_fit(part.problem, **ranks, rng=context.rng, watch=watch)
        cut = named_robust(loss, rough.noise).cut_at(EFFICIENT * rough.noise)  # type: ignore[arg-type]
        return Problem(entries, cut), None if rough.model is None else part.core(rough.model)

    def _without(self, corrupt: Booleans) -> Problem:
        """Return the problem without the entries that are corrupt."""
        self._corrupt = corrupt
        self.fitted = self.task.observations.select(~corrupt)
        return Problem(self.fitted, Square())

    @property
    def _left_out(self) -> Omitted | None:
        """The corrupt entries that were left out, for a repetition."""
        return None if self._corrupt is None else Omitted(self._corrupt, self._given.fingerprint)

    def _refitted(self, contest: Contest, scored: Scored) -> tuple[Recipe, Result]:
        """Fit all entries with what was chosen."""
        problem, trial = contest.problem, scored.trial
        recipe = _for_all_entries(contest, scored)
        method = recipe.method
        self.context.display.begin("fitting all entries", method.max_iter, method.tol)
        result = run(recipe, problem, context=self.context.again())
        if not result.finished and recipe.start.model is None:
            # The finished answer without the held-out entries is better than half of one with them.
            return replace(recipe, method=trial.method), replace(result, model=scored.whole_model)
        return _resolved(recipe, problem), result

    # The answer

    def _with_error_bars(self, contest: Contest, scored: Scored, recipe: Recipe, result: Result) -> Answer:
        """Return the answer with the errors at the held-out entries."""
        held_out, corrupt = HeldOut.of(scored.splits, scored.models, contest.problem.observations), self._corrupt
        if corrupt is None and is_robust(self.task.loss):
            corrupt = are_outliers(self.task.observations, result.model, held_out.residuals)
        residuals = contest.inflation(scored) * held_out.residuals
        missing = missing_beside(contest)
        bars = ErrorBars(residuals, resemblance(contest, scored.whole_model, missing), held_out=held_out)
        holdout = compared_by_value(contest, scored, held_out, missing)
        return Answer(replace(recipe, holdout=holdout), result, contest.points, bars, corrupt)

    def _compared(self, answer: Answer) -> Answer:
        """Return the answer beside simple ones at the held-out entries, unless the user stops here."""
        if self._contest is None or answer.error_bars is None or answer.error_bars.held_out is None:
            return answer
        self.context.display.begin("comparing with simple answers", None)
        try:
            return replace(answer, baselines=baselines_of(self._contest.simple, answer.error_bars.held_out))
        except KeyboardInterrupt:
            return answer

    def _best_so_far(self, stop: BaseException) -> Answer:
        """Return the best answer of a run that was stopped: a simple one, if no other has a lower error."""
        status, contest = status_of(stop), self._contest
        if contest is not None:
            scored = contest.or_simpler(contest.best.answer)
            if scored in contest.quick:
                recipe = _for_all_entries(contest, scored)
                result = run(recipe, contest.problem, context=Context(np.random.default_rng(0)))
                return self._with_error_bars(contest, scored, recipe, replace(result, status=status))
            result = replace(scored.trial.results[0], model=scored.whole_model, status=status)
            core = None if not scored.recipe.after else scored.trials.local[0].core(scored.trial.models[0])
            recipe = replace(scored.recipe, before=_before(contest, scored), loss=contest.problem.loss)
            return self._with_error_bars(contest, scored, recipe, replace(result, core=core))
        recipe, result = self._simplest()
        return Answer(recipe, replace(result, status=status), corrupt=self._corrupt_beside(result.model))

    def _simplest(self) -> tuple[Recipe, Result]:
        """Return the mean and the effects of all entries, soon if the clock has expired.

        For a robust loss they are those of values that are moved to where most are. A rough fit that is nearer to most
        entries is returned in their place.
        """
        data, robust = self.task.observations, is_robust(self.task.loss)
        loss: Any = Square() if robust else self.task.loss
        middle = np.median(data.values)
        far = WIDTH * noise_scale(data.values - middle)
        moved = data.with_values(np.clip(data.values, middle - far, middle + far)) if robust else data
        scored = effects_alone([Split(Problem(moved, loss), held_out=moved)], self.context.clock)
        model = scored.whole_model
        if self._rough is not None and _usual_error(self._rough[1].model, data) < _usual_error(model, data):
            return Recipe(tuple(self.task.merging), method=self._rough[0], loss=loss), self._rough[1]
        recipe = Recipe((Centre(),), method=Effects(), loss=loss)
        return recipe, replace(scored.trial.results[0], model=model)

    def _corrupt_beside(self, model: Model) -> Booleans | None:
        """Return which entries were left out, or else which an answer takes for corrupt; None without a robust loss."""
        if self._corrupt is not None:
            return self._corrupt
        return are_outliers(self.task.observations, model) if is_robust(self.task.loss) else None


def _for_all_entries(contest: Contest, scored: Scored) -> Recipe:
    """Return the recipe for all entries, with what was chosen on the splits."""
    return replace(
        scored.recipe,
        before=_before(contest, scored),
        method=scored.final(len(contest.problem.observations)),
        beside=tuple(Portion(weight, _for_all_entries(contest, each)) for weight, each in scored.beside),
        loss=contest.problem.loss,
        start=Start(scored.near, thoroughly=not scored.trial.early),
    )


def _before(contest: Contest, scored: Scored) -> tuple[Before, ...]:
    """Return all stages before the method, with those that were done to the splits already."""
    mu = contest.splits[0].mu
    graphs = (Graphs(contest.graphs, scored.trial.point.mu if mu is None else mu),) if contest.graphs else ()
    return (*graphs, *contest.given, *scored.recipe.before)


def without_corrupt(task: Task, answer: Answer, corrupt: Booleans, context: Context) -> Model:
    """Return what the recipe of an answer gives without corrupt entries, nor those that were held out for it."""
    recipe, bars = answer.recipe, answer.error_bars
    fitted = task.observations.select(~corrupt)
    if bars is not None and bars.held_out is not None:
        own, held_out = joint_keys(fitted.shape, fitted.coords, bars.held_out.coords)
        fitted = fitted.select(~np.isin(own, held_out))
    asked = {stage.name: stage for stage in recipe.stages if stage.chosen}
    given = replace(task, observations=fitted, asked=asked, start=recipe.start, beside=recipe.beside)
    found = completed(given, [recipe.method], context, choosing=False, every=True)
    return found.result.finished_or_stopped().model


def entries_without(entries: Observations, others: Observations) -> Observations:
    """Return entries without those that have the coordinates of others."""
    own, theirs = joint_keys(entries.shape, entries.coords, others.coords)
    left_out = np.isin(own, theirs)
    return entries.select(~left_out) if left_out.any() else entries


def missing_beside(contest: Contest) -> Integers | None:
    """Return a sample of missing entries to compare held-out ones with; None where there are no intervals."""
    if not is_of_differences(contest.problem.loss) or contest.graphs or contest.holdout.block is None:
        return None
    # Its own generator, so that the same seed gives the same answer with and without intervals.
    return sample_of_missing(contest.problem.observations, MISSING, np.random.default_rng(0), contest.holdout.over)


def resemblance(contest: Contest, model: Model, missing: Integers | None) -> Floats | None:
    """Return how many missing entries each held-out entry stands for; None if they are not compared."""
    if missing is None:
        return None
    parts = [(split.held_out.coords, split.placed) for split in contest.splits]
    return weights_of(parts, missing, model, only_alike=contest.holdout.is_unlike)


def compared_by_value(contest: Contest, scored: Scored, held_out: HeldOut, missing: Integers | None) -> Holdout:
    """Return how entries were held out, with the AUC of telling missing entries by their prediction alone."""
    if missing is None:
        return contest.holdout
    ends = np.cumsum([len(split.held_out) for split in scored.splits])[:-1]
    coords, predicted = np.split(held_out.coords, ends), np.split(held_out.predicted, ends)
    models = (split.whole(model) for split, model in zip(scored.splits, scored.models, strict=True))
    found = value_auc(coords, predicted, models, missing, contest.problem.observations.shape)
    if found is None:
        return contest.holdout
    return replace(contest.holdout, value_auc=found[0], value_auc_error=found[1])


def filled(answer: Answer, places: Lift, entries: Observations, without: tuple[int, ...]) -> Answer:
    """Return an answer for all slices, in which those without any observed entry are filled from the others.

    Parameters
    ----------
    answer
        The answer for the slices that took part.
    places
        Where these are in the whole tensor.
    entries
        The entries that were fitted.
    without
        Modes whose empty slices stay as they are, beside those along which the recipe predicts them.
    """
    loss: Any = answer.recipe.loss
    without = (*without, *answer.recipe.reached)
    found = fill_empty_slices(places.model(answer.result.model), places.back(entries), loss, without=without)
    core, bars, recipe = answer.result.core, answer.error_bars, answer.recipe
    recipe = recipe.started(places.core)
    if found.fills:
        recipe = replace(recipe, after=(*recipe.after, EmptySlices(tuple(found.fills), without)))
    if bars is not None:
        held_out = None if bars.held_out is None else bars.held_out.placed(places)
        bars = replace(bars, slices=found.errors, held_out=held_out)
    result = replace(answer.result, model=found.model, core=None if core is None else places.core(core))
    return replace(answer, recipe=recipe, result=result, error_bars=bars)


def shown(context: Context, whole: Callable[[Model], Model]) -> Callback:
    """Return a callback that shows each iteration, and then asks the caller's own, in the units of the data.

    `whole` makes a model of the whole tensor of one that the method has.
    """
    scale = context.scale

    def callback(record: Record, model: Model) -> object:
        record = scale.up(record)
        context.display.iteration(record)
        if context.callback is None:
            return None
        return context.callback(record, scale.up(whole(model)))

    return callback


def _resolved(recipe: Recipe, problem: Problem) -> Recipe:
    """Return the recipe with the defaults of its method that depend on the problem spelled out."""
    reshaping = [stage for stage in recipe.before if isinstance(stage, Graphs) or stage.other_modes]
    beside = tuple(replace(each, recipe=_resolved(each.recipe, problem)) for each in recipe.beside)
    method = recipe.method.resolved(Reduced(problem).by(reshaping, Clock()).problem)
    return replace(recipe, method=method, beside=beside)


def _usual_error(model: Model, data: Observations) -> float:
    return float(np.median(np.abs(model.predict(data.coords) - data.values)))
