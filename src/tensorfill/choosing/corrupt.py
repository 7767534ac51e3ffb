"""Data with outliers: the size of the noise beside them, and which entries are corrupt."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._support.checks import generator
from .._support.clock import Clock
from .._support.types import Booleans, Floats
from ..losses import Square
from ..losses.robust import EFFICIENT, ROBUST, Robust, largest_noise, make_robust, noise_scale
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
"""A fit with less regularisation is better only if the noise beside it is lower by this fraction."""

PATIENCE = 4
"""The path ends after this many points without a lower noise."""

MOST_ROUNDS = 20
"""The most rounds in which all entries are judged again."""

REACH = 3.0
"""The theta of a robust loss given by name, in units of the difference from which an entry counts as an outlier."""


@dataclass(frozen=True)
class Watch:
    """How a stage reports to its caller.

    Parameters
    ----------
    callback
        Called after every iteration; returning something true stops the run.
    clock
        Stops the run when it expires.
    keep
        Called with a method and its result whenever that is the best so far.
    """

    callback: Callback | None = None
    clock: Clock = dataclasses.field(default_factory=Clock)
    keep: Callable[[Nort, Result], None] = lambda method, result: None


@dataclass(frozen=True, eq=False)
class RoughFit:
    """A first look at data with outliers.

    Parameters
    ----------
    noise
        The standard deviation of the noise beside the outliers.
    model
        An answer that follows neither, as a starting point; None if nothing better than zero was found.
    method
        The method that found it.
    """

    noise: float
    model: Model | None
    method: Nort | None = None


def rough_fit(
    problem: Problem,
    *,
    modes: Sequence[int] | None = None,
    max_rank: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
    watch: Watch | None = None,
) -> RoughFit:
    """Return the size of the noise in data with outliers, and a starting point; the loss of the problem is not used.

    A tenth of the entries is held out. The others are fitted with less and less regularisation, each time from the
    last answer, and with the envelope of the absolute difference that is cut at 1.345 times the noise known so far. The
    noise is that of the residuals of the held-out entries (see `tensorfill.losses.robust.noise_scale`). It falls until
    the fit follows the noise; the lowest is returned, with its model.

    Parameters
    ----------
    problem
        The data.
    modes, max_rank
        As for `Nort`.
    rng
        Decides everything that is random.
    watch
        The callback, the clock, and where the best answer so far is kept.

    Raises
    ------
    Stopped
        If the caller, the clock or the keyboard asked to stop.
    """
    rng, watch = generator(rng), watch or Watch()
    fitted, held_out = problem.observations.split(0.1, rng=rng)
    outlier = Robust(Nuclear())
    settings = Nort(
        lam=1.0, penalty=Nuclear(), modes=modes, max_rank=max_rank, max_iter=PATH_ITERATIONS, tol=10 * PATH_TOLERANCE
    )
    best = RoughFit(noise_scale(held_out.values), None)
    task = dataclasses.replace(problem, observations=fitted, loss=outlier.cut_at(EFFICIENT * best.noise))
    count = len(settings.regulariser(task).modes)
    cut, model, stale = largest_cut(settings, task, rng), best.model, 0
    for _ in range(MOST_POINTS):
        cut *= RATIO
        if cut == 0 or stale == PATIENCE:
            break
        method = dataclasses.replace(settings, lam=STEP_MARGIN * cut**2 / count, penalty=LSP(cut))
        method = with_room(method, task, model)
        result = method.solve(task, start=model, rng=rng, callback=watch.callback, clock=watch.clock)
        model = result.model
        noise = noise_scale(model.predict(held_out.coords) - held_out.values)
        if noise < (1 - LEAST_GAIN) * best.noise:
            best, stale = RoughFit(noise, model, method), 0
            watch.keep(method, result)
        elif best.model is not None:
            # Before the first gain, what entered may be an outlier that is larger than everything else.
            stale += 1
        else:
            watch.keep(method, result)
        result.finished_or_stopped()
        task = task.with_loss(outlier.cut_at(EFFICIENT * noise))
    return best


def without_corrupt(
    observations: Observations, rough: RoughFit, rng: np.random.Generator, watch: Watch | None = None
) -> Observations:
    """Return the observations without those judged corrupt.

    An entry far from the rough fit is corrupt, unless an outlier pulled the fit away from sound entries. So the entries
    are also judged another way: at first only entries that are far off are rejected, the others are fitted, and all are
    judged again by that fit with half the limit, and so on down to the largest noise to expect. This may follow
    outliers if there are many, and is believed if it rejects less than half as many.
    """
    if rough.model is None or rough.method is None:
        return observations
    judge = _Judge(observations, rough.method, largest_noise(rough.noise, len(observations)), rng, watch or Watch())
    at_once, by_halves = (judge.sound(rough.model, by_halves=way) for way in (False, True))
    rejected = [np.count_nonzero(~sound) for sound in (at_once, by_halves)]
    return observations.select(by_halves if 2 * rejected[1] < rejected[0] else at_once)


@dataclass(frozen=True, eq=False)
class _Judge:
    """Judges entries by fits of those that are sound."""

    observations: Observations
    method: Nort
    limit: float
    rng: np.random.Generator
    watch: Watch

    def sound(self, model: Model, *, by_halves: bool) -> Booleans:
        """Return which entries are not corrupt; the last rounds go on while fewer and fewer are."""
        amounts = self._differences(model)
        largest = float(amounts.max(initial=0)) / 2 if by_halves else 0.0
        while largest > self.limit:
            model = self._refitted(amounts <= largest, model)
            amounts = self._differences(model)
            largest /= 2
        sound: Booleans = amounts <= self.limit
        for _ in range(MOST_ROUNDS):
            model = self._refitted(sound, model)
            again = self._differences(model) <= self.limit
            if np.count_nonzero(~again) >= np.count_nonzero(~sound):
                break
            sound = again
        return sound

    def _refitted(self, sound: Booleans, start: Model) -> Model:
        """Return a fit of the sound entries."""
        task = Problem(self.observations.select(sound), Square())
        watch = self.watch
        result = self.method.solve(task, start=start, rng=self.rng, callback=watch.callback, clock=watch.clock)
        return result.finished_or_stopped().model

    def _differences(self, model: Model) -> Floats:
        return np.abs(model.predict(self.observations.coords) - self.observations.values)


def is_robust(loss: object) -> bool:
    """Return whether a loss is for data with outliers: a name in `tensorfill.losses.ROBUST`, or a `Robust`."""
    return isinstance(loss, Robust) or (isinstance(loss, str) and loss in ROBUST)


def named_robust(loss: str | Robust, noise: float) -> Robust:
    """Return the robust loss; one given by name gets a theta that suits the noise."""
    width = EFFICIENT * noise
    if loss == "scad":
        return Robust(SCAD(SCAD_THETA, width))
    return make_robust(loss, None if isinstance(loss, Robust) or loss == "l1" else REACH * width)
