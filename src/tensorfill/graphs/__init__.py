"""Graph Laplacians, which encode that some slices of a tensor are similar.

`build` makes Laplacians from edges, `kernel` makes graphs from places or features, `checking` validates a Laplacian
that the user gives. If the width of a kernel is not given, `haversine` and `knn` return a `KernelGraph`, which makes
the Laplacian for any width.
"""

from .build import chain, from_adjacency, grid, ring
from .checking import check_laplacian, largest_eigenvalue
from .kernel import EARTH_RADIUS_KM, KernelGraph, great_circle, haversine, knn

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
