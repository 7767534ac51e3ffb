"""The gaps of the data, moved: what is held out where entries do not go missing one by one.

The mask of missing entries is moved: along each mode it stays, is shifted, or has its indices permuted; along
neighbouring modes, such as years and months, it may run on from one row to the next. The observed entries under the
moved mask are held out. They lie as the missing ones do: in the same late periods of other rows, below the same
diagonal, under the same text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..._support.ordering import joint_keys
from ..._support.types import Booleans, Integers
from ...observations import Observations

LARGEST_MASK = 2**24
"""The largest number of cells of a tensor whose mask is moved."""

SPARSEST, SMALL = 32, 2**20
"""Unasked, work that grows with the size of the tensor is done only if at least one in `SPARSEST` entries is observed,
or if there are at most `SMALL`. Where observed entries have few neighbours, gaps and smoothness mean little."""

STAY, SHIFT, PERMUTE, RUN = "stay", "shift", "permute", "run"
"""What is done to the mask along a mode. Neighbouring modes that run on are shifted as one."""

MOVES = (STAY, SHIFT, PERMUTE, RUN)

SMALLEST_MODE = 3
"""Along shorter modes, a mask is not moved."""

MOST_COPIES = 40
"""The largest number of moved masks that are laid over the data together, where one covers too few entries."""

TOGETHER = 0.3
"""Neighbours are in the same gap if the correlation of their missingness is above this."""

GAPS_IN_A_WINDOW = 4
"""Windows, in which all that lies under the moved mask is held out, are this many times as long as a gap."""

ENOUGH, TOO_MANY = 0.5, 1.25
"""The number of entries to hold out, over that asked for, below which masks are added and above which windows are
drawn."""

MOST_OF_THE_TIMES = 0.2
"""No more of the times than this are held out because an outage is long."""

MOST_OUTAGES, PLACES = 10_000, 20
"""The largest number of outages that are held out, and the number of places that each is tried at."""

OTHERS = 12
"""The number of moves along several modes that are tried."""


def is_small(shape: Sequence[int]) -> bool:
    """Return whether a tensor is small enough for masks of its size."""
    return math.prod(shape) <= LARGEST_MASK


def is_worth_a_mask(observations: Observations) -> bool:
    """Return whether enough entries are observed for work that goes by the size of the tensor."""
    return math.prod(observations.shape) <= max(SPARSEST * len(observations), SMALL)


def seen_and_missing(observations: Observations, over: tuple[int, ...] = ()) -> tuple[Booleans, Booleans]:
    """Return the masks of the observed and of the missing entries; slices without any entry are in neither.

    Nor are times without any entry, along the modes of time `over`.
    """
    seen = np.zeros(observations.shape, dtype=np.bool_)
    seen.ravel()[observations.positions] = True
    missing = ~seen
    for kept in [*((mode,) for mode in range(seen.ndim)), *([over] if over else [])]:
        others = tuple(other for other in range(seen.ndim) if other not in kept)
        missing &= seen.any(axis=others, keepdims=True)
    return seen, missing


@dataclass(frozen=True, eq=False)
class Outages:
    """The times at which nothing at all is observed.

    Parameters
    ----------
    times
        The time of each observed entry.
    silent
        At which times nothing is observed.
    share
        Their share of the missing entries.
    """

    times: Integers
    silent: Booleans
    share: float

    @classmethod
    def of(cls, observations: Observations, modes: tuple[int, ...]) -> Outages:
        """Return the outages along one mode of time, or along two that are one time."""
        times = times_of(observations.coords, observations.shape, modes)
        silent = np.ones(math.prod(observations.shape[mode] for mode in modes), dtype=np.bool_)
        silent[times] = False
        cells = math.prod(observations.shape)
        lost = np.count_nonzero(silent) * (cells // len(silent))
        return cls(times, silent, lost / max(cells - len(observations), 1))

    def moved(self, fraction: float, rng: np.random.Generator, before: Integers | None = None) -> Booleans:
        """Return the entries to hold out: all those of some runs of times, which are as long as outages are.

        Parameters
        ----------
        fraction
            About the share of the entries to hold out. More are if outages are long: a part of one is less of a gap.
        rng
            The random generator.
        before
            How many other splits hold out each entry.
        """
        seen = ~self.silent
        count, most = int(np.count_nonzero(seen)), max(fraction, MOST_OF_THE_TIMES)
        lengths = np.diff(np.flatnonzero(np.diff(self.silent, prepend=False, append=False)))[::2]
        usual = float(np.sum(lengths**2) / np.sum(lengths))
        wanted = min(max(fraction * count, usual), most * count)
        free = seen.copy()
        if before is not None:
            free[self.times[before > 0]] = False
        free = free if np.count_nonzero(free) >= wanted else seen.copy()
        held_out, somewhere = np.zeros_like(seen), np.flatnonzero(free)
        for length in rng.choice(np.minimum(lengths, max(round(most * count), 1)), MOST_OUTAGES):
            starts = rng.choice(somewhere, PLACES) - rng.integers(0, length, PLACES)
            begin = max(starts.clip(0, len(seen) - length), key=lambda at: np.count_nonzero(free[at : at + length]))
            run = slice(begin, begin + length)
            held_out[run] |= free[run]
            free[run] = False
            if np.count_nonzero(held_out) >= wanted:
                break
        found: Booleans = held_out[self.times]
        return found


def times_of(coords: Integers, shape: tuple[int, ...], modes: tuple[int, ...]) -> Integers:
    """Return the time of each entry, along one mode of time or two that are one time."""
    (times,) = joint_keys(tuple(shape[mode] for mode in modes), coords[:, modes])
    return times


def simple_moves(shape: tuple[int, ...]) -> list[tuple[str, ...]]:
    """Return the moves along one mode.

    >>> simple_moves((5, 2))
    [('permute', 'stay'), ('shift', 'stay')]
    """
    modes = [mode for mode, size in enumerate(shape) if size >= SMALLEST_MODE]
    alone = [STAY] * len(shape)
    return [(*alone[:mode], kind, *alone[mode + 1 :]) for mode in modes for kind in (PERMUTE, SHIFT)]


def other_moves(shape: tuple[int, ...], rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Return moves along several modes: those that run on along two neighbouring ones, and others drawn at random."""
    modes = [mode for mode, size in enumerate(shape) if size >= SMALLEST_MODE]
    runs = [
        tuple(RUN if mode in (first, first + 1) else STAY for mode in range(len(shape)))
        for first in range(len(shape) - 1)
        if shape[first] > 1 < shape[first + 1]
    ]
    some: Iterator[tuple[str, ...]] = itertools.product(
        *[(STAY, SHIFT, PERMUTE) if mode in modes else (STAY,) for mode in range(len(shape))]
    )
    if 3 ** len(modes) > 3**7:
        some = (
            tuple(str(rng.choice(MOVES[:3])) if mode in modes else STAY for mode in range(len(shape)))
            for _ in range(4 * OTHERS)
        )
    several = [each for each in some if sum(kind != STAY for kind in each) > 1]
    return runs + [several[number] for number in rng.permutation(len(several))[:OTHERS]]


def moved(mask: Booleans, move: Sequence[str], rng: np.random.Generator) -> Booleans:
    """Return a mask that is moved once, by random shifts and permutations.

    >>> mask = np.array([[True, False, False], [False, False, False], [False, False, False]])
    >>> int(moved(mask, ("permute", "shift"), np.random.default_rng(0)).sum())
    1
    """
    shape = mask.shape
    for mode, kind in enumerate(move):
        if kind == SHIFT:
            mask = np.roll(mask, _shift(shape[mode], rng), axis=mode)
        elif kind == PERMUTE:
            mask = np.take(mask, rng.permutation(shape[mode]), axis=mode)
    running = [mode for mode, kind in enumerate(move) if kind == RUN]
    if running:
        before, length = math.prod(shape[: running[0]]), math.prod(shape[mode] for mode in running)
        mask = np.roll(mask.reshape(before, length, -1), _shift(length, rng), axis=1).reshape(shape)
    return mask


def _shift(size: int, rng: np.random.Generator) -> int:
    """Return a shift in either direction, as often of a small size as of any: small ones stay beside the gaps."""
    any_size = int(rng.integers(1, size))
    small = int(math.exp(rng.uniform(0, math.log(size))))
    return int(rng.choice([any_size, small, -small]))


def under_moved_gaps(
    seen: Booleans,
    missing: Booleans,
    move: Sequence[str],
    wanted: int,
    rng: np.random.Generator,
    before: Booleans | None = None,
) -> Booleans:
    """Return which observed entries to hold out under moved gaps, as a mask.

    Parameters
    ----------
    seen, missing
        The masks of observed and missing entries.
    move
        How the gaps are moved, for each mode.
    wanted
        About how many entries to hold out.
    rng
        The random generator of the move and of windows.
    before
        Entries that were held out already, and are held out again only if there are few others.
    """
    cover = moved(missing, move, rng)
    held_out = cover & seen
    for _ in range(MOST_COPIES):
        if np.count_nonzero(held_out) >= ENOUGH * wanted:
            break
        cover = moved(missing, move, rng)
        held_out |= cover & seen
    if np.count_nonzero(held_out) > TOO_MANY * wanted:
        held_out = in_windows(held_out, window_of(cover), wanted, rng, before)
    return held_out


def window_of(mask: Booleans) -> tuple[int, ...]:
    """Return the size of windows with several gaps: one along modes whose neighbours are not missing together.

    The correlation of the missingness of neighbours is c = (P(both) - P(one)^2) / (P(one) - P(one)^2), and the mean
    length of a gap P(one) / (P(one) - P(both)).

    >>> window_of(np.repeat([[True, False, False, False, False, False]], 3, axis=0))
    (3, 1)
    """
    return tuple(_window_along(np.moveaxis(mask, mode, 0)) for mode in range(mask.ndim))


def _window_along(mask: Booleans) -> int:
    size = len(mask)
    if size == 1:
        return 1
    both = float(np.mean(mask[:-1] & mask[1:]))
    one = (float(mask[:-1].mean()) + float(mask[1:].mean())) / 2
    if one - both <= 0 or one == 1:
        return size
    if (both - one**2) / (one - one**2) <= TOGETHER:
        return 1
    return min(math.ceil(GAPS_IN_A_WINDOW * one / (one - both)), size)


def in_windows(
    mask: Booleans, window: tuple[int, ...], wanted: int, rng: np.random.Generator, before: Booleans | None = None
) -> Booleans:
    """Return the part of a mask in random windows with about the wanted number of entries.

    Windows that hold too many entries to come near that number are halved.
    """
    while True:
        counts = _counts(mask, window)
        taken, some = np.zeros(counts.shape, dtype=np.bool_), np.flatnonzero(counts)
        again = None if before is None else _counts(mask & before, window).ravel()[some]
        taken.ravel()[some] = drawn(counts.ravel()[some], wanted, rng, again)
        if max(window) == 1 or counts[taken].sum() <= TOO_MANY * wanted:
            for mode, size in enumerate(window):
                taken = np.repeat(taken, size, axis=mode)
            return mask & taken[tuple(slice(size) for size in mask.shape)]
        window = tuple((size + 1) // 2 for size in window)


def _counts(mask: Booleans, window: tuple[int, ...]) -> Integers:
    """Return the number of entries of a mask in each window."""
    counts = mask.astype(np.int64) if max(window) == 1 else mask
    for mode, size in enumerate(window):
        if size > 1:
            counts = np.add.reduceat(counts, np.arange(0, mask.shape[mode], size), axis=mode, dtype=np.int64)
    return np.asarray(counts, dtype=np.int64)


def drawn(counts: Integers, wanted: int, rng: np.random.Generator, again: Integers | None = None) -> Booleans:
    """Return which groups of entries to take, drawn at random until they have about the wanted number.

    Parameters
    ----------
    counts
        The number of entries in each group.
    wanted
        The number of entries to come near to.
    rng
        The random generator.
    again
        How many entries of each group were taken before; groups with fewer of them come first.
    """
    order = rng.permutation(len(counts))
    if again is not None:
        order = order[np.argsort(again[order] / np.maximum(counts[order], 1), kind="stable")]
    # Groups that are far too large come last.
    oversized = counts[order] > 2 * wanted
    order = np.concatenate([order[~oversized], order[oversized]])
    reached = np.cumsum(counts[order])
    if len(order) > 1:
        # Not every entry may be held out.
        reached = reached[:-1]
    taken = np.zeros(len(counts), dtype=np.bool_)
    taken[order[: np.abs(reached - wanted).argmin() + 1]] = True
    return taken
