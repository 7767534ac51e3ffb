"""Graph Laplacians: what says that some rows of a tensor are alike."""

from .build import (
    EARTH_RADIUS_KM,
    KernelGraph,
    chain,
    check_laplacian,
    from_adjacency,
    great_circle,
    grid,
    haversine,
    knn,
    largest_eigenvalue,
    ring,
)

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
