"""The result of a check, and safe calls of user code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.types import Booleans, Floats


@dataclass(frozen=True)
class Report:
    """The findings of a check.

    Parameters
    ----------
    subject : str
        What was checked.
    findings : tuple of str
        What is wrong, one sentence each; empty if nothing is.

    Examples
    --------
    >>> from tensorfill.diagnostics import check_loss
    >>> from tensorfill.losses import Square
    >>> report = check_loss(Square())
    >>> report.ok
    True
    >>> print(report)
    Square() passes every check.
    """

    subject: str
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return f"{self.subject} passes every check."
        return "\n".join([f"{self.subject} does not pass:", *(f"- {finding}" for finding in self.findings)])


class Broken(Exception):
    """A finding after which no other check makes sense."""


def name_of(checked: Any) -> str:
    """Return the name of an object for a finding: its repr, or its class if it has only the default repr."""
    text = repr(checked)
    return type(checked).__name__ if " object at 0x" in text else text


def call(name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a user's function, or raise `Broken` with the error that it raised."""
    try:
        return function(*given)
    except Exception as error:
        raise Broken(f"{name} raised {type(error).__name__}: {error}") from error


def furthest(wrong: Booleans, by: Floats) -> int:
    """Return the index of the wrong point that is furthest off."""
    return int(np.argmax(np.where(wrong, by, -np.inf)))


def lies_between(slope: Floats, one: Floats, other: Floats, slack: Floats) -> Booleans:
    """Return where a slope lies between two others, up to `slack`."""
    return (slope >= np.minimum(one, other) - slack) & (slope <= np.maximum(one, other) + slack)
