"""What to hold out: entries that go missing together are held out together.

If whole fibres are missing, as when a sensor is down for a day or a pixel loses its three colours, a score on single
entries is too optimistic: a held-out entry has neighbours that predict it, but a missing one has not. The same holds
for gaps of other forms, such as text on a picture or sensors that are silent for hours. Entries are then held out under
the gaps themselves, moved to another place (see `tensorfill.choosing.holdout.gaps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.checks import mode_number, whole_number
from ..._support.types import Integers
from ...labels import Labels
from ...observations import Observations
from .gaps import under_moved_gaps, window_of_gaps

TOGETHER = 0.5
"""Fibres count as observed or missing as a whole from this value on, on a scale from chance (0) to always (1)."""

LONG_RUN = 3.0
"""Runs of missing entries count as blocks if they are this many times longer than expected by chance."""


@dataclass(frozen=True)
class Holdout:
    """How entries were held out.

    Parameters
    ----------
    block
        Entries of a box of this size are held out together; all ones means single entries, and None that the caller
        gave the entries.
    shape
        The shape of the tensor.
    gaps
        Whether entries are held out under the gaps of the data, moved to another place; the block is then a window with
        several of them.

    Examples
    --------
    >>> print(Holdout((1, 1, 20), (30, 25, 20)))
    whole fibres along mode 2
    """

    block: tuple[int, ...] | None
    shape: tuple[int, ...]
    gaps: bool = False

    @property
    def is_slices(self) -> bool:
        """Whether whole slices were held out, which low rank alone predicts as 0."""
        return (
            self.block is not None
            and not self.gaps
            and sum(map(int.__eq__, self.block, self.shape)) >= len(self.shape) - 1
        )

    def split(
        self, observations: Observations, fraction: float, rng: np.random.Generator
    ) -> tuple[Observations, Observations]:
        """Return a training part and a held-out part."""
        if self.gaps and self.block is not None:
            held_out = under_moved_gaps(observations, self.block, fraction, rng)
            return observations.select(~held_out), observations.select(held_out)
        if self.block is None or max(self.block) == 1:
            return observations.split(fraction, rng=rng)
        return observations.split(fraction, by="block", block=self.block, rng=rng)

    def __str__(self) -> str:
        return self.in_words(Labels.plain(len(self.shape)))

    def in_words(self, labels: Labels) -> str:
        """Return what is held out together, with the names of the modes."""
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


def make_holdout(how: str | Sequence[Any], observations: Observations) -> Holdout:
    """Return what is held out together.

    Parameters
    ----------
    how
        ``"auto"`` for entries that go missing together, ``"entry"`` for single entries, ``"gaps"`` for entries under
        the gaps of the data, moved to another place, ``("fibre", mode)`` for whole fibres along a mode,
        ``("slice", mode)`` for whole slices, one for each index of a mode, or the sizes of a block.
    observations
        The observed entries.

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
    if how == "entry":
        return Holdout((1,) * len(shape), shape)
    if how in ("auto", "gaps"):
        window = window_of_gaps(observations, asked=how == "gaps")
        if window is not None:
            return Holdout(window, shape, gaps=True)
    if how == "auto":
        return Holdout(_blocks_that_go_missing(observations), shape)
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
    fibre, place = _by_fibre(observations, mode)
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


def _by_fibre(observations: Observations, mode: int) -> tuple[Integers, Integers]:
    """Return the fibre and the place in it of every entry, ordered along the fibres of a mode."""
    fibre = observations.group_numbers("fibre", mode)
    order = np.lexsort((observations.coords[:, mode], fibre))
    return fibre[order], observations.coords[order, mode].astype(np.int64)
