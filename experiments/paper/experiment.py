"""What an experiment is: its runs, what one of them does, and what the paper prints for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

Measured = dict[str, Any]
"""What a run measured, as numbers and text by name; ``curves`` has numbers by iteration."""


@dataclass(frozen=True)
class Task:
    """One run, with everything that decides it.

    Parameters
    ----------
    data
        What it runs on, as the table calls it.
    method
        What runs, as the table calls it.
    seed
        Decides everything that is random.
    options
        Numbers and names for the run.
    limit
        Seconds of CPU for the choice of settings and the fit.
    """

    data: str
    method: str
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: float = 60.0

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells this run from the others of its experiment."""
        return self.data, self.method, self.seed


@dataclass(frozen=True)
class Finished:
    """A run that is done, and what it measured."""

    data: str
    method: str
    seed: int
    measured: Measured

    @property
    def key(self) -> tuple[str, str, int]:
        """The key of its task."""
        return self.data, self.method, self.seed


Published = Mapping[tuple[str, str, str], tuple[float, float]]
"""What the paper prints: mean and standard deviation by data, method and measure."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Parameters
    ----------
    name
        What the command calls it.
    title
        Which table or figure it repeats.
    tasks
        The runs, the most telling first; with ``quick=True`` a few small ones.
    run
        Does one of them, in a process of its own.
    data, differs
        Which data is used, and what differs from the paper.
    measures
        What the table shows, the first compared with the paper's figures.
    published
        What the paper prints.
    draw
        Draws the finished runs, if the paper has a figure.
    """

    name: str
    title: str
    tasks: Callable[[bool], Sequence[Task]]
    run: Callable[[Task], Measured]
    data: str
    differs: str
    measures: Sequence[str] = ("rmse",)
    published: Published = field(default_factory=dict)
    draw: Callable[[Figure, Sequence[Finished]], None] | None = None
