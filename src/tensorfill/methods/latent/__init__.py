"""Sums of low-rank unfoldings whose right factors live on observed columns: latent norms, and greedy terms."""

from .ffw import FFW
from .greedy import Greedy
from .trmm import TRMM

__all__ = ["FFW", "TRMM", "Greedy"]
