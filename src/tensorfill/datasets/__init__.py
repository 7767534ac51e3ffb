"""Example data sets: synthetic tensors and pictures."""

from .pictures import PICTURES, picture
from .synthetic import SyntheticTensor, synthetic

__all__ = ["PICTURES", "SyntheticTensor", "picture", "synthetic"]
