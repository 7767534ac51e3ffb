"""The main function: completes a tensor in one call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ._support.checks import checked_bounds, float_type, function_or_none, listed, seeded, whole_number
from ._support.clock import Clock, TimeUp
from ._support.fingerprints import fingerprint
from ._support.interrupts import Interrupts
from ._support.parallel import one_blas_thread, threads
from ._support.progress import Display
from ._support.timing import Timing
from .adapters.libraries import is_spread
from .choosing.candidates import candidates
from .choosing.completing import Answer, NotWorthIt, completed, without_corrupt
from .choosing.context import Context
from .choosing.doubts import (
    warn_of_a_fit_near_zero,
    warn_of_a_simple_answer,
    warn_of_corrupt_entries,
    warn_of_empty_slices,
    warn_of_few_entries,
    warn_of_nothing_missing,
    warn_of_resemblance,
    warn_of_variation,
)
from .choosing.holdout.gaps import is_worth_a_mask
from .choosing.holdout.splits import Choice
from .choosing.recipe import Portion, Recipe, Start
from .choosing.search.base import Path
from .choosing.stages.base import Reduced, Stage
from .choosing.stages.present_slices import PresentSlices
from .choosing.stages.table import STAGES
from .choosing.suggested_loss import (
    LEAVING_OUT,
    are_enough,
    are_out_of_proportion,
    gains_without,
    is_better,
    loss_of_values,
)
from .choosing.task import Job, Task, needs_choice, taken_in
from .fit import Fit
from .forecasting import Forecast, forecast_of
from .io.checkpoints import kept_seed, opened
from .io.formats import read
from .losses import Loss, Robust, Square
from .losses.robust import is_robust
from .methods.base import Callback, Method, Status
from .methods.nort import Nort
from .methods.problem import Problem
from .methods.registry import METHODS, setting_names
from .models import Model
from .models.placed import core_of
from .observations import Observations

CLOSE = 0.75
"""How alike two names must be for one to be taken for the other misspelt."""


def complete(
    data: Any,
    *,
    missing: str | None = None,
    value: str | None = None,
    layout: str | None = None,
    method: str | Method | Sequence[str | Method] = "auto",
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
    horizon: int | None = None,
    bounds: tuple[float | None, float | None] | None = None,
    choose: Choice | None = None,
    blend: bool | Sequence[Portion] = True,
    dtype: DTypeLike = np.float64,
    start: Fit | Model | Start | None = None,
    time_limit: float | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool = False,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    resume: bool | str = "auto",
    client: Any = None,
    **settings: Any,
) -> Fit:
    """Fill in the missing entries of a tensor.

    Parameters
    ----------
    data
        An array with NaN for missing entries, a masked array or `Observations`; an xarray `DataArray` or `Dataset`,
        whose variables become a last mode ``"variable"``; a long table of pandas or polars, with a row for each entry,
        a column for the values and the others for the labels of the modes; a wide table, with a value in each cell,
        whose rows and columns have labels, possibly of several levels; a sparse array of scipy or of the package
        sparse; or the path of a file that `tensorfill.io.read` reads. The answer has the same labels, and a mode can be
        given by name or number everywhere. A long Dask table, or the result of `tensorfill.io.open` for Parquet files,
        is completed on a cluster; see `tensorfill.distributed.complete`.
    missing
        ``"nan"``, the default: NaN is missing; ``"zero"``: zeros are missing too; ``"absent"``: entries that a sparse
        array does not store are missing, and stored zeros are observed. It is required for sparse arrays whose entries
        are 0 where nothing is stored.
    value
        The column of values in a long table; by default the last, if no other column can hold values.
    layout
        ``"long"`` or ``"wide"``, for a table that could be either. A table that can be read in two ways is refused with
        a sentence that asks for this or for `value`. With ``"long"``, all columns but that of the values are labels.
    method
        ``"auto"`` grows a model by least squares, which is best for data of low rank. If that leaves anything above the
        noise, it tries NORT too and, if the data is not too large, CP and LRTC. Held-out entries choose among these and
        simple answers (the mean, the effects of each index, interpolation, a smooth field), or blend them. Otherwise
        the name of a method: ``"nort"``, ``"grow"``,
        ``"tucker_als"``, ``"cp"`` or ``"softimpute"``; a method object with its settings; or a list of these, to choose
        the best on held-out entries. Open settings of a method are chosen there too.
    loss
        How predictions are compared with observations: ``"square"``; ``"huber"``; ``"logistic"`` for values of two
        kinds and ``"poisson"`` for counts, which predict probabilities and expected counts; ``"l1"``,
        ``"capped_l1"``, ``"lsp"``, ``"mcp"`` or ``"scad"`` for data with corrupt entries, which are found and left out
        if settings are chosen (see `Fit.outliers` and `Fit.filled`); or an object with `value`, `derivative` and
        `curvature`. ``"auto"`` is ``"square"``. If nothing else is said of the method or its stages, it is
        ``"logistic"`` for values that are all 0 or 1, or all -1 or 1, and ``"poisson"`` for small counts; and ``"l1"``
        is tried too if most of the squared error at held-out entries is of errors out of all proportion. It is kept if
        it is better at held-out entries, and there is a warning if entries were left out.
    same
        Two of three modes with the same entities, as in ``("head", "tail")`` or ``(0, 1)``. ``method="auto"`` then
        also tries `Rescal`, which has one factor for both, and held-out entries choose.
    laplacian
        Graphs by mode, as in ``{0: graphs.haversine(latlon)}`` or ``{"station": ...}``: a Laplacian, or a kernel of
        `tensorfill.graphs` whose width is chosen on held-out slices. They fill slices without any observed entry.
        The weight of the graphs is chosen on held-out entries, if the method supports graphs.
    smooth
        The modes along which values vary smoothly, such as the rows and columns of a photograph. A smooth field fitted
        to the residuals of the method is added along them. ``"auto"`` considers the modes whose neighbouring entries
        agree more than distant ones, and adds the field if the held-out error falls; None never adds one. Texts have no
        order unless they are dates or times, so ``"auto"`` leaves out modes whose labels are other texts.
    centre
        Whether to fit a mean and an effect of each index of each mode first, and the residuals with the method. For
        ``"square"`` and ``"huber"`` they are subtracted; ``"auto"`` tries this if they alone come close to the best
        answer without them, and keeps it if it is better. For ``"logistic"`` and ``"poisson"`` they are scores, and
        ``"auto"`` fits them if that is better than scores of zero at the held-out entries. If both values are about
        equally frequent, it also tries without them.
    whiten
        A `Whiten` divides slices by the usual size of their errors first, so that slices that can be known well count
        for more, and multiplies the answer again. It needs ``"square"``. ``"auto"`` tries it with the best
        method if slices differ much, unless something is said of the method; None never does.
    refine
        ``"tucker"`` polishes the answer by least squares on the ranks that were found, which removes the bias of the
        penalty, and keeps that if the held-out error falls. This argument and the four before it also take a stage
        with all its settings, such as ``Centre()`` or those in `Fit.recipe`; it is then done, and nothing is held out
        for it.
    merge
        Groups of modes that the method treats as one, as in ``[("day", "hour")]`` or ``[(1, 2)]``, or a `Merge`. The
        answer has all modes. Some data is of low rank only with such modes together. Settings of the method that name
        modes by number count those of the merged tensor, in which a merged mode stands at the place of its first one.
        It does not go with `smooth` or `laplacian`. ``"auto"`` tries the two shortest of four or more modes as one
        with the best method, unless something is said of the method; None never does.
    fold
        The period of a mode that the method treats as two, as in ``{"time": 24}`` or ``{1: 24}``, or a `Fold`: the
        mode becomes rows of this length, such as days of hours. The answer has the one mode. Modes by number count
        those of the folded tensor, in which rows and slots stand at the place of the mode. It does not go with `merge`,
        `smooth` or `laplacian`. ``"auto"`` tries the periods of a mode of time that is known with the best method,
        unless something is said of the method; None never does.
    time
        The mode of time by name or number, or two modes that are one time with the slow one first, as in
        ``("day", "hour")``. A joint seasonal autoregression (`SeasonalAR`) is then tried too, and `Fit.forecast` goes
        on beyond the end. ``"auto"`` takes a mode with dates, times or durations as labels, or a name such as
        ``"hour"``. The seasonal periods follow from the labels, or else from the values. None takes no mode as time.
    horizon
        How many times beyond the last one to forecast, for `Fit.forecast`. The other answers are as without it.
    bounds
        Predictions are clipped to (low, high); None means no limit, as in ``(0, None)``.
    choose
        What is held out, how much and how often; see `Choice`. If all settings are given, nothing is held out and there
        are no error bars, unless this is given.
    blend
        Whether the answer may be a weighted sum of several answers, if that is better at held-out entries than
        the best of them. Weights are not negative, and sum to one. It applies if several methods are tried, and False
        keeps the best single answer. The `beside` of the recipe of a fit repeats its blend.
    dtype
        ``float64``, or ``float32`` at half the memory.
    start
        An earlier fit of the same tensor for a warm start, if all settings of the method are given. A fit of another
        method that this one cannot start from is ignored. For more data see `Fit.update`. The arguments that a recipe
        returns have what a repetition starts from.
    time_limit
        Stop after this many seconds with the best answer so far.
    rng
        A seed, or a generator from which a seed is drawn; it determines all random choices and is kept in `Fit.seed`.
    progress
        Whether to show a progress bar.
    callback
        Called after every iteration with its record and the current model; a true return value stops the run.
    n_jobs
        The number of threads; -1 means one for each core. By default it is the number of cores that the process may
        use, or less if ``NUMBA_NUM_THREADS`` or ``OMP_NUM_THREADS`` is set to less. It only affects the time: the
        answer is the same for any number, bit for bit. BLAS uses one thread during the run.
    checkpoint
        A file, such as ``"run.npz"``, that stores the finished work of the run. If the run is killed or stopped, the
        same call resumes from there and gives the same answer, bit for bit. It is written about every minute, and after
        each trial if that is cheap. The file is kept at the end, so the same call then returns the answer quickly.
    resume
        ``"auto"`` resumes if the file exists, and raises an error if its data, settings or seed differ; True requires
        that it exists; False starts again and replaces it.
    client
        The `distributed.Client` for a Dask table; by default the current one, or else that of a new cluster on this
        machine.
    **settings
        The settings of the method, such as ``lam``, ``penalty``, ``theta``, ``modes`` and ``max_rank`` of
        `tensorfill.Nort`, or ``rank`` of `tensorfill.CP`, and ``max_iter`` and ``tol`` of every method. ``"auto"``
        tries the methods that have them: with ``lam``, for example, only NORT. Stages that you added are set by name.

    Returns
    -------
    Fit
        The completed tensor, with the chosen settings and the reason for stopping.

    Examples
    --------
    >>> import numpy as np, tensorfill
    >>> rows, columns = np.arange(1.0, 9.0), np.arange(1.0, 7.0)
    >>> table = np.outer(rows, columns)
    >>> table[2, 3] = np.nan
    >>> fit = tensorfill.complete(table, rng=0)
    >>> round(float(fit.predict([[2, 3]])[0]), 1)
    12.0
    """
    if is_spread(data):
        return _on_workers(data, locals())
    _refuse_misspelt(settings)
    function_or_none(callback, "callback")
    float_type(dtype)
    if client is not None:
        raise ValueError("client is for a table of Dask or of Parquet files; leave it out for other data.")
    clock = Clock(time_limit)
    asked = _asked(locals())
    kept = kept_seed(checkpoint, resume)
    if isinstance(data, str | PathLike):
        asked["data"] = str(data)
    seed, random = seeded(kept if rng is None else rng)
    limits = checked_bounds(bounds)
    data, read = _read_if_path(data, missing, value, layout)
    others = {name: settings.pop(name) for name in [*settings] if name in STAGES and STAGES[name].chosen}
    job = taken_in(
        data,
        missing=None if read else missing,
        value=None if read else value,
        layout=None if read else layout,
        dtype=dtype,
        loss=loss,
        same=same,
        laplacian=laplacian,
        smooth=smooth,
        centre=centre,
        whiten=whiten,
        refine=refine,
        merge=merge,
        fold=fold,
        time=time,
        choose=choose,
        start=_start(start),
        blend=blend,
        others=others,
    )
    every = method != "auto" or bool(job.task.stages_asked())
    simple = not every and not settings
    undecided = simple and _is(loss, "auto") and not isinstance(job.task.choice.validation, Observations)
    if undecided and (suggested := loss_of_values(job.observations.values)) is not None:
        job, asked["loss"], undecided = job.with_loss(suggested), suggested, False
    labels = job.labelled.labels
    if horizon is not None:
        _check_horizon(horizon, job.task)
    methods = candidates(method, settings, job)
    choosing = needs_choice(methods, job.task, choose)
    if start is not None and (len(methods) > 1 or methods[0].open_settings):
        raise ValueError("start needs every setting to be given, as in method=fit.method; a search begins at zero.")
    if isinstance(start, Fit):
        job = _without_a_start_of_another_kind(job, methods[0], start)
    elif isinstance(start, Start):
        job = _without_starts_of_another_shape(job, methods[0])
    warn_of_nothing_missing(job.observations, job.task.loss)
    several = simple or isinstance(method, list | tuple)
    with (
        Interrupts(clock) as interrupts,
        opened(
            checkpoint, lambda: _identity(job, [*methods, every, simple, blend], seed), fresh=resume is False
        ) as clock.journal,
        Display(progress, clock) as display,
        one_blas_thread,
        threads(n_jobs),
    ):
        context = Context(random, clock, display, callback, interrupts, seeded=lambda: seeded(seed)[1])
        answer = completed(
            job.task, methods, context, choosing=choosing, every=every, simple=simple, blend=several and blend is True
        )
        if undecided:
            given = job
            job, answer = _without_corrupt_entries(job, answer, context.again(), blend=blend is True)
            asked |= {} if job is given else {"loss": LEAVING_OUT}
            warn_of_corrupt_entries(answer)
        warn_of_empty_slices(answer, job.task, labels)
        warn_of_a_fit_near_zero(answer, job.task)
        warn_of_a_simple_answer(answer, labels)
        warn_of_variation(answer, job.task)
        warn_of_few_entries(answer, job.task, labels)
        warn_of_resemblance(answer)
        answer = replace(answer, recipe=replace(answer.recipe, seed=seed, asked=asked))
        fit = _fit(answer, job, limits, display.timing())
        if horizon is not None:
            fit = replace(fit, ahead=_forecast(fit, horizon, context.again()), timing=display.timing())
    return replace(fit, status=Status.INTERRUPTED) if interrupts.noted else fit


def _without_corrupt_entries(job: Job, answer: Answer, context: Context, *, blend: bool) -> tuple[Job, Answer]:
    """Return the job and the answer that leave corrupt entries out, if there are signs of any and it is better so.

    A run with that loss given has the same answer.
    """
    held_out = None if answer.error_bars is None else answer.error_bars.held_out
    entries = job.observations
    if held_out is None or not answer.result.finished or not is_worth_a_mask(entries):
        return job, answer
    if not are_out_of_proportion(held_out.errors, entries.values):
        return job, answer
    other = job.with_loss(LEAVING_OUT)
    try:
        found = completed(
            other.task,
            candidates("auto", {}, other),
            context,
            choosing=True,
            every=False,
            simple=True,
            blend=blend,
            worth_it=lambda corrupt: (
                are_enough(corrupt, entries, held_out)
                and gains_without(without_corrupt(job.task, answer, corrupt, context.again()), held_out)
            ),
        )
    except NotWorthIt:
        return job, answer
    if not found.result.finished:
        return job, replace(answer, result=replace(answer.result, status=found.result.status))
    return (other, found) if is_better(found, answer, entries) else (job, answer)


def _on_workers(data: Any, given: Mapping[str, Any]) -> Fit:
    """Complete a table on the workers of a cluster; what cannot be had there is refused."""
    from .distributed.completion import DECIDED, TAKEN
    from .distributed.completion import complete as complete_there

    changed = {name: given[name] for name, usual in _DEFAULTS.items() if not _is(given[name], usual)}
    if changed.get("method") == "nort":
        del changed["method"]
    if isinstance(changed.get("start"), Start):
        # A repetition there finds its own starting point.
        del changed["start"]
    settings = dict(given["settings"])
    if isinstance(changed.get("method"), Nort):
        settings |= {name: value for name, value in vars(changed.pop("method")).items() if name not in DECIDED}
    elsewhere = [name for name in changed if name not in TAKEN]
    if elsewhere:
        raise ValueError(
            f"{listed(elsewhere)} cannot be had for a table on several machines; leave it out, or give a table in "
            "memory, as in data.compute()."
        )
    return complete_there(data, **changed, **settings)


def _refuse_misspelt(settings: Mapping[str, Any]) -> None:
    """Refuse a setting that no method has and that resembles an argument of `complete`."""
    for name in settings:
        near = get_close_matches(name, _DEFAULTS, n=1, cutoff=CLOSE)
        if near and not any(name in setting_names(kind) for kind in METHODS.values()):
            raise TypeError(
                f"complete has no argument {name!r}, and no method has such a setting; you may mean {near[0]!r}."
            )


def _forecast(fit: Fit, horizon: int, context: Context) -> Forecast | None:
    """Return a forecast; None if the time is over or the user stops here, since `Fit.forecast` can make it later."""
    context.display.begin("forecasting", None)
    try:
        with context.interrupts.welcome(), context.clock.at_work():
            return forecast_of(fit, horizon, context.rng)
    except (KeyboardInterrupt, TimeUp):
        return None


def _check_horizon(horizon: int, task: Task) -> None:
    """Refuse a horizon before the work rather than after it."""
    whole_number(horizon, "horizon", at_least=1)
    if task.axis is None:
        raise ValueError(
            "horizon needs a mode of time, but no mode has dates or times as labels; name it, as in time='hour' or "
            "time=1."
        )
    if not isinstance(task.loss, Square) and not is_robust(task.loss):
        named = type(task.loss).__name__
        raise ValueError(f"horizon needs loss 'square' or a robust one, but {named} was given; leave horizon out.")


def _read_if_path(data: Any, missing: str | None, value: str | None, layout: str | None) -> tuple[Any, bool]:
    """Return the data, read from a file if it is a path, and whether it was one."""
    if not isinstance(data, str | PathLike):
        return data, False
    options: dict[str, Any] = {"value": value, "layout": layout}
    options = {name: given for name, given in options.items() if given is not None}
    return read(data, missing=missing, **options), True


def _identity(job: Job, methods: Sequence[Any], seed: int) -> dict[str, str]:
    """Return what identifies a run."""
    return {
        "data": job.observations.fingerprint,
        "settings": fingerprint(job.task, methods),
        "seed": str(seed),
    }


def _start(given: Fit | Model | Start | None) -> Start:
    """Return how the method begins."""
    if isinstance(given, Start):
        return given
    return Start(given.core or core_of(given.model) if isinstance(given, Fit) else given)


def _without_starts_of_another_shape(job: Job, method: Method) -> Job:
    """Return the job of a repetition without what its methods start from, if the data has another shape."""
    task, shape = job.task, job.task.observations.shape
    given = Recipe(method=method, start=task.start, beside=task.beside)
    given = given.started(lambda model: model if model.shape == shape else None)
    return replace(job, task=replace(task, start=given.start, beside=given.beside))


def _without_a_start_of_another_kind(job: Job, method: Method, start: Fit) -> Job:
    """Return the job without its start, if the method cannot start from a model of that kind."""
    shape = job.task.observations.shape
    if start.shape != shape:
        raise ValueError(
            f"start must have the shape of the data, {shape}, but it has {start.shape}; see Fit.update for more."
        )
    ordered = frozenset(job.task.ordered_modes)
    whole = Reduced(Problem(job.task.observations, Square()))
    part = whole.by([PresentSlices(ordered), *job.task.merging], Clock())
    core = job.task.start.model
    usable = core is not None and method.can_start_from(part.start(core), part.problem)
    return job if usable else replace(job, task=replace(job.task, start=Start()))


def _fit(answer: Answer, job: Job, bounds: tuple[float, float] | None, timing: Timing) -> Fit:
    return Fit(
        model=answer.result.model,
        status=answer.result.status,
        history=answer.result.history,
        recipe=answer.recipe,
        path=Path(answer.points) if answer.points else None,
        error_bars=answer.error_bars,
        baselines=answer.baselines,
        timing=timing,
        bounds=bounds,
        observations=job.observations,
        core=answer.result.core,
        corrupt=answer.corrupt,
        labels=job.labelled.labels,
        restore=job.labelled.restore,
    )


def _asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `complete` that belong to a recipe and differ from their defaults."""
    said = {name: given[name] for name, usual in _USUAL.items() if not _is(given[name], usual)}
    if "dtype" in said:
        said["dtype"] = np.dtype(said["dtype"]).name
    return {**said, **given["settings"]}


_DEFAULTS = {
    name: each.default
    for name, each in inspect.signature(complete).parameters.items()
    if name not in ("data", "settings")
}
"""The arguments of `complete` that have a default."""

_USUAL = {
    name: default
    for name, default in _DEFAULTS.items()
    if name not in ("rng", "progress", "callback", "n_jobs", "checkpoint", "resume", "client")
}
"""The arguments of `complete` that belong to a recipe, with their defaults."""


def _is(given: Any, usual: Any) -> bool:
    """Return whether an argument is the default."""
    return given is usual or _same(given, usual)


def _same(given: Any, usual: Any) -> bool:
    """Return whether a text or number is the default; other objects are compared by identity."""
    return isinstance(given, str | bool | int | float) and type(given) is type(usual) and bool(given == usual)
