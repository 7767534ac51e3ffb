"""NORT: its steps, its momentum, its stages for robust losses, and its search."""

from .method import Nort
from .modes import default_modes
from .smoothing import SmoothedNort
from .solver import NortSolver

__all__ = ["Nort", "NortSolver", "SmoothedNort", "default_modes"]
