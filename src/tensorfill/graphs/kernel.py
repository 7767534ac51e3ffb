"""Graphs whose edge weights are a kernel of the edge length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from .._support.checks import real_array, real_number, whole_number
from .._support.types import Floats, Integers
from .build import laplacian_of_edges

EARTH_RADIUS_KM = 6371.0
"""The mean radius of the Earth, which converts radians of arc to kilometres."""

WIDTHS_PROPOSED = 8
"""How many widths a kernel graph proposes."""

MOST_PLACES_IN_PAIRS = 10_000
"""The largest number of nodes of a graph with an edge for every pair: 50 million edges, about 2 GB during
construction."""


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
    """A graph whose edge weights are a kernel of the edge length, for any width of the kernel.

    The weight of an edge of length d is w = exp(-2 d / width). `haversine` and `knn` return a kernel graph if no width
    is given. The width can then be chosen by the error on held-out entries.

    Attributes
    ----------
    size : int
        The number of nodes.
    edges : array of integers, shape (m, 2)
        The two ends of each edge, the smaller one first. Each edge appears once. Read-only.
    distances : array, shape (m,)
        The length of each edge. Read-only.
    neighbours : int or None
        The number of nearest neighbours for which each node keeps an edge; None if every pair has an edge.

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
        """Widths to choose from, in increasing geometric progression.

        The smallest is half of the median distance to the nearest neighbour: the edge to a nearest neighbour then
        weighs about exp(-4), and the others almost nothing. The largest is the length of the longest edge: all edges
        then weigh between exp(-2) and 1. Distances of zero are ignored. If all are zero, the graph is the same for
        every width, and 1.0 is the only candidate.
        """
        positive = self.distances > 0
        if not positive.any():
            return (1.0,)
        distances = self.distances[positive]
        nearest = np.full(self.size, np.inf)
        for ends in self.edges[positive].T:
            np.minimum.at(nearest, ends, distances)
        narrowest = float(np.median(nearest[np.isfinite(nearest)])) / 2
        return tuple(float(width) for width in np.geomspace(narrowest, float(distances.max()), WIDTHS_PROPOSED))

    def laplacian(self, width: float) -> csr_array:
        """Return the Laplacian for the weights w = exp(-2 d / width); edges of weight zero are not stored."""
        width = real_number(width, "width", above=0)
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp(-2.0 * (self.distances / width))
        return laplacian_of_edges(self.size, self.edges, weights)


@overload
def haversine(latlon: ArrayLike, width: None = None, neighbours: int | None = None) -> KernelGraph: ...
@overload
def haversine(latlon: ArrayLike, width: float, neighbours: int | None = None) -> csr_array: ...
def haversine(latlon: ArrayLike, width: float | None = None, neighbours: int | None = None) -> Any:
    """Return the graph of places on the Earth, with weights that decrease with distance.

    The weight of the edge between i and j is

        w_ij = exp(-2 d_ij / width)

    with d_ij the distance of `great_circle`, in radians. The paper prints exp(-2 b_ij) with b_ij the haversine
    distance and names no radius (Section 5.5): `width=1` is that formula on the sphere of radius 1. That kernel is
    wide: an edge of 3,000 km still weighs exp(-1) = 0.37 of what the shortest edges weigh. For a width in kilometres,
    give `width=kilometres / EARTH_RADIUS_KM`.

    Parameters
    ----------
    latlon : array_like, shape (n, 2)
        Latitude and longitude of each place, in degrees.
    width : float, optional
        The width of the kernel, in radians of arc. The result depends on it strongly. Leave it out to choose it on
        held-out places.
    neighbours : int, optional
        Keep an edge only if one of its ends is among this many nearest neighbours of the other. The default keeps
        every pair, which takes memory proportional to n^2.

    Returns
    -------
    csr_array, shape (n, n)
        The Laplacian, if `width` was given.
    KernelGraph
        Otherwise the graph, which makes the Laplacian for any width.

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
        if len(places) > MOST_PLACES_IN_PAIRS:
            raise ValueError(
                f"a graph with an edge for every pair must have at most {MOST_PLACES_IN_PAIRS:,} places, but "
                f"{len(places):,} were given; give neighbours=10, for example, to keep only edges to the nearest."
            )
        edges: Integers = np.stack(np.triu_indices(len(places), k=1), axis=1)
    else:
        # Straight lines through the sphere sort in the same order as arcs along it.
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
    """Return the graph that joins each row of a table of features to its nearest neighbours.

    An edge of Euclidean length d_ij = |features_i - features_j| weighs w_ij = exp(-2 d_ij / width). There is an
    edge if one of its ends is among the nearest neighbours of the other.

    Parameters
    ----------
    features : array_like, shape (n, p)
        One row for each node. Features in different units should be scaled first, for example to unit variance.
    neighbours : int
        The number of nearest neighbours of each node, less than n. A node has at least this number of edges.
    width : float, optional
        The width of the kernel, in the units of the features. Leave it out to choose it on held-out entries.

    Returns
    -------
    csr_array, shape (n, n)
        The Laplacian, if `width` was given.
    KernelGraph
        Otherwise the graph, which makes the Laplacian for any width.

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


def _nearest(points: Floats, neighbours: int) -> tuple[int, Integers]:
    """Return the checked number of neighbours, and the edges from points to them, each once, smaller end first."""
    from scipy.spatial import cKDTree  # slow to import, and most calls of complete() do not need it

    neighbours = whole_number(neighbours, "neighbours", at_least=1)
    size = len(points)
    if neighbours >= size:
        raise ValueError(f"neighbours must be below the number of nodes, {size}, but {neighbours} was given.")
    nodes = np.arange(size)
    _, near = cKDTree(points).query(points, k=neighbours + 1)
    # A point among many equal ones may not be among its neighbours. Then the last neighbour is dropped instead.
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
            "latitude comes first, so check that the two columns are not swapped."
        )
    return places


def _arcs(first: Floats, second: Floats) -> Floats:
    """Return the great-circle distances in radians between two arrays of places, with broadcasting."""
    first, second = np.radians(first), np.radians(second)
    half = np.sin((first - second) / 2) ** 2
    squared = half[..., 0] + np.cos(first[..., 0]) * np.cos(second[..., 0]) * half[..., 1]
    arcs: Floats = 2 * np.arcsin(np.sqrt(np.minimum(squared, 1.0)))
    return arcs


def _check_rows(table: Floats, name: str) -> None:
    """Raise an error if a row of a table has a NaN or an infinite value."""
    wrong = ~np.isfinite(table).all(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"{name} must be finite, but row {row} is {table[row].tolist()}.")
