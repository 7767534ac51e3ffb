"""The solver of methods that alternate: an iteration is a sweep of least squares over all unknowns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..models import Model
from .base import Progress


class Squares(Protocol):
    """Least squares at work on a model, one group of unknowns at a time."""

    @property
    def sum_of_squares(self) -> float:
        """What the model leaves of the entries."""

    def sweep(self) -> None:
        """Solve for every group of unknowns in turn."""

    def model(self) -> Model:
        """Return the model as it stands."""

    def state(self) -> dict[str, Any]:
        """Return the unknowns, as arrays that later sweeps do not change."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the unknowns of another."""


class SweepSolver:
    """Alternating least squares at work on one problem.

    Parameters
    ----------
    squares
        The model where it starts.
    falls
        Whether the sum of squares falls at every sweep. It need not if solutions are shrunk.
    """

    def __init__(self, squares: Squares, *, falls: bool) -> None:
        self._squares, self._falls = squares, falls
        self._stand()

    def step(self) -> None:
        """Make one sweep."""
        self._squares.sweep()
        self._stand()

    def _stand(self) -> None:
        # An interruption in the middle of a sweep leaves this model as it is.
        self._model = self._squares.model()
        objective = 0.5 * self._squares.sum_of_squares
        self._progress = Progress(objective, objective if self._falls else float("nan"), self._model.ranks)

    def state(self) -> dict[str, Any]:
        """Return where it stands."""
        return self._squares.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Stand where another solver stood."""
        self._squares.restore(state)
        self._stand()

    def progress(self) -> Progress:
        """Return the current state."""
        return self._progress

    def model(self) -> Model:
        """Return the answer so far."""
        return self._model
