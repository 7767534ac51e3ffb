"""Graphs: slices without any observed entry are left out, and filled by the graph of their mode afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ..._support.clock import Clock
from ..._support.fingerprints import fingerprint
from ..._support.words import written
from ...graphs.reduction import Graph, ReducedTensor, make_roughness, reduce
from ...labels import Labels
from ...methods.problem import Problem
from ...models import Centred, Model
from ...models.additive import Additive
from ...observations import Observations
from .base import Before, Lift


@dataclass(frozen=True, eq=False)
class Graphs(Before):
    """Graph Laplacians along some modes.

    Parameters
    ----------
    laplacians
        The Laplacian of each mode that has a graph.
    mu
        The weight of the roughness, relative to the mean degree; 0 if neighbours need not be alike.
    """

    name: ClassVar[str] = "laplacian"
    title: ClassVar[str] = "Graphs"

    laplacians: Mapping[int, Graph]
    mu: float = 0.0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graphs) and fingerprint(*self._parts) == fingerprint(*other._parts)

    def __hash__(self) -> int:
        return hash(fingerprint(*self._parts))

    @property
    def _parts(self) -> tuple[object, ...]:
        return self.mu, dict(self.laplacians)

    def in_words(self, labels: Labels) -> str:
        """Return along which modes there are graphs, and their weight."""
        return f"along {' and '.join(map(labels.in_words, self.modes))}, with weight {written(self.mu)}"

    @property
    def modes(self) -> Iterable[int]:
        """The modes with a graph."""
        return self.laplacians

    def reduce(self, problem: Problem, clock: Clock, beside: Model | None = None) -> tuple[Problem, Lift]:
        """Return the problem of the slices that have entries, with the roughness of the graphs on these."""
        reduced = reduce(problem.observations, self.laplacians)
        smaller = replace(problem, observations=reduced.observations)
        return rough(smaller, reduced.graphs, self.mu), Extended(reduced)


@dataclass(frozen=True, eq=False)
class Extended(Lift):
    """Extends an answer to the slices that were left out."""

    reduced: ReducedTensor

    @property
    def graphs(self) -> Mapping[int, Graph]:  # type: ignore[override]
        """The graphs on the remaining slices."""
        return self.reduced.graphs

    def model(self, model: Model) -> Model:
        """Return the model of all slices."""
        if not isinstance(model, Centred):
            return self.reduced.extend(model)
        # A part of a graph without any observed slice keeps the mean, although the rest of the answer is zero there.
        effects = list(model.offset.effects)
        for extension in self.reduced.extensions:
            effects[extension.mode] = extension.matrix @ effects[extension.mode]
        return Centred(self.reduced.extend(model.model), Additive(model.offset.mean, tuple(effects)))

    def start(self, core: Model) -> Model:
        """Return the model of the remaining slices."""
        return self.reduced.restrict(core).orthonormal() if self.reduced.extensions else core

    def entries(self, entries: Observations) -> Observations | None:
        """Return the entries if all slices remain."""
        return None if self.reduced.extensions else entries


def rough(problem: Problem, graphs: Mapping[int, Graph], mu: float) -> Problem:
    """Return a problem with the roughness of graphs on its slices; as it is without any."""
    if not graphs:
        return problem
    return problem.with_roughness(make_roughness(graphs, mu, float(problem.loss.curvature)))
