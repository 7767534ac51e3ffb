"""What is asked of a pipeline, and what accompanies it from its first stage to its last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._support.clock import Clock
from .._support.interrupts import Interrupts
from .._support.progress import Display
from ..graphs import KernelGraph
from ..graphs.reduction import Graph
from ..losses import Loss, Square
from ..losses.robust import Robust
from ..methods.base import Callback, Method, Record
from ..models import Model
from ..observations import Observations
from .centring import can_centre, is_of_differences
from .corrupt import is_robust
from .splits import Choice
from .units import Unit


@dataclass(frozen=True, eq=False)
class Run:
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
    unit
        The unit that the data is fitted in; what is shown, and what the callback gets, is in the units of the data.
    """

    rng: np.random.Generator
    clock: Clock = field(default_factory=Clock)
    display: Display = field(default_factory=lambda: Display(False))
    callback: Callback | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    unit: Unit = field(default_factory=Unit)

    def watch(self, *, counting: bool = True) -> Callback:
        """Return a callback that shows each iteration, if they are counted, and then asks the caller's own."""

        def watch(record: Record, model: Model) -> object:
            record = self.unit.record(record)
            if counting:
                self.display.iteration(record)
            return None if self.callback is None else self.callback(record, self.unit.model(model))

        return watch


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of a pipeline.

    Parameters
    ----------
    observations
        The data, with values as the loss takes them.
    loss
        The loss; a robust one by name or as an object.
    choice
        How entries are held out.
    same
        Two modes that are the same entities, or None.
    graphs
        Laplacians by mode, or kernels whose width is yet to be chosen.
    smooth
        The modes with smooth neighbours, ``"auto"``, or None.
    centre
        Whether to subtract the mean and the effects first, or ``"auto"``.
    refine
        ``"tucker"`` for a polish by least squares, or None.
    start
        A model to start the fit of all entries from, if nothing is left to choose.
    """

    observations: Observations
    loss: str | Loss | Robust
    choice: Choice = field(default_factory=Choice)
    same: tuple[int, int] | None = None
    graphs: Mapping[int, Graph | KernelGraph] = field(default_factory=dict)
    smooth: Sequence[int] | str | None = "auto"
    centre: bool | str = "auto"
    refine: str | None = None
    start: Model | None = None

    def stages_asked(self) -> list[str]:
        """Return the stages that the caller asks for, rather than leaves to held-out entries."""
        asked = {
            "laplacian": bool(self.graphs),
            "smooth": self.smooth is not None and not isinstance(self.smooth, str),
            "centre": self.centre is True,
            "refine": self.refine is not None,
        }
        return [name for name, wanted in asked.items() if wanted]

    def check(self, method: Method) -> None:
        """Refuse, with one sentence, a stage that cannot stand around a method or beside the loss."""
        for stage in self.stages_asked():
            if stage not in method.stages:
                raise ValueError(f"{stage} does not go with method '{method.name}'; leave {stage} out.")
        loss = Square() if is_robust(self.loss) else self.loss
        asked = self.stages_asked()
        if "smooth" in asked and not is_of_differences(loss):  # type: ignore[arg-type]
            raise ValueError(f"smooth needs loss 'square' or 'huber', but the loss is {loss!r}; leave it out.")
        if "centre" in asked and not can_centre(loss):  # type: ignore[arg-type]
            raise ValueError(
                "centre needs loss 'square' or 'huber', or a loss with `mean`, whose prediction is a score, but the "
                f"loss is {loss!r}; leave it out."
            )
        if self.refine is not None and not isinstance(loss, Square):
            raise ValueError(f"refine='tucker' needs loss 'square', but the loss is {loss!r}; leave it out.")


def needs_choice(methods: Sequence[Method], task: Task, choice: Any) -> bool:
    """Return whether entries must be held out: to choose settings or a method, or because the caller asks for it."""
    return len(methods) > 1 or bool(methods[0].open_settings or task.stages_asked() or choice is not None)
