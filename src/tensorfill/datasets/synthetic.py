"""Synthetic tensors of known low rank, as in Section 5.1 of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.checks import choice, real_number, whole_number
from .._support.types import Floats, Integers
from ..metrics import accuracy_limit
from ..observations import Observations


@dataclass(frozen=True, eq=False)
class SyntheticTensor:
    """A tensor of known rank, with noisy observed entries and exact test entries.

    Parameters
    ----------
    observations
        The entries to fit, with noise.
    test
        Other entries, without noise.
    factors, weights
        The tensor itself, ``sum_i weights[i] * factors[0][:, i] o factors[1][:, i] o ...``.
    noise
        Standard deviation of the noise.
    """

    observations: Observations
    test: Observations
    factors: tuple[Floats, ...]
    weights: Floats
    noise: float

    @property
    def limit(self) -> float:
        """The lowest test error that a method can be expected to reach."""
        free = len(self.weights) * sum(self.observations.shape)
        return accuracy_limit(self.noise, free, len(self.observations))

    def at(self, coords: Integers) -> Floats:
        """Return the entries at `coords`, without noise."""
        return _entries(coords, self.factors, self.weights)


def synthetic(
    shape: Sequence[int] = (200, 200, 200),
    *,
    rank: int = 5,
    noise: float = 0.01,
    observed: int | None = None,
    factors: str = "uniform",
    rng: np.random.Generator | int | None = None,
) -> SyntheticTensor:
    """Return a random tensor of the given rank with some entries observed.

    The weights of the terms are drawn from the normal distribution.

    Parameters
    ----------
    shape
        Shape of the tensor.
    rank
        The number of outer products in the sum.
    noise
        Standard deviation of the noise on the observed entries.
    observed
        The number of observed entries; by default ``I_3 / rank * sum(shape) * log(prod(shape))`` as in the paper, but
        at most half of all entries.
    factors
        ``"uniform"``, with the mean of each column subtracted, or ``"normal"``. The paper describes the second; the
        code of its authors uses the first.
    rng
        The seed or generator of the random numbers.

    Examples
    --------
    >>> data = synthetic((20, 20, 20), rank=2, rng=0)
    >>> data.observations
    Observations(shape=(20, 20, 20), observed=4,000 of 8,000 (50%), sparse)
    """
    shape = tuple(whole_number(size, "shape", at_least=1) for size in shape)
    rank = whole_number(rank, "rank", at_least=1)
    noise = real_number(noise, "noise", at_least=0)
    size = math.prod(shape)
    if observed is None:
        observed = min(round(shape[min(2, len(shape) - 1)] / rank * sum(shape) * math.log(size)), size // 2)
    observed = whole_number(observed, "observed", at_least=1)
    tested = max(1, min(observed // 10, size - observed))
    if observed + tested > size:
        raise ValueError(f"observed must leave entries to test with, but it is {observed:,} of {size:,}.")
    rng = np.random.default_rng(rng)
    normal = choice(factors, "factors", ["uniform", "normal"]) == "normal"
    sizes = [(length, rank) for length in shape]
    matrices = tuple(rng.standard_normal(size) if normal else _centred(rng.random(size)) for size in sizes)
    weights = rng.standard_normal(rank)
    coords = np.stack(np.unravel_index(_distinct(size, observed + tested, rng), shape), axis=1)
    values = _entries(coords, matrices, weights)
    seen = values[:observed] + noise * rng.standard_normal(observed)
    return SyntheticTensor(
        Observations(coords[:observed], seen, shape),
        Observations(coords[observed:], values[observed:], shape),
        matrices,
        weights,
        noise,
    )


def _centred(columns: Floats) -> Floats:
    centred: Floats = columns - columns.mean(axis=0)
    return centred


def _distinct(size: int, count: int, rng: np.random.Generator) -> Integers:
    """Return `count` distinct whole numbers below `size`, in random order, in memory proportional to `count`."""
    if count > size // 2:
        return rng.permutation(size)[:count]
    found = np.unique(rng.integers(size, size=count + count // 2 + 16))
    while len(found) < count:
        found = np.unique(np.concatenate([found, rng.integers(size, size=count)]))
    return rng.permutation(found)[:count]


def _entries(coords: Integers, factors: Sequence[Floats], weights: Floats) -> Floats:
    product = np.broadcast_to(weights, (len(coords), len(weights)))
    for mode, factor in enumerate(factors):
        product = product * factor[coords[:, mode]]
    total: Floats = product.sum(axis=1)
    return total
