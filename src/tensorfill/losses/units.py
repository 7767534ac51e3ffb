"""Losses in another unit of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._support.scaling import times_power_of_two
from ..penalties.base import Penalty
from ..penalties.units import penalty_in_unit, power_of_penalty
from .robust import Envelope, Robust
from .smooth import Huber, Square

__all__ = ["has_unit", "loss_in_unit", "power_of_loss"]


def has_unit(thing: Any) -> bool:
    """Return whether this is a loss that depends on the unit of the data."""
    return isinstance(thing, Huber | Robust | Envelope)


def power_of_loss(loss: Any) -> float | None:
    """Return the power of the unit of the data by which a loss scales; None for a loss without such a power.

    >>> from tensorfill.losses import Poisson
    >>> power_of_loss(Square()), power_of_loss(Poisson())
    (2, None)
    """
    if isinstance(loss, Square | Huber | Envelope):
        return 2
    return power_of_penalty(loss.penalty) if isinstance(loss, Robust) else None


def loss_in_unit(loss: Any, exponent: int) -> Any:
    """Return the same loss for data that is divided by ``2**exponent``; a name is returned unchanged.

    >>> loss_in_unit(Huber(delta=4.0), 1)
    Huber(delta=2.0)
    """
    if isinstance(loss, Huber):
        return replace(loss, delta=times_power_of_two(loss.delta, -exponent))
    if isinstance(loss, Robust):
        return replace(loss, penalty=_in_unit(loss.penalty, exponent))
    if isinstance(loss, Envelope):
        power = 2 - power_of_penalty(loss.penalty)
        weight = times_power_of_two(loss.weight, -exponent * power)
        return replace(loss, penalty=_in_unit(loss.penalty, exponent), weight=weight)
    return penalty_in_unit(loss, exponent) if isinstance(loss, Penalty) else loss


def _in_unit(penalty: Any, exponent: int) -> Any:
    return penalty_in_unit(penalty, exponent)
