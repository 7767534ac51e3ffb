"""The journal of a run: finished work is kept, so that a run that was killed can be resumed.

A run is a deterministic function of its data, its settings and its seed. So the same piece of work, with the same state
of the random generator, has the same result, and a resumed run takes it from the journal. Partial work on a long piece
is kept as a draft. `tensorfill.io.checkpoints` has the journal that is stored in a file; the default journal keeps
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Draft:
    """A piece of work in progress; this base class discards it."""

    state: Mapping[str, Any] | None = None
    """The state that an earlier run reached in this piece; None for a new piece."""

    def offer(self, state: Callable[[], Mapping[str, Any]], *, last: bool = False) -> None:
        """Keep a state, if it is due or the last one of this run."""


class Journal:
    """Results of finished pieces of work, by their inputs; this base class keeps nothing."""

    def recall(
        self,
        asked: Sequence[Any],
        compute: Callable[[Draft], T],
        *,
        rng: np.random.Generator | None = None,
        is_finished: Callable[[T], bool] = lambda answer: True,
    ) -> T:
        """Return the stored result for these inputs, or compute and store it.

        Parameters
        ----------
        asked
            Everything that the result depends on, including a name for the kind of work.
        compute
            Computes the result.
        rng
            Its state is part of the inputs. Afterwards, it has the state that the computation leaves it in.
        is_finished
            Whether a result is complete and is stored, or was stopped half way.
        """
        return compute(Draft())


NO_JOURNAL = Journal()
