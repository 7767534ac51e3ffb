"""What to hold out: entries that go missing together are held out together.

A score on single entries is too kind where whole fibres are missing, as when a sensor is down for a day or a pixel
loses its three colours: the neighbours that tell a held-out entry would be missing too where it counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.checks import mode_number, real_number, whole_number
from .._support.types import Floats, Integers
from ..graphs.reduction import Graph, Reduced, make_roughness, reduce
from ..losses import Loss
from ..methods.problem import Problem
from ..models import Model
from ..observations import Observations

TOGETHER = 0.5
"""Fibres count as seen or missing whole from this point between chance (0) and always (1)."""

LONG_RUN = 3.0
"""Runs of missing entries count as blocks where they are this many times longer than chance makes them."""


FEWEST_TO_CHOOSE = 10
"""With fewer observed entries than this, none can be spared to choose lambda with."""


@dataclass(frozen=True, eq=False)
class Split:
    """The entries to fit, as a problem, and the entries to score with.

    Parameters
    ----------
    problem
        What is fitted; without the slices that have no entry to fit, where graphs tell these.
    held_out
        The entries to score with, of the whole tensor.
    reduced
        The graphs, and the way from the problem's slices back to all, where there are graphs.
    """

    problem: Problem
    held_out: Observations
    reduced: Reduced | None = None

    def predict(self, model: Model) -> Floats:
        """Return what a model of the problem makes of the held-out entries."""
        whole = model if self.reduced is None else self.reduced.extend(model)
        return whole.predict(self.held_out.coords)

    def losses(self, model: Model) -> Floats:
        """Return the loss of a model of the problem at each held-out entry."""
        return self.problem.loss.value(self.predict(model), self.held_out.values)

    def at(self, mu: float) -> Problem:
        """Return the problem with the roughness of its graphs."""
        if self.reduced is None:
            return self.problem
        curvature = float(self.problem.loss.curvature)
        return self.problem.with_roughness(make_roughness(self.reduced.graphs, mu, curvature))


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
            single = [mode for mode in range(len(shape)) if mode not in whole]
            if len(whole) == 1:
                return f"whole fibres along mode {whole[0]}"
            return f"whole slices of mode {single[0]}" if len(single) == 1 else f"whole slices along modes {whole}"
        return f"blocks of size {self.block}"


def make_splits(
    observations: Observations,
    loss: Loss,
    validation: float | Observations,
    holdout: str | Sequence[Any],
    count: int,
    rng: np.random.Generator,
    graphs: Mapping[int, Graph] | None = None,
) -> tuple[list[Split], str]:
    """Return so many ways to divide the entries into those to fit and those to score with, and what was held out.

    Parameters
    ----------
    observations, loss
        What was seen, and how predictions are compared with it.
    validation
        The share of the entries to hold out, or the entries to score with themselves.
    holdout
        What `make_holdout` takes.
    count
        How many splits, each drawn anew.
    rng
        Decides what is held out.
    graphs
        Laplacians by mode. Where one has slices without any entry, whole slices are held out too.
    """
    count = whole_number(count, "splits", at_least=1)
    if isinstance(validation, Observations):
        if validation.shape != observations.shape:
            raise ValueError(
                f"validation must have the shape of the data, {observations.shape}, but it has {validation.shape}."
            )
        if count > 1:
            raise ValueError(f"splits must be 1 where the entries of validation are given, but {count} was given.")
        return [_split(observations, validation, loss, graphs)], "the entries given"
    fraction = real_number(validation, "validation", above=0, below=1)
    if len(observations) < FEWEST_TO_CHOOSE:
        raise ValueError(
            f"lam='auto' needs at least {FEWEST_TO_CHOOSE} observed entries to hold some out, "
            f"but there are {len(observations)}; give lam."
        )
    for mode in graphs or ():
        if holdout == "auto" and len(np.unique(observations.coords[:, mode])) < observations.shape[mode]:
            holdout = ("slice", mode)
    how = make_holdout(holdout, observations)
    parts = [how.split(observations, fraction, rng) for _ in range(count)]
    return [_split(*part, loss, graphs) for part in parts], how.describe(observations.shape)


def _split(fitted: Observations, held_out: Observations, loss: Loss, graphs: Mapping[int, Graph] | None) -> Split:
    if not graphs:
        return Split(Problem(fitted, loss), held_out)
    reduced = reduce(fitted, graphs)
    return Split(Problem(reduced.observations, loss), held_out, reduced)


def make_holdout(how: str | Sequence[Any], observations: Observations) -> Holdout:
    """Return what is held out together.

    Parameters
    ----------
    how
        ``"auto"`` for what goes missing together, ``"entry"`` for single entries, ``("fibre", mode)`` for whole fibres
        along a mode, ``("slice", mode)`` for whole slices, one for each index of a mode, or the sizes of a block.
    observations
        What was seen.

    Examples
    --------
    >>> seen = np.ones((20, 20, 3), dtype=bool)
    >>> seen[np.random.default_rng(0).random((20, 20)) < 0.5] = False
    >>> pixels = Observations.from_dense(np.ones((20, 20, 3)), seen)
    >>> make_holdout("auto", pixels).describe(pixels.shape)
    'whole fibres along mode 2'
    >>> make_holdout(("slice", 0), pixels)
    Holdout(block=(1, 20, 3))
    """
    shape = observations.shape
    if how == "entry":
        return Holdout((1,) * len(shape))
    if how == "auto":
        return Holdout(_blocks_that_go_missing(observations))
    if isinstance(how, Sequence) and not isinstance(how, str) and len(how) == 2 and how[0] in ("fibre", "slice"):
        kind, along = how[0], mode_number(how[1], "the mode of holdout", len(shape))
        return Holdout(tuple(size if (mode == along) == (kind == "fibre") else 1 for mode, size in enumerate(shape)))
    if isinstance(how, Sequence) and len(how) == len(shape) and all(isinstance(size, int) for size in how):
        sizes = [whole_number(size, "a size of holdout", at_least=1) for size in how]
        return Holdout(tuple(min(size, most) for size, most in zip(sizes, shape, strict=True)))
    raise ValueError(
        "holdout must be 'auto', 'entry', ('fibre', mode), ('slice', mode) or the sizes of a block, one whole number "
        f"for each of the {len(shape)} modes, but {how!r} was given."
    )


def _blocks_that_go_missing(observations: Observations) -> tuple[int, ...]:
    """Return the size of the blocks of entries that go missing together.

    Slices without any entry are left aside. They say nothing of how the others lost theirs, and to hold out such
    slices would ask low rank for what it cannot tell.
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
