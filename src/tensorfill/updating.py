"""A fit that goes on with more data; see `Fit.update`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._support.checks import generator
from ._support.clock import Clock
from ._support.interrupts import Interrupts
from ._support.parallel import one_blas_thread, threads
from ._support.progress import Display
from .adapters.registry import take_in
from .adapters.restoring import regrown
from .choosing.task import Run
from .choosing.units import Unit, check_size
from .choosing.updating import core_of, grown, updated
from .losses import prepare
from .methods.base import Status
from .observations import Observations

if TYPE_CHECKING:
    from .fit import Fit


@one_blas_thread
def changes_by(fit: Fit, new: Any, how: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
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
    """
    if fit.observations is None:
        raise ValueError(
            "update needs the data of the fit, which a file does not hold; save the fit with data=True, or give the "
            "data with dataclasses.replace(fit, observations=...)."
        )
    if "laplacian" in fit.recipe.asked:
        raise ValueError("update does not take a fit with graphs, since new indices have no place in them.")
    sound = fit.observations if fit.corrupt is None else fit.observations.select(~fit.corrupt)
    raw = grown(fit.labels, sound, take_in(new, **how))
    check_size(raw.all)
    unit = Unit.of(raw.all, fit.loss, [fit.recipe.method])
    into = unit.inverse
    old = None if raw.old is None else unit.observations(_prepared(fit.loss, raw.old))
    data = replace(raw, old=old, new=unit.observations(_prepared(fit.loss, raw.new)))
    clock = Clock(run["time_limit"])
    jobs = threads(run["n_jobs"])
    with Interrupts(clock) as interrupts, Display(run["progress"]) as display, jobs, interrupts.welcome():
        along = Run(generator(run["rng"]), clock, display, run["callback"], interrupts, unit)
        bars = None if fit.error_bars is None else into.error_bars(fit.error_bars)
        made = updated(into.recipe(fit.recipe), data, into.model(fit.core or core_of(fit.model)), bars, along)
    result = unit.result(made.result, made.recipe.method)
    same = raw.new.shape == fit.shape
    return {
        "model": result.model,
        "status": Status.INTERRUPTED if interrupts.noted else result.status,
        "history": result.history,
        "recipe": unit.recipe(made.recipe),
        "error_bars": None if made.error_bars is None else unit.error_bars(made.error_bars),
        "core": None if fit.core is None else unit.model(made.core),
        "observations": raw.all,
        "corrupt": None,
        "labels": raw.labels,
        "restore": fit.restore if same else regrown(fit.restore, raw.labels, raw.new.shape),
    }


def _prepared(loss: Any, entries: Observations) -> Observations:
    """Return entries with values as the loss takes them."""
    values = prepare(loss, entries.values)[1]
    return entries if values is entries.values else entries.with_values(values)
