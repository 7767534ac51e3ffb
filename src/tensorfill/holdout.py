"""What to hold out: entries that go missing together are held out together.

A score on single entries is too kind where whole fibres are missing, as when a sensor is down for a day or a pixel
loses its three colours: the neighbours that tell a held-out entry would be missing too where it counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._checks import choice
from ._types import Integers
from .observations import Observations

TOGETHER = 0.5
"""Fibres count as seen or missing whole from this point between chance (0) and always (1)."""

LONG_RUN = 3.0
"""Runs of missing entries count as blocks where they are this many times longer than chance makes them."""


@dataclass(frozen=True)
class Holdout:
    """How entries are held out.

    Parameters
    ----------
    block
        Entries of a box of this size are held out together; all ones is entry by entry.
    """

    block: tuple[int, ...]

    def split(
        self, observations: Observations, fraction: float, rng: np.random.Generator
    ) -> tuple[Observations, Observations]:
        """Return a training part and a held-out part."""
        if max(self.block) == 1:
            return observations.split(fraction, rng=rng)
        return observations.split(fraction, by="block", block=self.block, rng=rng)

    def describe(self, shape: tuple[int, ...]) -> str:
        """Return what is held out together, in words."""
        if max(self.block) == 1:
            return "single entries"
        whole = [mode for mode, size in enumerate(shape) if self.block[mode] == size > 1]
        if [size for size in self.block if size > 1] == [shape[mode] for mode in whole]:
            return f"whole fibres along mode {whole[0]}" if len(whole) == 1 else f"whole slices along modes {whole}"
        return f"blocks of size {self.block}"


def make_holdout(how: str, observations: Observations) -> Holdout:
    """Return single entries for ``"entry"``, and for ``"auto"`` what goes missing together.

    >>> seen = np.ones((20, 20, 3), dtype=bool)
    >>> seen[np.random.default_rng(0).random((20, 20)) < 0.5] = False
    >>> pixels = Observations.from_dense(np.ones((20, 20, 3)), seen)
    >>> make_holdout("auto", pixels).describe(pixels.shape)
    'whole fibres along mode 2'
    """
    choice(how, "holdout", ["auto", "entry"])
    if how == "entry" or observations.density == 1:
        return Holdout((1,) * observations.ndim)
    return Holdout(tuple(missing_together(observations, mode) for mode in range(observations.ndim)))


def missing_together(observations: Observations, mode: int) -> int:
    """Return how many neighbours along a mode go missing together: 1 where chance explains all.

    Where fibres along the mode are seen in full or not at all it is the size of the mode. Otherwise it is the
    mean length of the gaps between observed entries of a fibre, against what chance makes of it.
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
    """Return, for the entries ordered along the fibres of a mode, the number of the fibre and the place in it."""
    fibre = observations.group_numbers("fibre", mode)
    order = np.lexsort((observations.coords[:, mode], fibre))
    return fibre[order], observations.coords[order, mode].astype(np.int64)
