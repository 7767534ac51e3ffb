"""What accompanies a run from its first stage to its last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .._support.clock import Clock
from .._support.interrupts import Interrupts
from .._support.progress import Display
from ..methods.base import Callback
from .stages.scale import Scale


@dataclass(frozen=True, eq=False)
class Context:
    """What accompanies a run from its first stage to its last.

    Parameters
    ----------
    rng
        Decides everything that is random.
    clock
        Started when the run was asked for; every stage obeys it.
    display
        Shows the progress.
    callback
        Called after every iteration; returning something true stops the run.
    interrupts
        What Ctrl-C does.
    scale
        The unit that the data is fitted in; what is shown is in the units of the data.
    seeded
        Returns the generator as it was when the run began.
    """

    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    clock: Clock = field(default_factory=Clock)
    display: Display = field(default_factory=lambda: Display(False))
    callback: Callback | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    scale: Scale = field(default_factory=Scale)
    seeded: Callable[[], np.random.Generator] = np.random.default_rng

    def again(self) -> Context:
        """Return the context with the generator as it was when the run began: for what a repetition does too."""
        return replace(self, rng=self.seeded())
