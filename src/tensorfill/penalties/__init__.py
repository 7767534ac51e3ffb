"""Penalties on singular values, which make a completed tensor low-rank.

A penalty is a sum over the singular values of an unfolding, phi(X) = sum_i kappa(s_i), where kappa is zero at zero and
nondecreasing. The nuclear norm has kappa(s) = s. The other penalties are concave: they shrink small singular values and
leave the large ones, which carry the data, almost unchanged.

A method takes any object with the methods of `Penalty`: the value and the proximal operator. To write a penalty from
the formula of kappa, derive from `Elementwise`.
"""

from .base import Elementwise, Penalty
from .elementwise import LSP, MCP, SCAD, CappedL1, Nuclear
from .family import PenaltyFamily, make_family
from .registry import PENALTIES, make_penalty
from .thresholds import cut, weight_for_cut
from .truncated import TNN

__all__ = [
    "LSP",
    "MCP",
    "PENALTIES",
    "SCAD",
    "TNN",
    "CappedL1",
    "Elementwise",
    "Nuclear",
    "Penalty",
    "PenaltyFamily",
    "cut",
    "make_family",
    "make_penalty",
    "weight_for_cut",
]
