"""The mean and the effect of each index: how they are fitted, and as a method that predicts nothing else."""

from .method import Effects

__all__ = ["Effects"]
