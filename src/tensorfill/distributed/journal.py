"""The journal of a run on workers: a checkpoint on this machine, for which the factors are gathered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from .._support.journal import Draft, Journal
from ..algebra.component import LowRank
from ..methods.base import Result
from ..models import FoldedLowRank
from .crew import Crew
from .cutting import Cut
from .rows import brought_together, spread
from .working import WorkingModel

T = TypeVar("T")


class SpreadJournal(Journal):
    """Stores models on workers in another journal, with their factors gathered.

    The number of workers may change when a run is resumed, because the factors are cut again.

    Parameters
    ----------
    journal
        The journal to write to.
    crew, cut
        The workers, and how the tensor is cut.
    """

    def __init__(self, journal: Journal, crew: Crew, cut: Cut) -> None:
        self._journal, self._crew, self._cut = journal, crew, cut

    def recall(
        self,
        asked: Sequence[Any],
        compute: Callable[[Draft], T],
        *,
        rng: np.random.Generator | None = None,
        is_finished: Callable[[T], bool] = lambda answer: True,
    ) -> T:
        """Return the stored answer to a question, or compute and store it; see `Journal.recall`."""
        computed: list[T] = []

        def answered(draft: Draft) -> T:
            computed.append(compute(_SpreadDraft(draft, self)))
            answer: T = self.brought(computed[0])
            return answer

        found = self._journal.recall(asked, answered, rng=rng, is_finished=is_finished)
        if computed:
            return computed[0]
        kept: T = self.sent(found)
        return kept

    def brought(self, thing: Any) -> Any:
        """Return models, results, and lists and dictionaries of these with their factors on this machine."""
        return _changed(thing, self._here)

    def sent(self, thing: Any) -> Any:
        """Return the result of `brought` with its factors on the workers."""
        return _changed(thing, self._there)

    def _here(self, model: Any) -> Any:
        if not isinstance(model, WorkingModel):
            return model
        parts = [
            LowRank(part.mode, part.u, part.s, brought_together(self._cut, part.v, part.mode))
            for part in model.components
        ]
        return FoldedLowRank(model.shape, parts, model.weights)

    def _there(self, model: Any) -> Any:
        if not isinstance(model, FoldedLowRank):
            return model
        parts = [
            LowRank(part.mode, part.u, part.s, spread(self._crew, self._cut, part.v, part.mode))
            for part in model.components
        ]
        return WorkingModel(self._crew, self._cut, parts, model.weights)


def _changed(thing: Any, change: Callable[[Any], Any]) -> Any:
    """Return an object with its models changed, also within results, dictionaries and lists."""
    if isinstance(thing, Result):
        return replace(thing, model=change(thing.model))
    if isinstance(thing, Mapping):
        return {name: _changed(each, change) for name, each in thing.items()}
    return [_changed(each, change) for each in thing] if isinstance(thing, list) else change(thing)


class _SpreadDraft(Draft):
    """The draft of a computation whose factors are on workers."""

    def __init__(self, draft: Draft, journal: SpreadJournal) -> None:
        self._draft, self._journal = draft, journal
        self.state = None if draft.state is None else journal.sent(draft.state)

    def offer(self, state: Callable[[], Mapping[str, Any]], *, last: bool = False) -> None:
        """Store a state if one is due, or if it is the last of this run."""
        self._draft.offer(lambda: self._journal.brought(state()), last=last)
