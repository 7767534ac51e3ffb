"""Graph Laplacians: what says that some rows of a tensor are alike.

A graph over the indices of a mode has a weight w_ij of at least 0 for each pair of them. Its Laplacian is
G = D - W, with D the diagonal of the degrees sum_j w_ij, so that (Section 4.2 of the paper)

    Tr(Y^T G Y) = sum over edges {i, j} of w_ij |Y_i - Y_j|^2

is small where rows with a heavy edge between them are near each other. With such a term even a row without any
entry can be filled, from its neighbours.

Every function that makes a Laplacian returns it as a `scipy.sparse.csr_array` of float64, symmetric, positive
semidefinite, with rows that sum to zero. Where the graph is known and only the width of its kernel is not,
`haversine` and `knn` return a `KernelGraph`, which makes the Laplacian of any width.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, eigsh

from .._support.checks import real_array, real_number, sizes, whole_number
from .._support.types import Booleans, Floats, Integers

__all__ = [
    "EARTH_RADIUS_KM",
    "KernelGraph",
    "chain",
    "check_laplacian",
    "from_adjacency",
    "great_circle",
    "grid",
    "haversine",
    "knn",
    "largest_eigenvalue",
    "ring",
]

EARTH_RADIUS_KM = 6371.0
"""The mean radius of the Earth: radians of arc times this are kilometres."""

_CANDIDATES = 8
"""How many widths a kernel graph proposes."""

_MOST_COMPLETE = 10_000
"""The most nodes of a graph with an edge for every pair: 50 million edges, about 2 GB while they are built."""

_SMALL = 1000
"""Up to this size all eigenvalues are computed, above it only the one that is asked for."""

_MARGIN = 1e-8
"""How far below zero, relative to the largest, an eigenvalue of a positive semidefinite matrix may come out."""

_EFFORT = 2_000_000
"""The search for an eigenvalue is given up after about this many restarts times nodes, a few seconds."""

_RESIDUAL = 1e-5
"""The residual at which that search stops, relative to the eigenvalue, which is then at most this far off."""


def from_adjacency(weights: Any) -> csr_array:
    """Return the Laplacian G = D - W of the graph with these weights of its edges.

    Parameters
    ----------
    weights : array_like or sparse array, shape (n, n)
        The weight w_ij of the edge between i and j, at least 0 and the same in both directions. The diagonal is
        ignored: an edge from a node to itself does not change the Laplacian.

    Returns
    -------
    csr_array, shape (n, n)

    Examples
    --------
    >>> from_adjacency([[0, 2, 0], [2, 0, 1], [0, 1, 0]]).toarray()
    array([[ 2., -2.,  0.],
           [-2.,  3., -1.],
           [ 0., -1.,  1.]])
    """
    matrix = _matrix(weights, "weights")
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"weights must be a square matrix of at least one node, but shape {matrix.shape} was given.")
    entries = matrix.tocoo()
    off = entries.row != entries.col
    matrix = csr_array((entries.data[off], (entries.row[off], entries.col[off])), shape=matrix.shape)
    _check_finite(matrix, "weights")
    negative = _first(matrix, matrix.data < 0)
    if negative is not None:
        raise ValueError(
            f"weights must be at least 0, but weights[{negative[0]}, {negative[1]}] is {negative[2]:g}; "
            "if this is a Laplacian already, use it as it is."
        )
    matrix = _symmetric(matrix, "weights", _rounding(weights))
    upper = sparse.triu(matrix, k=1).tocoo()
    return _laplacian(matrix.shape[0], np.stack([upper.row, upper.col], axis=1), upper.data)


def chain(size: int) -> csr_array:
    """Return the Laplacian of `size` nodes in a row, each tied to the next with weight 1, as for time steps.

    x^T G x = sum_i (x_i+1 - x_i)^2, and the eigenvalues are 2 - 2 cos(pi k / size) for k = 0, ..., size - 1.

    Examples
    --------
    >>> chain(3).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """
    return grid(whole_number(size, "size", at_least=1))


def ring(size: int) -> csr_array:
    """Return the Laplacian of `size` nodes in a circle, as for hours of a day or months of a year.

    It is a chain whose last node is tied to the first one, with the eigenvalues 2 - 2 cos(2 pi k / size) for
    k = 0, ..., size - 1. One or two nodes have no edge left to close the circle with and stay a chain.

    Examples
    --------
    >>> ring(4).toarray()
    array([[ 2., -1.,  0., -1.],
           [-1.,  2., -1.,  0.],
           [ 0., -1.,  2., -1.],
           [-1.,  0., -1.,  2.]])
    """
    size = whole_number(size, "size", at_least=1)
    if size < 3:
        return chain(size)
    nodes = np.arange(size)
    return _laplacian(size, np.stack([nodes, np.roll(nodes, -1)], axis=1), np.ones(size))


def grid(*lengths: int) -> csr_array:
    """Return the Laplacian of a grid of any number of axes, each node tied to the next one along each axis.

    The nodes are numbered in C order, the last axis fastest, as `numpy.ravel` does. The Laplacian is the Kronecker
    sum of the chains: chain(rows) x I + I x chain(columns) for two axes.

    Parameters
    ----------
    *lengths : int
        The number of nodes along each axis, such as the rows and columns of an image.

    Examples
    --------
    >>> grid(2, 2).toarray()
    array([[ 2., -1., -1.,  0.],
           [-1.,  2.,  0., -1.],
           [-1.,  0.,  2., -1.],
           [ 0., -1., -1.,  2.]])
    """
    shape = sizes(lengths, "lengths")
    if not shape:
        raise ValueError("a grid must have at least one axis, but no length was given; use grid(rows, columns).")
    nodes = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    pairs = []
    for axis in range(len(shape)):
        along = np.moveaxis(nodes, axis, 0)
        pairs.append(np.stack([along[:-1].ravel(), along[1:].ravel()], axis=1))
    edges = np.concatenate(pairs)
    return _laplacian(nodes.size, edges, np.ones(len(edges)))


def great_circle(latlon: ArrayLike) -> Floats:
    """Return the distance along the surface of a sphere between all pairs of places, in radians of arc.

    This is the haversine distance on the sphere of radius 1. With latitudes p and longitudes q,

        d_ij = 2 arcsin sqrt( sin^2((p_i - p_j) / 2) + cos p_i cos p_j sin^2((q_i - q_j) / 2) )

    Multiply by `EARTH_RADIUS_KM` for kilometres on the Earth.

    Parameters
    ----------
    latlon : array_like, shape (n, 2)
        Latitude and longitude of each place, in degrees.

    Returns
    -------
    array, shape (n, n)

    Examples
    --------
    >>> berlin, paris = (52.520, 13.405), (48.857, 2.352)
    >>> round(float(great_circle([berlin, paris])[0, 1] * EARTH_RADIUS_KM))
    877
    """
    places = _places(latlon)
    return _arcs(places[:, None], places[None, :])


@dataclass(frozen=True, eq=False)
class KernelGraph:
    """A graph whose edges are known by their length, and get their weight from the width of a kernel.

    The weight of an edge of length d is w = exp(-2 d / width). Made by `haversine` and `knn` when they are not
    given the width, which then can be chosen by what it does for entries that were held out.

    Attributes
    ----------
    size : int
        How many nodes there are.
    edges : array of integers, shape (m, 2)
        The two ends of each edge, the smaller one first; each edge is there once. Read-only.
    distances : array, shape (m,)
        The length of each edge. Read-only.
    neighbours : int or None
        How many nearest neighbours of each node its edges were kept for; None if every pair has an edge.

    Examples
    --------
    >>> graph = haversine([(0, 0), (0, 1), (0, 3)])
    >>> graph
    KernelGraph(size=3, neighbours=None)
    >>> graph.laplacian(graph.widths[0]).shape
    (3, 3)
    """

    size: int
    edges: Integers = field(repr=False)
    distances: Floats = field(repr=False)
    neighbours: int | None = None

    def __post_init__(self) -> None:
        for name in ("edges", "distances"):
            array = getattr(self, name).view()
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def widths(self) -> tuple[float, ...]:
        """Widths to choose from, rising in geometric progression.

        They go from half of the median distance to the nearest neighbour, where the nearest neighbours weigh about
        exp(-4) and all others next to nothing, to the length of the longest edge, where all edges weigh between
        exp(-2) and 1. Distances of zero are left out. A graph without any longer edge is the same for every
        width and has the one candidate 1.0.
        """
        longer = self.distances > 0
        if not longer.any():
            return (1.0,)
        distances = self.distances[longer]
        nearest = np.full(self.size, np.inf)
        for ends in self.edges[longer].T:
            np.minimum.at(nearest, ends, distances)
        narrowest = float(np.median(nearest[np.isfinite(nearest)])) / 2
        return tuple(float(width) for width in np.geomspace(narrowest, float(distances.max()), _CANDIDATES))

    def laplacian(self, width: float) -> csr_array:
        """Return the Laplacian for the weights w = exp(-2 d / width); edges that weigh nothing are not stored."""
        width = real_number(width, "width", above=0)
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp(-2.0 * (self.distances / width))
        return _laplacian(self.size, self.edges, weights)


@overload
def haversine(latlon: ArrayLike, width: None = None, neighbours: int | None = None) -> KernelGraph: ...
@overload
def haversine(latlon: ArrayLike, width: float, neighbours: int | None = None) -> csr_array: ...
def haversine(latlon: ArrayLike, width: float | None = None, neighbours: int | None = None) -> Any:
    """Return the graph of places on the Earth, whose edges weigh less the farther apart its ends are.

    The weight of the edge between i and j is

        w_ij = exp(-2 d_ij / width)

    with d_ij the distance of `great_circle`, in radians. The paper prints exp(-2 b_ij) with b_ij the haversine
    distance and names no radius (Section 5.5): `width=1` is that formula on the sphere of radius 1. This is a wide
    kernel, in which places 3,000 km apart still weigh exp(-1) = 0.37 as much as those next to each other. For a
    width in kilometres give `width=kilometres / EARTH_RADIUS_KM`.

    Parameters
    ----------
    latlon : array_like, shape (n, 2)
        Latitude and longitude of each place, in degrees.
    width : float, optional
        The width of the kernel, in radians of arc. The width decides the result and is best chosen on places that
        were held out: leave it out for that.
    neighbours : int, optional
        Keep an edge only if one of its ends is among this many nearest neighbours of the other. The default keeps
        every pair, which takes memory in proportion to n^2.

    Returns
    -------
    csr_array, shape (n, n)
        The Laplacian, if `width` was given.
    KernelGraph
        The graph, which makes a Laplacian of any width, otherwise.

    Examples
    --------
    >>> places = [(52.520, 13.405), (48.857, 2.352), (41.893, 12.483)]
    >>> haversine(places, width=1).toarray().round(2)
    array([[ 1.45, -0.76, -0.69],
           [-0.76,  1.47, -0.71],
           [-0.69, -0.71,  1.4 ]])
    >>> [round(width * EARTH_RADIUS_KM) for width in haversine(places).widths]
    [439, 506, 583, 671, 774, 891, 1027, 1184]
    """
    places = _places(latlon)
    if neighbours is None:
        if len(places) > _MOST_COMPLETE:
            raise ValueError(
                f"a graph with an edge for every pair must have at most {_MOST_COMPLETE:,} places, but "
                f"{len(places):,} were given; give neighbours=10, say, to keep only edges to the nearest."
            )
        edges: Integers = np.stack(np.triu_indices(len(places), k=1), axis=1)
    else:
        # The straight line through the sphere has the same order as the arc along it.
        latitude, longitude = np.radians(places).T
        across = np.cos(latitude)
        points = np.stack([across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)], axis=1)
        neighbours, edges = _nearest(points, neighbours)
    graph = KernelGraph(len(places), edges, _arcs(places[edges[:, 0]], places[edges[:, 1]]), neighbours)
    return graph if width is None else graph.laplacian(width)


@overload
def knn(features: ArrayLike, neighbours: int, width: None = None) -> KernelGraph: ...
@overload
def knn(features: ArrayLike, neighbours: int, width: float) -> csr_array: ...
def knn(features: ArrayLike, neighbours: int, width: float | None = None) -> Any:
    """Return the graph that ties each row of a table of features to its nearest neighbours.

    An edge of Euclidean length d_ij = |features_i - features_j| weighs w_ij = exp(-2 d_ij / width). There is an
    edge if one of its ends is among the nearest neighbours of the other.

    Parameters
    ----------
    features : array_like, shape (n, p)
        One row for each node. Features in different units should be scaled first, to unit variance, say.
    neighbours : int
        How many nearest neighbours each node has, below n. Each node has at least as many edges.
    width : float, optional
        The width of the kernel, in the units of the features. Leave it out to choose it on held-out entries.

    Returns
    -------
    csr_array, shape (n, n)
        The Laplacian, if `width` was given.
    KernelGraph
        The graph, which makes a Laplacian of any width, otherwise.

    Examples
    --------
    >>> knn([[0.0], [1.0], [5.0]], neighbours=1, width=2.0).toarray().round(3)
    array([[ 0.368, -0.368,  0.   ],
           [-0.368,  0.386, -0.018],
           [ 0.   , -0.018,  0.018]])
    >>> knn([[0.0], [1.0], [5.0]], neighbours=1).distances
    array([1., 4.])
    """
    table = real_array(features, "features")
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            "features must have one row for each node and one column for each feature, "
            f"but an array of shape {table.shape} was given; for one feature use features[:, None]."
        )
    _check_rows(table, "features")
    neighbours, edges = _nearest(table, neighbours)
    distances = np.linalg.norm(table[edges[:, 0]] - table[edges[:, 1]], axis=1)
    graph = KernelGraph(len(table), edges, distances, neighbours)
    return graph if width is None else graph.laplacian(width)


def check_laplacian(graph: Any, size: int, mode: int) -> csr_array:
    """Return what a caller gave as the Laplacian of a mode, once it is known to be one that can be used.

    It must be symmetric, to rounding, and positive semidefinite: diagonally dominant, as Laplacians are, or without
    an eigenvalue below -1e-8 times the largest. Its rows need not sum to zero: the identity is allowed and
    penalises the squared Frobenius norm. For more than 1,000 nodes the smallest eigenvalue is looked for with a limited
    effort, and the matrix is taken if none below zero turns up.

    Weights of edges, or similarities, given in place of a Laplacian are told by their diagonal, which is the same
    all along, and by entries that are never negative.

    Parameters
    ----------
    graph : array_like or sparse array, shape (size, size)
        The matrix that was given.
    size : int
        The size of the mode.
    mode : int
        The mode, as it stands in a sentence.

    Returns
    -------
    csr_array, shape (size, size)
        A new float64 matrix, exactly symmetric.

    Examples
    --------
    >>> check_laplacian([[0, 1], [1, 0]], size=2, mode=0)
    Traceback (most recent call last):
        ...
    ValueError: laplacian[0] looks like an adjacency matrix, as it has no negative entry and the same diagonal all
    along; graphs.from_adjacency makes a Laplacian of it.
    """
    name = f"laplacian[{mode}]"
    if isinstance(graph, KernelGraph):
        raise TypeError(
            f"{name} must be a matrix, but a KernelGraph was given, which has no width yet; "
            "use its laplacian(width), with one of its widths."
        )
    matrix = _matrix(graph, name)
    if matrix.shape != (size, size):
        raise ValueError(
            f"{name} must have shape {(size, size)}, as mode {mode} has size {size}, but {matrix.shape} was given."
        )
    _check_finite(matrix, name)
    diagonal = matrix.diagonal()
    if size > 1 and (matrix.data >= 0).all() and np.ptp(diagonal) == 0 and matrix.sum() > diagonal.sum():
        raise ValueError(
            f"{name} looks like an adjacency matrix, as it has no negative entry and the same diagonal all along; "
            "graphs.from_adjacency makes a Laplacian of it."
        )
    matrix = _symmetric(matrix, name, _rounding(graph))
    _check_semidefinite(matrix, name)
    return matrix


def largest_eigenvalue(graph: csr_array) -> float:
    """Return the largest eigenvalue |G|_2 of a positive semidefinite matrix, or a little more.

    The result is a bound from above, as a step size needs it. Relative to the eigenvalue it is at most 1e-9 too
    large for up to 1,000 nodes, and 1e-5 for more. Where the search for the eigenvalue does not settle, as for
    long chains, it is the bound of Gershgorin, max_i sum_j |g_ij|, which is at most twice too large for a Laplacian.

    Examples
    --------
    >>> round(largest_eigenvalue(chain(2)), 5)
    2.0
    >>> largest_eigenvalue(chain(1))
    0.0
    """
    bound = _gershgorin(graph)
    if bound == 0:
        return 0.0
    if graph.shape[0] <= _SMALL:
        share = float(np.linalg.eigvalsh(graph.toarray() / bound)[-1]) * (1 + 1e-9)
    else:
        found = _extreme_eigenvalue(graph / bound)
        share = 1.0 if found is None else found * (1 + _RESIDUAL)
    return min(1.0, share) * bound


def _laplacian(size: int, edges: Integers, weights: Floats) -> csr_array:
    """Return D - W for weights of edges that are each given once; weights of zero are not stored."""
    some = weights > 0
    (first, second), weights = edges[some].T, weights[some]
    degrees = np.bincount(first, weights, size) + np.bincount(second, weights, size)
    tied = np.flatnonzero(degrees)
    rows, columns = np.concatenate([first, second, tied]), np.concatenate([second, first, tied])
    result = csr_array((np.concatenate([-weights, -weights, degrees[tied]]), (rows, columns)), shape=(size, size))
    result.sort_indices()
    return result


def _nearest(points: Floats, neighbours: int) -> tuple[int, Integers]:
    """Return the checked number of neighbours and the edges from points to them, each once, smaller end first."""
    from scipy.spatial import cKDTree  # every call of complete() would wait for it

    neighbours = whole_number(neighbours, "neighbours", at_least=1)
    size = len(points)
    if neighbours >= size:
        raise ValueError(f"neighbours must be below the number of nodes, {size}, but {neighbours} was given.")
    nodes = np.arange(size)
    _, near = cKDTree(points).query(points, k=neighbours + 1)
    # Among many equal points a point need not find itself; then its last neighbour is the one too many.
    extra = near == nodes[:, None]
    extra[~extra.any(axis=1), -1] = True
    pairs = np.stack([np.repeat(nodes, neighbours), near[~extra]], axis=1)
    return neighbours, np.unique(np.sort(pairs, axis=1), axis=0)


def _places(latlon: ArrayLike) -> Floats:
    """Return latitudes and longitudes in degrees as an array of shape (n, 2)."""
    places = real_array(latlon, "latlon")
    if places.ndim != 2 or places.shape[1] != 2 or len(places) == 0:
        raise ValueError(
            "latlon must have one row for each place and two columns, latitude and longitude, "
            f"but an array of shape {places.shape} was given."
        )
    _check_rows(places, "latlon")
    outside = np.abs(places[:, 0]) > 90
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(
            f"latitudes must be from -90 to 90 degrees, but row {row} of latlon has {places[row, 0]:g}; "
            "perhaps longitude and latitude are swapped, as latitude comes first."
        )
    return places


def _arcs(first: Floats, second: Floats) -> Floats:
    """Return the great-circle distances in radians between places that broadcast against each other."""
    first, second = np.radians(first), np.radians(second)
    half = np.sin((first - second) / 2) ** 2
    squared = half[..., 0] + np.cos(first[..., 0]) * np.cos(second[..., 0]) * half[..., 1]
    arcs: Floats = 2 * np.arcsin(np.sqrt(np.minimum(squared, 1.0)))
    return arcs


def _check_rows(table: Floats, name: str) -> None:
    """Check that a table has no NaN and nothing infinite."""
    wrong = ~np.isfinite(table).all(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"{name} must be finite, but row {row} is {table[row].tolist()}.")


def _matrix(given: Any, name: str) -> csr_array:
    """Return a new float64 matrix in canonical form, without stored zeros."""
    if sparse.issparse(given):
        if given.dtype.kind not in "biuf":
            raise TypeError(f"{name} must hold real numbers, but {given.dtype} was given; convert to float first.")
        entries = given
    else:
        entries = real_array(given, name)
    if entries.ndim != 2:
        raise ValueError(f"{name} must be a matrix, but an array of shape {entries.shape} was given.")
    matrix = csr_array(entries, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _rounding(given: Any) -> float:
    """Return by how much, relative to the largest, entries may differ that should be the same."""
    dtype = np.dtype(getattr(given, "dtype", np.float64))
    return max(_MARGIN, 8 * float(np.finfo(dtype).eps)) if dtype.kind == "f" else _MARGIN


def _first(matrix: csr_array, wrong: Booleans) -> tuple[int, int, float] | None:
    """Return the place and the value of the first stored entry that is marked, if there is any."""
    if not wrong.any():
        return None
    place = int(wrong.argmax())
    row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
    return row, int(matrix.indices[place]), float(matrix.data[place])


def _check_finite(matrix: csr_array, name: str) -> None:
    wrong = _first(matrix, ~np.isfinite(matrix.data))
    if wrong is not None:
        raise ValueError(
            f"{name} must be finite, but {name}[{wrong[0]}, {wrong[1]}] is {wrong[2]}; use 0 where there is no edge."
        )


def _symmetric(matrix: csr_array, name: str, rounding: float) -> csr_array:
    """Return the symmetric part of a matrix that is symmetric to rounding."""
    transposed = matrix.T.tocsr()
    difference = abs(matrix - transposed)
    largest = float(abs(matrix).max()) if matrix.nnz else 0.0
    wrong = _first(difference, difference.data > rounding * largest)
    if wrong is not None:
        row, column, _ = wrong
        raise ValueError(
            f"{name} must be symmetric, but {name}[{row}, {column}] is {matrix[row, column]:g} and "
            f"{name}[{column}, {row}] is {matrix[column, row]:g}; use the mean of it and its transpose."
        )
    result = csr_array((matrix + transposed) / 2)
    result.sort_indices()
    return result


def _check_semidefinite(matrix: csr_array, name: str) -> None:
    """Check that a symmetric matrix is positive semidefinite, by dominance of its diagonal or by its eigenvalues."""
    diagonal = matrix.diagonal()
    sums = np.asarray(abs(matrix).sum(axis=1)).ravel()
    slack = _MARGIN * max(float(diagonal.max()), 0.0)
    if (sums - np.abs(diagonal) <= diagonal + slack).all():
        return
    lowest = int(diagonal.argmin())
    if diagonal[lowest] < -slack:
        raise ValueError(
            f"{name} must be positive semidefinite, but {name}[{lowest}, {lowest}] is {diagonal[lowest]:g}; "
            "if it is W - D, give D - W."
        )
    bound = _gershgorin(matrix)
    if matrix.shape[0] <= _SMALL:
        share: float | None = float(np.linalg.eigvalsh(matrix.toarray() / bound)[0])
    else:
        identity = sparse.diags_array(np.ones(matrix.shape[0]), format="csr")
        found = _extreme_eigenvalue(identity - matrix / bound)
        share = None if found is None else 1.0 - found
    if share is not None and share * bound < -slack:
        raise ValueError(
            f"{name} must be positive semidefinite, but it has an eigenvalue near {share * bound:.3g}; "
            "if it holds the weights of edges, graphs.from_adjacency makes a Laplacian of it."
        )


def _gershgorin(matrix: csr_array) -> float:
    """Return the largest sum of absolute values in a row, which no eigenvalue exceeds."""
    return float(abs(matrix).sum(axis=1).max())


def _extreme_eigenvalue(matrix: csr_array) -> float | None:
    """Return the largest eigenvalue of a large symmetric matrix, from below, or None if the search does not settle."""
    size = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(size)
    restarts = min(150, 10 + _EFFORT // size)
    try:
        values = eigsh(
            matrix, 1, which="LA", v0=start, ncv=40, maxiter=restarts, tol=_RESIDUAL, return_eigenvectors=False
        )
    except ArpackError:
        return None
    return float(values[0])
