"""Tensors to try things on."""

from .pictures import PICTURES, picture
from .synthetic import SyntheticTensor, synthetic

__all__ = ["PICTURES", "SyntheticTensor", "picture", "synthetic"]
