"""Slices without any observed entry: leave them out of a problem, and fill them from the graph of their mode.

Low rank alone does not determine a slice without any observed entry, but a graph does. For given values X_o of the
observed slices, the values X_u of the other slices that minimise Tr(Y^T G Y) are their harmonic extension,

    X_u = -G_uu^-1 G_uo X_o,

for any mu. On the observed slices the Laplacian becomes its Schur complement G_oo - G_ou G_uu^-1 G_uo. So the problem
is solved on the observed slices, and its solution is extended to all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from .._support.memory import physical_bytes
from .._support.types import Floats, Integers
from ..algebra.roughness import Roughness, explicit, resolvent
from ..models import Model
from ..observations import Observations
from .checking import largest_eigenvalue

Graph: TypeAlias = Any
"""A Laplacian, as a `scipy.sparse.csr_array`."""

NUGGET = 1e-9
"""Added to the diagonal of G_uu, relative to its mean, so that graph components without any observed slice become 0."""

EXPLICIT_UP_TO = 1.0
"""Up to this curvature, relative to that of the loss, a Laplacian is used directly; above, its resolvent is used."""


@dataclass(frozen=True, eq=False)
class Extension:
    """The linear map from the observed slices of a mode to all of its slices.

    Parameters
    ----------
    mode
        The mode.
    kept
        The indices of the slices with observed entries.
    matrix
        The map, of shape (all slices, kept slices).
    """

    mode: int
    kept: Integers
    matrix: Floats


@dataclass(frozen=True, eq=False)
class ReducedTensor:
    """Observations without their empty slices, and the graphs on the slices that remain.

    Parameters
    ----------
    observations
        The observations, with the remaining slices renumbered.
    graphs
        The Laplacians on the remaining slices, by mode.
    extensions
        The maps back to all slices.
    """

    observations: Observations
    graphs: Mapping[int, Graph]
    extensions: Sequence[Extension]

    def extend(self, model: Model) -> Model:
        """Return the model of the whole tensor, given the model of the remaining slices."""
        for extension in self.extensions:
            model = model.multiplied(extension.mode, extension.matrix)
        return model

    def restrict(self, model: Model) -> Model:
        """Return the model of the remaining slices, given the model of the whole tensor."""
        kept = {extension.mode: extension.kept for extension in self.extensions}
        return model.restrict([kept.get(mode, np.arange(size)) for mode, size in enumerate(model.shape)])


def reduce(observations: Observations, graphs: Mapping[int, Graph]) -> ReducedTensor:
    """Leave out the slices without any observed entry, along the modes that have a graph."""
    coords, shape = observations.coords.copy(), list(observations.shape)
    remaining: dict[int, Graph] = {}
    extensions = []
    for mode, graph in graphs.items():
        kept, numbers = np.unique(coords[:, mode], return_inverse=True)
        if len(kept) == shape[mode]:
            remaining[mode] = graph
            continue
        matrix, complement = harmonic_extension(graph, kept)
        extensions.append(Extension(mode, kept, matrix))
        remaining[mode] = complement
        coords[:, mode] = numbers
        shape[mode] = len(kept)
    if not extensions:
        return ReducedTensor(observations, remaining, [])
    return ReducedTensor(Observations(coords, observations.values, shape), remaining, extensions)


def harmonic_extension(graph: Graph, kept: Integers) -> tuple[Floats, Graph]:
    """Return the matrix that extends values on the kept nodes to all nodes, and the Schur complement on the kept ones.

    Parameters
    ----------
    graph
        The Laplacian of all nodes.
    kept
        The numbers of the kept nodes, in increasing order.

    Examples
    --------
    >>> from tensorfill.graphs import chain
    >>> extension, complement = harmonic_extension(chain(3), np.array([0, 2]))
    >>> (extension @ [1.0, 2.0]).round(3).tolist()
    [1.0, 1.5, 2.0]
    """
    size = graph.shape[0]
    needed = 8 * size * len(kept)
    if needed > physical_bytes():
        raise MemoryError(
            f"A graph fills {size - len(kept):,} slices without any observed entry from {len(kept):,} others by a "
            f"matrix of {needed:,} bytes, more than the {physical_bytes():,.0f} of memory; leave such slices out of "
            "the data, or leave laplacian out."
        )
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


def make_roughness(graphs: Mapping[int, Graph], mu: float, steepest: float) -> Roughness | None:
    """Return the roughness of graphs, or None if it is zero.

    Parameters
    ----------
    graphs
        The Laplacians, by mode.
    mu
        The weight of the roughness, in units of one over the mean degree of each graph.
    steepest
        The curvature of the loss, which a resolvent does not exceed.
    """
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
