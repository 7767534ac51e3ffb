"""Data of any kind, taken in and checked: what a pipeline is asked, in numbers instead of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._support.checks import choice as one_of
from .._support.checks import mode_number
from .._support.parallel import one_blas_thread
from ..adapters.registry import take_in
from ..labels import Labelled, Labels
from ..losses import Loss, Robust, make_loss, prepare
from ..losses.robust import is_robust
from ..models import Model
from ..observations import Observations
from .corrupt import without_gross_sizes
from .holdout.splits import Choice
from .stages.base import Stage
from .stages.centre import Centre
from .stages.graphs import Graphs
from .stages.kernel_width import checked_graphs
from .stages.polish import Polish
from .stages.scale import check_size
from .stages.smooth_field import SmoothField, smooth_modes
from .task import Task


@dataclass(frozen=True, eq=False)
class Job:
    """The data, ready for a pipeline.

    Parameters
    ----------
    task
        What the pipeline is asked.
    observations
        The data as it was given, before the loss changed its values.
    labelled
        Its labels, and how an answer is given back.
    """

    task: Task
    observations: Observations
    labelled: Labelled


@one_blas_thread
def taken_in(
    data: Any,
    *,
    missing: str | None = None,
    value: str | None = None,
    layout: str | None = None,
    dtype: DTypeLike = np.float64,
    loss: str | Loss | Robust = "square",
    same: Sequence[int | str] | None = None,
    laplacian: Mapping[Any, Any] | Graphs | None = None,
    smooth: Sequence[int | str] | str | SmoothField | None = "auto",
    centre: bool | str | Centre = "auto",
    refine: str | Polish | None = None,
    choose: Choice | None = None,
    start: Model | None = None,
    others: Mapping[str, Any] | None = None,
) -> Job:
    """Return data of any kind with the stages that are asked for, all checked and with modes by number.

    `others` has what is asked of further stages, by name.
    """
    if choose is not None and not isinstance(choose, Choice):
        raise TypeError(f"choose must be a Choice, as in choose=Choice(splits=3), but {choose!r} was given.")
    if not isinstance(centre, bool | Centre) and centre != "auto":
        raise ValueError(f"centre must be True, False or 'auto', but {centre!r} was given.")
    if refine is not None and not isinstance(refine, Polish):
        one_of(refine, "refine", ["tucker"])
    taken = take_in(data, missing=missing, value=value, layout=layout)
    labels = taken.labels
    observations = taken.observations.astype(dtype)
    check_size(observations)
    smooth_by_number: Any = smooth if isinstance(smooth, Stage) else labels.numbers(smooth)
    graphs: Any = laplacian.laplacians if isinstance(laplacian, Graphs) else labels.numbered(laplacian, "laplacian")
    prepared, fitted = loss, observations
    if is_robust(loss):
        fitted = without_gross_sizes(observations)
    else:
        prepared, values = prepare(make_loss(loss), observations.values)  # type: ignore[arg-type]
        fitted = observations if values is observations.values else observations.with_values(values)
    # Checked now rather than after a search, which can take minutes.
    smooth_modes(fitted, list(smooth.modes) if isinstance(smooth, Stage) else smooth_by_number)
    task = Task(
        observations=fitted,
        loss=prepared,
        same=_checked_same(same, labels, fitted.shape),
        choice=_checked_choice(choose or Choice(), labels, loss, dtype),
        graphs=checked_graphs(graphs, fitted.shape),
        asked={
            **({"laplacian": laplacian} if isinstance(laplacian, Graphs) else {}),
            "centre": centre,
            "refine": refine,
            "smooth": smooth_by_number,
            **(others or {}),
        },
        start=start,
    )
    return Job(task, observations, taken)


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
