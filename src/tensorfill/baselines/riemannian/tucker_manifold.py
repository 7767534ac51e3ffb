"""The geometry of Tucker tensors of given ranks, with a preconditioning metric (Kasai and Mishra 2016).

A point is X = G x_1 U_1 .. x_M U_M with orthonormal U_d. With G_d = unfold_d G and A_d = G_d G_d^T, the metric is

    <x, y> = sum_d trace(x_d A_d y_d^T) + <x_G, y_G>,

because A_d is the second derivative of 1/2 |X|^2 along U_d: in this metric, the gradient of least squares is nearly
Newton's step. The same tensor has many such forms, with U_d O_d and G x_d O_d^T for orthogonal O_d. Directions that
change only the form are vertical, (U_d W_d, - sum_d G x_d W_d) with W_d skew. Directions orthogonal to them are
horizontal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._support.types import Floats
from ...algebra.unfolding import times, unfold

LEAST_CURVATURE = 1e-12
"""The least eigenvalue of A_d, relative to the mean one, so that A_d can be inverted."""

SOLVED = 1e-8
MOST_STEPS = 50
"""Conjugate gradients for a vertical part end when the residual has decreased to this share, or after this many
steps."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A change of every factor and of the core.

    Parameters
    ----------
    factors
        The change of each factor.
    core
        The change of the core.
    """

    factors: tuple[Floats, ...]
    core: Floats

    def plus(self, scale: float, other: Direction) -> Direction:
        """Return the sum of this direction and `scale` times another."""
        pairs = zip(self.factors, other.factors, strict=True)
        return Direction(tuple(x + scale * y for x, y in pairs), self.core + scale * other.core)

    def times(self, scale: float) -> Direction:
        """Return `scale` times this direction."""
        return Direction(tuple(scale * x for x in self.factors), scale * self.core)


@dataclass(frozen=True, eq=False)
class TuckerPoint:
    """A Tucker tensor with orthonormal factors, and the geometry around it.

    Parameters
    ----------
    factors
        U_d, with orthonormal columns.
    core
        G.
    """

    factors: tuple[Floats, ...]
    core: Floats

    @cached_property
    def unfolded(self) -> list[Floats]:
        """G_d for every mode."""
        return [unfold(self.core, mode) for mode in range(self.core.ndim)]

    @cached_property
    def spectra(self) -> list[tuple[Floats, Floats]]:
        """The eigenvalues and eigenvectors of A_d for every mode."""
        found = []
        for core in self.unfolded:
            values, vectors = np.linalg.eigh(core @ core.T)
            least = LEAST_CURVATURE * float(values.mean()) + np.finfo(np.float64).tiny
            found.append((np.maximum(values, 0) + least, vectors))
        return found

    @cached_property
    def grams(self) -> list[Floats]:
        """A_d for every mode."""
        return [(vectors * values) @ vectors.T for values, vectors in self.spectra]

    def inner(self, x: Direction, y: Direction) -> float:
        """Return the inner product of two directions."""
        pairs = zip(x.factors, y.factors, self.grams, strict=True)
        return float(sum(np.vdot(a @ gram, b) for a, b, gram in pairs) + np.vdot(x.core, y.core))

    def gradient(self, slopes: Sequence[Floats], core_slope: Floats) -> Direction:
        """Return the gradient in this metric of a function with these partial derivatives.

        It is horizontal if the function depends on the tensor only.
        """
        scaled = tuple(
            ((slope @ vectors) / values) @ vectors.T
            for slope, (values, vectors) in zip(slopes, self.spectra, strict=True)
        )
        return self.tangent(Direction(scaled, core_slope))

    def tangent(self, z: Direction) -> Direction:
        """Return the part of a direction along which factors stay orthonormal: U_d^T x_d is skew.

        The part that is removed is U_d S_d A_d^-1 with S_d symmetric, where

            S_d A_d + A_d S_d = A_d (z_d^T U_d + U_d^T z_d) A_d.
        """
        factors = []
        for factor, change, (values, vectors) in zip(self.factors, z.factors, self.spectra, strict=True):
            along = vectors.T @ (factor.T @ change) @ vectors
            # In the eigenvectors of A_d, S_d A_d^-1 is (z^T U + U^T z)_ij a_i / (a_i + a_j).
            both = (along + along.T) * (values[:, None] / (values[:, None] + values))
            factors.append(change - factor @ (vectors @ both @ vectors.T))
        return Direction(tuple(factors), z.core)

    def horizontal(self, x: Direction) -> Direction:
        """Return the part of a tangent direction that changes the tensor, orthogonal to all vertical ones.

        The vertical part solves small coupled Lyapunov equations, by conjugate gradients. Without the coupling they are
        diagonal in the eigenvectors of A_d, which gives the preconditioner.
        """
        found = [np.zeros_like(gram) for gram in self.grams]
        left = self.against_vertical(x)
        eased = self._eased(left)
        along, product = eased, _product(left, eased)
        enough = SOLVED**2 * product
        for _ in range(MOST_STEPS):
            if product <= enough:
                break
            image = self.against_vertical(self.vertical(along))
            length = product / _product(along, image)
            found = [w + length * v for w, v in zip(found, along, strict=True)]
            left = [r - length * v for r, v in zip(left, image, strict=True)]
            eased = self._eased(left)
            product, last = _product(left, eased), product
            along = [r + (product / last) * v for r, v in zip(eased, along, strict=True)]
        return x.plus(-1.0, self.vertical(found))

    def vertical(self, skew: Sequence[Floats]) -> Direction:
        """Return the direction (U_d W_d, - sum_d G x_d W_d), which leaves the tensor unchanged."""
        core = np.zeros_like(self.core)
        for mode, each in enumerate(skew):
            core -= times(each, self.core, mode)
        return Direction(tuple(u @ w for u, w in zip(self.factors, skew, strict=True)), core)

    def against_vertical(self, x: Direction) -> list[Floats]:
        """Return the skew parts of U_d^T x_d A_d - unfold_d(x_G) G_d^T, which are zero for a horizontal direction."""
        out: list[Floats] = []
        for mode, (factor, change, gram) in enumerate(zip(self.factors, x.factors, self.grams, strict=True)):
            both = factor.T @ change @ gram - unfold(x.core, mode) @ self.unfolded[mode].T
            out.append((both - both.T) / 2)
        return out

    def _eased(self, skew: Sequence[Floats]) -> list[Floats]:
        """Return the solutions of the equations without their coupling."""
        return [
            vectors @ ((vectors.T @ each @ vectors) / (values[:, None] + values)) @ vectors.T
            for each, (values, vectors) in zip(skew, self.spectra, strict=True)
        ]

    def retracted(self, x: Direction, length: float) -> TuckerPoint:
        """Return the point at some length along a direction, with the nearest orthonormal factors."""
        factors = tuple(_polar(u + length * change) for u, change in zip(self.factors, x.factors, strict=True))
        return TuckerPoint(factors, self.core + length * x.core)


def _polar(matrix: Floats) -> Floats:
    """Return the nearest matrix with orthonormal columns."""
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    # A tangent direction keeps columns orthonormal to first order, so this matrix is near the identity or above it.
    polar: Floats = matrix @ ((vectors / np.sqrt(values)) @ vectors.T)
    return polar


def _product(x: Sequence[Floats], y: Sequence[Floats]) -> float:
    return float(sum(np.vdot(a, b) for a, b in zip(x, y, strict=True)))
