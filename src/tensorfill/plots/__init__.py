"""Pictures of tensors, of fits and of searches. matplotlib is imported only when something is drawn."""

from .drawing import COLOURS, DOTS_PER_INCH, MARKERS, MISSING_GREY, OUTSIDE, drawing_class
from .errors import held_out
from .gaps import missingness
from .iterations import convergence, ranks
from .maps import stations
from .pictures import side_by_side
from .search import path
from .sections import slices
from .spectrum import singular_values

__all__ = [
    "COLOURS",
    "DOTS_PER_INCH",
    "MARKERS",
    "MISSING_GREY",
    "OUTSIDE",
    "convergence",
    "drawing_class",
    "held_out",
    "missingness",
    "path",
    "ranks",
    "side_by_side",
    "singular_values",
    "slices",
    "stations",
]
