"""The stages behind the front door: judge, split, search, bring to the end, polish, smooth, refit.

One clock, one guard against interrupts and one place for the best answer so far stand around all stages. A run that is
stopped, by the caller, the clock or the keyboard, answers with the best it has: before the first trial, that is the
mean and the effect of each index. While an answer is put together, Ctrl-C is only noted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .._support.clock import Clock, TimeUp
from .._support.types import Booleans, Floats
from ..graphs import KernelGraph
from ..graphs.reduction import Graph
from ..losses import Square, is_score
from ..losses.robust import EFFICIENT, make_robust
from ..methods.base import Method, Result, Status, Stopped
from ..methods.problem import Problem
from ..methods.search import Trial
from ..metrics import rmse
from ..models import Model
from .answer import Answer, Outcome
from .centring import are_balanced, are_needed, can_centre, centred_beside, centred_split, is_of_differences, may_help
from .corrupt import Watch, is_robust, named_robust, rough_fit
from .empty_slices import fill_empty_slices
from .error_bars import ErrorBars
from .first_answer import Effects, effects_alone, simplest
from .judging import corrupt_entries
from .kernel_width import with_widths
from .outliers import are_outliers
from .polish import polished_if_better
from .present_slices import PresentSlices
from .refit import Refit, refitted
from .resemblance import weights_of
from .smooth_field import choose_smoothing, loss_alone, smooth_modes
from .splits import Split, make_splits, whole_split
from .task import Run, Task
from .trials import Trials, fitted, losses_of
from .walk import search_for

FAR_BEHIND = 1.5
"""An answer with this many times the loss of a smooth field alone is brought to the end only if it is the best."""

MOST_ROUNDS = 2
"""The mean and the effects are fitted beside the answer at most this often."""


STOPS = (Stopped, TimeUp, KeyboardInterrupt)
"""What ends a run before its time."""


class Pipeline:
    """Makes an answer, stage by stage.

    Parameters
    ----------
    task
        What is asked.
    run
        The clock, the display and the rest that accompanies the run.
    """

    def __init__(self, task: Task, run: Run) -> None:
        self._present = PresentSlices.of(task)
        self._task = self._present.reduced(task)
        self._run = replace(run, callback=self._present.callback(run.callback))
        self.splits: Sequence[Split] = ()
        self._trials: list[Trials] = []
        self._champion: Answer | None = None
        self._current: Answer | None = None
        self._rough: tuple[Method, Result] | None = None
        self._corrupt: Booleans | None = None
        self._graphs: Mapping[int, Graph] = {}

    def as_given(self, method: Method) -> Outcome:
        """Run a method on all entries as it is, with nothing held out."""
        start = self._task.start
        try:
            with self._run.interrupts.welcome():
                problem, near = self._judged(method, choosing=False, robust=method.takes_robust)
                self._run.display.begin("fitting", method.max_iter, method.tol)
                first = near if start is None and near is not None and method.can_start_from(near, problem) else start
                result = fitted(
                    method, problem, first, rng=self._run.rng, callback=self._run.watch(), clock=self._run.clock
                )  # fmt: skip
                if first is None and result.history[-1].iteration == 0:
                    # Without an iteration the method has no answer yet.
                    result.finished_or_stopped()
        except STOPS as stop:
            return self._best_so_far(stop)
        corrupt = self._corrupt_beside(result.model)
        return self._filled(Outcome(method.resolved(problem), result, problem.loss, corrupt=corrupt), problem)

    def best_of(self, methods: Sequence[Method], *, all_of_them: bool = True) -> Outcome:
        """Choose what the methods leave open on held-out entries, keep the best, and fit all entries with it.

        Unless `all_of_them` are asked for, the first whose answer leaves nothing to find is the last that is tried, and
        only the best gets the stages after the method.
        """
        try:
            with self._run.interrupts.welcome():
                self.prepare(methods)
                for number, method in enumerate(methods):
                    share = self._run.clock.part(1 / (len(methods) - number)) if len(methods) > 1 else None
                    answer = self.contend(method, share, finish=all_of_them)
                    if answer.search.conclusive and not all_of_them:
                        break
                if not all_of_them:
                    self._current = self.best
                    if self._is_far_behind(self.current):
                        self._bring_to_the_end(self._run.clock)
                    self._finish(self._run.clock)
                    self._champion = self._current
                self._run.clock.check()
                answer = self.best
                refit = self._refitted(answer)
        except STOPS as stop:
            return self._best_so_far(stop)
        return self._outcome(answer, refit)

    def prepare(self, methods: Sequence[Method]) -> None:
        """Choose the width of kernels, judge which entries are corrupt, if the loss asks for it, and hold entries out.

        If every method takes the robust loss itself, all entries stay, and held-out ones are judged by that loss too.
        """
        run, observations = self._run, self._task.observations
        if any(isinstance(graph, KernelGraph) for graph in self._task.graphs.values()):
            run.display.begin("choosing the width of a graph", None)
        self._graphs = with_widths(self._task.graphs, observations, run.rng, run.clock)
        robust = all(method.takes_robust for method in methods)
        self._problem, _ = self._judged(methods[0], choosing=True, robust=robust)
        self.splits, self.holdout = make_splits(
            self._problem.observations, self._problem.loss, self._task.choice, run.rng, self._graphs
        )

    def contend(self, method: Method, clock: Clock | None = None, *, finish: bool = True) -> Answer:
        """Let a method choose its settings, finish its answer if asked to, and keep it if it is the best so far."""
        self._current = None
        clock = clock or self._run.clock
        self._run.display.begin(f"choosing settings of {method.name}", None)
        try:
            self._search(method, clock)
            if finish or not self._is_far_behind(self.current):
                self._bring_to_the_end(clock)
            if finish:
                self._finish(clock)
        except (Stopped, TimeUp) as stop:
            # The time of this method is over, but what it has so far is an answer.
            if self._current is None or _status(stop) is not Status.TIME_LIMIT:
                raise
        answer = self.current
        self._champion, self._current = self.best, None
        return answer

    def _is_far_behind(self, answer: Answer) -> bool:
        """Return whether a smooth field alone is so much better that the last sweeps of a method do not matter."""
        return bool(answer.losses.mean() > FAR_BEHIND * self._loss_of_a_field_alone)

    def _finish(self, clock: Clock) -> None:
        """Add the stages after the method to its answer, where held-out entries gain."""
        self._polish(clock)
        self._smooth(clock)

    @property
    def entries(self) -> int:
        """The number of entries that a fit of all of them has."""
        return len(self._problem.observations)

    @property
    def current(self) -> Answer:
        """The answer of the method at work."""
        if self._current is None:
            raise ValueError("No method has an answer yet.")
        return self._current

    @property
    def best(self) -> Answer:
        """The best answer so far."""
        if self._champion is None:
            return self.current
        if self._current is not None and self._current.beats(self._champion):
            return self._current
        return self._champion

    # The stages

    def _judged(self, method: Method, *, choosing: bool, robust: bool) -> tuple[Problem, Model | None]:
        """Return the problem and, for a robust loss, where to start.

        With methods that take a `robust` loss as it is, all entries stay. With others, the entries that are judged
        corrupt are left out if settings are chosen; if not, they stay, and the loss allows for them.
        """
        task, run = self._task, self._run
        if not is_robust(task.loss):
            return Problem(task.observations, task.loss), None  # type: ignore[arg-type]
        if robust:
            return Problem(task.observations, make_robust(task.loss)), None  # type: ignore[arg-type]
        run.display.begin("looking for corrupt entries", None)
        watch = Watch(run.watch(counting=False), run.clock, self._keep_rough)
        ranks: Any = {"modes": getattr(method, "modes", None), "max_rank": getattr(method, "max_rank", None)}
        if choosing:
            self._corrupt = corrupt_entries(task.observations, **ranks, rng=run.rng, watch=watch)
            return Problem(task.observations.select(~self._corrupt), Square()), None
        rough = rough_fit(Problem(task.observations, Square()), **ranks, rng=run.rng, watch=watch)
        loss = named_robust(task.loss, rough.noise).cut_at(EFFICIENT * rough.noise)  # type: ignore[arg-type]
        return Problem(task.observations, loss), rough.model

    def _keep_rough(self, method: Method, result: Result) -> None:
        self._rough = method, result

    def _search(self, method: Method, clock: Clock) -> None:
        """Find the best settings for the data as it is or, if that is better, for the centred data."""
        self._search_with_and_without_centring(method, clock)
        answer = self.current
        answer.search.finish(answer.trials)
        self._current = Answer.of(answer.trials, answer.search, answer.trials.leader)

    def _search_with_and_without_centring(self, method: Method, clock: Clock) -> None:
        task = self._task
        possible = task.centre == "auto" and "centre" in method.stages and can_centre(self._problem.loss)
        silent = any(method.is_silent_somewhere(split.problem) for split in self.splits)
        scores = possible and is_score(self._problem.loss)
        needed = possible and (silent or (scores and are_needed(self.splits, self._run.clock)))
        if task.centre is True or needed:
            self._searched(method, clock, centred=True)
            if needed and are_balanced(self.splits):
                # Then the effects are better than nothing, but a method may find more without them.
                self._searched(method, clock, centred=False)
            return
        plain = self._searched(method, clock, centred=False)
        if possible and is_of_differences(self._problem.loss) and may_help(self.splits, plain.point.held_out):
            self._searched(method, clock, centred=True)

    def _searched(self, method: Method, clock: Clock, *, centred: bool) -> Trial:
        splits = [centred_split(split, self._run.clock) for split in self.splits] if centred else self.splits
        search = search_for(method)
        before = self._current

        def tried(trial: Trial) -> None:
            error = self._run.unit.error(trial.point.held_out)
            self._run.display.tried(sum(len(each.points) for each in self._trials), error)
            answer = Answer.of(trials, search, trial)
            if trials.best is trial and answer.beats(before):
                self._current = answer

        other = self._champion
        trials = Trials(
            splits=splits,
            rng=self._run.rng,
            clock=clock,
            callback=self._run.watch(counting=False),
            tried=tried,
            centred=centred,
            rival=self._loss_of_a_field_alone,
            found=other.trial.models if other is not None and other.trials.centred == centred else None,
        )
        self._trials.append(trials)
        search.run(trials)
        # A search may prefer a trial by a rule of its own.
        answer = Answer.of(trials, search, trials.leader)
        if answer.beats(before):
            self._current = answer
        return trials.leader

    def _bring_to_the_end(self, clock: Clock) -> None:
        """Solve the fits without the held-out entries as far as the method asks; error bars rest on them."""
        answer = self.current
        method = answer.final(len(answer.trials.splits[0].problem.observations))
        self._run.display.begin("fitting without the held-out entries", method.max_iter, method.tol)
        results = answer.trials.solve(
            method, answer.trial.models, answer.trial.point.mu, at_least=method.steps_to_gather
        )
        losses = losses_of(answer.splits, [result.model for result in results])
        trial = replace(answer.trial, results=results, losses=losses)
        self._current = Answer.of(answer.trials, answer.search, trial)
        for result in results:
            result.finished_or_stopped()
        self._centre_again(clock)

    def _centre_again(self, clock: Clock) -> None:
        """Fit the mean and the effects again beside the answer, and the answer beside them, while that is better."""
        while is_score(self._problem.loss) and self.current.centred and self.current.rounds < MOST_ROUNDS:
            clock.check()
            answer = self.current
            splits = [centred_beside(*pair, self._run.clock) for pair in zip(self.splits, answer.models, strict=True)]
            trials = replace(answer.trials, splits=splits)
            results = trials.solve(answer.trial.method, answer.models, answer.trial.point.mu)
            models = [result.model for result in results]
            losses = losses_of(splits, models)
            trial = replace(answer.trial, results=results, losses=losses)
            again = replace(Answer.of(trials, answer.search, trial), rounds=answer.rounds + 1)
            if not again.beats(answer):
                return
            self._current = again

    def _polish(self, clock: Clock) -> None:
        """Polish by least squares, if that is asked for and lowers the held-out error."""
        if self._task.refine is None:
            return
        clock.check()
        self._run.display.begin("polishing", None)
        answer = self.current
        models, polish = polished_if_better(answer.splits, answer.models, clock)
        if polish is not None:
            losses = losses_of(answer.splits, models)
            self._current = replace(answer, models=models, losses=losses, polish=polish)

    def _smooth(self, clock: Clock) -> None:
        """Add smooth fields, if these are asked for or lower the held-out error."""
        if not self._smooth_weights:
            return
        clock.check()
        self._run.display.begin("looking for smoothness", None)
        answer = self.current
        alone = answer.trials.splits if self._task.centre is True else self.splits
        found = choose_smoothing(answer.splits, answer.models, alone, self._smooth_weights, clock)
        if found is None:
            return
        smoothed = replace(
            answer,
            splits=found.splits,
            models=found.models,
            losses=found.losses,
            smoothing=found.smoothing,
            # A field that does without low rank takes the data as it is.
            centred=answer.centred and found.splits is answer.splits,
        )
        if self._task.smooth != "auto" or smoothed.beats(answer):
            self._current = smoothed

    @cached_property
    def _smooth_weights(self) -> dict[int, float]:
        """The weight of each mode that may be smooth; those with a graph are smooth already."""
        if not is_of_differences(self._problem.loss):
            return {}
        weights = smooth_modes(self._problem.observations, self._task.smooth)
        return {mode: weight for mode, weight in weights.items() if mode not in self._task.graphs}

    @cached_property
    def _loss_of_a_field_alone(self) -> float:
        """The held-out loss of a smooth field alone, the rival of every method."""
        return loss_alone(self.splits, self._smooth_weights, self._run.clock)

    # The answer

    def _refitted(self, answer: Answer) -> Refit:
        """Fit all entries with what was chosen."""
        first = self.splits[0]
        whole = whole_split(self._problem.observations, first.held_out, self._problem.loss, self._graphs)
        # With graphs, slices that were held out are no part of the answers on the splits.
        near = self._task.start or whole.part(first.whole(answer.trial.models[0]))
        return refitted(answer, whole, near, self._run)

    def _outcome(self, answer: Answer, refit: Refit) -> Outcome:
        held_out, corrupt = answer.held_out(self._problem.observations), self._corrupt
        if corrupt is None and is_robust(self._task.loss):
            corrupt = are_outliers(self._task.observations, refit.result.model, held_out.residuals)
        outcome = Outcome(
            method=refit.method,
            result=refit.result,
            loss=self._problem.loss,
            points=[point for trials in self._trials for point in trials.points],
            error_bars=ErrorBars(held_out.residuals, self._resemblance(answer.whole_model), held_out=held_out),
            error_of_zero=rmse(np.zeros_like(held_out.observed), held_out.observed),
            holdout=self.holdout,
            polish=answer.polish,
            smoothing=answer.smoothing,
            centred=answer.centred,
            mu=answer.trial.point.mu,
            core=None if answer.smoothing is None else refit.core or answer.trial.models[0],
            corrupt=corrupt,
        )
        return self._filled(outcome, self._problem)

    def _resemblance(self, model: Model) -> Floats | None:
        """Return how many missing entries each held-out entry stands for; None where there are no intervals."""
        first = self.splits[0]
        if not is_of_differences(self._problem.loss) or first.reduced is not None or self.holdout.block is None:
            return None
        # A generator of its own, so that the same seed gives the same answer with and without intervals.
        rng, observed = np.random.default_rng(0), self._problem.observations
        parts = [(split.held_out.coords, split.problem.observations) for split in self.splits]
        return np.concatenate([weights_of(*part, observed, model, rng) for part in parts])

    def _filled(self, outcome: Outcome, problem: Problem) -> Outcome:
        """Return an outcome whose slices without any observed entry are filled from the others."""
        # A generator of its own, so that nothing else depends on whether slices are empty.
        rng = np.random.default_rng(0)
        model, entries = self._present.model(outcome.result.model), self._present.entries(problem.observations)
        filled = fill_empty_slices(model, entries, problem.loss, rng, without=self._task.graphs)
        bars = outcome.error_bars
        return replace(
            outcome,
            result=replace(outcome.result, model=filled.model),
            fills=filled.fills,
            core=None if outcome.core is None else self._present.model(outcome.core),
            error_bars=None
            if bars is None
            else replace(bars, slices=filled.errors, held_out=self._present.held_out(bars.held_out)),
        )

    def _best_so_far(self, stop: BaseException) -> Outcome:
        """Return the best answer of a run that was stopped: the mean and the effects, if nothing beats them."""
        status = _status(stop)
        if self.splits:
            answer = effects_alone(self.splits, self._run.clock)
            if (self._champion is not None or self._current is not None) and not answer.beats(self.best):
                answer = self.best
            result = replace(answer.trial.results[0], model=answer.whole_model, status=status)
            return self._outcome(answer, Refit(result, answer.trial.method))
        method, result, problem = simplest(self._task, self._rough, self._run.clock)
        outcome = Outcome(
            method,
            replace(result, status=status),
            problem.loss,
            centred=isinstance(method, Effects),
            corrupt=self._corrupt_beside(result.model),
        )
        return self._filled(outcome, problem)

    def _corrupt_beside(self, model: Model) -> Booleans | None:
        """Return which entries an answer of all entries takes for corrupt; None without a robust loss."""
        return are_outliers(self._task.observations, model) if is_robust(self._task.loss) else None


def _status(stop: BaseException) -> Status:
    """Return why a run was stopped."""
    if isinstance(stop, Stopped):
        return stop.status
    return Status.TIME_LIMIT if isinstance(stop, TimeUp) else Status.INTERRUPTED
