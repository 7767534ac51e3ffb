"""Learning the column space of a table by low-rank completion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._support.types import Booleans, Floats
from ..choosing.holdout import FEWEST_TO_CHOOSE
from ..completion import complete
from ..fit import Fit
from ..models import FoldedLowRank
from ..observations import Observations
from ..penalties import Penalty
from .projection import Projection

CANDIDATES = ("nuclear", "lsp")
"""The penalties among which ``"auto"`` chooses: for many directions that fade out, and for few that are strong."""

STANDARD_ERRORS = 2.0
"""A later candidate is preferred only if it is better by so many standard errors of the difference: most tables have
directions that fade out, and a few held-out entries are easily wrong about that."""

HELD_OUT = 0.1
"""The share of the observed entries to choose with."""

NOISE_STEPS = 7
"""How many sizes of the noise are tried."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """What was learnt of a table.

    Parameters
    ----------
    projection
        How rows are filled.
    penalty
        The penalty that was chosen or given.
    trial
        The fit without the entries that chose the penalty, lambda and the noise; None if there were too few entries.
    fit
        The fit of all entries; None if there were too few.
    """

    projection: Projection
    penalty: str | Penalty | None = None
    trial: Fit | None = field(default=None, repr=False)
    fit: Fit | None = None


def learn(table: Floats, penalty: str | Penalty, settings: Mapping[str, Any], rng: np.random.Generator) -> Learnt:
    """Learn how to fill the rows of a table, in which NaN is missing and no column is all missing.

    Some entries are held out. For each penalty, low-rank completion chooses its lambda on them; then the penalty and
    the size of the noise are chosen by how well the projection on the column space found fills them. At last all
    entries are fitted with what was chosen.

    Parameters
    ----------
    table
        The table, its columns on one scale.
    penalty
        A penalty, or ``"auto"``.
    settings
        Further settings of `tensorfill.complete`.
    rng
        Decides everything that is random.
    """
    everything = Observations.from_dense(table[~np.isnan(table).all(axis=1)])
    held = _held_out(everything, rng)
    if len(everything) < FEWEST_TO_CHOOSE or not held.any():
        return Learnt(Projection(np.nanmean(table, axis=0), np.zeros((table.shape[1], 0)), 0.0))
    training, held_out = everything.select(~held), everything.select(held)
    first, *others = _candidates(penalty)
    best = _try(first, training, held_out, settings, rng)
    for other in others:
        trial = _try(other, training, held_out, settings, rng)
        best = trial if trial.beats(best) else best
    fit = _fit_all(everything, best, settings, rng)
    projection = Projection.of_model(cast(FoldedLowRank, fit.model)).with_noise(best.noise)
    return Learnt(projection, best.penalty, best.fit, fit)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A fit without the held-out entries, with the noise that fills them best and the squared errors of that."""

    penalty: str | Penalty
    fit: Fit
    noise: float
    errors: NDArray[np.float64]

    def beats(self, other: _Trial) -> bool:
        """Tell whether it is better by more than chance."""
        gain = other.errors - self.errors
        return bool(gain.mean() > STANDARD_ERRORS * gain.std() / np.sqrt(len(gain)))


def _held_out(everything: Observations, rng: np.random.Generator) -> Booleans:
    """Return which entries to hold out, drawn so that every row and every column keeps at least one."""
    drawn = rng.permutation(len(everything))
    spared = np.zeros(len(drawn), dtype=bool)
    for indices in everything.coords[drawn].T:
        spared[np.unique(indices, return_index=True)[1]] = True
    held: Booleans = np.zeros(len(drawn), dtype=bool)
    held[drawn[~spared][: math.ceil(HELD_OUT * len(drawn))]] = True
    return held


def _candidates(penalty: str | Penalty) -> Sequence[str | Penalty]:
    return CANDIDATES if isinstance(penalty, str) and penalty == "auto" else [penalty]


def _try(
    penalty: str | Penalty,
    training: Observations,
    held_out: Observations,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> _Trial:
    choosing = {"validation": held_out} if isinstance(settings["lam"], str) else {}
    fit = _complete(training, penalty=penalty, rng=rng, **choosing, **settings)
    space = Projection.of_model(cast(FoldedLowRank, fit.model))
    # Only rows with an entry to score are filled.
    rows, place = np.unique(held_out.coords[:, 0], return_inverse=True)
    table = training.to_dense(max_bytes=np.inf)[rows]
    where = (place.reshape(-1), held_out.coords[:, 1])
    trials = [
        _Trial(penalty, fit, noise, (space.with_noise(noise).fill(table)[where] - held_out.values) ** 2)
        for noise in _noises(fit, training, held_out)
    ]
    return min(trials, key=lambda trial: float(trial.errors.mean()))


def _noises(fit: Fit, training: Observations, held_out: Observations) -> list[float]:
    """Return sizes of the noise to try.

    They lie between the error on the entries fitted, which is too small since the fit follows the noise of these, and
    that on the others, which is too large since the fit itself is off there.
    """
    high = float(np.mean((fit.predict(held_out.coords) - held_out.values) ** 2))
    low = float(np.mean((fit.predict(training.coords) - training.values) ** 2))
    floor = 1e-12 * float(np.mean(training.values**2))
    low, high = sorted((max(low, floor), max(high, floor)))
    return [float(size) for size in np.geomspace(low, high, NOISE_STEPS)]


def _fit_all(everything: Observations, trial: _Trial, settings: Mapping[str, Any], rng: np.random.Generator) -> Fit:
    """Return the fit of all entries with what a trial chose, from its answer."""
    chosen = trial.fit.settings
    theta = "auto" if None in trial.fit.theta else trial.fit.theta
    given = {name: chosen[name] for name in ("lam", "modes", "max_rank")}
    return _complete(
        everything, penalty=trial.penalty, rng=rng, start=trial.fit, **{**settings, **given, "theta": theta}
    )


def _complete(table: Observations, **settings: Any) -> Fit:
    """Complete a table whose rows and columns stand in no order, and whose means are taken away already."""
    return complete(table, smooth=None, centre=False, **settings)
