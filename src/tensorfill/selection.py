"""The regularisation path: a sequence of settings with their held-out errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._support.checks import generator, whole_number
from ._support.parallel import one_blas_thread
from .choosing.candidates import candidates
from .choosing.context import Context
from .choosing.holdout.splits import Choice, make_splits
from .choosing.search.base import Path, PathPoint
from .choosing.search.nort import NortSearch
from .choosing.search.table import search_for
from .choosing.search.trials import Trials, search_through
from .choosing.stages.scale import Scale
from .choosing.task import taken_in
from .losses import Loss
from .methods.base import Method

__all__ = ["Path", "PathPoint", "path"]


@one_blas_thread
def path(
    data: Any,
    *,
    method: str | Method = "nort",
    loss: str | Loss = "square",
    q: float | None = None,
    points: int | None = None,
    choose: Choice | None = None,
    rng: int | np.random.Generator | None = None,
    **settings: Any,
) -> Path:
    """Return the regularisation path: a sequence of settings, each with a warm start from the last, and their errors.

    For NORT this is the first part of ``complete(data, method="nort")``: decreasing lambdas. For other methods
    it is the whole search, such as increasing ranks. `tensorfill.plots.path` draws it.

    Parameters
    ----------
    data, method, loss, choose, rng, **settings
        As in `tensorfill.complete`.
    q
        For NORT with theta ``"auto"``, the nonconvexity of the penalty: theta as a multiple of the threshold.
    points
        For NORT, the number of points; by default the path ends when the score has clearly worsened.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> tried = path(synthetic((20, 20, 20), rank=2, rng=0).observations, rng=0)
    >>> bool(tried.best.held_out < 0.5 * tried[0].held_out)
    True
    """
    random = generator(rng)
    job = taken_in(data, loss=loss, choose=choose)
    found = candidates([method], settings, job)
    scale = Scale.of(job.task.observations, job.task.loss, found)
    task, (made,) = scale.down(job.task), scale.down(found)
    parts, _ = make_splits(task.observations, task.loss, task.choice, random)  # type: ignore[arg-type]
    trials, search = Trials(parts, Context(random)), search_for(made)
    if isinstance(search, NortSearch):
        search.trace(trials, q, None if points is None else whole_number(points, "points", at_least=1))
    elif q is not None or points is not None:
        raise ValueError(f"q and points are for method 'nort', but the method is '{made.name}'; leave them out.")
    else:
        search_through(search, trials)
        search.finish(trials)
    return scale.up(Path(trials.points))
