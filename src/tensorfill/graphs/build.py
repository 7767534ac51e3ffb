"""Laplacians from the edges of a graph.

A graph over the indices of a mode has a weight w_ij of at least 0 for each pair of them. Its Laplacian is
G = D - W, with D the diagonal matrix of the degrees sum_j w_ij, so that (Section 4.2 of the paper)

    Tr(Y^T G Y) = sum over edges {i, j} of w_ij |Y_i - Y_j|^2

is small if rows joined by a heavy edge are close to each other. With this term even a row without any observed entry
can be filled, from its neighbours.

Every function that builds a Laplacian returns it as a `scipy.sparse.csr_array` of float64 that is symmetric and
positive semidefinite, with rows that sum to zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from .._support.checks import sizes, whole_number
from .._support.types import Floats, Integers
from .matrices import as_sparse, first_marked, require_finite, rounding_of, symmetrised


def from_adjacency(weights: Any) -> csr_array:
    """Return the Laplacian G = D - W of the graph with these edge weights.

    Parameters
    ----------
    weights : array_like or sparse array, shape (n, n)
        The weight w_ij of the edge between i and j: at least 0 and the same in both directions. The diagonal is
        ignored, because an edge from a node to itself does not change the Laplacian.

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
    matrix = as_sparse(weights, "weights")
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"weights must be a square matrix of at least one node, but shape {matrix.shape} was given.")
    entries = matrix.tocoo()
    off = entries.row != entries.col
    matrix = csr_array((entries.data[off], (entries.row[off], entries.col[off])), shape=matrix.shape)
    require_finite(matrix, "weights")
    negative = first_marked(matrix, matrix.data < 0)
    if negative is not None:
        raise ValueError(
            f"weights must be at least 0, but weights[{negative[0]}, {negative[1]}] is {negative[2]:g}; "
            "if this is already a Laplacian, use it as it is."
        )
    matrix = symmetrised(matrix, "weights", rounding_of(weights))
    upper = sparse.triu(matrix, k=1).tocoo()
    return laplacian_of_edges(matrix.shape[0], np.stack([upper.row, upper.col], axis=1), upper.data)


def chain(size: int) -> csr_array:
    """Return the Laplacian of `size` nodes in a row, each joined to the next with weight 1, for example time steps.

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
    """Return the Laplacian of `size` nodes in a circle, for example hours of a day or months of a year.

    It is a chain whose last node is joined to the first one, with the eigenvalues 2 - 2 cos(2 pi k / size) for
    k = 0, ..., size - 1. With one or two nodes no edge is left to close the circle, so the result is a chain.

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
    return laplacian_of_edges(size, np.stack([nodes, np.roll(nodes, -1)], axis=1), np.ones(size))


def grid(*lengths: int) -> csr_array:
    """Return the Laplacian of a grid with any number of axes, each node joined to the next one along each axis.

    The nodes are numbered in C order, the last axis fastest, as `numpy.ravel` does. The Laplacian is the Kronecker
    sum of the chains: chain(rows) x I + I x chain(columns) for two axes.

    Parameters
    ----------
    *lengths : int
        The number of nodes along each axis, for example the rows and columns of an image.

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
    return laplacian_of_edges(nodes.size, edges, np.ones(len(edges)))


def laplacian_of_edges(size: int, edges: Integers, weights: Floats) -> csr_array:
    """Return D - W for edges that are each given once, with their weights; weights of zero are not stored."""
    positive = weights > 0
    (first, second), weights = edges[positive].T, weights[positive]
    degrees = np.bincount(first, weights, size) + np.bincount(second, weights, size)
    joined = np.flatnonzero(degrees)
    rows, columns = np.concatenate([first, second, joined]), np.concatenate([second, first, joined])
    result = csr_array((np.concatenate([-weights, -weights, degrees[joined]]), (rows, columns)), shape=(size, size))
    result.sort_indices()
    return result
