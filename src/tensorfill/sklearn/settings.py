"""The settings of a method, from the parameters of an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._support.checks import listed


def gathered_settings(named: Mapping[str, Any], others: Any) -> dict[str, Any]:
    """Return the settings of the method that were given.

    Parameters
    ----------
    named
        The settings that are parameters of the estimator; None is the method's default.
    others
        The parameter `settings`: further settings by name, or None.

    Examples
    --------
    >>> gathered_settings({"lam": 0.5, "tol": None}, {"tau": 2.0})
    {'lam': 0.5, 'tau': 2.0}
    """
    if others is not None and not isinstance(others, Mapping):
        raise TypeError(f"settings must be a dict of settings of the method, or None, but {others!r} was given.")
    given = {name: value for name, value in named.items() if value is not None}
    twice = [name for name in given if name in (others or {})]
    if twice:
        raise ValueError(f"settings must not repeat a parameter, but {listed(twice)} was given as both; leave one out.")
    return given | dict(others or {})
