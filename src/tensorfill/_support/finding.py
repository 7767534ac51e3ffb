"""Finds the positions of labels among others."""

from __future__ import annotations

import datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .moments import duration_of, moments
from .types import Integers

UNKNOWN = -1
"""The position of a label that was not found."""


def _moment_of_day(key: Any) -> np.timedelta64 | None:
    """Return the time since midnight of a time of day or a text; None if it is neither."""
    text = key.isoformat() if isinstance(key, datetime.time) else key
    length = duration_of(text) if isinstance(text, str) else np.timedelta64("NaT")
    return None if np.isnat(length) else length


class Finder:
    """Finds the positions of labels among keys: by sorting for numbers and dates, else by a dict."""

    def __init__(self, keys: NDArray[Any]) -> None:
        self.keys = keys

    def __call__(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Return the position of each label, `UNKNOWN` for labels that are not found."""
        kind = self.keys.dtype.kind
        if kind in "mM":
            return self._by_order(given if given.dtype.kind == kind else moments(given, kind))
        if kind in "biuf" and given.dtype.kind in "biuf":
            return self._by_order(given)
        try:
            places = (self._place(label) for label in given.tolist())
            return np.fromiter(places, dtype=np.int64, count=len(given))
        except TypeError:
            # An unhashable label is not among the keys.
            return np.full(len(given), UNKNOWN)

    def _place(self, label: Any) -> int:
        """Return the position of a label; times of day and durations are also found by their text."""
        place = self._places.get(label, UNKNOWN)
        if place == UNKNOWN and isinstance(label, str):
            place = self._by_length.get(duration_of(label), UNKNOWN)
        return place

    @cached_property
    def _by_length(self) -> dict[np.timedelta64, int]:
        """The positions by the time since midnight, if all keys are times of day or texts of these."""
        lengths: dict[np.timedelta64, int] = {}
        for place, key in enumerate(self.keys.tolist()):
            length = _moment_of_day(key)
            if length is None or length in lengths:
                return {}
            lengths[length] = place
        return lengths

    def _by_order(self, given: NDArray[Any]) -> NDArray[np.int64]:
        order, ordered = self._order
        if len(order) == 0:
            return np.full(len(given), UNKNOWN)
        place = np.searchsorted(ordered, given).clip(max=len(order) - 1)
        return np.where(ordered[place] == given, order[place], UNKNOWN)

    @cached_property
    def _order(self) -> tuple[Integers, NDArray[Any]]:
        order = np.argsort(self.keys, kind="stable")
        return order, self.keys[order]

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {key: place for place, key in enumerate(self.keys.tolist())}
