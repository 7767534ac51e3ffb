"""Data with outliers: a first fit, the size of the noise apart from them, and a loss that suits it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._support.checks import generator
from .._support.clock import Clock
from .._support.types import Booleans
from ..losses.robust import EFFICIENT, Robust, make_robust, noise_scale
from ..methods.base import Callback, Result
from ..methods.nort import Nort
from ..methods.nort.descent import MOST_POINTS, PATH_ITERATIONS, PATH_TOLERANCE, RATIO, largest_cut, with_room
from ..methods.nort.method import STEP_MARGIN
from ..methods.problem import Problem
from ..models import Model
from ..observations import Observations
from ..penalties import LSP, SCAD, Nuclear
from ..penalties.family import SCAD_THETA

LEAST_GAIN = 0.02
"""A fit with less regularisation is better only if its noise is lower by this fraction."""

PATIENCE = 8
"""The path ends after this many points without lower noise; points with higher noise count twice.

Between a few strong directions and many weak ones, the noise does not change for some points.
"""

GROSS = {"float64": 1e8, "float32": 1e5}
"""With a robust loss, values are clipped at this multiple of the median size."""

MANY_RANKS = 50
"""The path also ends where every mode has more ranks than that: low rank is no way to tell corrupt entries there."""

REACH = 3.0
"""The theta of a robust loss given by name, in units of the difference from which an entry counts as an outlier."""


@dataclass(frozen=True)
class Watch:
    """How a stage reports to its caller.

    Parameters
    ----------
    callback
        Called after every iteration; a true return value stops the run.
    clock
        Stops the run when it expires.
    keep
        Called with a method and its result whenever that is the best so far.
    is_asked
        Whether the caller asks for corrupt entries. If not, they are looked for only as long as there are signs of any.
    """

    callback: Callback | None = None
    clock: Clock = dataclasses.field(default_factory=Clock)
    keep: Callable[[Nort, Result], None] = lambda method, result: None
    is_asked: bool = True


@dataclass(frozen=True, eq=False)
class RoughFit:
    """A first fit of data with outliers.

    Parameters
    ----------
    noise
        The standard deviation of the noise, without the outliers.
    model
        A model that follows neither, for a warm start; None if nothing better than zero was found.
    method, cut
        The method that found it, and its singular value threshold.
    """

    noise: float
    model: Model | None
    method: Nort | None = None
    cut: float = 0.0


def rough_fit(
    problem: Problem,
    *,
    modes: Sequence[int] | None = None,
    max_rank: int | Sequence[int] | None = None,
    held_out: Booleans | None = None,
    until: float = 0.0,
    rng: np.random.Generator | int | None = None,
    watch: Watch | None = None,
) -> RoughFit:
    """Return the size of the noise in data with outliers, and a model to start from; the problem's loss is not used.

    Some entries are held out. The others are fitted with decreasing regularisation, each time with a warm start from
    the last answer, and with the envelope of the absolute difference, cut at 1.345 times the current estimate of the
    noise. The noise is that of the residuals of the held-out entries (see `tensorfill.losses.robust.noise_scale`). It
    falls until the fit follows the noise; the lowest estimate is returned, with its model.

    Parameters
    ----------
    problem
        The data.
    modes, max_rank
        As for `Nort`.
    held_out
        Which entries are held out; by default a tenth, at random.
    until
        The singular value threshold at which the path ends, if it is known.
    rng
        The random generator, or its seed.
    watch
        The callback, the clock, and where the best answer so far is stored.

    Raises
    ------
    Stopped
        If the callback, the time limit or Ctrl-C stopped the run.
    """
    rng, watch = generator(rng), watch or Watch()
    if held_out is None:
        fitted, others = problem.observations.split(0.1, rng=rng)
    else:
        fitted, others = problem.observations.select(~held_out), problem.observations.select(held_out)
    outlier = Robust(Nuclear())
    settings = Nort(
        lam=1.0, penalty=Nuclear(), modes=modes, max_rank=max_rank, max_iter=PATH_ITERATIONS, tol=10 * PATH_TOLERANCE
    )
    best = RoughFit(noise_scale(others.values), None)
    task = dataclasses.replace(problem, observations=fitted, loss=outlier.cut_at(EFFICIENT * best.noise))
    count = len(settings.regulariser(task).modes)
    cut, model, stale = largest_cut(settings, task, rng), best.model, 0
    for _ in range(MOST_POINTS):
        cut *= RATIO
        if cut == 0 or cut < until or (stale >= PATIENCE and until == 0):
            break
        method = dataclasses.replace(settings, lam=STEP_MARGIN * cut**2 / count, penalty=LSP(cut))
        method = with_room(method, task, model)
        result = method.solve(task, start=model, rng=rng, callback=watch.callback, clock=watch.clock)
        model = result.model
        noise = noise_scale(model.predict(others.coords) - others.values)
        if noise < (1 - LEAST_GAIN) * best.noise:
            best, stale = RoughFit(noise, model, method, cut), 0
            watch.keep(method, result)
        elif best.model is not None:
            # Before the first gain, the first direction may be an outlier that is larger than everything else.
            stale += 2 if noise > (1 + LEAST_GAIN) * best.noise else 1
        else:
            watch.keep(method, result)
        if min(result.finished_or_stopped().model.ranks) > MANY_RANKS:
            break
        task = task.with_loss(outlier.cut_at(EFFICIENT * noise))
    return best


def without_gross_sizes(observations: Observations) -> Observations:
    """Return the observations with values clipped to `GROSS` times the median size of nonzero values.

    Relative to a value of 1e20, everything else is rounding error. After clipping, it is still clearly corrupt.

    >>> seen = Observations([[0, 0], [0, 1], [1, 1]], [1.0, -2.0, 1e20], (2, 2))
    >>> without_gross_sizes(seen).values.tolist()
    [1.0, -2.0, 200000000.0]
    """
    values = observations.values
    sizes = np.abs(values)
    if not sizes.any():
        return observations
    most = GROSS[observations.dtype.name] * float(np.median(sizes[sizes > 0]))
    return observations if sizes.max() <= most else observations.with_values(np.clip(values, -most, most))


def named_robust(loss: str | Robust, noise: float) -> Robust:
    """Return the robust loss; one given by name gets a theta that suits the noise."""
    width = EFFICIENT * noise
    if loss == "scad":
        return Robust(SCAD(SCAD_THETA, width))
    return make_robust(loss, None if isinstance(loss, Robust) or loss == "l1" else REACH * width)
