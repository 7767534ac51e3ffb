"""Penalties in another unit of the singular values.

Two class attributes say how a penalty depends on the unit: `power`, with ``kappa(c s) = c^power kappa(s)`` if its
`lengths`, the settings that are singular values, are multiplied by c too.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from .._support.scaling import times_power_of_two
from .base import Penalty
from .registry import PENALTIES

__all__ = ["penalty_in_unit", "power_of_penalty"]


def power_of_penalty(penalty: str | Penalty) -> float:
    """Return the power of the unit by which a penalty scales.

    >>> power_of_penalty("nuclear"), power_of_penalty("lsp")
    (1.0, 0.0)
    """
    kind: Any = PENALTIES.get(penalty) if isinstance(penalty, str) else penalty
    if kind is None or not hasattr(kind, "power"):
        raise ValueError(
            f"How the penalty {penalty!r} depends on the unit of the data is not known; divide data of this size by a "
            "constant first, or give its class the attributes power and lengths."
        )
    return float(kind.power)


def penalty_in_unit(penalty: Penalty, exponent: int) -> Penalty:
    """Return the same penalty for singular values that are divided by ``2**exponent``.

    >>> from tensorfill.penalties import SCAD, MCP
    >>> penalty_in_unit(MCP(theta=4.0), 1), penalty_in_unit(SCAD(theta=3.7, unit=4.0), 2)
    (MCP(theta=2.0), SCAD(theta=3.7, unit=1.0))
    """
    power_of_penalty(penalty)
    changed = {name: times_power_of_two(getattr(penalty, name), -exponent) for name in getattr(penalty, "lengths", ())}
    made: Penalty = dataclasses.replace(penalty, **changed) if changed else penalty  # type: ignore[type-var]
    return made
