"""Penalties as families: one for every cut, and for every shape where the shape is part of the choice.

A penalty is thought of by its cut, the singular value below which everything goes, and by q, how nonconvex it is. For
LSP, capped-l1, MCP and SCAD q says how far from zero the penalty bends, as a share of the cut: a large q is nearly the
nuclear norm, q near 0 nearly a hard threshold. For the truncated nuclear norm q is the number of free singular values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .elementwise import LSP, MCP, SCAD, TNN, CappedL1, Penalty, make_penalty

SCAD_THETA = 3.7
"""The value that the inventors of SCAD recommend."""

SCALED_BY_CUT: dict[str, Callable[[float], Penalty]] = {
    "lsp": LSP,
    "capped_l1": CappedL1,
    "mcp": MCP,
    "scad": lambda unit: SCAD(SCAD_THETA, unit),
}
"""Penalties with a scale of their own among the singular values, which is given as a share q of the cut."""


@dataclass(frozen=True)
class Family:
    """The penalties among which held-out entries choose.

    Parameters
    ----------
    make
        The penalty for a cut and a q.
    first
        The q of the first path.
    others
        The q that are tried after it: each row in turn, for as long as the score improves.
    """

    make: Callable[[float, float], Penalty]
    first: float = 1.0
    others: tuple[tuple[float, ...], ...] = ()


def make_family(penalty: str | Penalty, theta: float | Sequence[float] | str) -> Family:
    """Return the family of a penalty: with every q where theta is ``"auto"``, else with the one theta.

    >>> make_family("lsp", "auto").make(2.0, 0.5)
    LSP(theta=1.0)
    >>> make_family("lsp", 3.0).make(2.0, 0.5)
    LSP(theta=3.0)
    """
    if not is_auto(theta, "theta"):
        if np.ndim(theta):
            raise ValueError("theta must be one number, or 'auto', where lam='auto' chooses lambda.")
        fixed = make_penalty(penalty, theta)  # type: ignore[arg-type]
    elif penalty == "tnn":
        return Family(lambda cut, q: TNN(int(q)), 1.0, ((2, 3, 4, 6, 9, 13, 20),))
    elif isinstance(penalty, str) and penalty in SCALED_BY_CUT:
        kind = SCALED_BY_CUT[penalty]
        return Family(lambda cut, q: kind(q * cut), 1.0, ((0.3, 0.1, 0.03), (3.0, 10.0)))
    else:
        fixed = make_penalty(penalty, None)
    return Family(lambda cut, q: fixed)


def is_auto(value: Any, name: str) -> bool:
    """Tell whether a setting is left to the choice."""
    if isinstance(value, str) and value != "auto":
        raise ValueError(f"{name} must be a number, one for each regularised mode, or 'auto', but {value!r} was given.")
    return isinstance(value, str)
