"""Losses by name."""

from __future__ import annotations

from typing import Any

from .._support.checks import choice, listed
from .._support.registry import Registry
from .._support.table import LOSSES as TABLE
from .base import Loss

__all__ = ["LOSSES", "make_loss"]

LOSSES: Registry[type[Any]] = Registry(TABLE)
"""The class of each smooth loss, by its name."""


def make_loss(loss: str | Loss) -> Loss:
    """Return a loss from its name; a loss object is returned unchanged.

    Parameters
    ----------
    loss : str or Loss
        A name in `LOSSES`, or an object with the attribute `curvature` and the methods
        `value(prediction, observed)` and `derivative(prediction, observed)`.

    Examples
    --------
    >>> make_loss("square")
    Square()
    """
    if isinstance(loss, str):
        made: Loss = LOSSES[choice(loss, "loss", LOSSES)]()
        return made
    # A class passes the protocol check because it has the methods, but they cannot be called without an instance.
    if isinstance(loss, type) or not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be one of {listed(LOSSES)}, or an object with the attribute curvature and the "
            f"methods value(prediction, observed) and derivative(prediction, observed), "
            f"but {loss!r} ({type(loss).__name__}) was given."
        )
    return loss
