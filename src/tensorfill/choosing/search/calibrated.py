"""The search of calibrated least squares: the one of the square loss, and then the curve from estimates to scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...losses import is_score, restore
from ...losses.links import calibrated, link_for
from ...methods.base import Method
from ...methods.calibrated import Calibrated, least_squares_of, through
from ...methods.grow import Grow
from ...methods.nort import Nort
from ...models import Linked, Model
from ..centring import may_help
from ..holdout.splits import Split
from .base import BEYOND_DOUBT, Trial
from .grow import GrowSearch
from .nort import NortSearch
from .trials import Search, Trials

WIDTHS = (None, 0.3, 0.1, 0.03, 0.01)
"""The widths of the curve that are tried, the straight line first."""


@dataclass(frozen=True, eq=False)
class _Found:
    """The best of a search with the square loss."""

    search: Search
    trials: Trials
    centred: bool

    @property
    def best(self) -> Trial:
        return self.trials.leader


class CalibratedSearch:
    """Searches as for the square loss, and then chooses the curve of the best answer on the same held-out entries.

    Parameters
    ----------
    settings
        The method with its open settings.
    """

    conclusive = False

    def __init__(self, settings: Calibrated) -> None:
        self._settings = settings
        self._found: _Found | None = None

    def run(self, trials: Trials) -> Iterator[None]:
        """Find the best answer of least squares, and then its curve."""
        yield from ()
        found = self._found = _best_of_squares(trials)
        problem, best = trials.local_problems[0], found.best
        loss, values = problem.loss, problem.observations.values
        base = replace(
            self._settings,
            method=best.method,
            centred=found.centred,
            max_iter=best.method.max_iter,
            tol=best.method.tol,
        )
        if not is_score(loss):
            # The answer is that of the other method, and so are the trials.
            trials.points += [replace(each, method=replace(base, method=each.method)) for each in found.trials.points]
            trials.run(base, best.models, tried={"width": 0.0}, max_iter=1)
            return
        estimates = found.trials.predictions(best.models)
        for width in WIDTHS:
            link = link_for(loss, values, np.inf if width is None else width)
            if width is not None and link.is_straight:
                break
            link = calibrated(loss, link, estimates, trials.held_out_values)
            method = replace(base, width=width, intercept=link.intercept, slope=link.slope)
            starts = [Linked(model, link) for model in best.models]
            trials.run(method, starts, tried={"width": width or 0.0}, max_iter=1)

    def finish(self, trials: Trials) -> None:
        """Do nothing: the search of least squares is finished before the curve is chosen."""

    def final(self, trials: Trials, entries: int) -> Calibrated:
        """Return the method of the best trial, for a fit of this many entries."""
        method: Calibrated = trials.leader.method  # type: ignore[assignment]
        if self._found is None:
            return method
        inner = self._found.search.final(self._found.trials, entries)
        return replace(method, method=inner, max_iter=inner.max_iter, tol=inner.tol)


def _best_of_squares(trials: Trials) -> _Found:
    """Return the best answer with the square loss, by the methods that are tried for it."""
    splits = [_of_squares(split) for split in trials.local]
    methods: list[Method] = [Grow(), Nort()]
    best: _Found | None = None
    for method in methods:
        if len(splits[0].problem.observations) < method.fewest_entries:
            continue
        found = _searched(method, trials, splits, best)
        if best is None or found.best.beats(best.best):
            best = found
        if found.search.conclusive:
            break
    if best is None:
        raise ValueError("No method was tried.")
    if may_help(splits, best.best.point.held_out, trials.clock):
        centred = [split.centred(trials.clock) for split in splits]
        again = _searched(type(best.best.method)(), trials, centred, None, ahead=best.best)
        if again.best.beats(best.best):
            best = replace(again, centred=True)
    best.search.finish(best.trials)
    return best


def _searched(
    method: Method, trials: Trials, splits: Sequence[Split], before: _Found | None, *, ahead: Trial | None = None
) -> _Found:
    """Return the best that a method finds with the square loss; it ends at a pause where `ahead` is better for sure."""
    search: Search = GrowSearch(method) if isinstance(method, Grow) else NortSearch(method)  # type: ignore[arg-type]
    problem, callback = trials.local_problems[0], trials.context.callback
    link = link_for(problem.loss, problem.observations.values, 0.1)

    def as_scores(model: Model) -> Model:
        return Linked(model, link) if is_score(problem.loss) else model

    context = replace(trials.context, callback=None if callback is None else through(as_scores, callback))
    own = Trials(splits, context, found=None if before is None else before.best)
    for _ in search.run(own):
        if ahead is not None and ahead.beats(own.leader, by=BEYOND_DOUBT):
            break
    return _Found(search, own, centred=False)


def _of_squares(split: Split) -> Split:
    """Return a split with the square loss, and values as the data has them."""
    loss = split.problem.loss
    held_out = split.held_out.with_values(restore(loss, split.held_out.values)) if is_score(loss) else split.held_out
    return replace(split, problem=least_squares_of(split.problem), held_out=held_out)
