"""The front door: one call from an incomplete tensor to a filled one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ._support.checks import choice as one_of
from ._support.checks import generator, listed, mode_number, whole_number
from ._support.clock import Clock
from ._support.parallel import blas_threads
from ._support.progress import Display
from .adapters.registry import take_in
from .choosing.answer import Outcome
from .choosing.corrupt import is_robust
from .choosing.doubts import warn_of_a_fit_near_zero, warn_of_empty_slices
from .choosing.kernel_width import checked_graphs
from .choosing.pipeline import Pipeline, needs_choice
from .choosing.recipe import Recipe
from .choosing.smooth_field import smooth_modes
from .choosing.splits import Choice
from .choosing.task import Run, Task
from .fit import Fit
from .labels import Labelled, Labels
from .losses import Loss, Robust, Square, make_loss, prepare
from .methods.base import Callback, Method
from .methods.problem import Problem
from .methods.registry import AUTOMATIC, METHODS, make_method, setting_names
from .methods.rescal import Rescal
from .methods.search import Path
from .models import Model
from .observations import Observations


def complete(
    data: Any,
    *,
    missing: str | None = None,
    value: str | None = None,
    method: str | Method | Sequence[str | Method] = "auto",
    loss: str | Loss | Robust = "square",
    same: Sequence[int | str] | None = None,
    laplacian: Mapping[Any, Any] | None = None,
    smooth: Sequence[int | str] | str | None = "auto",
    centre: bool | str = "auto",
    refine: str | None = None,
    bounds: tuple[float, float] | None = None,
    choose: Choice | None = None,
    dtype: DTypeLike = np.float64,
    start: Fit | Model | None = None,
    time_limit: float | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool = False,
    callback: Callback | None = None,
    **settings: Any,
) -> Fit:
    """Fill in the missing entries of a tensor.

    Parameters
    ----------
    data
        An array in which NaN is missing, a masked array or `Observations`; a `DataArray` or `Dataset` of xarray, whose
        variables become a last mode ``"variable"``; a long table of pandas or polars, with a row for each entry, a
        column for the values and the others for the labels of the modes; a sparse array of scipy or of the package
        sparse. Labels come back on the answer, and a mode can be given by name or number everywhere.
    missing
        ``"nan"``, the default: NaN is missing; ``"zero"``: zeros are missing too; ``"absent"``: entries that a sparse
        array does not store are missing, and stored zeros were observed. Sparse arrays that read as 0 where nothing is
        stored need it.
    value
        The column of a table that has the values; by default the last.
    method
        ``"auto"`` grows a model by least squares, which is best for data of low rank. If that leaves anything above the
        noise, it tries NORT too, and held-out entries choose. Otherwise the name of a method: ``"nort"``, ``"grow"``,
        ``"tucker_als"``, ``"cp"`` or ``"softimpute"``; a method object, which brings all its settings; or a list of
        these, to choose the best on held-out entries. Settings that a method leaves open are chosen there too.
    loss
        How predictions are compared with observations: ``"square"``; ``"huber"``; ``"logistic"`` for values of two
        kinds and ``"poisson"`` for counts, both of which predict scores (see `Fit.predict_mean`); ``"l1"``,
        ``"capped_l1"``, ``"lsp"``, ``"mcp"`` or ``"scad"`` for data with corrupt entries, which are found and left out
        if settings are chosen (see `Fit.outliers` and `Fit.filled`); or an object with `value`, `derivative` and
        `curvature`.
    same
        Two of three modes that are the same entities, as in ``("head", "tail")`` or ``(0, 1)``. ``method="auto"`` then
        also tries `Rescal`, which has one factor for both, and held-out entries choose.
    laplacian
        Graphs by mode, as in ``{0: graphs.haversine(latlon)}`` or ``{"station": ...}``: a Laplacian, or a kernel of
        `tensorfill.graphs` whose width is chosen on held-out slices. They fill slices without any observed entry.
        Held-out entries choose how alike neighbours must be, if the method can include that.
    smooth
        The modes with smooth neighbours, such as the rows and columns of a photograph. A smooth field through the
        residuals of the method is added along them. ``"auto"`` considers the modes whose neighbouring entries agree
        more than distant ones, and adds the field if held-out entries gain; None never does.
    centre
        Whether a mean and an effect of each index of each mode are fitted first, and the method fits what they leave.
        For ``"square"`` and ``"huber"`` they are subtracted, and ``"auto"`` tries it if they alone come near to the
        best without, and keeps it if it is better. For ``"logistic"`` and ``"poisson"`` they are scores, and
        ``"auto"`` fits them if that is better than scores of zero at the held-out entries.
    refine
        ``"tucker"`` polishes the answer by least squares on the ranks that were found, which removes the bias of the
        penalty, and keeps that if the held-out error falls.
    bounds
        Predictions are clipped to (low, high).
    choose
        What is held out, how much and how often; see `Choice`. If nothing is left to choose, nothing is held out, and
        there are no error bars, unless this is given.
    dtype
        ``float64``, or ``float32`` at half the memory.
    start
        An earlier fit of the same tensor to start from, if nothing is left to choose.
    time_limit
        Stop after this many seconds with the best answer so far.
    rng
        A seed or generator that decides everything random.
    progress
        Whether to show a progress bar.
    callback
        Called after every iteration with its record and the model so far; returning something true stops the run.
    **settings
        The settings of the method, such as ``lam``, ``penalty``, ``theta``, ``modes`` and ``max_rank`` of
        `tensorfill.Nort`, or ``rank`` of `tensorfill.CP`, and ``max_iter`` and ``tol`` of every method. ``"auto"``
        tries the methods that have them: with ``lam``, for example, only NORT.

    Returns
    -------
    Fit
        The completed tensor, with what was chosen and why it stopped.

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
    clock = Clock(time_limit)
    asked = _asked(locals())
    seed, random = _seeded(rng)
    limits = _checked_bounds(bounds)
    job = taken_in(
        data,
        missing=missing,
        value=value,
        dtype=dtype,
        loss=loss,
        same=same,
        laplacian=laplacian,
        smooth=smooth,
        centre=centre,
        refine=refine,
        choose=choose,
        start=start,
        rng=random,
    )
    methods = candidates(method, settings, job)
    choosing = needs_choice(methods, job.task, choose)
    if choosing and start is not None:
        raise ValueError("start needs every setting to be given, as in lam=fit.lam; a search begins at zero.")
    with Display(progress) as display, blas_threads(1):
        pipeline = Pipeline(job.task, Run(random, clock, display, callback))
        if choosing:
            outcome = pipeline.best_of(methods, all_of_them=method != "auto" or bool(job.task.stages_asked()))
        else:
            outcome = pipeline.as_given(methods[0])
    warn_of_empty_slices(outcome, job.task, job.labelled.labels)
    warn_of_a_fit_near_zero(outcome, job.task)
    return _fit(outcome, job, asked, seed, limits)


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


def taken_in(
    data: Any,
    *,
    missing: str | None = None,
    value: str | None = None,
    dtype: DTypeLike = np.float64,
    loss: str | Loss | Robust = "square",
    same: Sequence[int | str] | None = None,
    laplacian: Mapping[Any, Any] | None = None,
    smooth: Sequence[int | str] | str | None = "auto",
    centre: bool | str = "auto",
    refine: str | None = None,
    choose: Choice | None = None,
    start: Fit | Model | None = None,
    rng: np.random.Generator,
) -> Job:
    """Return data of any kind with the stages that are asked for, all checked and with modes by number."""
    if choose is not None and not isinstance(choose, Choice):
        raise TypeError(f"choose must be a Choice, as in choose=Choice(splits=3), but {choose!r} was given.")
    if not isinstance(centre, bool) and centre != "auto":
        raise ValueError(f"centre must be True, False or 'auto', but {centre!r} was given.")
    if refine is not None:
        one_of(refine, "refine", ["tucker"])
    taken = take_in(data, missing=missing, value=value)
    labels = taken.labels
    observations = taken.observations.astype(dtype)
    _check_size_of_values(observations)
    smooth_by_number: Any = labels.numbers(smooth)
    prepared, fitted = loss, observations
    if not is_robust(loss):
        prepared, values = prepare(make_loss(loss), observations.values)  # type: ignore[arg-type]
        fitted = observations if values is observations.values else observations.with_values(values)
    # Checked now rather than after a search, which can take minutes.
    smooth_modes(fitted, smooth_by_number)
    task = Task(
        observations=fitted,
        loss=prepared,
        same=_checked_same(same, labels, fitted.shape),
        choice=_checked_choice(choose or Choice(), labels, loss, dtype),
        graphs=checked_graphs(labels.numbered(laplacian, "laplacian"), fitted, rng),
        smooth=smooth_by_number,
        centre=centre,
        refine=refine,
        start=start.model if isinstance(start, Fit) else start,
    )
    return Job(task, observations, taken)


EXTREMES = {"float64": 1e40, "float32": 1e15}
"""The squares and fourth powers of values up to this size, and down to its inverse, are far from the ends of floats."""


def _check_size_of_values(observations: Observations) -> None:
    largest = float(np.abs(observations.values).max(initial=0.0))
    extreme = EXTREMES[observations.dtype.name]
    if largest > extreme or 0 < largest < 1 / extreme:
        raise ValueError(
            f"The largest value is {largest:.3g} in size, and must lie between {1 / extreme:g} and {extreme:g} for "
            f"{observations.dtype.name}; divide the values by a constant first."
        )


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


def candidates(
    method: Any, settings: Mapping[str, Any], job: Job, automatic_choice: Sequence[str] = AUTOMATIC
) -> list[Method]:
    """Return the methods to try, each checked against the data and the stages around it.

    `automatic_choice` is what ``"auto"`` means.
    """
    task = job.task
    loss = Square() if is_robust(task.loss) else task.loss
    problem = Problem(task.observations, loss)  # type: ignore[arg-type]
    misplaced = [each.name for each in fields(Choice) if each.name in settings]
    if misplaced:
        raise ValueError(f"{listed(misplaced)} is part of choose; give it as choose=Choice({misplaced[0]}=...).")
    automatic = isinstance(method, str) and method == "auto"
    several = method if isinstance(method, list | tuple) else [method]
    if automatic:
        several, settings = _automatic(automatic_choice, settings, task.same)
    if not several:
        raise ValueError("method must name at least one method, but the list is empty.")
    if len(several) > 1 and settings and not automatic:
        raise ValueError(
            f"{listed(settings)} must be left out if several methods are tried; "
            "give method objects with their settings instead."
        )
    found: list[Method] = []
    for each in several:
        made = _with_mode_numbers(make_method(each, settings), job.labelled.labels)
        try:
            task.check(made)
            if not made.takes_robust:
                made.check(problem)
        except ValueError:
            # "auto" tries what fits the data; a method that was named is refused in words.
            if not automatic or (len(found) == 0 and each == several[-1]):
                raise
            continue
        if automatic and each != several[-1] and len(task.observations) < made.fewest_entries:
            continue
        found.append(made)
    return found


def _automatic(
    methods: Sequence[str], settings: Mapping[str, Any], same: tuple[int, int] | None
) -> tuple[list[str | Method], Mapping[str, Any]]:
    """Return what ``"auto"`` tries, and the settings that are still to be given to the methods.

    If two modes are the same entities, that includes RESCAL.
    """
    if same is None or any(name not in setting_names(Rescal) for name in settings):
        return [*_with_settings(methods, settings)], settings
    known = [name for name in methods if all(setting in setting_names(METHODS[name]) for setting in settings)]
    return [*(make_method(name, settings) for name in known), Rescal(same=same, **settings)], {}


def _with_settings(methods: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Return the methods that have all of these settings."""
    known = {name: setting_names(METHODS[name]) for name in methods}
    found = [name for name in methods if all(setting in known[name] for setting in settings)]
    if not found:
        every = dict.fromkeys(setting for name in methods for setting in known[name])
        unknown = [setting for setting in settings if setting not in every]
        raise ValueError(
            f"method 'auto' tries {listed(methods)}, which have no setting {listed(unknown)}; their settings are "
            f"{listed(every)}; name the method that has it, as in method='cp'."
            if unknown
            else f"No method has all of {listed(settings)}: "
            + "; ".join(f"{name!r} has {listed(_of_these(settings, known[name]))}" for name in methods)
            + "; leave out those of one method."
        )
    return found


def _of_these(settings: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [setting for setting in settings if setting in names]


def _with_mode_numbers(method: Method, labels: Labels) -> Method:
    """Return a method whose modes are numbers, from one that may name them."""
    numbered = {name: getattr(method, name, None) for name in ("modes", "mode")}
    found = {name: labels.numbers(given) for name, given in numbered.items() if given is not None}
    if isinstance(found.get("mode"), str):
        found["mode"] = labels.mode(found["mode"])
    return replace(method, **found) if found else method


def _fit(
    outcome: Outcome, job: Job, asked: Mapping[str, Any], seed: int | None, bounds: tuple[float, float] | None
) -> Fit:
    recipe = Recipe(
        method=outcome.method,
        loss=outcome.loss,
        holdout=outcome.holdout,
        centred=outcome.centred,
        smoothing=outcome.smoothing,
        polish=outcome.polish,
        fills=tuple(outcome.fills),
        mu=outcome.mu,
        seed=seed,
        asked=asked,
    )
    return Fit(
        model=outcome.result.model,
        status=outcome.result.status,
        history=outcome.result.history,
        recipe=recipe,
        path=Path(outcome.points) if outcome.points else None,
        error_bars=outcome.error_bars,
        bounds=bounds,
        observations=job.observations,
        corrupt=outcome.corrupt,
        labels=job.labelled.labels,
        restore=job.labelled.restore,
    )


def _asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `complete` that are not the usual ones and that belong to a recipe."""
    said = {
        name: given[name]
        for name, usual in _USUAL.items()
        if given[name] is not usual and not _same(given[name], usual)
    }
    if "dtype" in said:
        said["dtype"] = np.dtype(said["dtype"]).name
    return {**said, **given["settings"]}


_USUAL = {
    name: each.default
    for name, each in inspect.signature(complete).parameters.items()
    if name not in ("data", "settings", "rng", "progress", "callback")
}
"""The arguments of `complete` that belong to a recipe, with their defaults."""


def _same(given: Any, usual: Any) -> bool:
    """Return whether a text or number is the default; other objects are compared by identity."""
    return isinstance(given, str | bool | int | float) and type(given) is type(usual) and bool(given == usual)


def _seeded(rng: int | np.random.Generator | None) -> tuple[int | None, np.random.Generator]:
    """Return the seed, drawn if the caller gave none, and the generator that it starts."""
    if isinstance(rng, np.random.Generator):
        return None, rng
    seed = int(np.random.default_rng().integers(2**31)) if rng is None else whole_number(rng, "rng")
    return seed, generator(seed)


def _checked_bounds(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    if bounds is None:
        return None
    try:
        low, high = (float(limit) for limit in bounds)
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be two numbers (low, high), but {bounds!r} was given.") from None
    if not low <= high:
        raise ValueError(f"bounds must be (low, high) with low at most high, but {bounds!r} was given.")
    return low, high
