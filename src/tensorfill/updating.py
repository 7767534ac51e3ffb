"""A fit that goes on with more data; see `Fit.update`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._support.checks import function_or_none, generator
from ._support.clock import Clock
from ._support.interrupts import Interrupts
from ._support.parallel import one_blas_thread, threads
from ._support.progress import Display
from .adapters.registry import columns_of, take_in
from .adapters.restoring import regrown
from .adapters.wide_tables import ToWideTable
from .choosing.completing import shown
from .choosing.context import Context
from .choosing.stages.base import Reduced, merging
from .choosing.stages.scale import Scale, check_size
from .choosing.updating import Thinned, grown, updated, with_graphs, with_spreads
from .losses import Square, prepare
from .methods.base import Status
from .methods.problem import Problem
from .models.placed import core_of
from .observations import Observations

if TYPE_CHECKING:
    from .fit import Fit


@one_blas_thread
def changes_by(
    fit: Fit, new: Any, how: Mapping[str, Any], run: Mapping[str, Any], laplacian: Mapping[Any, Any] | None = None
) -> dict[str, Any]:
    """Return what new data changes in a fit, by the name of the field.

    Parameters
    ----------
    fit
        The fit, with its data.
    new
        New data of any kind.
    how
        How it is read, as in `tensorfill.adapters.take_in`.
    run
        The time limit, the generator, the progress bar, the callback and the number of threads.
    laplacian
        Graphs by mode of the old and the new indices.
    """
    if fit.observations is None:
        raise ValueError(
            "update needs the data of the fit, which a file does not hold; save the fit with data=True, or give the "
            "data with dataclasses.replace(fit, observations=...)."
        )
    function_or_none(run["callback"], "callback")
    sound = fit.observations if fit.corrupt is None else fit.observations.select(~fit.corrupt)
    raw = grown(fit.labels, sound, take_in(new, **_read_as_before(fit, new, how)))
    check_size(raw.all)
    recipe = with_spreads(with_graphs(fit.recipe, raw, laplacian), raw)
    changed = merging(recipe.before)
    entries = Reduced(Problem(raw.all, Square())).by(changed, Clock()).problem.observations
    scale = Scale.of(entries, fit.loss, [recipe.method])
    old = None if raw.old is None else scale.down(_prepared(fit.loss, raw.old))
    data = replace(raw, old=old, new=scale.down(_prepared(fit.loss, raw.new)))
    clock = Clock(run["time_limit"])
    jobs = threads(run["n_jobs"])
    with Interrupts(clock) as interrupts, Display(run["progress"]) as display, jobs, interrupts.welcome():
        along = Context(generator(run["rng"]), clock, display, run["callback"], interrupts, scale)
        thinned = Thinned.of(data, scale.down(fit.core or core_of(fit.model)), recipe)
        within = Reduced(Problem(thinned.data.all, Square())).by(changed, clock)
        along = replace(along, callback=shown(along, lambda model: thinned.places.model(within.whole(model))))
        answer = updated(scale.down(recipe), thinned, scale.down(fit.error_bars), along)
    answer = scale.up(answer, answer.recipe.method)
    same = raw.new.shape == fit.shape
    return {
        "model": answer.result.model,
        "status": Status.INTERRUPTED if interrupts.noted else answer.result.status,
        "history": answer.result.history,
        "recipe": answer.recipe,
        "error_bars": answer.error_bars,
        "core": answer.result.core,
        "observations": raw.all,
        "corrupt": None,
        "labels": raw.labels,
        "added": tuple(len(raw.fresh(mode)) for mode in range(sound.ndim)),
        "restore": fit.restore if same else regrown(fit.restore, raw.labels, raw.new.shape),
    }


def _read_as_before(fit: Fit, new: Any, how: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how new data is read: a table in the layout of the fit's, unless the caller says something else."""
    columns, names = columns_of(new), set(fit.labels.names)
    if columns is None or how["value"] is not None or how["layout"] is not None:
        return how
    if names < set(columns) and len(columns) == len(names) + 1:
        return {**how, "value": next(column for column in columns if column not in names), "layout": "long"}
    return {**how, "layout": "wide"} if isinstance(fit.restore, ToWideTable) else how


def _prepared(loss: Any, entries: Observations) -> Observations:
    """Return entries with values as the loss takes them."""
    values = prepare(loss, entries.values)[1]
    return entries if values is entries.values else entries.with_values(values)
