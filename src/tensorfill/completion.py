"""The front door: one call from an incomplete tensor to a filled one."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ._support.checks import choice, generator, listed
from ._support.parallel import blas_threads
from ._support.progress import Display
from .adapters.registry import take_in
from .choosing.corrupt import is_robust, named_robust, rough_fit, without_corrupt
from .choosing.holdout import make_splits
from .choosing.pipeline import Automatic, Outcome, fit_as_given, fit_from_above
from .choosing.smooth_field import smooth_modes
from .fit import Fit
from .graphs.reduction import checked_graphs, reduce
from .labels import Labels, by_number
from .losses import Loss, Square, make_loss, prepare
from .losses.robust import EFFICIENT, Robust
from .methods.base import Callback, Method
from .methods.nort import Nort
from .methods.nort.method import per_mode
from .methods.problem import Problem
from .methods.registry import METHODS, method_class
from .models import Model
from .observations import Observations
from .penalties import Penalty, make_penalty
from .penalties.family import SCALED_BY_CUT, is_auto, make_family


def complete(
    data: Any,
    *,
    missing: str | None = None,
    value: str | None = None,
    method: str | Method = "nort",
    loss: str | Loss | Robust = "square",
    penalty: str | Penalty = "lsp",
    lam: float | Sequence[float] | str = "auto",
    theta: float | Sequence[float] | str = "auto",
    modes: Sequence[int | str] | None = None,
    laplacian: Mapping[Any, Any] | None = None,
    smooth: Sequence[int | str] | str | None = "auto",
    max_rank: int | Sequence[int] | None = None,
    tau: float | None = None,
    momentum: bool | str = True,
    max_iter: int = 500,
    tol: float = 1e-4,
    time_limit: float | None = None,
    validation: float | Observations = 0.1,
    holdout: str | Sequence[Any] = "auto",
    splits: int = 1,
    centre: bool | str = "auto",
    refine: str | None = None,
    bounds: tuple[float, float] | None = None,
    dtype: DTypeLike = np.float64,
    start: Fit | Model | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool = False,
    callback: Callback | None = None,
) -> Fit:
    """Fill in the missing entries of a tensor.

    Parameters
    ----------
    data
        An array in which NaN is missing, a masked array or `Observations`; a `DataArray` or `Dataset` of xarray, whose
        variables then are a last mode ``"variable"``; a long table of pandas or polars, with a row for each entry, a
        column for the values and the others for the labels of the modes; a sparse array of scipy or of the package
        sparse. Labels come back on the answer, and wherever a mode is asked for its name will do.
    missing
        ``"nan"``: NaN is missing, which is the default; ``"zero"``: zeros are missing too; ``"absent"``: what a sparse
        array does not store is missing, and stored zeros were observed. For sparse arrays that read as 0 where
        nothing is stored it must be said.
    value
        The column of a table that has the values; by default the last.
    method
        The name of a method, or a method object, which then brings all its settings with it.
    loss
        How predictions are compared with observations: ``"square"``; ``"huber"``; ``"logistic"`` for values of two
        kinds and ``"poisson"`` for counts, both of which predict scores (see `Fit.predict_mean`); ``"l1"``,
        ``"capped_l1"``, ``"lsp"``, ``"mcp"`` or ``"scad"`` for data of which some entries are corrupt (see
        `Fit.outliers`); or an object with `value`, `derivative` and `curvature`.
    penalty
        What is paid for each singular value: ``"lsp"``, ``"nuclear"``, ``"capped_l1"``, ``"tnn"``, ``"scad"``,
        ``"mcp"``, or an object with `value` and `prox`.
    lam
        How strongly each regularised mode is pulled towards low rank: one number, one for each mode, or ``"auto"``,
        which chooses it on held-out entries and then fits all of them.
    theta
        The parameter of the penalty: one number, one for each regularised mode, or ``"auto"``.
    modes
        The modes to regularise, by number or name; by default all but the very small ones.
    laplacian
        Graphs by mode, as in ``{0: graphs.haversine(latlon)}`` or ``{"station": ...}``: a Laplacian, or a kernel of
        `tensorfill.graphs` whose width is then chosen on held-out slices. They fill slices without any observed entry,
        and how alike neighbours are to be is chosen on held-out entries. It needs ``lam="auto"``.
    smooth
        The modes whose neighbours are alike, such as the rows and columns of a photograph: a smooth field through what
        low rank leaves of the observed entries is added there. ``"auto"`` considers the modes where neighbouring
        observed entries agree more than distant ones, and adds it where held-out entries gain; None never does. It
        needs ``lam="auto"``.
    max_rank
        No component exceeds this rank: one number, or one for each regularised mode.
    tau
        Inverse step length; by default just above the curvature of the loss.
    momentum
        Whether, or by which rule (``"restart"``, ``"adaptive"``), to extrapolate.
    max_iter, tol, time_limit
        When to stop: after so many iterations, when the objective changes by less than this share in two
        iterations running, or after so many seconds.
    validation
        The share of the entries that is held out to choose what is ``"auto"``, or the entries themselves.
    holdout
        What is held out together: ``"auto"`` for what goes missing together, be it single entries, whole fibres or
        blocks; ``"entry"`` for single entries; ``("fibre", mode)`` for fibres along a mode; ``("slice", mode)`` for
        slices, one for each index of a mode; or the sizes of a block.
    splits
        How often entries are held out anew, to choose with all of these splits, side by side, and to rest error bars
        on. More of them choose better where entries are few, and cost as much more.
    centre
        Whether the mean and the effect of each index of each mode are taken away first and added again at the
        end; ``"auto"`` tries it where they alone come near to the best without, and keeps it if it is better.
    refine
        ``"tucker"`` polishes the answer by least squares on the ranks that were found, which takes away the bias of the
        penalty, and keeps that where the held-out error falls; it needs ``lam="auto"`` and the square loss.
    bounds
        Predictions are clipped to (low, high).
    dtype
        ``float64``, or ``float32`` at half the memory.
    start
        An earlier fit of the same tensor to start from, where `lam` is given. Without one, and without a `max_rank`, a
        given `lam` is reached through larger ones, which keeps ranks small on the way.
    rng
        A seed or generator that decides everything that is random.
    progress
        Whether to show a progress bar.
    callback
        Called after every iteration with its record and the model so far; a true answer stops the run.

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
    given = locals()
    random = generator(rng)
    limits = _checked_bounds(bounds)
    taken = take_in(data, missing=missing, value=value)
    # Below, modes are numbers.
    named = by_number(taken.labels, modes=modes, laplacian=laplacian, smooth=smooth, holdout=holdout)
    everything = taken.observations.astype(dtype)
    first = start.model if isinstance(start, Fit) else start
    if is_robust(loss):
        problem, first = _problem_with_outliers(everything, loss, lam, first, named.modes, max_rank, random)
    else:
        problem = _problem(everything, loss)  # type: ignore[arg-type]
    _check_refine(refine, lam, problem.loss)
    if not isinstance(centre, bool) and centre != "auto":
        raise ValueError(f"centre must be True, False or 'auto', but {centre!r} was given.")
    # Found out now rather than after the choice, which can take minutes.
    smooth_modes(problem.observations, named.smooth)
    if not isinstance(lam, str):
        _refuse_beside_lam(laplacian=laplacian, smooth=smooth, holdout=holdout, splits=splits, centre=centre)
    graphs = checked_graphs(named.laplacian, problem.observations, random)
    _warn_of_empty_slices(problem.observations, graphs, taken.labels)
    with Display(progress) as display, blas_threads(1):
        if isinstance(method, Method):
            _refuse_settings_beside(method, given)
            outcome = fit_as_given(method, problem, first, random, display, callback)
        else:
            method_class(method)
            settings = Nort(
                lam=1.0 if isinstance(lam, str) else lam,
                modes=named.modes,
                max_rank=max_rank,
                tau=tau,
                momentum=momentum,
                max_iter=max_iter,
                tol=tol,
                time_limit=time_limit,
            )
            if is_auto(lam, "lam"):
                if first is not None:
                    raise ValueError("start needs lam to be given, as in lam=fit.lam; lam='auto' begins at zero.")
                family = make_family(penalty, theta)
                observations = problem.observations
                parts, how = make_splits(observations, problem.loss, validation, named.holdout, splits, random, graphs)
                reduced = reduce(observations, graphs) if graphs else None
                task = problem if reduced is None else Problem(reduced.observations, problem.loss)
                outcome = Automatic(
                    settings, task, reduced, parts, family, how, centre, refine, named.smooth, random, display, callback
                ).run()  # fmt: skip
            else:
                settings = replace(settings, penalty=_penalties(penalty, theta, settings, problem))
                # A limit holds ranks down as well as coming from above does, and leaves more to a weak direction.
                if first is None and max_rank is None:
                    outcome = fit_from_above(settings, problem, random, display, callback)
                else:
                    outcome = fit_as_given(settings, problem, first, random, display, callback)
    return Fit(
        model=outcome.result.model,
        status=outcome.result.status,
        history=outcome.result.history,
        settings=_described(outcome, loss, penalty, problem),
        path=outcome.path,
        residuals=outcome.residuals,
        bounds=limits,
        observations=everything if is_robust(loss) else problem.observations,
        labels=taken.labels,
        restore=taken.restore,
    )


def _problem(observations: Observations, loss: str | Loss) -> Problem:
    """Return the problem, with the loss fitted to the data and the values as the loss takes them."""
    prepared, values = prepare(make_loss(loss), observations.values)
    if values is not observations.values:
        observations = observations.with_values(values)
    return Problem(observations, prepared)


def _problem_with_outliers(
    observations: Observations,
    loss: Any,
    lam: Any,
    start: Model | None,
    modes: Sequence[int] | None,
    max_rank: int | Sequence[int] | None,
    rng: np.random.Generator,
) -> tuple[Problem, Model | None]:
    """Return the problem for data with outliers, and where to start.

    Where lambda is chosen, the entries that a rough fit judges corrupt are left out. Where it is given, they stay, and
    the loss allows for them.
    """
    rough = rough_fit(Problem(observations, Square()), modes=modes, max_rank=max_rank, rng=rng)
    if is_auto(lam, "lam"):
        return Problem(without_corrupt(observations, rough, rng), Square()), start
    robust = named_robust(loss, rough.noise).cut_at(EFFICIENT * rough.noise)
    return Problem(observations, robust), rough.model if start is None else start


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


def _warn_of_empty_slices(observations: Observations, graphs: Mapping[int, Any], labels: Labels) -> None:
    """Warn of slices without any observed entry, of which low rank says nothing, along the modes without a graph."""
    for mode, size in enumerate(observations.shape):
        if mode in graphs:
            continue
        empty = size - len(np.unique(observations.coords[:, mode]))
        if empty:
            called = repr(labels.called(mode))
            warnings.warn(
                f"{empty:,} of the {size:,} slices of mode {called} have no observed entry; "
                f"low rank alone cannot fill them, and predicts them as 0; a graph can: laplacian={{{called}: graph}}.",
                stacklevel=3,
            )


def _refuse_beside_lam(**given: Any) -> None:
    """Raise an error where lambda is given beside what only has a meaning when it is chosen."""
    without: dict[str, list[Any]] = {
        "laplacian": [None],
        "smooth": ["auto", None],
        "holdout": ["auto"],
        "splits": [1],
        "centre": ["auto", False],
    }
    beside = [
        name for name, value in given.items() if not any(value is each or value == each for each in without[name])
    ]
    if beside:
        raise ValueError(f"{listed(beside)} needs lam='auto', which decides on held-out entries; leave lam out.")


def _refuse_settings_beside(method: Method, given: Mapping[str, Any]) -> None:
    """Raise an error where a setting is given beside a method object, which brings its own."""
    own = ("penalty", "lam", "theta", "modes", "max_rank", "tau", "momentum", "max_iter", "tol", "time_limit")
    defaults = inspect.signature(complete).parameters
    beside = [name for name in own if given[name] is not defaults[name].default]
    if beside:
        raise ValueError(
            f"A method object brings its own settings, so {listed(beside)} must be left out; set them in {method!r}."
        )


def _penalties(
    penalty: str | Penalty, theta: float | Sequence[float] | str, settings: Nort, problem: Problem
) -> list[Penalty]:
    """Return the penalty of each regularised mode for a given lambda."""
    regulariser = settings.regulariser(problem)
    if not is_auto(theta, "theta"):
        return [make_penalty(penalty, value) for value in per_mode(theta, "theta", regulariser.modes)]  # type: ignore[arg-type]
    if penalty == "tnn":
        raise ValueError("theta must be given for penalty 'tnn' where lam is: how many singular values are left free.")
    if isinstance(penalty, str) and penalty in SCALED_BY_CUT:
        weight = regulariser.total / regulariser.tau
        # A penalty that bends at its cut: LSP cuts at the root of the weight, the others at the weight itself.
        made = SCALED_BY_CUT[penalty]((math.sqrt(weight) if penalty == "lsp" else weight) or 1.0)
    else:
        made = make_penalty(penalty)
    return [made] * len(regulariser.modes)


def _check_refine(refine: str | None, lam: Any, loss: Loss) -> None:
    if refine is None:
        return
    choice(refine, "refine", ["tucker"])
    if not isinstance(lam, str) or not isinstance(loss, Square):
        raise ValueError("refine='tucker' needs lam='auto', to see on held-out entries if it helps, and loss='square'.")


def _described(outcome: Outcome, loss: str | Loss | Robust, penalty: str | Penalty, problem: Problem) -> dict[str, Any]:
    """Return what the method ran with, by name, in words and numbers only."""
    method = outcome.method
    described: dict[str, Any] = {
        "method": next((name for name, kind in METHODS.items() if type(method) is kind), repr(method)),
        "loss": loss if isinstance(loss, str) else repr(loss),
        "max_iter": method.max_iter,
        "tol": method.tol,
        "time_limit": method.time_limit,
        "lam": (),
        "theta": (),
        "holdout": outcome.holdout,
        "centre": outcome.centred,
        "smooth": None if outcome.smoothing is None else tuple(outcome.smoothing.weights),
        "stiffness": None if outcome.smoothing is None else outcome.smoothing.stiffness,
        "refine": "tucker" if outcome.refined else None,
    }
    if isinstance(method, Nort):
        regulariser = method.regulariser(problem)
        described |= {
            "penalty": penalty if isinstance(penalty, str) else repr(penalty),
            "lam": regulariser.lam,
            "theta": tuple(getattr(each, "theta", None) for each in regulariser.penalties),
            "modes": regulariser.modes,
            "max_rank": regulariser.max_ranks,
            "tau": regulariser.tau,
            "momentum": method.momentum,
        }
    return described
