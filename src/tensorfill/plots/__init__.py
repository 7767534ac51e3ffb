"""Figures of tensors, fits, searches and comparisons; matplotlib is imported on demand."""

from .comparison import comparison
from .drawing import drawing_class as drawing_class
from .errors import held_out
from .gaps import missingness
from .iterations import convergence, ranks
from .lines import series
from .maps import stations
from .pictures import side_by_side
from .probabilities import reliability
from .search import path
from .sections import slices
from .spectrum import singular_values

__all__ = [
    "comparison",
    "convergence",
    "held_out",
    "missingness",
    "path",
    "ranks",
    "reliability",
    "series",
    "side_by_side",
    "singular_values",
    "slices",
    "stations",
]
