"""Where a run keeps its finished work, so that a run that was killed goes on with it.

A run is a fixed function of its data, its settings and its seed. So a piece of work that was asked for once, with
the same words and the same state of the random numbers, has the same answer, and a run that is started again takes it
from the journal. Within a long piece, the work so far is a draft. `tensorfill.io.checkpoints` has the journal that is a
file; by default a journal keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Draft:
    """A piece of work that is not finished yet; this one is thrown away."""

    state: Mapping[str, Any] | None = None
    """How far an earlier run came with this piece; None for a piece that begins."""

    def offer(self, state: Callable[[], Mapping[str, Any]], *, last: bool = False) -> None:
        """Keep a state, if it is time to or if it is the last of this run."""


class Journal:
    """Finished pieces of work, by what was asked; this one keeps nothing."""

    def recall(
        self,
        asked: Sequence[Any],
        compute: Callable[[Draft], T],
        *,
        rng: np.random.Generator | None = None,
        is_finished: Callable[[T], bool] = lambda answer: True,
    ) -> T:
        """Return the answer that is kept for what is asked, or compute and keep it.

        Parameters
        ----------
        asked
            Everything that the answer depends on, with a name for the kind of work.
        compute
            Returns the answer.
        rng
            Its state is part of what is asked. It is left as the computation left it.
        is_finished
            Whether an answer is kept, or was stopped half way.
        """
        return compute(Draft())


NO_JOURNAL = Journal()
