"""Validation of a Laplacian given by the user, and bounds of its eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, eigsh

from .kernel import KernelGraph
from .matrices import ROUNDING, as_sparse, require_finite, rounding_of, symmetrised

ALL_EIGENVALUES_UP_TO = 1000
"""Up to this size all eigenvalues are computed; above, only the required one."""

SEARCH_EFFORT = 2_000_000
"""The search for an eigenvalue stops after about this many restarts times nodes, a few seconds."""

SEARCH_RESIDUAL = 1e-5
"""The residual at which that search stops, relative to the eigenvalue: an upper bound of its relative error."""


def check_laplacian(graph: Any, size: int, mode: int) -> csr_array:
    """Validate the Laplacian given for a mode, and return it.

    It must be symmetric, up to rounding, and positive semidefinite: diagonally dominant, as Laplacians are, or without
    an eigenvalue below -1e-8 times the largest. Its rows need not sum to zero: the identity is allowed and
    penalises the squared Frobenius norm. For more than 1,000 nodes the search for the smallest eigenvalue is limited,
    and the matrix is accepted if the search finds none below zero.

    A matrix of edge weights or similarities, given by mistake for a Laplacian, is recognised by its constant diagonal
    and the absence of negative entries.

    Parameters
    ----------
    graph : array_like or sparse array, shape (size, size)
        The matrix that was given.
    size : int
        The size of the mode.
    mode : int
        The mode, for error messages.

    Returns
    -------
    csr_array, shape (size, size)
        A new float64 matrix, exactly symmetric.

    Examples
    --------
    >>> check_laplacian([[0, 1], [1, 0]], size=2, mode=0)
    Traceback (most recent call last):
        ...
    ValueError: laplacian[0] looks like an adjacency matrix, because it has no negative entry and a constant diagonal;
    use graphs.from_adjacency to make a Laplacian of it.
    """
    name = f"laplacian[{mode}]"
    if isinstance(graph, KernelGraph):
        raise TypeError(
            f"{name} must be a matrix, but a KernelGraph was given, which has no width yet; "
            "use its method laplacian(width) with one of its widths."
        )
    matrix = as_sparse(graph, name)
    if matrix.shape != (size, size):
        raise ValueError(
            f"{name} must have shape {(size, size)}, because mode {mode} has size {size}, but {matrix.shape} was given."
        )
    require_finite(matrix, name)
    diagonal = matrix.diagonal()
    if size > 1 and (matrix.data >= 0).all() and np.ptp(diagonal) == 0 and matrix.sum() > diagonal.sum():
        raise ValueError(
            f"{name} looks like an adjacency matrix, because it has no negative entry and a constant diagonal; "
            "use graphs.from_adjacency to make a Laplacian of it."
        )
    matrix = symmetrised(matrix, name, rounding_of(graph))
    _check_semidefinite(matrix, name)
    return matrix


def largest_eigenvalue(graph: csr_array) -> float:
    """Return a close upper bound of the largest eigenvalue |G|_2 of a positive semidefinite matrix.

    A step size needs an upper bound. The relative error is at most 1e-9 for up to 1,000 nodes, and 1e-5 for more. If
    the search for the eigenvalue does not converge, as for long chains, the result is Gershgorin's bound
    max_i sum_j |g_ij|, which for a Laplacian is at most twice the eigenvalue.

    Examples
    --------
    >>> from tensorfill.graphs import chain
    >>> round(largest_eigenvalue(chain(2)), 5)
    2.0
    >>> largest_eigenvalue(chain(1))
    0.0
    """
    bound = _gershgorin(graph)
    if bound == 0:
        return 0.0
    if graph.shape[0] <= ALL_EIGENVALUES_UP_TO:
        share = float(np.linalg.eigvalsh(graph.toarray() / bound)[-1]) * (1 + 1e-9)
    else:
        found = _extreme_eigenvalue(graph / bound)
        share = 1.0 if found is None else found * (1 + SEARCH_RESIDUAL)
    return min(1.0, share) * bound


def _check_semidefinite(matrix: csr_array, name: str) -> None:
    """Raise an error unless a symmetric matrix is positive semidefinite, by diagonal dominance or by eigenvalues."""
    diagonal = matrix.diagonal()
    sums = np.asarray(abs(matrix).sum(axis=1)).ravel()
    slack = ROUNDING * max(float(diagonal.max()), 0.0)
    if (sums - np.abs(diagonal) <= diagonal + slack).all():
        return
    lowest = int(diagonal.argmin())
    if diagonal[lowest] < -slack:
        raise ValueError(
            f"{name} must be positive semidefinite, but {name}[{lowest}, {lowest}] is {diagonal[lowest]:g}; "
            "if it is W - D, use D - W."
        )
    bound = _gershgorin(matrix)
    if matrix.shape[0] <= ALL_EIGENVALUES_UP_TO:
        share: float | None = float(np.linalg.eigvalsh(matrix.toarray() / bound)[0])
    else:
        identity = sparse.diags_array(np.ones(matrix.shape[0]), format="csr")
        found = _extreme_eigenvalue(identity - matrix / bound)
        share = None if found is None else 1.0 - found
    if share is not None and share * bound < -slack:
        raise ValueError(
            f"{name} must be positive semidefinite, but it has an eigenvalue near {share * bound:.3g}; "
            "if it holds the weights of edges, use graphs.from_adjacency to make a Laplacian of it."
        )


def _gershgorin(matrix: csr_array) -> float:
    """Return the largest row sum of absolute values, an upper bound of all eigenvalues."""
    return float(abs(matrix).sum(axis=1).max())


def _extreme_eigenvalue(matrix: csr_array) -> float | None:
    """Return a lower bound of a large symmetric matrix's largest eigenvalue, or None if the search does not converge.

    The bound is close: see `SEARCH_RESIDUAL`.
    """
    size = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(size)
    restarts = min(150, 10 + SEARCH_EFFORT // size)
    try:
        values = eigsh(
            matrix, 1, which="LA", v0=start, ncv=40, maxiter=restarts, tol=SEARCH_RESIDUAL, return_eigenvectors=False
        )
    except ArpackError:
        return None
    return float(values[0])
