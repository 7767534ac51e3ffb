"""Counts what each iteration moves between machines, and how long they compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..methods.base import Progress
from ..methods.loop import ResumableSolver
from ..models import Model
from .crew import Crew


class CountingSolver:
    """A solver that also says what its last step moved, and how long the slowest worker computed.

    Parameters
    ----------
    solver
        The solver, which can be resumed.
    crew
        The workers that it asks.
    """

    def __init__(self, solver: ResumableSolver, crew: Crew) -> None:
        self._solver, self._crew = solver, crew
        self._moved, self._computing = 0, 0.0

    def progress(self) -> Progress:
        """Return the current state."""
        return replace(self._solver.progress(), moved=self._moved, computing=self._computing)

    def model(self) -> Model:
        """Return the answer so far."""
        return self._solver.model()

    def step(self) -> None:
        """Make one iteration."""
        moved, computing = self._crew.traffic.moved, self._crew.traffic.computing
        self._solver.step()
        self._moved = self._crew.traffic.moved - moved
        self._computing = self._crew.traffic.computing - computing

    def state(self) -> dict[str, Any]:
        """Return where it stands."""
        return self._solver.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Stand where another solver stood."""
        self._solver.restore(state)
