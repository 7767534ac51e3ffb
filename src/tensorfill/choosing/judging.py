"""Which entries are corrupt: each is judged by a prediction that was made without it.

A fit that can follow a gross error has no residual there. So every entry is predicted from others, in one of two ways:
by low-rank fits, each of which leaves out one fold of the entries, or by the entry's neighbours (see
`tensorfill.choosing.neighbours`), if some modes have an order. The one with the lower error is used.

An error is compared with the usual errors around the entry, not with one width for all: with the errors in its slices,
with those of its neighbours, and with the spread of the predictions of the entry. A moving part of a video is hard to
predict at all its entries; a gross error is isolated. Few scores lie between those of sound entries and of gross
errors, and the limit is where they are fewest. Entries above it are left out and all are judged again, until the set of
corrupt entries converges.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._support.clock import Clock
from .._support.types import Booleans, Floats, Integers
from ..losses import Square
from ..losses.robust import EFFICIENT, Robust
from ..methods.problem import Problem
from ..models import Model
from ..observations import Observations
from ..penalties import Nuclear
from .corrupt import RoughFit, Watch, rough_fit
from .neighbours import Neighbourhood, bounded_mean, ordered_modes

FOLDS = 4
"""The number of folds, each of which is predicted by a fit of the others."""

SETTLED = 0.01
"""The set of corrupt entries has converged if a round changes at most this share of it."""

USUAL = 3.0
"""The weight of the usual error in the slices of an entry, relative to its neighbours and its spread."""

SHRINKAGE = 5
"""The number of entries in a slice at which its usual error is shrunk half way to that of all entries."""

FURTHEST = 2.0
"""The limit of the spread of the predictions of an entry, as a multiple of the usual difference of two entries.
Predictions from a gross error have a larger spread, so that two adjacent gross errors would hide each other."""

LOWEST, HIGHEST = 0.75, 5.0
"""The range of the limit of the scores. Normal noise has a standard deviation of about 0.3 on this scale."""

BINS = 10
"""The number of bins between the lowest and the highest limit, in which scores are counted."""


class Judge(Protocol):
    """Predicts every entry from others.

    There are at most `rounds` rounds, and the limit before the last one is at most `highest`.
    """

    rounds: int
    highest: float

    def predict(self, sound: Booleans) -> tuple[Floats, Floats]:
        """Return a prediction of each observed entry from sound ones, and its uncertainty; NaN if there is none."""
        ...


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which entries are sound, and the predictions used to judge them."""

    sound: Booleans
    predictions: Floats


def corrupt_entries(
    observations: Observations,
    *,
    modes: Sequence[int] | None = None,
    max_rank: int | Sequence[int] | None = None,
    rng: np.random.Generator,
    watch: Watch | None = None,
) -> Booleans:
    """Return which of the observed entries are corrupt.

    Parameters
    ----------
    observations
        The data.
    modes, max_rank
        As for `Nort`.
    rng
        The random generator.
    watch
        The callback, the clock, and where the best answer so far is stored.

    Raises
    ------
    Stopped, TimeUp
        If the callback, the time limit or Ctrl-C stopped the run.

    Examples
    --------
    >>> table = np.outer(np.arange(1.0, 13.0), np.arange(1.0, 11.0))
    >>> table[2, 3] = 500.0
    >>> found = corrupt_entries(Observations.from_dense(table), rng=np.random.default_rng(0))
    >>> np.argwhere(found.reshape(12, 10)).tolist()
    [[2, 3]]
    """
    watch = watch or Watch()
    low_rank = ByLowRank(observations, modes, max_rank, rng, watch)
    first = low_rank.fold(0)
    ordered = ordered_modes(observations, rng)
    around = Neighbourhood(observations.shape, ordered) if ordered else None
    suspected = watch.is_asked or _shows_any(observations.select(first), low_rank.predictions[first], around, watch)
    if around is None and not suspected:
        return np.zeros(len(observations), dtype=bool)
    if around is not None:
        largest = bounded_mean(np.abs(observations.values - rng.permutation(observations.values)))
        judge = ByNeighbours(observations, around, rng, FURTHEST * largest, watch.clock)
        verdict = _settled(judge, observations, around, watch)
        if verdict.sound.all() and not suspected:
            return ~verdict.sound
        errors = [np.abs(each - observations.values)[first] for each in (verdict.predictions, low_rank.predictions)]
        # Squared, because gross errors hide among large ones; bounded, because corrupt entries are not informative.
        bounded = [np.minimum(np.nan_to_num(each, nan=largest), largest) for each in errors]
        by_neighbours, by_rank = (float(np.mean(each**2)) for each in bounded)
        if by_neighbours < by_rank:
            return ~verdict.sound
    return ~_settled(low_rank, observations, around, watch).sound


def _settled(judge: Judge, observations: Observations, around: Neighbourhood | None, watch: Watch) -> Verdict:
    """Judge all entries until the set of corrupt ones converges."""
    sound = np.ones(len(observations), dtype=bool)
    for number in range(judge.rounds):
        watch.clock.check()
        predictions, spread = judge.predict(sound)
        scores = _scores(observations, predictions, spread, sound, around, watch.clock)
        if number == 0 and not watch.is_asked and _verdict(scores).all():
            break
        again = scores <= min(limit_of(scores), judge.highest)
        changed, sound = np.count_nonzero(again != sound), again
        if changed <= SETTLED * np.count_nonzero(~sound):
            break
    return Verdict(_verdict(scores), predictions)


def _shows_any(entries: Observations, predictions: Floats, around: Neighbourhood | None, watch: Watch) -> bool:
    """Return whether predictions of some entries show any as corrupt."""
    judged = np.ones(len(entries), dtype=bool)
    return not _verdict(_scores(entries, predictions, np.zeros(len(entries)), judged, around, watch.clock)).all()


def _verdict(scores: Floats) -> Booleans:
    """Return which entries have scores of sound ones."""
    sound: Booleans = scores <= max(limit_of(scores), far_limit_of(scores))
    return sound


class ByLowRank:
    """Predicts each fold of the entries by a low-rank fit of the others.

    Parameters
    ----------
    observations
        The data.
    modes, max_rank
        As for `Nort`.
    rng
        The random generator for the folds.
    watch
        The callback, the clock, and where the first answer is stored.
    """

    rounds = 6
    highest = HIGHEST
    """High, because an entry left out too early is predicted worse by the next fit, with fewer entries per slice."""

    def __init__(
        self,
        observations: Observations,
        modes: Sequence[int] | None,
        max_rank: int | Sequence[int] | None,
        rng: np.random.Generator,
        watch: Watch,
    ) -> None:
        self._observations, self._modes, self._max_rank = observations, modes, max_rank
        self._rng, self._watch = rng, watch
        self._folds = rng.permutation(len(observations)) % FOLDS
        self._found: list[RoughFit] = []
        self.predictions = np.zeros(len(observations))

    def fold(self, number: int) -> Booleans:
        """Return which entries are in a fold, after a rough fit of the others if there is none yet."""
        inside: Booleans = self._folds == number
        while len(self._found) <= number:
            self._fit_next()
        return inside

    def predict(self, sound: Booleans) -> tuple[Floats, Floats]:
        """Return the predictions of all folds, by fits of the sound entries."""
        self.fold(FOLDS - 1)
        if not sound.all():
            for number, rough in enumerate(self._found):
                if rough.model is not None:
                    self._predict_fold(number, self._refitted(rough, sound & (self._folds != number)))
        return self.predictions, np.zeros(len(sound))

    def _fit_next(self) -> None:
        """Fit without the next fold; the first fit finds where the paths of the others may end."""
        number, watch = len(self._found), self._watch
        inside: Booleans = self._folds == number
        rough = rough_fit(
            Problem(self._observations, Square()),
            modes=self._modes,
            max_rank=self._max_rank,
            held_out=inside,
            until=0.99 * self._found[0].cut if self._found else 0.0,
            rng=self._rng,
            watch=watch if number == 0 else Watch(watch.callback, watch.clock),
        )
        self._found.append(rough)
        if rough.model is not None:
            self._predict_fold(number, rough.model)

    def _refitted(self, rough: RoughFit, chosen: Booleans) -> Model:
        """Return a fit of these entries, with a warm start from the rough one."""
        loss = Robust(Nuclear()).cut_at(EFFICIENT * rough.noise)
        task, watch = Problem(self._observations.select(chosen), loss), self._watch
        if rough.method is None or rough.model is None:
            raise ValueError("A rough fit of zero cannot be fitted again.")
        result = rough.method.solve(
            task, start=rough.model, rng=self._rng, callback=watch.callback, clock=watch.clock
        )  # fmt: skip
        return result.finished_or_stopped().model

    def _predict_fold(self, number: int, model: Model) -> None:
        inside = self._folds == number
        self.predictions[inside] = model.predict(self._observations.coords[inside])


class ByNeighbours:
    """Predicts each entry by its neighbours.

    Parameters
    ----------
    observations
        The data.
    around
        The neighbours.
    rng
        The random generator for the entries on which kinds of predictions are compared.
    furthest
        The limit of the spread of the predictions of an entry.
    clock
        Raises `TimeUp` when it expires.
    """

    rounds = 10
    highest = 2.0
    """Low, because an entry left out too early is judged again, while gross errors that are kept can hide others."""

    def __init__(
        self,
        observations: Observations,
        around: Neighbourhood,
        rng: np.random.Generator,
        furthest: float = math.inf,
        clock: Clock | None = None,
    ) -> None:
        self._observations, self._around, self._rng, self._clock = observations, around, rng, clock
        self._furthest = furthest
        self._guesses = np.full(math.prod(observations.shape), np.nan)
        self._round = 0

    def predict(self, sound: Booleans) -> tuple[Floats, Floats]:
        """Return the predictions of the observed entries, and the interquartile range of each.

        From the third round on, missing and corrupt entries are replaced by their last predictions, so that every
        entry has many neighbours. Earlier, many of these predictions would depend on gross errors.
        """
        positions = self._observations.positions
        values = self._guesses.copy() if self._round > 1 else np.full_like(self._guesses, np.nan)
        values[positions[sound]] = self._observations.values[sound]
        self._guesses, spread = self._around.predict(values, self._rng, self._clock)
        self._round += 1
        return self._guesses[positions], np.minimum(spread[positions], self._furthest)


def _scores(
    observations: Observations,
    predictions: Floats,
    spread: Floats,
    sound: Booleans,
    around: Neighbourhood | None,
    clock: Clock,
) -> Floats:
    """Return the error of each entry as a multiple of the usual error around it; 0 without a prediction."""
    errors = np.abs(observations.values - predictions)
    errors[errors <= 8 * np.finfo(observations.dtype).eps * np.abs(observations.values).max(initial=0.0)] = 0.0
    judged = sound & np.isfinite(errors + spread)
    usual = _usual_errors(errors, judged, observations)
    near = usual
    if around is not None:
        dense = np.full(math.prod(observations.shape), np.nan)
        dense[observations.positions[judged]] = errors[judged]
        near = around.upper_quartile(dense, observations.positions, clock)
        near = np.where(np.isnan(near), usual, near)
    return np.nan_to_num(errors / (USUAL * usual + near + spread + np.finfo(np.float64).tiny))


def _usual_errors(errors: Floats, judged: Booleans, observations: Observations) -> Floats:
    """Return the usual error at each entry: that of all entries, times the ratio of each of its slices to all."""
    overall = bounded_mean(errors[judged])
    usual = np.full(len(errors), overall)
    if overall > 0:
        for mode, size in enumerate(observations.shape):
            indices = observations.coords[:, mode]
            usual *= _ratios(errors[judged] / overall, indices[judged], size)[indices]
    return usual


def _ratios(errors: Floats, indices: Integers, size: int) -> Floats:
    """Return the bounded mean of the errors with each index, shrunk towards 1."""
    counts = np.bincount(indices, minlength=size)
    groups = np.split(errors[np.argsort(indices, kind="stable")], np.cumsum(counts)[:-1])
    means = np.array([bounded_mean(group) for group in groups])
    shrunk: Floats = (counts * means + SHRINKAGE) / (counts + SHRINKAGE)
    return shrunk


def limit_of(scores: Floats) -> float:
    """Return the score that separates sound entries from gross errors: where the fewest scores are.

    >>> sound, corrupt = np.linspace(0.0, 1.2, 500), np.linspace(4.0, 90.0, 30)
    >>> bool(1.2 < limit_of(np.concatenate([sound, corrupt])) < 4.0)
    True
    """
    step = math.log(HIGHEST / LOWEST) / BINS
    # One more bin at either end, for the smoothing.
    edges = math.log(LOWEST) + step * np.arange(-1, BINS + 2)
    counts = np.histogram(np.log(scores[scores > 0]), edges)[0]
    smooth = counts[:-2] + 2 * counts[1:-1] + counts[2:]
    return _widest_gap(edges, smooth == smooth.min())


def far_limit_of(scores: Floats) -> float:
    """Return a limit above the usual range if the counts of scores decrease over all of that range; otherwise 0.

    For errors with a long tail, the usual range does not show where gross errors begin. The limit is then where the
    scores are fewest, below a peak of larger ones.

    >>> far_limit_of(np.concatenate([np.linspace(0.0, 1.2, 500), np.linspace(4.0, 90.0, 30)]))
    0.0
    >>> tail = np.exp(np.random.default_rng(0).exponential(0.7, 5000)) - 1
    >>> bool(100 < far_limit_of(np.concatenate([tail, np.full(30, 1e5)])) < 1e5)
    True
    """
    step = math.log(HIGHEST / LOWEST) / BINS
    if limit_of(scores) < HIGHEST * math.exp(-step):
        return 0.0
    largest = float(scores.max(initial=HIGHEST))
    edges = np.arange(math.log(HIGHEST) - 2 * step, math.log(largest) + 3 * step, step)
    counts = np.histogram(np.log(scores[scores > 0]), edges)[0]
    smooth = counts[:-2] + 2 * counts[1:-1] + counts[2:]
    beyond = np.maximum.accumulate(smooth[::-1])[::-1]
    depth = np.log1p(beyond) - np.log1p(smooth)
    return _widest_gap(edges, depth == depth.max()) if depth.max() > 0 else largest


def _widest_gap(edges: Floats, fewest: Booleans) -> float:
    """Return the score in the middle of the longest run of bins with the fewest scores."""
    # Small data has several gaps, and the one before gross errors is the widest.
    runs = [list(run) for inside, run in itertools.groupby(range(len(fewest)), key=fewest.__getitem__) if inside]
    widest = max(runs, key=len)
    return math.exp((edges[widest[0] + 1] + edges[widest[-1] + 2]) / 2)
