"""Penalty families: the penalties that the search compares on held-out entries.

The search describes a penalty by two numbers: its cut, the singular value threshold below which everything becomes
zero, and q, which says how far it is from convex. For LSP, capped-l1, MCP and SCAD, q times the cut is the singular
value at which the penalty bends: with a large q it is close to the nuclear norm, with q near 0 close to a hard
threshold. For the truncated nuclear norm, q is the number of free singular values, and is set to the ranks found so
far along the path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._support.checks import is_auto
from .base import Penalty
from .elementwise import LSP, MCP, SCAD, CappedL1
from .registry import make_penalty
from .truncated import TNN

__all__ = ["SCAD_THETA", "SCALED_BY_CUT", "PenaltyFamily", "make_family"]

SCAD_THETA = 3.7
"""The theta of SCAD that Fan and Li (2001) recommend."""

SCALED_BY_CUT: dict[str, Callable[[float], Penalty]] = {
    "lsp": LSP,
    "capped_l1": CappedL1,
    "mcp": MCP,
    "scad": lambda unit: SCAD(SCAD_THETA, unit),
}
"""Functions that make a penalty from the singular value at which it bends, q times the cut, by the penalty's name."""


@dataclass(frozen=True)
class PenaltyFamily:
    """The penalties that the search may use, one for each cut and q.

    Parameters
    ----------
    make
        Returns the penalty for a cut and a q.
    first
        The q of the first regularisation path.
    others
        The q to try after the first, in rows. Each row is tried in order until the validation error stops falling.
    follows_rank
        Whether q is a number of free singular values. A path then frees those that exceeded the cut at the previous
        point.
    """

    make: Callable[[float, float], Penalty]
    first: float = 1.0
    others: tuple[tuple[float, ...], ...] = ()
    follows_rank: bool = False

    @property
    def more_convex(self) -> tuple[float, ...]:
        """The q to try that are larger than the first."""
        return tuple(q for row in self.others for q in row if q > self.first)

    def freed(self, q: float, ranks: Sequence[int]) -> float:
        """Return the q of the next point of a path, after a point with this q and an answer of these ranks."""
        return float(max(1, *ranks)) if self.follows_rank else q


def make_family(penalty: str | Penalty, theta: float | Sequence[float] | str) -> PenaltyFamily:
    """Return the family of a penalty: with several q if theta is ``"auto"``, else with the given theta only.

    A penalty object is a family with a single member, because it has no theta for the search to choose.

    >>> make_family("lsp", "auto").make(2.0, 0.5)
    LSP(theta=1.0)
    >>> make_family("lsp", 3.0).make(2.0, 0.5)
    LSP(theta=3.0)
    """
    if not is_auto(theta, "theta"):
        if np.ndim(theta):
            raise ValueError(
                f"theta must be one number or 'auto' if lam is 'auto', but {theta!r} was given; "
                "give lam too, to set a theta for each mode."
            )
        fixed = make_penalty(penalty, theta)  # type: ignore[arg-type]
    elif isinstance(penalty, str) and penalty == "tnn":
        return PenaltyFamily(lambda cut, q: TNN(int(q)), follows_rank=True)
    elif isinstance(penalty, str) and penalty in SCALED_BY_CUT:
        kind = SCALED_BY_CUT[penalty]
        return PenaltyFamily(lambda cut, q: kind(q * cut), 1.0, ((0.3, 0.1, 0.03), (3.0, 10.0)))
    else:
        fixed = make_penalty(penalty)
    return PenaltyFamily(lambda cut, q: fixed)
