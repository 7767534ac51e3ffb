"""Penalties by name."""

from __future__ import annotations

import dataclasses
from typing import Any

from .._support.checks import choice, listed
from .._support.registry import Registry
from .._support.table import PENALTIES as TABLE
from .base import Penalty

__all__ = ["PENALTIES", "make_penalty"]

PENALTIES: Registry[type[Any]] = Registry(TABLE)
"""The class of each penalty, by its name."""


def make_penalty(penalty: str | Penalty, theta: float | None = None) -> Penalty:
    """Return a penalty from its name and theta; a penalty object is returned unchanged.

    Parameters
    ----------
    penalty : str or Penalty
        A name in `PENALTIES`, or an object with the methods `value(s)` and `prox(s, weight)`.
    theta : float, optional
        The parameter of a named penalty; must be left out for "nuclear" and for an object.

    Examples
    --------
    >>> make_penalty("lsp", 0.5)
    LSP(theta=0.5)
    >>> make_penalty("scad")
    Traceback (most recent call last):
        ...
    TypeError: theta of 'scad' must be a number above 2, but None (NoneType) was given.
    """
    if isinstance(penalty, str):
        kind = PENALTIES[choice(penalty, "penalty", PENALTIES)]
        if dataclasses.fields(kind):
            made: Penalty = kind(theta)
            return made
        penalty = kind()
    # A class passes the protocol check because it has the methods, but they cannot be called without an instance.
    if isinstance(penalty, type) or not isinstance(penalty, Penalty):
        raise TypeError(
            f"penalty must be one of {listed(PENALTIES)}, or an object with the methods value(s) and "
            f"prox(s, weight), but {penalty!r} ({type(penalty).__name__}) was given."
        )
    if theta is not None:
        raise ValueError(f"theta must be left out for the penalty {penalty!r}, but {theta!r} was given.")
    return penalty
