"""Learning how to fill the rows of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import listed
from .._support.clock import Clock
from .._support.types import Booleans, Floats
from ..choosing.holdout.splits import FEWEST_TO_CHOOSE, Choice
from ..fit import Fit
from ..methods.base import Method
from ..methods.registry import make_method
from ..observations import Observations
from .bases import BASES, LowRankBase, choose_base, complete_table
from .combining import Corrections, learn_corrections
from .corrections import CORRECTIONS
from .missingness import missing_odds
from .projection import Projection

PENALTIES = ("nuclear", "lsp")
"""The penalties among which ``"auto"`` chooses: for slowly decaying spectra, and for a few strong directions."""

STANDARD_ERRORS = 2.0
"""A later candidate must be better by this many standard errors of the difference. Most tables have slowly decaying
spectra, and a few held-out entries can easily suggest otherwise."""

HELD_OUT = 0.1
"""The share of the observed entries that are held out."""

SHARES = {"odds": 0.1, "low rank": 0.4, "base": 0.5}
"""The share of the time that is left for each step, if there is a limit; corrections get the rest."""

SHARE_TO_SEARCH = 0.8
"""The share of the time of a low-rank method for its fit; the rest is for the noise."""

NOISE_STEPS = 7
"""The number of noise variances that are tried."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """What was learnt from a table.

    Parameters
    ----------
    projection
        How rows are filled.
    trial
        The fit without the entries on which the method, its settings and the noise were chosen; None if there were too
        few entries.
    fit
        The low-rank fit of all entries; None if there were too few.
    base
        The base of the projection: ``"low_rank"``, ``"gaussian"`` or ``"mean"``.
    corrections
        The corrections of the projection.
    """

    projection: Projection
    trial: Fit | None = field(default=None, repr=False)
    fit: Fit | None = None
    base: str = "mean"
    corrections: Corrections = field(default_factory=Corrections)


def checked_candidates(given: Any) -> tuple[str, ...]:
    """Return the names of the candidates to try.

    Parameters
    ----------
    given
        ``"auto"`` for all, or some of the names, with ``"low_rank"`` or ``"gaussian"`` among them.

    Examples
    --------
    >>> checked_candidates("auto")
    ('low_rank', 'gaussian', 'neighbours', 'kernel', 'trees')
    """
    known = (*BASES, *CORRECTIONS)
    if isinstance(given, str) and given == "auto":
        return known
    names = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
    if not any(name in BASES for name in names) or not all(name in known for name in names):
        raise ValueError(
            f"candidates must be 'auto' or a list of some of {listed(known)}, with at least one of {listed(BASES)}, "
            f"but {given!r} was given."
        )
    return tuple(name for name in known if name in names)


def low_rank_methods(method: str | Method, penalty: Any, settings: Mapping[str, Any]) -> list[Method]:
    """Return the methods to try on held-out entries.

    Parameters
    ----------
    method
        The name of a method, or a method object.
    penalty
        A penalty; ``"auto"`` for the best of `PENALTIES` if the method is given by name and has penalties; None for the
        method's default.
    settings
        Further settings of the method.

    Examples
    --------
    >>> [each.penalty for each in low_rank_methods("nort", "auto", {"max_rank": 3})]
    ['nuclear', 'lsp']
    """
    automatic = isinstance(penalty, str) and penalty == "auto"
    if penalty is not None and not automatic:
        return [make_method(method, {**settings, "penalty": penalty})]
    made = make_method(method, settings)
    if automatic and isinstance(method, str) and hasattr(made, "penalty"):
        return [make_method(method, {**settings, "penalty": each}) for each in PENALTIES]
    return [made]


def learn(
    table: Floats,
    methods: Sequence[Method],
    rng: np.random.Generator,
    names: Sequence[str] = ("low_rank",),
    clock: Clock | None = None,
) -> Learnt:
    """Learn how to fill the rows of a table, in which NaN is missing and no column is all missing.

    Some entries are held out. Each low-rank method chooses its settings on them. Then the method and the variance of
    the noise are chosen by how well the projection onto the column space fills them. Held-out rows choose between this
    projection and that of a normal distribution, and the corrections of the chosen one. Held-out entries are drawn or
    weighted by their odds of being missing.

    Parameters
    ----------
    table
        The table, with columns on a common scale.
    methods
        The low-rank methods to try, the simplest first.
    rng
        The random generator.
    names
        The candidates: ``"low_rank"``, ``"gaussian"`` and kinds of corrections.
    clock
        Ends each step with the best that it has so far. Every step gets a share of the time that is left.
    """
    clock = clock or Clock()
    table = np.asarray(table[~np.isnan(table).all(axis=1)], dtype=np.float64)
    everything = Observations.from_dense(table)
    if len(everything) < FEWEST_TO_CHOOSE:
        return Learnt(_means(table))
    odds = missing_odds(table, rng, clock.part(SHARES["odds"]))
    low_rank = (
        _low_rank(everything, methods, odds, rng, clock.part(SHARES["low rank"])) if "low_rank" in names else None
    )
    if low_rank is None and "low_rank" in names:
        return Learnt(_means(table))
    base, projection = choose_base(table, low_rank, "gaussian" in names, odds, rng, clock.part(SHARES["base"]))
    kinds = [name for name in names if name in CORRECTIONS]
    corrections = learn_corrections(table, projection, base.fit, kinds, odds, rng, clock)
    if low_rank is None:
        return Learnt(projection, base=base.name, corrections=corrections)
    return Learnt(projection, low_rank.trial, low_rank.whole, base.name, corrections)


def _means(table: Floats) -> Projection:
    """Return the projection that fills every gap with the mean of its column."""
    return Projection(np.nanmean(table, axis=0), np.zeros((table.shape[1], 0)), 0.0)


def _low_rank(
    everything: Observations, methods: Sequence[Method], odds: Floats, rng: np.random.Generator, clock: Clock
) -> LowRankBase | None:
    """Return the low-rank method that is best on held-out entries, or None if there are too few to hold out."""
    held = _held_out(everything, odds, rng)
    if not held.any():
        return None
    training, held_out = everything.select(~held), everything.select(held)
    best: _Trial | None = None
    for number, method in enumerate(methods):
        if best is None or not clock.expired:
            trial = _try(method, training, held_out, rng, clock.part(1 / (len(methods) + 1 - number)))
            best = trial if best is None or trial.beats(best) else best
    if best is None:
        return None
    whole = complete_table(everything, best.fit.method, rng, clock, start=best.fit)
    return LowRankBase(best.fit, best.noise, whole, rng)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A fit without the held-out entries, with the noise variance that fills them best and the squared errors."""

    fit: Fit
    noise: float
    errors: NDArray[np.float64]

    def beats(self, other: _Trial) -> bool:
        """Return whether it is significantly better."""
        gain = other.errors - self.errors
        return bool(gain.mean() > STANDARD_ERRORS * gain.std() / np.sqrt(len(gain)))


def _held_out(everything: Observations, odds: Floats, rng: np.random.Generator) -> Booleans:
    """Return which entries to hold out, drawn by their odds so that every row and every column keeps at least one."""
    # Sorting exponential waiting times with these rates is equivalent to drawing with these odds.
    drawn = np.argsort(rng.exponential(size=len(everything)) / odds[tuple(everything.coords.T)])
    spared = np.zeros(len(drawn), dtype=bool)
    for indices in everything.coords[drawn].T:
        spared[np.unique(indices, return_index=True)[1]] = True
    held: Booleans = np.zeros(len(drawn), dtype=bool)
    held[drawn[~spared][: math.ceil(HELD_OUT * len(drawn))]] = True
    return held


def _try(
    method: Method, training: Observations, held_out: Observations, rng: np.random.Generator, clock: Clock
) -> _Trial:
    choose = Choice(validation=held_out) if method.open_settings else None
    fit = complete_table(training, method, rng, clock.part(SHARE_TO_SEARCH), choose=choose)
    space = Projection.of_model(fit.model)
    # Only rows with an entry to score are filled.
    rows, place = np.unique(held_out.coords[:, 0], return_inverse=True)
    table = training.to_dense(max_bytes=np.inf)[rows]
    where = (place.reshape(-1), held_out.coords[:, 1])
    trials: list[_Trial] = []
    for noise in _noises(fit, training, held_out):
        if not trials or not clock.expired:
            filled = space.with_noise(noise).fill(table)
            trials.append(_Trial(fit, noise, (filled[where] - held_out.values) ** 2))
    return min(trials, key=lambda trial: float(trial.errors.mean()))


def _noises(fit: Fit, training: Observations, held_out: Observations) -> list[float]:
    """Return variances of the noise to try.

    They lie between the error on the fitted entries, which is too small because the fit follows their noise, and the
    error on the others, which is too large because it includes the error of the fit itself.
    """
    high = float(np.mean((fit.predict(held_out.coords) - held_out.values) ** 2))
    low = float(np.mean((fit.predict(training.coords) - training.values) ** 2))
    floor = 1e-12 * float(np.mean(training.values**2))
    low, high = sorted((max(low, floor), max(high, floor)))
    return [float(size) for size in np.geomspace(low, high, NOISE_STEPS)]
