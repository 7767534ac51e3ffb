"""Filling rows, old or new, from the column space of a low-rank fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.types import Booleans, Floats
from ..models import CPModel, FoldedLowRank, Model, Tucker
from .gaussian import Gaussian

BUDGET = 2**21
"""The number of elements of linear systems held at a time, so that memory does not grow with the number of rows."""

LEAST_NOISE = 1e-10
"""The least noise, relative to the mean variance that the column space explains, to keep systems solvable."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows x = mean + loadings z + noise, with z of unit variance in every direction.

    A row's missing entries are filled with their mean given its observed entries o, for a Gaussian model:

        z = (noise I + W_o^T W_o)^-1 W_o^T (x_o - mean_o),    x = mean + W z

    This is least squares on the column space with a ridge for each direction, which is weak along directions in which
    the training rows vary much. A row with few observed entries is shrunk towards the mean, and one without any is the
    mean.

    Parameters
    ----------
    mean
        The mean of each column.
    loadings
        W: the directions of the column space, one per column, each as long as its standard deviation.
    noise
        The variance that the column space does not explain.
    """

    mean: NDArray[np.float64]
    loadings: NDArray[np.float64]
    noise: float

    @classmethod
    def of_model(cls, model: Model) -> Projection:
        """Return the projection onto the column space of a matrix, without noise.

        A low-rank model is not made dense. A model of another kind is, if it fits in `DENSE_LIMIT`.
        """
        left, right = _factors(model)
        average = left.mean(axis=0)
        q, upper = np.linalg.qr(right)
        _, s, directions = np.linalg.svd((left - average) @ upper.T, full_matrices=False)
        kept = s > len(left) * np.finfo(float).eps * s.max(initial=0.0)
        loadings = (q @ directions.T * (s / np.sqrt(len(left))))[:, kept]
        return cls(right @ average, loadings, 0.0)

    @classmethod
    def of_gaussian(cls, gaussian: Gaussian) -> Projection:
        """Return the projection that fills rows with their mean under a normal distribution."""
        variances, directions = np.linalg.eigh(gaussian.covariance)
        return cls(gaussian.mean, directions * np.sqrt(np.maximum(variances - variances[0], 0.0)), float(variances[0]))

    def with_noise(self, noise: float) -> Projection:
        """Return the projection with another variance of the noise, bounded from below."""
        explained = float(np.sum(self.loadings**2)) / max(len(self.mean), 1)
        return replace(self, noise=max(float(noise), LEAST_NOISE * explained))

    @property
    def rank(self) -> int:
        """The dimension of the column space."""
        return int(self.loadings.shape[1])

    def fill(self, rows: Floats) -> NDArray[np.float64]:
        """Return the rows with NaN filled in."""
        filled = np.array(rows, dtype=np.float64)
        lacking = np.flatnonzero(np.isnan(filled).any(axis=1))
        columns, rank = self.loadings.shape
        size = max(1, BUDGET // max(1, rank * (columns + rank)))
        for first in range(0, len(lacking), size):
            some = lacking[first : first + size]
            part = filled[some]
            filled[some] = np.where(np.isnan(part), self.mean + self._scores(part) @ self.loadings.T, part)
        return filled

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the z of each row; rows with the same missing entries share their system."""
        if self.rank == 0:
            return np.zeros((len(rows), 0))
        inverses, which = self.inverses(rows)
        right = np.where(np.isnan(rows), 0.0, rows - self.mean) @ self.loadings
        scores: NDArray[np.float64] = (inverses[which] @ right[:, :, None])[:, :, 0]
        return scores

    def inverses(self, rows: Floats) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return (noise I + W_o^T W_o)^-1 for each pattern of observed entries, and the pattern of each row."""
        patterns, which = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
        return np.asarray(np.linalg.inv(self._systems(patterns)), dtype=np.float64), which.reshape(-1)

    def _systems(self, patterns: Booleans) -> NDArray[np.float64]:
        """Return noise I + W_o^T W_o for each pattern of observed entries."""
        products: NDArray[np.float64] = (patterns[:, None, :] * self.loadings.T) @ self.loadings
        return products + self.noise * np.eye(self.rank)


def _factors(model: Model) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return A and B with the matrix A B^T."""
    if isinstance(model, FoldedLowRank):
        return _folded_factors(model)
    if isinstance(model, Tucker):
        return model.factors[0] @ model.core, model.factors[1]
    if isinstance(model, CPModel):
        return model.factors[0] * model.weights, model.factors[1]
    return model.to_dense(), np.eye(model.shape[1])


def _folded_factors(model: FoldedLowRank) -> tuple[NDArray[Any], NDArray[Any]]:
    left: list[Floats] = [np.zeros((model.shape[0], 0))]
    right: list[Floats] = [np.zeros((model.shape[1], 0))]
    for weight, part in model.terms:
        # The unfolding along the columns of a matrix is its transpose.
        of_rows, of_columns = (part.u, part.v) if part.mode == 0 else (part.v, part.u)
        left.append(of_rows * (weight * part.s))
        right.append(of_columns)
    return np.hstack(left), np.hstack(right)
