"""What is asked of a run: the data, the loss, how entries are held out, and the stages around the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graphs import KernelGraph
from ..graphs.reduction import Graph
from ..losses import Loss, Square
from ..losses.robust import Robust, is_robust
from ..methods.base import STAGES, Method
from ..models import Model
from ..observations import Observations
from .holdout.splits import Choice
from .stages.base import After, Before, Stage
from .stages.centre import can_centre, is_of_differences

LEFT_OPEN: dict[str, Any] = {"smooth": "auto", "centre": "auto", "refine": None}
"""What a caller who says nothing of a stage leaves to held-out entries."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of a run.

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
    asked
        What is said of each stage, by its name; a stage itself, with all its settings, leaves nothing to choose.
    start
        A model to start the fit of all entries from, if nothing is left to choose.
    """

    observations: Observations
    loss: str | Loss | Robust
    choice: Choice = field(default_factory=Choice)
    same: tuple[int, int] | None = None
    graphs: Mapping[int, Graph | KernelGraph] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=lambda: dict(LEFT_OPEN))
    start: Model | None = None

    def stages_asked(self) -> list[str]:
        """Return the stages that the caller asks for, rather than leaves to held-out entries."""
        named = ["laplacian"] if self.graphs and "laplacian" not in self.asked else []
        return named + [name for name, asked in self.asked.items() if asked not in ("auto", None, False)]

    @property
    def is_open(self) -> bool:
        """Whether a stage that the caller asks for leaves something to choose."""
        return any(not isinstance(self.asked.get(name), Stage) for name in self.stages_asked())

    @property
    def before(self) -> tuple[Before, ...]:
        """The stages before the method that are given with all their settings."""
        order = ("laplacian", "centre")
        return tuple(each for name in order if isinstance(each := self.asked.get(name), Before))

    @property
    def after(self) -> tuple[After, ...]:
        """The stages after the method that are given with all their settings."""
        return tuple(each for each in self.asked.values() if isinstance(each, After))

    @property
    def ordered_modes(self) -> set[int]:
        """The modes whose slices all matter: with a graph, with smooth neighbours, or the same as another mode."""
        smooth = self.asked.get("smooth")
        named = smooth.modes if isinstance(smooth, Stage) else () if isinstance(smooth, str) else smooth or ()
        # Entries to choose by may lie in any slice.
        every = range(self.observations.ndim) if isinstance(self.choice.validation, Observations) else ()
        return {*self.graphs, *(self.same or ()), *named, *every}

    def check(self, method: Method) -> None:
        """Refuse, with one sentence, a stage that cannot go with a method or with the loss."""
        asked = self.stages_asked()
        for stage in asked:
            if stage in STAGES and stage not in method.stages:
                raise ValueError(f"{stage} does not go with method '{method.name}'; leave {stage} out.")
        loss: Any = Square() if is_robust(self.loss) else self.loss
        if "smooth" in asked and not is_of_differences(loss):
            raise ValueError(f"smooth needs loss 'square' or 'huber', but the loss is {loss!r}; leave it out.")
        if "centre" in asked and not can_centre(loss):
            raise ValueError(
                "centre needs loss 'square' or 'huber', or a loss with `mean`, whose prediction is a score, but the "
                f"loss is {loss!r}; leave it out."
            )
        if "refine" in asked and not isinstance(loss, Square):
            raise ValueError(f"refine='tucker' needs loss 'square', but the loss is {loss!r}; leave it out.")


def needs_choice(methods: Sequence[Method], task: Task, choice: Any) -> bool:
    """Return whether entries must be held out: to choose settings or a method, or because the caller asks for it."""
    return len(methods) > 1 or bool(methods[0].open_settings or task.is_open or choice is not None)
