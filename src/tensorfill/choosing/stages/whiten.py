"""Whitening: slices are divided by the usual size of their errors, and the answer is multiplied again.

Variables differ in how well they can be known. With the square loss, a method spends its ranks on the entries with the
largest errors. In whitened data the errors of all slices are of about one size, so an entry that can be known well
counts for more: least squares there are weighted least squares of the data. Factors that are multiplied along each mode
leave every rank of the answer as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import scipy.sparse

from ..._support.checks import real_array, real_number
from ..._support.clock import Clock
from ..._support.types import Floats, Integers
from ..._support.words import written
from ...labels import Labels
from ...losses import Square
from ...methods.problem import Problem
from ...models import Blend, Centred, Model, Placed
from ...observations import Observations
from ...times import TimeAxis
from ..error_scale import LARGEST_FACTOR, SHRINKAGE
from .base import Before, Lift

LONGEST = 10_000
"""A mode with more indices is left as it is: few of its slices have enough residuals, and its spreads would be most of
the file of a fit."""

ROUNDS = 12
"""The number of rounds over the modes. A round lets the square of a spread grow at most `CLIP` times, so that the
largest takes four of them."""

CLIP = 9.0
"""The most that one residual counts for, as a multiple of the mean square that is expected of it: three standard
deviations of normal noise. So a single residual of any size moves its slice by a bounded amount."""

OF_MEDIAN = 0.455
"""The median of the square of a standard normal variable."""

LEAST_SPREAD = 0.15
"""Spreads that vary less over the entries, as a standard deviation of logarithms, are not worth a try. With the best
weights, the variance of an average of entries with log-normal noise is lower by a factor of exp(4 * spread**2). That is
9% here, or 4% of the error."""

EXPONENTS = (0.5, 1.0)
"""The exponents to try. Full weights are the best if low rank holds for quiet and loud slices alike; half of that loses
less where it holds for loud ones only."""


@dataclass(frozen=True, repr=False)
class Whiten(Before):
    """Divide slices by the usual size of their errors.

    Parameters
    ----------
    exponent
        How far to go, from 0 for not at all to 1 for errors of one size.
    spreads
        For each mode, the logarithm of the size that errors have at each of its indices, relative to the usual one;
        nothing for a mode that is left as it is.

    Examples
    --------
    >>> Whiten(1.0, ((0.0, 0.7), ()))
    Whiten(exponent=1.0, spreads of 2 indices of mode 0)
    """

    name: ClassVar[str] = "whiten"
    title: ClassVar[str] = "Whitened"
    brief: ClassVar[str] = "whitened"

    exponent: float
    spreads: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        real_number(self.exponent, "exponent", at_least=0, at_most=1)
        vectors = [real_array(each, f"spreads[{mode}]") for mode, each in enumerate(self.spreads)]
        for mode, vector in enumerate(vectors):
            if vector.ndim != 1 or len(vector) > LONGEST or not np.isfinite(vector).all():
                raise ValueError(
                    f"spreads[{mode}] must have one finite number for each index of mode {mode}, which may have up to "
                    f"{LONGEST:,}, or none at all, but an array of shape {vector.shape} was given."
                )
        object.__setattr__(self, "spreads", tuple(tuple(map(float, vector)) for vector in vectors))

    def __repr__(self) -> str:
        parts = [f"{len(self.spreads[mode]):,} indices of mode {mode}" for mode in self.modes]
        return f"Whiten(exponent={self.exponent}, spreads of {' and '.join(parts) or 'no mode'})"

    @property
    def modes(self) -> tuple[int, ...]:
        """The modes that are whitened."""
        return tuple(mode for mode, own in enumerate(self.spreads) if any(own))

    def in_words(self, labels: Labels) -> str:
        """Return along which modes slices were divided, how far, and how much sizes differ."""
        if not self.modes or self.exponent == 0:
            return "nothing was divided"
        sizes = [f"{labels.in_words(mode)}, {_range_of(self.spreads[mode])}" for mode in self.modes]
        power = "" if self.exponent == 1 else f", to the power {written(self.exponent)}"
        return f"slices were divided by the usual size of their errors{power}: along {'; along '.join(sizes)}"

    def check(self, shape: Sequence[int]) -> None:
        """Refuse a tensor with other modes or indices."""
        for mode, size in enumerate(shape):
            known = len(self.spreads[mode]) if mode < len(self.spreads) else None
            if known is None or known not in (0, size) or len(self.spreads) != len(shape):
                raise ValueError(
                    f"whiten must be made for the shape of the data, {tuple(shape)}, but it has spreads of "
                    f"{tuple(map(len, self.spreads))} indices; leave it out."
                )

    def reduce(self, problem: Problem, clock: Clock, beside: Model | None = None) -> tuple[Problem, Lift]:
        """Return the problem of the whitened values."""
        if not isinstance(problem.loss, Square) or problem.roughness is not None:
            raise ValueError(refusal(problem.loss, graphs=problem.roughness is not None))
        self.check(problem.observations.shape)
        lift = Sizes({mode: np.exp(self.exponent * np.array(self.spreads[mode])) for mode in self.modes})
        if not self.modes or self.exponent == 0:
            return problem, Lift()
        return Problem(lift.entries(problem.observations), problem.loss), lift

    def renumbered(self, shape: Sequence[int], places: Sequence[Integers | None]) -> Whiten:
        """Return the same for a tensor with more indices, of which the new ones have the usual size.

        Parameters
        ----------
        shape
            The new shape.
        places
            For each mode, the new number of each old index; None if all keep their numbers.
        """
        spreads = []
        for own, size, place in zip(self.spreads, shape, places, strict=True):
            grown = np.zeros(size if own and size <= LONGEST else 0)
            if len(grown):
                grown[np.arange(len(own)) if place is None else place] = own
            spreads.append(tuple(grown.tolist()))
        return Whiten(self.exponent, tuple(spreads))

    @classmethod
    def proposed(
        cls, coords: Integers, residuals: Floats, shape: Sequence[int], axis: TimeAxis | None = None
    ) -> Sequence[Self]:
        """Return the settings to try; none if slices are so alike that there is nothing to gain.

        The variance of estimated spreads over the entries is that of true ones plus chance. Weights gain by the former
        as much as they lose by the latter, so what there is to gain is the variance without twice what is chance.

        Parameters
        ----------
        coords, residuals
            Entries that were held out, and what an answer without them leaves of their values.
        shape
            The shape of the tensor.
        """
        found = spreads(coords, residuals, shape)
        logs = {mode: np.array(own) for mode, own in enumerate(found) if own}
        if not logs:
            return ()
        summed = _summed(logs, coords)
        to_gain = float(summed.var()) - 2 * _chance(logs, coords, residuals, summed)
        if to_gain < LEAST_SPREAD**2:
            return ()
        return [cls(exponent, _as_loud(found, coords, residuals, summed, exponent)) for exponent in EXPONENTS]


@dataclass(frozen=True, eq=False)
class Sizes(Lift):
    """Multiplies slices by their sizes again.

    Parameters
    ----------
    sizes
        The size of each index, by mode.
    """

    sizes: Mapping[int, Floats]

    def model(self, model: Model) -> Model:
        """Return the model on the scale of the data."""
        return multiplied(model, self.sizes)

    def start(self, core: Model) -> Model:
        """Return the model on the scale of the problem."""
        if any(core.shape[mode] != len(own) for mode, own in self.sizes.items()):
            return core
        return multiplied(core, {mode: 1 / own for mode, own in self.sizes.items()})

    def entries(self, entries: Observations) -> Observations:
        """Return the entries on the scale of the problem."""
        return entries.with_values((entries.values / self._at(entries.coords)).astype(entries.dtype, copy=False))

    def back(self, entries: Observations) -> Observations:
        """Return the entries on the scale of the data."""
        return entries.with_values((entries.values * self._at(entries.coords)).astype(entries.dtype, copy=False))

    def _at(self, coords: Integers) -> Floats:
        """Return the size of each entry."""
        product: Floats = np.ones(len(coords))
        for mode, own in self.sizes.items():
            product *= own[coords[:, mode]]
        return product


def multiplied(model: Model, sizes: Mapping[int, Floats]) -> Model:
    """Return a model with each slice times a number, with as many ranks, and with orthonormal factors if it has such.

    A mean and effects are not additive any more. They become terms beside the model, one for each mode, so that nothing
    is made dense.

    Parameters
    ----------
    model
        The model.
    sizes
        The factor of each index, by mode.
    """
    if isinstance(model, Centred):
        parts = (model.model, model.offset.in_cp_form(model.dtype))
        return Blend([multiplied(part, sizes) for part in parts], [1.0, 1.0])
    if isinstance(model, Blend):
        return Blend([multiplied(part, sizes) for part in model.models], model.weights)
    if isinstance(model, Placed) and all(model.slices[mode] is None for mode in sizes):
        return Placed(multiplied(model.model, sizes), model.slices)
    for mode, own in sizes.items():
        model = model.multiplied(mode, scipy.sparse.csr_array(scipy.sparse.diags_array(own)))
    return model.orthonormal()


def spreads(coords: Integers, residuals: Floats, shape: Sequence[int]) -> tuple[tuple[float, ...], ...]:
    """Return the logarithm of the size of residuals at each index of each mode, relative to their usual size.

    The expected square of a residual is ``v * exp(2 a_1[i_1]) * .. * exp(2 a_M[i_M])``. Each mode in turn is fitted to
    what the others leave. The logarithm at an index with n residuals is shrunk to zero by ``n / (n + SHRINKAGE)``; to
    add residuals of the usual size to a mean of squares would shrink quiet slices much more than loud ones. No residual
    counts for more than `CLIP` times what is expected of it: one entry that is wrong would otherwise make its slices
    look unknowable, and its square grows faster than any number of others can make up for. Clipping is relative to the
    slice's own size, which lets a slice be truly large.

    Parameters
    ----------
    coords, residuals
        The entries, and their residuals.
    shape
        The shape of the tensor.

    Returns
    -------
    tuple
        For each mode, a number for each index, or none if all are zero or the mode is long. Their means over the
        entries are zero, so that whitened data is as large as before.

    Examples
    --------
    >>> coords = np.indices((2, 500)).reshape(2, -1).T
    >>> found = spreads(coords, np.where(coords[:, 0] == 1, 4.0, 1.0), (2, 500))
    >>> np.exp(np.diff(found[0])).round(1), found[1]
    (array([3.9]), ())
    """
    largest = float(np.abs(residuals).max(initial=0.0))
    if largest == 0 or not math.isfinite(largest):
        return ((),) * len(shape)
    squares = (residuals.astype(np.float64) / largest) ** 2
    modes = {mode: size for mode, size in enumerate(shape) if size <= LONGEST}
    counts = {mode: np.bincount(coords[:, mode], minlength=size) for mode, size in modes.items()}
    logs = {mode: np.zeros(size) for mode, size in modes.items()}
    limit = math.log(LARGEST_FACTOR)
    # The median does not depend on single residuals; it is zero if most entries are known exactly.
    usual = float(np.median(squares)) / OF_MEDIAN or float(squares.mean())
    for _ in range(ROUNDS):
        for mode, size in modes.items():
            index = coords[:, mode]
            clipped = np.minimum(squares / (usual * np.exp(2 * _summed(logs, coords))), CLIP)
            # The level first: where an index has few residuals, its mean moves by a small share of what is missing.
            usual *= float(clipped.mean())
            ratios = clipped / clipped.mean() * np.exp(2 * logs[mode][index])
            means = np.bincount(index, ratios, size) / np.maximum(counts[mode], 1)
            # An index whose residuals are all zero has a finite logarithm.
            found = np.clip(0.5 * np.log(np.maximum(means, LARGEST_FACTOR**-2)), -limit, limit)
            found *= counts[mode] / (counts[mode] + SHRINKAGE)
            middle = float(counts[mode] @ found) / len(coords)
            logs[mode] = found - middle
            usual *= math.exp(2 * middle)
    return tuple(_told(logs[mode]) if mode in logs else () for mode in range(len(shape)))


def _as_loud(
    found: tuple[tuple[float, ...], ...], coords: Integers, residuals: Floats, summed: Floats, exponent: float
) -> tuple[tuple[float, ...], ...]:
    """Return spreads with which residuals have the same mean square after whitening as before.

    Then a threshold or a ridge that was chosen for the noise of the data is right for the whitened data as well.
    """
    size = np.abs(residuals).max()
    before, after = (float(np.mean((residuals / size / divisor) ** 2)) for divisor in (1.0, np.exp(exponent * summed)))
    louder = 0.5 * math.log(after / before) / exponent
    first = next(mode for mode, own in enumerate(found) if own)
    return tuple(tuple(each + louder for each in own) if mode == first else own for mode, own in enumerate(found))


def _summed(logs: Mapping[int, Floats], coords: Integers) -> Floats:
    """Return the log spread of each entry: the sum over the modes."""
    summed: Floats = np.sum([own[coords[:, mode]] for mode, own in logs.items()], axis=0)
    return summed


def _chance(logs: Mapping[int, Floats], coords: Integers, residuals: Floats, summed: Floats) -> float:
    """Return the variance over the entries that spreads of alike slices have by chance.

    The logarithm of a mean of n squares has the variance of one square, relative to its mean, divided by n. Half of it
    is a spread, which is shrunk by n / (n + SHRINKAGE).
    """
    scaled = (residuals.astype(np.float64) / np.abs(residuals).max() / np.exp(summed)) ** 2
    clipped = np.minimum(scaled / scaled.mean(), CLIP)
    variance = float(clipped.var()) / float(clipped.mean()) ** 2
    # The mean over the entries counts an index n times.
    parts = [np.bincount(coords[:, mode], minlength=len(own)) for mode, own in logs.items()]
    return sum(float(np.sum((each / (each + SHRINKAGE)) ** 2)) for each in parts) * variance / 4 / len(coords)


NOTHING = 1e-9
"""Spreads below this are rounding."""


def _told(logs: Floats) -> tuple[float, ...]:
    """Return spreads as numbers; none if they are all zero."""
    return tuple(logs.tolist()) if (np.abs(logs) > NOTHING).any() else ()


def _range_of(spreads: Sequence[float]) -> str:
    return f"from {written(math.exp(min(spreads)))} to {written(math.exp(max(spreads)))} times the usual size"


def refusal(loss: object, *, graphs: bool) -> str:
    """Return why a problem cannot be whitened.

    With the square loss, dividing values and predictions by the same number is a weight. The threshold of the Huber
    loss would move with that number, robust losses judge entries in the unit of the data, and scores have none. A graph
    says that neighbouring slices are alike, which slices divided by different numbers are not.
    """
    if graphs:
        return "whiten does not go with graphs, which need slices as they are; leave out whiten or laplacian."
    return f"whiten needs loss 'square', but the loss is {loss!r}; leave it out."
