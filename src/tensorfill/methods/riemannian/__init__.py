"""Riemannian preconditioned descent on the Tucker manifold: its geometry, and the method."""

from .method import RP

__all__ = ["RP"]
