"""What is asked of a run: data of any kind, taken in and checked, the loss, and the stages around the method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._support.checks import choice as one_of
from .._support.checks import mode_number
from .._support.clock import Clock
from .._support.ordering import joint_keys
from .._support.parallel import one_blas_thread
from ..adapters.registry import take_in
from ..graphs import KernelGraph
from ..graphs.reduction import Graph
from ..labels import Labelled, Labels
from ..losses import LOSSES, Loss, Robust, Square, make_loss, prepare
from ..losses.robust import ROBUST, is_robust
from ..methods.base import STAGES as AROUND
from ..methods.base import Method
from ..methods.problem import Problem
from ..observations import Observations
from ..times import TimeAxis, time_axis
from .corrupt import without_gross_sizes
from .holdout.gaps import is_small
from .holdout.splits import Choice
from .recipe import Portion, Start
from .stages.base import After, Before, Reduced, Stage, labels_behind, merging
from .stages.centre import can_centre, is_of_differences
from .stages.fold import Fold, fold_of
from .stages.graphs import checked_graphs
from .stages.merge import Merge, merge_of
from .stages.scale import check_size, rounded
from .stages.smooth_field import smooth_modes
from .stages.table import STAGES
from .stages.whiten import Whiten, refusal

LEFT_OPEN: dict[str, Any] = {
    "merge": "auto", "fold": "auto", "smooth": "auto", "centre": "auto", "whiten": "auto", "refine": None,
}  # fmt: skip
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
    unordered
        The modes whose labels have no order.
    axis
        The mode of time; None if none is known.
    start
        How the fit of all entries begins, if nothing is left to choose.
    beside
        The other recipes of a blend, if it is given.
    """

    observations: Observations
    loss: str | Loss | Robust
    choice: Choice = field(default_factory=Choice)
    same: tuple[int, int] | None = None
    graphs: Mapping[int, Graph | KernelGraph] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=lambda: dict(LEFT_OPEN))
    unordered: frozenset[int] = frozenset()
    axis: TimeAxis | None = None
    start: Start = field(default_factory=Start)
    beside: tuple[Portion, ...] = ()

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
        """The stages before the method that are given with all their settings, in the order of the table."""
        return tuple(each for name in STAGES if isinstance(each := self.asked.get(name), Before))

    @property
    def merging(self) -> list[Before]:
        """The stages before the method that give it a tensor with other modes."""
        return merging(self.before)

    @property
    def times_with_gaps(self) -> tuple[int, ...]:
        """The modes of time, if some times have no entry at all."""
        if self.axis is None or self.merging:
            return ()
        sizes = [self.observations.shape[mode] for mode in self.axis.modes]
        if not is_small(sizes):
            return ()
        (times,) = joint_keys(tuple(sizes), self.observations.coords[:, self.axis.modes])
        return self.axis.modes if len(np.unique(times)) < math.prod(sizes) else ()

    @cached_property
    def within(self) -> Observations:
        """The entries by the modes that the method has."""
        return Reduced(Problem(self.observations, Square())).by(self.merging, Clock()).problem.observations

    def labels_within(self, labels: Labels) -> Labels:
        """Return the labels of the tensor that the method has."""
        return labels_behind(self.before, labels)

    @property
    def after(self) -> tuple[After, ...]:
        """The stages after the method that are given with all their settings, in the order of the table."""
        return tuple(each for name in STAGES if isinstance(each := self.asked.get(name), After))

    @property
    def ordered_modes(self) -> set[int]:
        """The modes whose slices all matter: with a graph, with smooth neighbours, of time, or the same as another."""
        smooth = self.asked.get("smooth")
        named = smooth.modes if isinstance(smooth, Stage) else () if isinstance(smooth, str) else smooth or ()
        # Entries to choose by may lie in any slice.
        every = range(self.observations.ndim) if isinstance(self.choice.validation, Observations) else ()
        # Without its empty slices, a mode of time would have other periods.
        times = {
            *(() if self.axis is None else self.axis.modes),
            *(mode for each in self.merging for mode in each.reached),
        }
        return {*self.graphs, *(self.same or ()), *named, *every, *times}

    def check(self, method: Method) -> None:
        """Refuse, with one sentence, a stage that cannot go with a method or with the loss."""
        asked = self.stages_asked()
        for stage in asked:
            if stage in AROUND and stage not in method.stages:
                raise ValueError(f"{stage} does not go with method '{method.name}'; leave {stage} out.")
        loss: Any = Square() if is_robust(self.loss) else self.loss
        if "smooth" in asked and not is_of_differences(loss):
            raise ValueError(f"smooth needs loss 'square' or 'huber', but the loss is {loss!r}; leave it out.")
        if "centre" in asked and not can_centre(loss):
            raise ValueError(
                "centre needs loss 'square' or 'huber', or a loss with `mean`, whose prediction is a score, but the "
                f"loss is {loss!r}; leave it out."
            )
        if isinstance(whiten := self.asked.get("whiten"), Whiten):
            graphs = "laplacian" in asked
            if graphs or not isinstance(self.loss, Square):
                raise ValueError(refusal(self.loss, graphs=graphs))
            for other in self.merging:
                raise ValueError(f"whiten does not go with {other.name}, but both were given; leave one of them out.")
            whiten.check(self.observations.shape)
        if "refine" in asked and not isinstance(loss, Square):
            raise ValueError(f"refine='tucker' needs loss 'square', but the loss is {loss!r}; leave it out.")


def needs_choice(methods: Sequence[Method], task: Task, choice: Any) -> bool:
    """Return whether entries must be held out: to choose settings or a method, or because the caller asks for it."""
    return len(methods) > 1 or bool(methods[0].open_settings or task.is_open or choice is not None)


@dataclass(frozen=True, eq=False)
class Job:
    """The data, ready for a run.

    Parameters
    ----------
    task
        What is asked.
    observations
        The data as it was given, before the loss changed its values.
    labelled
        Its labels, and how an answer is given back.
    """

    task: Task
    observations: Observations
    labelled: Labelled

    def with_loss(self, loss: str) -> Job:
        """Return the job with another loss."""
        prepared, fitted = _as_fitted(self.observations, loss)
        return replace(self, task=replace(self.task, observations=fitted, loss=prepared))


@one_blas_thread
def taken_in(
    data: Any,
    *,
    missing: str | None = None,
    value: str | None = None,
    layout: str | None = None,
    dtype: DTypeLike = np.float64,
    loss: str | Loss | Robust = "auto",
    same: Sequence[int | str] | None = None,
    laplacian: Mapping[Any, Any] | Stage | None = None,
    smooth: Sequence[int | str] | str | Stage | None = "auto",
    centre: bool | str | Stage = "auto",
    whiten: str | Stage | None = "auto",
    refine: str | Stage | None = None,
    merge: Sequence[Sequence[int | str]] | str | Stage | None = "auto",
    fold: Mapping[Any, int] | str | Stage | None = "auto",
    time: str | int | Sequence[int | str] | None = "auto",
    choose: Choice | None = None,
    start: Start | None = None,
    blend: bool | Sequence[Portion] = True,
    others: Mapping[str, Any] | None = None,
) -> Job:
    """Return data of any kind with the stages that are asked for, all checked and with modes by number.

    `others` has what is asked of further stages, by name.
    """
    if choose is not None and not isinstance(choose, Choice):
        raise TypeError(f"choose must be a Choice, as in choose=Choice(splits=3), but {choose!r} was given.")
    given: dict[str, Any] = {"laplacian": laplacian, "merge": merge, "fold": fold, "centre": centre}
    given |= {"whiten": whiten, "refine": refine, "smooth": smooth}
    given |= others or {}
    for name, stage in given.items():
        if isinstance(stage, Stage) and not isinstance(stage, STAGES[name]):
            raise TypeError(f"{name} must be a {STAGES[name].__name__} if it is a stage, but {stage!r} was given.")
    if not isinstance(centre, bool | Stage) and centre != "auto":
        raise ValueError(f"centre must be True, False or 'auto', but {centre!r} was given.")
    if whiten is not None and not isinstance(whiten, Stage) and not (isinstance(whiten, str) and whiten == "auto"):
        raise ValueError(f"whiten must be 'auto', None or a Whiten, but {whiten!r} was given.")
    if refine is not None and not isinstance(refine, Stage):
        one_of(refine, "refine", ["tucker"])
    taken = take_in(data, missing=missing, value=value, layout=layout)
    labels = taken.labels
    observations = rounded(taken.observations, dtype)
    check_size(observations)
    smooth_by_number: Any = smooth if isinstance(smooth, Stage) else labels.numbers(smooth)
    given["merge"] = merge_of(merge, labels, observations.shape)
    given["fold"] = fold_of(fold, labels, observations.shape)
    for stage in (given["merge"], given["fold"]):
        if isinstance(stage, Merge | Fold):
            _refuse_beside(stage.name, smooth, laplacian)
    if isinstance(given["merge"], Merge) and isinstance(given["fold"], Fold):
        raise ValueError("fold does not go with merge, but both were given; leave one of them out.")
    if isinstance(given["merge"], Merge) or isinstance(given["fold"], Fold):
        # A smooth field is added to the answer of the method, in which these modes are no longer.
        smooth = smooth_by_number = None
    graphs: Any = laplacian if isinstance(laplacian, Stage) else labels.numbered(laplacian, "laplacian")
    if isinstance(loss, str):
        one_of(loss, "loss", [*LOSSES, *ROBUST, "auto"])
        loss = Square() if loss == "auto" else loss
    prepared, fitted = _as_fitted(observations, loss)
    # Checked now rather than after a search, which can take minutes.
    smooth_modes(fitted, list(smooth.modes) if isinstance(smooth, Stage) else smooth_by_number)
    task = Task(
        observations=fitted,
        loss=prepared,
        same=_checked_same(same, labels, fitted.shape),
        choice=_checked_choice(choose or Choice(), labels, loss, dtype),
        graphs=checked_graphs(graphs, fitted.shape),
        asked={name: said for name, said in given.items() if name != "laplacian" or isinstance(said, Stage)}
        | {"smooth": smooth_by_number},
        axis=time_axis(labels, observations, time),
        unordered=frozenset(mode for mode in range(len(labels.names)) if not labels.has_order(mode)),
        start=start or Start(),
        beside=_checked_blend(blend),
    )
    return Job(task, observations, taken)


def _as_fitted(observations: Observations, loss: Any) -> tuple[Any, Observations]:
    """Return a loss with its constants set from the data, and the data with values as the loss takes them."""
    if is_robust(loss):
        return loss, without_gross_sizes(observations)
    prepared, values = prepare(make_loss(loss), observations.values)
    return prepared, observations if values is observations.values else observations.with_values(values)


def _refuse_beside(name: str, smooth: Any, laplacian: Any) -> None:
    """Refuse what speaks of neighbours along modes that are merged or folded."""
    if laplacian is not None:
        raise ValueError(f"laplacian does not go with {name}, but both were given; leave one of them out.")
    if smooth is not None and not (isinstance(smooth, str) and smooth == "auto"):
        raise ValueError(f"smooth does not go with {name}, but smooth={smooth!r} was given; leave one of them out.")


def _checked_blend(blend: Any) -> tuple[Portion, ...]:
    """Return the other recipes of a blend, if they are given."""
    if isinstance(blend, bool):
        return ()
    if not isinstance(blend, list | tuple) or not all(isinstance(each, Portion) for each in blend):
        raise TypeError(f"blend must be True, False, or the `beside` of the recipe of a fit, but {blend!r} was given.")
    return tuple(blend)


def _checked_same(same: Any, labels: Labels, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Return two modes by number, if they can be the same entities."""
    if same is None:
        return None
    modes = labels.numbers(same)
    if not isinstance(modes, list) or len(modes) != 2 or len(shape) != 3:
        raise ValueError(f"same must be two modes of a tensor of three, such as (0, 1), but {same!r} was given.")
    first, second = (mode_number(mode, "same", len(shape)) for mode in modes)
    alike = first != second and shape[first] == shape[second]
    keys: list[Any] = [labels.keys[first], labels.keys[second]]
    if not alike or not (keys[0] is keys[1] or np.array_equal(*keys)):
        raise ValueError(
            f"same must be two modes with the same indices and labels, but {same!r} was given; give both modes all "
            "entities, in the same order."
        )
    return first, second


def _checked_choice(choice: Choice, labels: Labels, loss: Any, dtype: DTypeLike) -> Choice:
    """Return the choice with modes by number, and given entries with values as the loss takes them."""
    choice = replace(choice, holdout=labels.holdout(choice.holdout))
    entries = choice.validation
    if not isinstance(entries, Observations):
        return choice
    entries = entries.astype(dtype)
    if not is_robust(loss):
        entries = entries.with_values(prepare(make_loss(loss), entries.values)[1])
    return replace(choice, validation=entries)
