"""Limited-memory BFGS, one step at a time.

A step goes from x along d = -H grad F(x), where H is an approximation of the inverse Hessian from the changes of the
point and of the gradient in the last few steps. The length of the step is 1, or halved until F decreases enough
(Armijo's rule).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from .._support.types import Floats

MEMORY = 10
"""The number of past steps in the approximation of the inverse Hessian."""

SUFFICIENT = 1e-4
"""A step must lower F by this share of the decrease that the gradient predicts."""

MOST_HALVINGS = 30
"""After this many halvings without a decrease of F, the point is not changed."""

LEAST_CURVATURE = 1e-10
"""A pair of changes (s, y) with <s, y> below this share of |s| |y| is not used for the curvature."""


class LBFGS:
    """A minimisation by L-BFGS steps.

    Parameters
    ----------
    function
        Returns F(x) and its gradient.
    start
        The starting point: a one-dimensional array of float64 or float32.
    scale
        The first step is this multiple of the gradient, possibly halved: about one over the curvature.

    Attributes
    ----------
    point, value, gradient
        The current point, F there and its gradient. The value never increases.
    """

    def __init__(self, function: Callable[[Floats], tuple[float, Floats]], start: Floats, scale: float = 1.0) -> None:
        self._function, self._scale = function, scale
        self._changes: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
        self.point = start
        self.value, self.gradient = function(start)

    def step(self) -> None:
        """Make one step; the point does not change if F cannot be lowered."""
        if not self._search(-self._times_inverse_hessian(self.gradient)) and self._changes:
            # The approximate curvature may be misleading, so the gradient alone is tried next.
            self._changes.clear()
            self._search(-self._times_inverse_hessian(self.gradient))

    def _search(self, direction: Floats) -> bool:
        """Move along a direction until F decreases enough, and return whether it does."""
        slope = float(np.vdot(direction, self.gradient))
        if not slope < 0:
            return False
        length = 1.0
        for _ in range(MOST_HALVINGS):
            change = (length * direction).astype(direction.dtype, copy=False)
            point = self.point + change
            value, gradient = self._function(point)
            # A comparison with NaN is false, so a point where F overflows is rejected.
            if value < self.value + SUFFICIENT * length * slope:
                self._remember(change, gradient - self.gradient)
                self.point, self.value, self.gradient = point, value, gradient
                return True
            length /= 2
        return False

    def _remember(self, s: Floats, y: Floats) -> None:
        product = float(np.vdot(s, y))
        if product > LEAST_CURVATURE * float(np.linalg.norm(s)) * float(np.linalg.norm(y)):
            self._changes.append((s, y, product))

    def _times_inverse_hessian(self, gradient: Floats) -> Floats:
        """Return H times the gradient, by the two-loop recursion over the stored changes."""
        result = gradient.copy()
        shares = []
        for s, y, product in reversed(self._changes):
            share = float(np.vdot(s, result)) / product
            result -= share * y
            shares.append(share)
        if self._changes:
            _, y, product = self._changes[-1]
            result *= product / float(np.vdot(y, y))
        else:
            result *= self._scale
        for (s, y, product), share in zip(self._changes, reversed(shares), strict=True):
            result += (share - float(np.vdot(y, result)) / product) * s
        return result
