"""Small problems that every method is run on, by functions of the largest rank that the truth may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tensorfill import Observations


@dataclass(frozen=True, eq=False)
class Animal:
    """A problem.

    Parameters
    ----------
    data
        What was observed.
    truth
        What was not, as an array of all entries.
    loss
        The name of the loss.
    within
        A method must come this near to the truth, in standard deviations of it, at the missing entries; None if it
        need only run.
    """

    data: Observations
    truth: np.ndarray
    loss: str = "square"
    within: float | None = None

    @property
    def missing(self):
        """The entries that were not observed."""
        return np.isnan(self.data.to_dense())


RANK = 2
"""The largest rank of all; problems whose truth is of rank one, or has no rank, are the same for every other."""


def low_rank(shape, rank=RANK, seed=0, density=0.6, noise=0.01):
    """Return a tensor of low rank with holes."""
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((size, rank)) for size in shape]
    letters = "ijklm"[: len(shape)]
    truth = np.einsum(",".join(f"{each}r" for each in letters) + f"->{letters}", *factors)
    seen = rng.random(shape) < density
    return truth, Observations.from_dense(truth + noise * rng.standard_normal(shape), seen)


def matrix(rank=RANK):
    truth, data = low_rank((20, 16), rank)
    return Animal(data, truth, within=0.5)


def order_three(rank=RANK):
    truth, data = low_rank((14, 12, 10), rank)
    return Animal(data, truth, within=0.5)


def order_four(rank=RANK):
    truth, data = low_rank((7, 8, 7, 7), rank, density=0.5)
    return Animal(data, truth, within=0.6)


def tiny_mode(rank=RANK):
    truth, data = low_rank((15, 14, 2), rank, density=0.7)
    return Animal(data, truth, within=0.6)


def same_entities(rank=RANK):
    truth, data = low_rank((12, 12, 9), rank)
    return Animal(data, truth, within=0.6)


def sparse(rank=RANK):
    truth, data = low_rank((12, 10, 9), rank, density=0.5)
    return Animal(Observations(data.coords, data.values, data.shape), truth, within=0.6)


def noisy(rank=RANK):
    truth, data = low_rank((12, 10, 9), rank, noise=1.0)
    return Animal(data, truth, within=1.0)


def in_time(rank=RANK):
    """Return series of rank two that repeat every twelve steps of the last mode."""
    rng = np.random.default_rng(0)
    steps = 2 * np.pi * np.arange(60) / 12
    sizes = rng.standard_normal((2, 5, 4))
    truth = sizes[0][..., None] * np.cos(steps) + sizes[1][..., None] * np.sin(steps)
    seen = rng.random(truth.shape) < 0.6
    return Animal(Observations.from_dense(truth + 0.01 * rng.standard_normal(truth.shape), seen), truth)


def few_entries(rank=RANK):
    truth, data = low_rank((5, 4, 3), rank=1, density=0.3, seed=3)
    return Animal(data, truth)


def constant(rank=RANK):
    truth = np.full((7, 6, 5), 3.0)
    seen = np.random.default_rng(0).random(truth.shape) < 0.6
    return Animal(Observations.from_dense(truth, seen), truth)


def zeros(rank=RANK):
    truth = np.zeros((7, 6, 5))
    return Animal(Observations.from_dense(truth), truth)


def empty_slice(rank=RANK):
    truth, data = low_rank((12, 10, 9), rank)
    array = data.to_dense()
    array[3] = np.nan
    return Animal(Observations.from_dense(array), truth)


def single_precision(rank=RANK):
    truth, data = low_rank((12, 10, 9), rank)
    return Animal(data.astype(np.float32), truth, within=0.6)


def yes_or_no(rank=RANK):
    truth, data = low_rank((12, 10, 9), rank=1, density=0.8)
    return Animal(data.with_values((data.values > 0).astype(float)), (truth > 0).astype(float), "logistic")


def counts(rank=RANK):
    rng = np.random.default_rng(0)
    rate = np.exp(np.einsum("i,j,k->ijk", *(rng.uniform(0.5, 1.2, size) for size in (10, 9, 8))))
    seen = rng.random(rate.shape) < 0.7
    return Animal(Observations.from_dense(rng.poisson(rate).astype(float), seen), rate, "poisson")


ZOO: dict[str, Callable[..., Animal]] = {
    each.__name__: each
    for each in (
        matrix, order_three, order_four, tiny_mode, same_entities, sparse, noisy, few_entries, constant, zeros,
        empty_slice, in_time, single_precision, yes_or_no, counts,
    )
}  # fmt: skip
"""Every problem by name."""
