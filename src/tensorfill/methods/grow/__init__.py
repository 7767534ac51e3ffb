"""Growing a model by least squares."""

from .method import Grow

__all__ = ["Grow"]
