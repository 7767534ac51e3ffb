"""Tensors to try things on."""

from .synthetic import SyntheticTensor, synthetic

__all__ = ["SyntheticTensor", "synthetic"]
