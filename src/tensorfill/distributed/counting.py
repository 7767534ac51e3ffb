"""Measures the traffic between machines and the computing time of each iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..methods.base import Progress
from ..methods.loop import ResumableSolver
from ..models import Model
from .crew import Crew


class CountingSolver:
    """A solver that also reports the traffic of its last step, and the computing time of the slowest worker.

    Parameters
    ----------
    solver
        A resumable solver.
    crew
        The workers of the solver.
    """

    def __init__(self, solver: ResumableSolver, crew: Crew) -> None:
        self._solver, self._crew = solver, crew
        self._moved, self._computing = 0, 0.0

    def progress(self) -> Progress:
        """Return the current progress."""
        return replace(self._solver.progress(), moved=self._moved, computing=self._computing)

    def model(self) -> Model:
        """Return the current model."""
        return self._solver.model()

    def step(self) -> None:
        """Make one iteration."""
        moved, computing = self._crew.traffic.moved, self._crew.traffic.computing
        self._solver.step()
        self._moved = self._crew.traffic.moved - moved
        self._computing = self._crew.traffic.computing - computing

    def state(self) -> dict[str, Any]:
        """Return the state to resume from."""
        return self._solver.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume from the state of another solver."""
        self._solver.restore(state)
