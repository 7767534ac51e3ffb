"""Simple answers as methods: each is made in one step, and a fit should beat them."""

from .base import Simple
from .effects import Effects
from .interpolation import Interpolation
from .mean import Mean

__all__ = ["Effects", "Interpolation", "Mean", "Simple"]
