"""What accompanies a run from its first stage to its last."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    """

    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    clock: Clock = field(default_factory=Clock)
    display: Display = field(default_factory=lambda: Display(False))
    callback: Callback | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    scale: Scale = field(default_factory=Scale)
