"""What to hold out: entries that are like the missing ones.

If whole fibres are missing, as when a sensor is down for a day or a pixel loses its three colours, a score on single
entries is too optimistic: a held-out entry has neighbours that predict it, but a missing one has not. The same holds
for gaps of other forms, such as text on a picture or sensors that are silent for hours. Entries are then held out under
the gaps themselves, moved to another place (see `tensorfill.choosing.holdout.gaps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._support.checks import mode_number, whole_number
from ..._support.ordering import fibre_keys
from ..._support.types import Booleans, Integers
from ...labels import Labels
from ...observations import Observations
from .gaps import LARGEST_MASK, Outages, drawn, is_small, is_worth_a_mask, other_moves, simple_moves
from .judge import Likeness, with_all_slices

TOGETHER = 0.5
"""Fibres count as observed or missing as a whole from this value on, on a scale from chance (0) to always (1)."""

LONG_RUN = 3.0
"""Runs of missing entries count as blocks if they are this many times longer than expected by chance."""

ALIKE = 0.55
"""If the AUC of held-out entries is below this, nothing more alike is looked for."""

CLEARLY = 0.1
"""What is held out is replaced by something less simple only if the AUC falls by this."""

UNLIKE = 0.75
"""If the AUC of held-out entries is above this, nothing like the missing entries could be held out."""

CLEARLY_BY_VALUE = 0.05
"""Large or small values are missing more often if the AUC by value is farther than this from 0.5."""

ERRORS_BY_VALUE = 3.0
"""And if it is farther than this many standard errors."""

SAMPLE = 1_000
"""The number of held-out, and of missing entries that are compared in the search for what to hold out."""

DRAWS = 2
"""How often each way to move gaps is tried."""

TRIES = 4
"""Of this many draws, each split has the one that is most like the missing entries."""


@dataclass(frozen=True)
class Holdout:
    """How entries were held out.

    Parameters
    ----------
    block
        Entries of a box of this size are held out together; all ones means single entries, or gaps, and None that the
        caller gave the entries.
    shape
        The shape of the tensor.
    gaps
        Whether entries are held out under the gaps of the data, moved to another place.
    moves
        How the gaps are moved along each mode; see `tensorfill.choosing.holdout.gaps`.
    over
        The modes of time, if some times have no entry at all: all entries of some other times are held out too.
    auc
        How alike held-out and missing entries are, from 0.5 (alike) to 1 (nothing alike could be held out); None if
        it is not known.
    value_auc, value_auc_error
        Whether missing entries have larger predictions than held-out ones: the AUC, which is 0.5 if gaps do not depend
        on the value, and its standard error; see `tensorfill.choosing.holdout.by_value`. None if it is not known.

    Examples
    --------
    >>> print(Holdout((1, 1, 20), (30, 25, 20)))
    whole fibres along mode 2
    """

    block: tuple[int, ...] | None
    shape: tuple[int, ...]
    gaps: bool = False
    moves: tuple[str, ...] = field(default=(), compare=False)
    over: tuple[int, ...] = field(default=(), compare=False)
    auc: float | None = field(default=None, compare=False)
    value_auc: float | None = field(default=None, compare=False)
    value_auc_error: float | None = field(default=None, compare=False)

    @property
    def is_slices(self) -> bool:
        """Whether whole slices were held out, which low rank alone predicts as 0."""
        return (
            self.block is not None
            and not self.gaps
            and sum(map(int.__eq__, self.block, self.shape)) >= len(self.shape) - 1
        )

    @property
    def is_unlike(self) -> bool:
        """Whether nothing like the missing entries could be held out."""
        return self.auc is not None and self.auc > UNLIKE

    @property
    def missing_more_often(self) -> str | None:
        """Which values are missing more often, by more than chance: ``"large"`` or ``"small"``; None if neither.

        >>> Holdout((1, 1), (30, 20), value_auc=0.62, value_auc_error=0.02).missing_more_often
        'large'
        >>> Holdout((1, 1), (30, 20), value_auc=0.62, value_auc_error=0.05).missing_more_often is None
        True
        """
        if self.value_auc is None or self.value_auc_error is None:
            return None
        beyond = self.value_auc - 0.5
        if not abs(beyond) > max(CLEARLY_BY_VALUE, ERRORS_BY_VALUE * self.value_auc_error):
            return None
        return "large" if beyond > 0 else "small"

    def split(
        self, observations: Observations, fraction: float, rng: np.random.Generator
    ) -> tuple[Observations, Observations]:
        """Return a training part and a held-out part."""
        held_out = self.drawn(observations, fraction, rng)
        return observations.select(~held_out), observations.select(held_out)

    def drawn(
        self, observations: Observations, fraction: float, rng: np.random.Generator, before: Integers | None = None
    ) -> Booleans:
        """Return which entries are held out.

        Parameters
        ----------
        observations
            The observed entries.
        fraction
            The share of them to hold out.
        rng
            The random generator.
        before
            How many other splits hold out each entry; those that none does are taken first.
        """
        if not self.over:
            return self._beside_others(observations, fraction, rng, before)
        outages = Outages.of(observations, self.over)
        held_out = outages.moved(fraction * outages.share, rng, before)
        if outages.share < 1:
            # If a long outage takes more than its share, the others are more too, by no more than these.
            taken, others = float(np.mean(held_out)), fraction * (1 - outages.share)
            others = max(others, min(taken * (1 - outages.share) / outages.share, others + taken))
            held_out |= self._beside_others(observations, others, rng, before)
        return with_all_slices(observations, held_out, over=self.over)

    def _beside_others(
        self, observations: Observations, fraction: float, rng: np.random.Generator, before: Integers | None
    ) -> Booleans:
        """Return which entries are held out at times at which others are observed."""
        if self.gaps:
            judge = Likeness(observations, SAMPLE, self.over, outages=False)
            return judge.best_move(self.moves, fraction, rng, TRIES, before)[1]
        wanted = min(max(round(fraction * len(observations)), 1), len(observations) - 1)
        if self.block is None or max(self.block) == 1:
            groups: Integers = np.arange(len(observations))
        else:
            groups = observations.group_numbers("block", block=self.block)
            if groups.max() == 0:
                raise ValueError(
                    f"holdout of {self} needs at least two groups of entries, but the {len(groups):,} observed make "
                    "only one; hold out something smaller or give more entries."
                )
        again = None if before is None else np.bincount(groups, before)
        held_out = drawn(np.bincount(groups), wanted, rng, again)[groups]
        return held_out if self.is_slices else with_all_slices(observations, held_out, groups)

    def __str__(self) -> str:
        return self.in_words(Labels.plain(len(self.shape)))

    def in_words(self, labels: Labels) -> str:
        """Return what is held out together, with the names of the modes."""
        if self.gaps and not self.moves:
            return "gaps like those of the data"
        return self._beside_others_in_words(labels) + (", and all entries of some times" if self.over else "")

    def _beside_others_in_words(self, labels: Labels) -> str:
        """Return what is held out together at times at which others are observed."""
        if self.block is None:
            return "the entries given"
        if self.gaps:
            return "gaps like those of the data"
        if max(self.block) == 1:
            return "single entries"
        whole = [mode for mode, size in enumerate(self.shape) if self.block[mode] == size > 1]
        if [size for size in self.block if size > 1] != [self.shape[mode] for mode in whole]:
            return f"blocks of size {self.block}"
        single = [mode for mode in range(len(self.shape)) if mode not in whole]
        if len(whole) == 1:
            return f"whole fibres along {_called(labels, whole)}"
        return f"whole slices of {_called(labels, single)}" if single else "everything at once"


def _called(labels: Labels, modes: Sequence[int]) -> str:
    """Return what messages call some modes: their names if they have any, else their numbers."""
    names = [labels.called(mode) for mode in modes]
    return " and ".join(name if isinstance(name, str) else f"mode {name}" for name in names)


def make_holdout(
    how: str | Sequence[Any], observations: Observations, fraction: float = 0.1, over: tuple[int, ...] = ()
) -> Holdout:
    """Return what is held out together.

    Parameters
    ----------
    how
        ``"auto"`` for entries that are like the missing ones, ``"entry"`` for single entries, ``"gaps"`` for entries
        under the gaps of the data, moved to another place, ``("fibre", mode)`` for whole fibres along a mode,
        ``("slice", mode)`` for whole slices, one for each index of a mode, or the sizes of a block.
    observations
        The observed entries.
    fraction
        The share of them that will be held out.
    over
        As in `Holdout`.

    Examples
    --------
    >>> seen = np.ones((20, 20, 3), dtype=bool)
    >>> seen[np.random.default_rng(0).random((20, 20)) < 0.5] = False
    >>> pixels = Observations.from_dense(np.ones((20, 20, 3)), seen)
    >>> print(make_holdout("auto", pixels))
    whole fibres along mode 2
    >>> make_holdout(("slice", 0), pixels).block
    (1, 20, 3)
    """
    shape = observations.shape
    single = Holdout((1,) * len(shape), shape)
    if how == "entry":
        return single
    if how in ("auto", "gaps") and over and Outages.of(observations, over).share == 1:
        return replace(single, gaps=True, over=over)
    if how == "auto":
        return replace(most_alike(observations, fraction, over), over=over)
    if how == "gaps":
        return replace(moved_gaps(observations, fraction, over), over=over)
    if isinstance(how, Sequence) and not isinstance(how, str) and len(how) == 2 and how[0] in ("fibre", "slice"):
        kind, along = how[0], mode_number(how[1], "the mode of holdout", len(shape))
        block = tuple(size if (mode == along) == (kind == "fibre") else 1 for mode, size in enumerate(shape))
        return Holdout(block, shape)
    if isinstance(how, Sequence) and len(how) == len(shape) and all(isinstance(size, int) for size in how):
        sizes = [whole_number(size, "a size of holdout", at_least=1) for size in how]
        return Holdout(tuple(min(size, most) for size, most in zip(sizes, shape, strict=True)), shape)
    raise ValueError(
        "holdout must be 'auto', 'entry', 'gaps', ('fibre', mode), ('slice', mode) or the sizes of a block, one whole "
        f"number for each of the {len(shape)} modes, but {how!r} was given."
    )


def most_alike(observations: Observations, fraction: float, over: tuple[int, ...] = ()) -> Holdout:
    """Return what to hold out so that it is like the missing entries: the simplest that does, single entries first.

    Next come whole fibres, then the gaps of the data, moved along one mode, and last along several. Tensors that are
    too large or too sparse for a mask have single entries, fibres or blocks, by how long the gaps between observed
    entries are.
    """
    shape = observations.shape
    single = Holdout((1,) * len(shape), shape)
    if observations.density == 1:
        return single
    blocks = _blocks_that_go_missing(observations)
    if not is_small(shape) or not is_worth_a_mask(observations):
        return Holdout(blocks, shape)
    fibres = Holdout(tuple(size if size == whole else 1 for size, whole in zip(blocks, shape, strict=True)), shape)
    rng, judge = np.random.default_rng(0), Likeness(observations, SAMPLE, over, outages=False)
    best, least = single, judge.auc(single.drawn(observations, fraction, rng))
    if least is None:
        return single
    if fibres != single and least > ALIKE:
        other = judge.auc(*(fibres.drawn(observations, fraction, rng) for _ in range(TRIES)))
        best, least = (fibres, other) if other is not None and other < least - CLEARLY else (best, least)
    for ways in _ways_to_move(shape, rng):
        if least > ALIKE and ways:
            way = min(ways, key=lambda each: judge.best_move(each.moves, fraction, rng, DRAWS)[0])
            # Other draws, because the best of many is best partly by chance.
            other = judge.best_move(way.moves, fraction, rng, TRIES)[0]
            best, least = (way, other) if other < least - CLEARLY else (best, least)
    return best


def moved_gaps(observations: Observations, fraction: float, over: tuple[int, ...] = ()) -> Holdout:
    """Return the best way to hold out entries under moved gaps."""
    shape = observations.shape
    if not is_small(shape):
        raise ValueError(
            f"holdout='gaps' needs a tensor of at most {LARGEST_MASK:,} cells, but one of shape {shape} was given; use "
            "'auto' or give the sizes of a block."
        )
    rng, judge = np.random.default_rng(0), Likeness(observations, SAMPLE, over, outages=False)
    ways = [each for stage in _ways_to_move(shape, rng) for each in stage]
    if not ways or not judge.masks[1].any():
        raise ValueError("holdout='gaps' needs gaps that can be moved, but there are none; use 'entry'.")
    return min(ways, key=lambda each: judge.best_move(each.moves, fraction, rng, DRAWS)[0])


def _ways_to_move(shape: tuple[int, ...], rng: np.random.Generator) -> list[list[Holdout]]:
    """Return the moves of gaps along one mode, and those along several."""
    single = (1,) * len(shape)
    stages = (simple_moves(shape), other_moves(shape, rng))
    return [[Holdout(single, shape, gaps=True, moves=move) for move in stage] for stage in stages]


def _blocks_that_go_missing(observations: Observations) -> tuple[int, ...]:
    """Return the size of the blocks of entries that go missing together.

    Slices without any entry are ignored. They do not show how entries of other slices go missing, and low rank cannot
    predict whole slices.
    """
    present = _without_empty_slices(observations)
    if present.density == 1:
        return (1,) * present.ndim
    found = [missing_together(present, mode) for mode in range(present.ndim)]
    sizes = zip(found, present.shape, observations.shape, strict=True)
    return tuple(whole if block == size > 1 else block for block, size, whole in sizes)


def _without_empty_slices(observations: Observations) -> Observations:
    """Return the observations of the tensor without the slices, of any mode, that have no entry."""
    found = [np.unique(column, return_inverse=True) for column in observations.coords.T]
    shape = tuple(len(indices) for indices, _ in found)
    if shape == observations.shape:
        return observations
    return Observations(np.stack([places for _, places in found], axis=1), observations.values, shape)


def missing_together(observations: Observations, mode: int) -> int:
    """Return the number of neighbours along a mode that go missing together: 1 if chance explains all gaps.

    If fibres along the mode are observed in full or not at all, it is the size of the mode. Otherwise it is the mean
    length of the gaps between observed entries of a fibre, relative to that expected by chance.
    """
    size, density = observations.shape[mode], observations.density
    if size == 1:
        return 1
    (keys,) = fibre_keys(observations.shape, mode, observations.coords)
    fibre, place = np.divmod(np.sort(keys), size)
    starts = np.flatnonzero(np.diff(fibre, prepend=-1))
    seen = len(fibre) / len(starts)
    by_chance = size * density / -np.expm1(size * np.log1p(-density))
    if seen - by_chance > TOGETHER * (size - by_chance):
        return size
    gaps = (np.diff(place) - 1)[np.diff(fibre) == 0]
    gaps = gaps[gaps > 0]
    if len(gaps) == 0:
        return 1
    # Blocks of length b that go missing at random leave gaps of mean length b / density.
    length = float(gaps.mean()) * density
    return min(round(length), size) if length > LONG_RUN else 1
