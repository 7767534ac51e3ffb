"""Sums of low-rank unfoldings whose right factors are nonzero at observed columns: latent norms, and greedy terms."""

from .ffw import Ffw
from .greedy import Greedy
from .trmm import Trmm

__all__ = ["Ffw", "Greedy", "Trmm"]
