"""Completes a table that is spread over the workers of a Dask cluster, with NORT and its search."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._support.checks import checked_bounds, listed, real_number, seeded, whole_number
from .._support.clock import Clock, TimeUp
from .._support.fingerprints import fingerprint
from .._support.interrupts import Interrupts
from .._support.progress import Display
from .._support.types import Floats
from ..choosing.completing import shown
from ..choosing.context import Context
from ..choosing.doubts import DoubtfulFitWarning, warn_if_near_zero
from ..choosing.recipe import Recipe
from ..choosing.run import run, status_of
from ..choosing.search.base import Path, PathPoint, Trial
from ..choosing.search.table import search_for
from ..choosing.search.trials import Trials, search_through
from ..choosing.stages.base import Lift
from ..io.atomic import check_writable
from ..io.checkpoints import kept_seed, opened
from ..labels import Labels
from ..losses import LOSSES, Huber, Loss, Square, make_loss
from ..methods.base import Callback, Result, Status, Stopped
from ..methods.nort import Nort
from ..methods.nort.modes import regularised_modes
from ..methods.registry import make_method
from ..models import Model
from .answer import SpreadFit
from .cluster import Connection, reached
from .journal import SpreadJournal
from .session import USUAL_RANK, Session
from .table import SpreadTable

TAKEN = frozenset(
    (
        "missing",
        "value",
        "loss",
        "bounds",
        "dtype",
        "time_limit",
        "rng",
        "progress",
        "callback",
        "checkpoint",
        "resume",
        "client",
    )
)
"""The arguments of `tensorfill.complete` that apply to a table on several machines, besides the settings of NORT."""

DECIDED = {"storage": "sparse", "svd": "subspace", "polish": False}
"""The settings of NORT that the workers decide."""

STOPS = (Stopped, TimeUp, KeyboardInterrupt)
"""The exceptions that end a run early."""


def complete(
    data: Any,
    *,
    client: Any = None,
    n_workers: int | None = None,
    memory_limit: str | int | None = None,
    value: str | None = None,
    missing: str | None = None,
    loss: str | Loss = "auto",
    bounds: tuple[float | None, float | None] | None = None,
    validation: float = 0.1,
    dtype: DTypeLike = np.float64,
    time_limit: float | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool = False,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    resume: bool | str = "auto",
    **settings: Any,
) -> SpreadFit:
    """Fill in the missing entries of a table that is too large for one machine.

    Parameters
    ----------
    data
        A `dask.dataframe.DataFrame`, a long table with a row for each entry, or the result of `tensorfill.io.open` for
        Parquet files.
    client
        A `distributed.Client`; by default the current one. If there is none, a cluster of processes is started on this
        machine, with a `LocalClusterWarning`.
    n_workers, memory_limit
        The number of processes of such a local cluster, and the memory of each, such as ``"1GiB"``.
    value
        The column of values; by default the last.
    missing
        ``"zero"`` if zeros count as missing too.
    loss
        ``"square"``, which ``"auto"`` means here, ``"huber"``, or an object with `value`, `derivative` and `curvature`.
    bounds
        Predictions are clipped to (low, high); None means no limit.
    validation
        The share of entries held out to choose settings, at most a million. They are drawn on the workers.
    dtype
        ``float64``, or ``float32`` at half the memory.
    time_limit, rng, progress, callback
        As in `tensorfill.complete`.
    checkpoint, resume
        As in `tensorfill.complete`; the file contains all factors of the model, so they must fit in the memory of this
        machine. All workers need access to its folder, because they write snapshots there, from which the run
        continues if a worker is lost. Without a checkpoint, snapshots are written to a temporary folder if all workers
        are on this machine.
    **settings
        The settings of `tensorfill.Nort`, such as ``lam``, ``penalty``, ``modes`` and ``max_rank``. Settings that
        are not given are chosen on held-out entries.

    Returns
    -------
    SpreadFit
        The completed tensor, on the workers.
    """
    clock = Clock(time_limit)
    share = real_number(validation, "validation", above=0, below=1)
    limits, chosen = checked_bounds(bounds), _checked_loss(loss)
    asked = {"validation": validation, "bounds": bounds, **settings}
    kept = kept_seed(checkpoint, resume)
    seed, random = seeded(kept if rng is None else rng)
    path = None if checkpoint is None else FilePath(checkpoint).absolute()
    if path is not None:
        check_writable(path)
    connection = Connection(client, n_workers, memory_limit)
    with reached(connection.client), ExitStack() as unless_finished:
        unless_finished.callback(connection.close)
        with Interrupts(clock) as interrupts, Display(progress, clock) as display:
            display.begin("reading labels", None)
            table = SpreadTable.of(data, connection.client, value=value, dtype=dtype, missing=missing)
            method = _method(settings, table.labels)
            display.begin("dividing entries among workers", None)
            modes = regularised_modes(method.modes, table.shape, table.count)
            with Session(connection, table, chosen, modes, _rank(method), path) as session:
                identity = {"data": session.fingerprint, "settings": fingerprint(method, share), "seed": str(seed)}
                with opened(path, lambda: identity, fresh=resume is False) as journal:
                    if path is not None:
                        clock.journal = SpreadJournal(journal, session.crew, session.cut)
                    context = Context(random, clock, display, callback, interrupts)
                    context = replace(context, callback=shown(context, Lift().model))
                    method, result, points = _answered(session, method, share, context)
                    model = session.left_there(result.model)
        _warn_of_empty_slices(table)
        # The model is on the workers, so the cluster must stay open.
        unless_finished.pop_all()
    return SpreadFit(
        model=model,
        status=Status.INTERRUPTED if interrupts.noted else result.status,
        history=result.history,
        recipe=Recipe(method=method, loss=chosen, seed=seed, asked=asked),
        path=Path(points) if points else None,
        timing=display.timing(),
        bounds=limits,
        labels=table.labels,
        restore=table.restore,
        entries=table.count,
        ended=connection.close,
    )


def _answered(
    session: Session, method: Nort, share: float, context: Context
) -> tuple[Nort, Result, Sequence[PathPoint]]:
    """Choose the open settings, and fit all entries; return the method with its settings, the result, and all trials.

    Parameters
    ----------
    session
        The table on the workers.
    method
        NORT, with its settings.
    share
        The share of entries to hold out, if there are open settings.
    context
        The context of the run.
    """
    start: Model | None = None
    points: Sequence[PathPoint] = ()
    errors: tuple[float, float] | None = None
    if method.open_settings:
        context.display.begin("choosing settings of nort", None)
        trials = Trials([], context)
        try:
            with context.interrupts.welcome():
                split = session.split(share, int(context.rng.integers(2**31)))
                trials = Trials([split], context, tried=lambda trial: _show(trials, trial))
                search = search_for(method)
                search_through(search, trials)
                search.finish(trials)
        except STOPS as stop:
            best: Any = trials.best
            if best is None:
                raise
            return best.method, replace(best.results[0], status=status_of(stop)), trials.points
        made: Any = search.final(trials, session.table.count)
        method, points = made, trials.points
        start = trials.leader.models[0]
        errors = _errors(split.losses(start), split.held_out_values, session.loss)
    context.display.begin("fitting", method.max_iter, method.tol)
    problem = session.whole()
    with context.interrupts.welcome():
        result = run(Recipe(method=method), problem, start, context, thoroughly=start is not None)
    if result.status.is_finished and isinstance(session.loss, Square | Huber):
        where = "observed entries" if errors is None else "held-out entries"
        warn_if_near_zero(*(errors or session.errors(result.model)), where)
    return method.resolved(problem), result, points


def _errors(losses: Floats, values: Floats, loss: Loss) -> tuple[float, float]:
    """Return the root mean square errors of an answer with these losses, and of 0."""
    zero = loss.value(np.zeros_like(values), values)
    return math.sqrt(2 * np.mean(losses)), math.sqrt(2 * np.mean(zero))


def _show(trials: Trials, trial: Trial) -> None:
    trials.context.display.tried(len(trials.points), trial.point.held_out)


def _method(settings: Mapping[str, Any], labels: Labels) -> Nort:
    """Return NORT with settings that the workers can follow."""
    for name in DECIDED:
        if name in settings:
            raise ValueError(f"{name} is decided by the workers of a Dask cluster; leave it out.")
    made: Any = make_method("nort", {**settings, **DECIDED})
    nort: Nort = made if made.modes is None else replace(made, modes=labels.numbers(made.modes))
    return nort


def _warn_of_empty_slices(table: SpreadTable) -> None:
    """Warn of slices without observed entries, for which nothing can be learned."""
    for mode, size in enumerate(table.shape):
        empty = int(np.count_nonzero(table.counts(mode) == 0))
        if empty:
            warnings.warn(
                f"{empty:,} of the {size:,} slices of mode {table.labels.called(mode)!r} have no observed entry, and a "
                "fit on several machines predicts 0 there; leave their rows out of the table.",
                DoubtfulFitWarning,
                stacklevel=3,
            )


def _rank(method: Nort) -> int:
    """Return the largest rank that a component may have, or a typical one."""
    if method.max_rank is None:
        return USUAL_RANK
    return max(whole_number(each, "max_rank", at_least=1) for each in np.atleast_1d(method.max_rank))


def _checked_loss(loss: str | Loss) -> Loss:
    """Return a loss that needs no constants of all values, which are on several machines, and no corrupt entries."""
    alone = [name for name in LOSSES if not hasattr(LOSSES[name], "prepared")]
    loss = "square" if isinstance(loss, str) and loss == "auto" else loss
    made = make_loss(loss) if not isinstance(loss, str) else LOSSES[loss]() if loss in alone else None
    if made is None or hasattr(made, "prepared"):
        raise ValueError(
            f"loss must be one of {listed(alone)} for a table on several machines, or an object of your own without "
            f"`prepared`, but {loss!r} was given; for other losses, give a table in memory, as in data.compute()."
        )
    return made
