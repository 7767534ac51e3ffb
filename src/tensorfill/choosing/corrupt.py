"""Data with outliers: how large the noise beside them is, and which entries are corrupt."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.checks import generator
from .._support.types import Booleans, Floats
from ..losses import Square
from ..losses.robust import EFFICIENT, ROBUST, Robust, largest_noise, make_robust, noise_scale
from ..methods.base import Callback, Status
from ..methods.nort import Nort
from ..methods.nort.method import STEP_MARGIN
from ..methods.problem import Problem
from ..models import Model
from ..observations import Observations
from ..penalties import LSP, SCAD, Nuclear
from ..penalties.family import SCAD_THETA
from .trials import MOST_POINTS, PATH_ITERATIONS, PATH_TOLERANCE, PATIENCE, RATIO, SPARE_RANK, largest_cut

LEAST_GAIN = 0.02
"""A fit with less regularisation is the better one only if the noise beside it is less by this share."""

MOST_ROUNDS = 20
"""So often at most are all entries judged anew."""

REACH = 3.0
"""The theta of a robust loss that goes by its name, in widths from which on an entry counts as an outlier."""


@dataclass(frozen=True, eq=False)
class RoughFit:
    """A first look at data with outliers.

    Parameters
    ----------
    noise
        The standard deviation of the noise beside the outliers.
    model
        An answer that follows neither, as a starting point; None where nothing but zero was found.
    method
        What it was found with.
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
    callback: Callback | None = None,
) -> RoughFit:
    """Return the size of the noise in data with outliers, and a starting point; the loss has no part in it.

    A tenth of the entries is held out, and the others are fitted with less and less regularisation, each time from the
    last answer and with the envelope of the absolute difference that is cut at 1.345 times the noise known so far. The
    noise is that of the residuals of the held-out entries (see `tensorfill.losses.robust.noise_scale`), which falls
    until the fit follows the noise; the least is returned, with the model that has it.

    Parameters
    ----------
    problem
        The data.
    modes, max_rank
        As for `Nort`.
    rng
        Decides everything that is random.
    callback
        Called after every iteration with its record and the model so far; a true answer ends it, with what is known by
        then.

    Raises
    ------
    KeyboardInterrupt
        If the run is interrupted.
    """
    rng = generator(rng)
    fitted, held_out = problem.observations.split(0.1, rng=rng)
    outlier = Robust(Nuclear())
    settings = Nort(lam=1.0, modes=modes, max_rank=max_rank, max_iter=PATH_ITERATIONS, tol=10 * PATH_TOLERANCE)
    best = RoughFit(noise_scale(held_out.values), None)
    task = dataclasses.replace(problem, observations=fitted, loss=outlier.cut_at(EFFICIENT * best.noise))
    limits = settings.regulariser(task).max_ranks
    cut, model, stale = largest_cut(settings, task, rng), best.model, 0
    for _ in range(MOST_POINTS):
        cut *= RATIO
        if cut == 0 or stale == PATIENCE:
            break
        ranks = (0,) * len(limits) if model is None else model.ranks
        method = dataclasses.replace(
            settings,
            lam=STEP_MARGIN * cut**2 / len(limits),
            penalty=LSP(cut),
            max_rank=[min(most, 2 * rank + SPARE_RANK) for most, rank in zip(limits, ranks, strict=True)],
        )
        result = method.solve(task, start=model, rng=rng, callback=callback)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        model = result.model
        noise = noise_scale(model.predict(held_out.coords) - held_out.values)
        if noise < (1 - LEAST_GAIN) * best.noise:
            best, stale = RoughFit(noise, model, method), 0
        elif best.model is not None:
            # Before that, what entered may be an outlier that is larger than all the rest.
            stale += 1
        if result.status is Status.CALLBACK:
            break
        task = task.with_loss(outlier.cut_at(EFFICIENT * noise))
    return best


def without_corrupt(observations: Observations, rough: RoughFit, rng: np.random.Generator) -> Observations:
    """Return the observations without those judged corrupt.

    What a rough fit is far from is corrupt, unless an outlier pulled the fit away from sound entries. So the entries
    are also judged another way: only what is off by far is rejected at first, what is kept is fitted, and all entries
    are judged again by that fit with half the limit, and so on down to what noise hardly ever reaches. This may follow
    outliers where there are many of them, and is believed where it rejects less than half as much.
    """
    if rough.model is None or rough.method is None:
        return observations
    limit = largest_noise(rough.noise, len(observations))
    at_once, by_halves = (
        _sound(observations, rough.model, rough.method, limit, rng, by_halves=way) for way in (False, True)
    )
    rejected = [np.count_nonzero(~sound) for sound in (at_once, by_halves)]
    return observations.select(by_halves if 2 * rejected[1] < rejected[0] else at_once)


def _sound(
    observations: Observations,
    model: Model,
    method: Nort,
    limit: float,
    rng: np.random.Generator,
    *,
    by_halves: bool,
) -> Booleans:
    """Return which entries are not corrupt; at last all are judged again while that makes fewer of them corrupt."""

    def judged(sound: Booleans) -> Floats:
        """Return how far each entry is from a fit of the sound ones."""
        nonlocal model
        model = method.solve(Problem(observations.select(sound), Square()), start=model, rng=rng).model
        return _differences(observations, model)

    amounts = _differences(observations, model)
    largest = float(amounts.max(initial=0)) / 2 if by_halves else 0.0
    while largest > limit:
        amounts = judged(amounts <= largest)
        largest /= 2
    sound: Booleans = amounts <= limit
    for _ in range(MOST_ROUNDS):
        again = judged(sound) <= limit
        if np.count_nonzero(~again) >= np.count_nonzero(~sound):
            break
        sound = again
    return sound


def _differences(observations: Observations, model: Model) -> Floats:
    return np.abs(model.predict(observations.coords) - observations.values)


def is_robust(loss: object) -> bool:
    """Tell whether a loss is one for data with outliers: a name of `tensorfill.losses.robust.ROBUST`, or a `Robust`."""
    return isinstance(loss, Robust) or (isinstance(loss, str) and loss in ROBUST)


def named_robust(loss: str | Robust, noise: float) -> Robust:
    """Return the robust loss; by name, with a theta that suits the noise."""
    width = EFFICIENT * noise
    if loss == "scad":
        return Robust(SCAD(SCAD_THETA, width))
    return make_robust(loss, None if isinstance(loss, Robust) or loss == "l1" else REACH * width)
