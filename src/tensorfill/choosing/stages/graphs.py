"""Graphs: slices without any observed entry are left out, and filled by the graph of their mode afterwards.

The width of a kernel graph is chosen on held-out slices. The observed slices are divided into parts. Each part is held
out once and predicted from the other observed slices by their harmonic extension. The width with the smallest squared
error wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse

from ..._support.checks import mode_number, real_number
from ..._support.clock import Clock
from ..._support.fingerprints import fingerprint
from ..._support.types import Booleans, Floats, Integers
from ..._support.words import written
from ...graphs import KernelGraph, check_laplacian
from ...graphs.reduction import Graph, ReducedTensor, harmonic_extension, make_roughness, reduce
from ...labels import Labels
from ...methods.effects.additive import fit_additive
from ...methods.problem import Problem
from ...models import Centred, Model
from ...models.additive import Additive
from ...observations import Observations
from .base import Before, Lift

FOLDS = 5
"""The number of parts into which the observed slices are divided; each part is held out once."""


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

    def __post_init__(self) -> None:
        real_number(self.mu, "mu", at_least=0)

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


def checked_graphs(given: Mapping[int, object] | Graphs | None, shape: Sequence[int]) -> dict[int, Graph | KernelGraph]:
    """Return the graph of each mode that has one, checked: a Laplacian, or a kernel whose width is yet to be chosen."""
    if given is None:
        return {}
    if isinstance(given, Graphs):
        given = given.laplacians
        gone = [mode for mode, graph in given.items() if not hasattr(graph, "shape")]
        if gone:
            raise ValueError(
                f"the graph of mode {gone[0]} is missing, because the file of a fit does not hold graphs; give it "
                f"again, as in laplacian={{{gone[0]}: graph}}."
            )
    if not isinstance(given, Mapping):
        raise TypeError(
            f"laplacian must map modes to graphs, as in {{0: graph}}, but {type(given).__name__} was given."
        )
    found: dict[int, Graph | KernelGraph] = {}
    for key, graph in given.items():
        mode = mode_number(key, "laplacian", len(shape))
        size = shape[mode]
        if isinstance(graph, KernelGraph):
            if graph.size != size:
                raise ValueError(
                    f"the graph of mode {mode} must have one node for each of its {size:,} indices, "
                    f"but it has {graph.size:,}."
                )
            found[mode] = graph
        else:
            found[mode] = check_laplacian(graph, size, mode)
    return found


def with_widths(
    graphs: Mapping[int, Graph | KernelGraph], observations: Observations, rng: np.random.Generator, clock: Clock
) -> dict[int, Graph]:
    """Return the Laplacian of each mode that has a graph; the width of a kernel is chosen on held-out slices."""
    found: dict[int, Graph] = {}
    for mode, graph in graphs.items():
        if isinstance(graph, KernelGraph):
            found[mode] = graph.laplacian(best_width(graph, observations, mode, rng, clock))
        else:
            found[mode] = graph
    return found


def best_width(
    graph: KernelGraph, observations: Observations, mode: int, rng: np.random.Generator, clock: Clock | None = None
) -> float:
    """Return the width that predicts held-out slices best from the other observed slices.

    Missing entries of the other slices are replaced by the mean of the data plus the effects of the other modes.

    Raises
    ------
    TimeUp
        If the clock expires meanwhile.
    """
    clock = clock or Clock()
    kept = np.unique(observations.coords[:, mode])
    if len(kept) < 2:
        return graph.widths[len(graph.widths) // 2]
    fitted = fit_additive(observations)
    # The effect of a held-out slice was fitted with its entries, so it must not help to predict them.
    effects = [np.zeros_like(part) if at == mode else part for at, part in enumerate(fitted.effects)]
    offset = Additive(fitted.mean, tuple(effects))
    parts = np.array_split(rng.permutation(kept), min(FOLDS, len(kept)))
    residuals = observations.with_values(observations.values - offset.predict(observations.coords))
    errors = [_error_of_width(graph, width, residuals, mode, parts, clock) for width in graph.widths]
    return graph.widths[int(np.argmin(errors))]


def _error_of_width(
    graph: KernelGraph, width: float, residuals: Observations, mode: int, parts: Sequence[Integers], clock: Clock
) -> float:
    """Return the sum of squared errors over all parts, each predicted from the slices of the other parts."""
    return clock.journal.recall(
        ("error of a width", graph, width, residuals, mode, parts),
        lambda _: _squared_error(graph.laplacian(width), residuals, mode, parts, clock),
    )


def _squared_error(graph: Graph, residuals: Observations, mode: int, parts: Sequence[Integers], clock: Clock) -> float:
    kept = np.concatenate(parts)
    total = 0.0
    for part in parts:
        clock.check()
        others = np.setdiff1d(kept, part)
        extension, _ = harmonic_extension(graph, others)
        row_of = np.full(graph.shape[0], -1)
        row_of[others] = np.arange(extension.shape[1])
        total += _squared_error_of_part(residuals, mode, np.isin(residuals.coords[:, mode], part), extension, row_of)
    return total


def _squared_error_of_part(
    residuals: Observations, mode: int, held_out: Booleans, extension: Floats, row_of: Integers
) -> float:
    """Return the sum of squared errors of the held-out entries, predicted by the extension of the other entries.

    Parameters
    ----------
    residuals
        The data minus its mean and effects.
    mode
        The mode of the graph.
    held_out
        The entries that are held out, as a mask.
    extension
        The harmonic extension from the slices that are not held out to all slices.
    row_of
        The column of `extension` for each slice that is not held out.
    """
    columns = residuals.group_numbers("fibre", mode)
    _, columns = np.unique(columns, return_inverse=True)
    known = scipy.sparse.csr_array(
        (residuals.values[~held_out], (row_of[residuals.coords[~held_out, mode]], columns[~held_out])),
        shape=(extension.shape[1], int(columns.max()) + 1),
    )
    slices = residuals.coords[held_out, mode]
    used = np.unique(slices)
    prediction = np.asarray(known.T @ extension[used].T)
    difference = residuals.values[held_out] - prediction[columns[held_out], np.searchsorted(used, slices)]
    return float(difference @ difference)
