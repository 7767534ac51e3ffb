"""The solver of alternating methods: an iteration is a sweep of least squares over all unknowns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..models import Model
from .base import Progress


class Squares(Protocol):
    """The interface of alternating least squares, one group of unknowns at a time."""

    @property
    def sum_of_squares(self) -> float:
        """The sum of squared residuals."""

    def sweep(self) -> None:
        """Solve for every group of unknowns in turn."""

    def model(self) -> Model:
        """Return the current model."""

    def state(self) -> dict[str, Any]:
        """Return the unknowns, as arrays that later sweeps do not change."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the unknowns of a state."""


class SweepSolver:
    """Alternating least squares, for one problem.

    Parameters
    ----------
    squares
        Least squares at the starting point.
    falls
        Whether the sum of squares decreases at every sweep. It need not if solutions are shrunk.
    """

    def __init__(self, squares: Squares, *, falls: bool) -> None:
        self._squares, self._falls = squares, falls
        self._stand()

    def step(self) -> None:
        """Make one sweep."""
        self._squares.sweep()
        self._stand()

    def _stand(self) -> None:
        # An interruption in the middle of a sweep leaves this model unchanged.
        self._model = self._squares.model()
        objective = 0.5 * self._squares.sum_of_squares
        self._progress = Progress(objective, objective if self._falls else float("nan"), self._model.ranks)

    def state(self) -> dict[str, Any]:
        """Return the state of the sweeps."""
        return self._squares.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of another solver."""
        self._squares.restore(state)
        self._stand()

    def progress(self) -> Progress:
        """Return the current state."""
        return self._progress

    def model(self) -> Model:
        """Return the answer so far."""
        return self._model
