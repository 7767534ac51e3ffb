"""An autoregression of the columns of a matrix whose rows are steps of time.

    x[t] = sum_l a_l x[t - l] + residual[t],    l in the lags,    t = m, .., T - 1,

column by column: each has coefficients a_l to itself. m is the largest lag, and the first m steps have no residual. The
residuals are B x for a matrix B with a band for each lag. It is never built: B and its transpose are sums of shifted
columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..._support.clock import check_time
from ..._support.types import Floats

LEAST_RIDGE = 1e-10
"""The least ridge on coefficients, relative to the mean diagonal of the normal matrix."""


@dataclass(frozen=True, eq=False)
class Autoregression:
    """The coefficients of some columns.

    Parameters
    ----------
    lags
        The lags, in increasing order.
    coefficients
        One row for each lag, and one column for each column of the matrix.

    Examples
    --------
    >>> powers = 2.0 ** np.arange(6)[:, None]
    >>> found = Autoregression.fitted(powers, (1,))
    >>> found.coefficients.round(6).tolist(), found.continued(powers, 2).ravel().round(3).tolist()
    ([[2.0]], [64.0, 128.0])
    """

    lags: tuple[int, ...]
    coefficients: Floats

    @classmethod
    def fitted(cls, series: Floats, lags: tuple[int, ...], ridge: float = 0.0) -> Self:
        """Return the coefficients with the least squared residuals, plus `ridge` times their own squares."""
        last, steps = lags[-1], len(series)
        earlier = [series[last - lag : steps - lag] for lag in lags]
        gram = np.array([[np.einsum("tc,tc->c", one, other) for other in earlier] for one in earlier])
        right = np.array([np.einsum("tc,tc->c", each, series[last:]) for each in earlier])
        least = LEAST_RIDGE * np.trace(gram) / len(lags)
        # A column of zeros has no coefficients, and gets zeros.
        damping = ridge + np.where(least > 0, least, 1.0)
        damped = np.moveaxis(gram, -1, 0) + damping[:, None, None] * np.eye(len(lags))
        return cls(lags, np.ascontiguousarray(np.linalg.solve(damped, right.T[..., None])[..., 0].T))

    @classmethod
    def constant(cls, lags: tuple[int, ...], columns: int) -> Self:
        """Return the coefficients that repeat the value at the smallest lag."""
        coefficients = np.zeros((len(lags), columns))
        coefficients[0] = 1.0
        return cls(lags, coefficients)

    @property
    def last(self) -> int:
        """The largest lag."""
        return self.lags[-1]

    def residuals(self, series: Floats) -> Floats:
        """Return B x, with a row for each step from the largest lag on."""
        steps = len(series)
        out = series[self.last :].copy()
        for lag, coefficients in zip(self.lags, self.coefficients, strict=True):
            out -= coefficients * series[self.last - lag : steps - lag]
        return out

    def spread(self, residuals: Floats) -> Floats:
        """Return B^T r."""
        steps = len(residuals) + self.last
        out = np.zeros((steps, residuals.shape[1]))
        out[self.last :] = residuals
        for lag, coefficients in zip(self.lags, self.coefficients, strict=True):
            out[self.last - lag : steps - lag] -= coefficients * residuals
        return out

    def curvature(self, steps: int) -> Floats:
        """Return the diagonal of B^T B, for columns of so much time."""
        out = np.zeros((steps, self.coefficients.shape[1]))
        out[self.last :] = 1.0
        for lag, coefficients in zip(self.lags, self.coefficients, strict=True):
            out[self.last - lag : steps - lag] += coefficients**2
        return out

    def continued(self, series: Floats, steps: int) -> Floats:
        """Return the next steps after the last row, each from those before it."""
        known = np.concatenate([series[len(series) - self.last :], np.empty((steps, series.shape[1]))])
        for step in range(self.last, self.last + steps):
            known[step] = sum(a * known[step - lag] for lag, a in zip(self.lags, self.coefficients, strict=True))
        return known[self.last :]


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    right: Floats,
    eased: Callable[[Floats], Floats],
    *,
    tolerance: float,
    most: int,
) -> Floats:
    """Return an approximate solution x of A x = right, from zero, for a positive definite A.

    Every iterate has a smaller quadratic ``x^T A x / 2 - x^T right`` than the one before.

    Parameters
    ----------
    product
        Returns A x.
    right
        The right-hand side, of any shape.
    eased
        Returns an approximate solution for a residual: the preconditioner.
    tolerance
        It stops when the residual, in the norm of the preconditioner, is this share of the first.
    most
        The largest number of iterations.
    """
    found, left = np.zeros_like(right), right.copy()
    direction = eased(left)
    square = first = float(np.vdot(left, direction))
    for _ in range(most):
        if square <= tolerance**2 * first:
            break
        check_time()
        image = product(direction)
        length = square / float(np.vdot(direction, image))
        found += length * direction
        left -= length * image
        onward = eased(left)
        square, last = float(np.vdot(left, onward)), square
        onward += (square / last) * direction
        direction = onward
    return found
