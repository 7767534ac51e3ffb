"""Graphs on the modes of a tensor at work: slices that nobody observed, and how alike neighbours are to be.

Low rank says nothing of a slice without any observed entry; the graph alone decides it. For given values X_o of the
observed slices, the values X_u of the others that make Tr(Y^T G Y) least are their harmonic extension,

    X_u = -G_uu^-1 G_uo X_o,

whatever mu is. What is left of the Laplacian on the observed slices is its Schur complement G_oo - G_ou G_uu^-1 G_uo.
So the problem is solved on the observed slices, and the answer extended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from .._support.checks import mode_number
from .._support.types import Booleans, Floats, Integers
from ..algebra.roughness import Roughness, explicit, resolvent
from ..models import Model
from ..models.additive import Additive, fit_additive
from ..observations import Observations
from .build import KernelGraph, check_laplacian, largest_eigenvalue

Graph: TypeAlias = Any
"""A Laplacian, as a `scipy.sparse.csr_array`."""

FOLDS = 5
"""The observed slices are held out in so many parts to choose the width of a kernel."""

NUGGET = 1e-9
"""Added to G_uu as a share of its mean diagonal: parts of a graph without any observed slice get 0."""

EXPLICIT_UP_TO = 1.0
"""Up to this curvature, relative to that of the loss, a Laplacian is taken as it stands, and else by its resolvent."""


@dataclass(frozen=True, eq=False)
class Extension:
    """From the observed slices of a mode to all of them.

    Parameters
    ----------
    mode
        The mode.
    kept
        The slices with observed entries.
    matrix
        All slices from the kept ones.
    """

    mode: int
    kept: Integers
    matrix: Floats


@dataclass(frozen=True, eq=False)
class Reduced:
    """Observations without the slices that have none, and what is left of the graphs.

    Parameters
    ----------
    observations
        What was seen, renumbered.
    graphs
        The Laplacians on the slices that are left, by mode.
    extensions
        How to get back to all slices.
    """

    observations: Observations
    graphs: Mapping[int, Graph]
    extensions: Sequence[Extension]

    def extend(self, model: Model) -> Model:
        """Return the model of the whole tensor."""
        for extension in self.extensions:
            model = model.multiplied(extension.mode, extension.matrix)
        return model


def reduce(observations: Observations, graphs: Mapping[int, Graph]) -> Reduced:
    """Leave out the slices without any observed entry along the modes that have a graph."""
    coords, shape = observations.coords.copy(), list(observations.shape)
    left: dict[int, Graph] = {}
    extensions = []
    for mode, graph in graphs.items():
        kept, numbers = np.unique(coords[:, mode], return_inverse=True)
        if len(kept) == shape[mode]:
            left[mode] = graph
            continue
        extension, complement = _harmonic(graph, kept)
        extensions.append(Extension(mode, kept, extension))
        left[mode] = complement
        coords[:, mode] = numbers
        shape[mode] = len(kept)
    if not extensions:
        return Reduced(observations, left, [])
    return Reduced(Observations(coords, observations.values, shape), left, extensions)


def _harmonic(graph: Graph, kept: Integers) -> tuple[Floats, Graph]:
    """Return the extension from the kept nodes to all, and the Schur complement on the kept ones."""
    size = graph.shape[0]
    others = np.setdiff1d(np.arange(size), kept)
    inner = graph[others][:, others]
    nugget = NUGGET * max(float(inner.diagonal().mean()), np.finfo(float).tiny)
    across = graph[others][:, kept].toarray()
    system = scipy.sparse.csc_matrix(inner + nugget * scipy.sparse.eye_array(len(others)))
    values = -scipy.sparse.linalg.splu(system).solve(across)
    extension = np.zeros((size, len(kept)))
    extension[kept, np.arange(len(kept))] = 1.0
    extension[others] = values
    complement = graph[kept][:, kept].toarray() + across.T @ values
    return extension, scipy.sparse.csr_array((complement + complement.T) / 2)


def checked_graphs(
    given: Mapping[int, object] | None, observations: Observations, rng: np.random.Generator
) -> dict[int, Graph]:
    """Return the Laplacian of each mode that has one; the width of a kernel is chosen on held-out slices."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(
            f"laplacian must map modes to graphs, as in {{0: graph}}, but {type(given).__name__} was given."
        )
    found: dict[int, Graph] = {}
    for key, graph in given.items():
        mode = mode_number(key, "laplacian", observations.ndim)
        size = observations.shape[mode]
        if isinstance(graph, KernelGraph):
            if graph.size != size:
                raise ValueError(f"the graph of mode {mode} must have its {size:,} nodes, but it has {graph.size:,}.")
            graph = graph.laplacian(best_width(graph, observations, mode, rng))
        found[mode] = check_laplacian(graph, size, mode)
    return found


def best_width(graph: KernelGraph, observations: Observations, mode: int, rng: np.random.Generator) -> float:
    """Return the width of the kernel that tells observed slices best from the other observed ones.

    What is missing in the slices that tell is filled by the mean and the effects of the data.
    """
    kept = np.unique(observations.coords[:, mode])
    if len(kept) < 2:
        return graph.widths[len(graph.widths) // 2]
    fitted = fit_additive(observations)
    # The effect of a slice must not help to tell it.
    effects = [np.zeros_like(part) if at == mode else part for at, part in enumerate(fitted.effects)]
    offset = Additive(fitted.mean, tuple(effects))
    parts = np.array_split(rng.permutation(kept), min(FOLDS, len(kept)))
    left = observations.with_values(observations.values - offset.predict(observations.coords))
    errors = [_error_at(graph.laplacian(width), left, mode, kept, parts) for width in graph.widths]
    return graph.widths[int(np.argmin(errors))]


def _error_at(graph: Graph, left: Observations, mode: int, kept: Integers, parts: Sequence[Integers]) -> float:
    """Return the sum of squares over the entries of each part, told from the slices of the others."""
    total = 0.0
    for part in parts:
        extension, _ = _harmonic(graph, np.setdiff1d(kept, part))
        row_of = np.full(graph.shape[0], -1)
        row_of[np.setdiff1d(kept, part)] = np.arange(extension.shape[1])
        total += _squares(left, mode, np.isin(left.coords[:, mode], part), extension, row_of)
    return total


def _squares(left: Observations, mode: int, told: Booleans, extension: Floats, row_of: Integers) -> float:
    """Return the sum of squares of the entries that are told, minus what the extension of the others makes of them."""
    columns = left.group_numbers("fibre", mode)
    _, columns = np.unique(columns, return_inverse=True)
    known = scipy.sparse.csr_array(
        (left.values[~told], (row_of[left.coords[~told, mode]], columns[~told])),
        shape=(extension.shape[1], int(columns.max()) + 1),
    )
    slices = left.coords[told, mode]
    used = np.unique(slices)
    prediction = np.asarray(known.T @ extension[used].T)
    difference = left.values[told] - prediction[columns[told], np.searchsorted(used, slices)]
    return float(difference @ difference)


def make_roughness(graphs: Mapping[int, Graph], mu: float, steepest: float) -> Roughness | None:
    """Return the roughness of graphs, mu in terms of their mean degree; `steepest` is the curvature of the loss."""
    parts, curvature = {}, 0.0
    for mode, graph in graphs.items():
        degree = float(graph.diagonal().mean())
        if mu == 0 or degree == 0:
            continue
        largest = largest_eigenvalue(graph)
        steep = 2 * mu / degree * largest > EXPLICIT_UP_TO * steepest
        part, bound = (
            resolvent(graph, mu / degree, largest, steepest) if steep else explicit(graph, mu / degree, largest)
        )
        parts[mode] = part
        curvature += bound
    return Roughness(parts, curvature) if parts else None
