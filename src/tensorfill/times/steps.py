"""The step between labels of time: a duration, calendar months, business days, opening hours, or a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.types import Booleans
from .._support.words import written as number_in_words

MONTH, BUSINESS_DAY, NANOSECOND, NUMBER = "month", "business day", "nanosecond", "number"
OPEN, BUSINESS_OPEN = "times a day", "times a business day"
SECOND = 10**9
DAY = 86400 * SECOND

_UNITS = (
    (7 * DAY, "week"), (DAY, "day"), (3600 * SECOND, "hour"), (60 * SECOND, "minute"), (SECOND, "second"),
    (10**6, "millisecond"), (10**3, "microsecond"), (1, "nanosecond"),
)  # fmt: skip

_NAMED = {
    "year": (MONTH, 12), "quarter": (MONTH, 3), "month": (MONTH, 1), "week": (NANOSECOND, 7 * DAY),
    "day": (NANOSECOND, DAY), "hour": (NANOSECOND, 3600 * SECOND), "minute": (NANOSECOND, 60 * SECOND),
    "second": (NANOSECOND, SECOND),
}  # fmt: skip

_LAST_DAYS = np.timedelta64(28, "D")
"""Not every month has a day that is this long after its first."""

MOST_TIMES_OF_DAY = 1440
"""Days with more different times than this have none that come every day."""

_SAME = 1e-6
"""Steps between floats are the same up to this share."""


@dataclass(frozen=True)
class Step:
    """The step from one label to the next.

    Parameters
    ----------
    unit
        One of the units of this module.
    count
        How many of these.
    """

    unit: str
    count: float

    @property
    def in_words(self) -> str:
        """The step with its unit; a number has none.

        >>> [Step(MONTH, 12).in_words, Step(MONTH, 6).in_words, Step(NANOSECOND, 1800 * SECOND).in_words]
        ['1 year', '6 months', '30 minutes']
        """
        if self.unit == NUMBER:
            return number_in_words(self.count)
        if self.unit == BUSINESS_DAY:
            return _counted(int(self.count), BUSINESS_DAY)
        if self.unit in (OPEN, BUSINESS_OPEN):
            return f"{self.count} {self.unit}"
        units = ((12, "year"), (3, "quarter"), (1, "month")) if self.unit == MONTH else _UNITS
        whole = int(self.count)
        size, word = next((size, word) for size, word in units if whole % size == 0)
        return _counted(whole, "month") if word == "quarter" and whole > 3 else _counted(whole // size, word)

    @property
    def is_day(self) -> bool:
        """Whether it is a day or a business day."""
        return self in (Step(NANOSECOND, DAY), Step(BUSINESS_DAY, 1))

    def named(self, name: str) -> Step:
        """Return a number as a step of the unit that a name is, such as hour or year.

        >>> Step(NUMBER, 5).named("Minute").in_words
        '5 minutes'
        """
        unit, size = _NAMED.get(unit_word(name), (NUMBER, 1))
        if self.unit != NUMBER or unit == NUMBER:
            return self
        count = self.count * size
        return Step(unit, round(count)) if abs(count - round(count)) <= _SAME * count and count >= 1 else self

    def further(self, at: NDArray[Any], count: int) -> NDArray[Any]:
        """Return the next instants after the last one.

        >>> Step(MONTH, 1).further(np.array(["2024-01-31", "2024-02-29"], "M8[D]"), 2).astype(str).tolist()
        ['2024-03-31', '2024-04-30']
        """
        ahead = np.arange(1, count + 1)
        if self.unit == MONTH:
            return _further_months(at, ahead * int(self.count))
        if self.unit == BUSINESS_DAY:
            day = at[-1].astype("M8[D]")
            days = np.busday_offset(day, ahead * int(self.count), roll="backward")
            return np.asarray(days.astype(at.dtype) + (at[-1] - day))
        if self.unit in (OPEN, BUSINESS_OPEN):
            return _further_open(at, ahead, business=self.unit == BUSINESS_OPEN)
        if at.dtype.kind in "mM":
            size = np.timedelta64(int(self.count), "ns")
            return np.asarray(at[-1] + (ahead * size).astype(f"m8[{np.datetime_data(at.dtype)[0]}]"))
        return np.asarray(at[-1] + ahead * self.count, dtype=at.dtype)


@dataclass(frozen=True, eq=False)
class Spacing:
    """The most frequent step between labels, and which steps are like it."""

    step: Step
    alike: Booleans

    @property
    def share(self) -> float:
        """The share of steps that are like it."""
        return float(self.alike.mean())


def unit_word(name: str) -> str:
    """Return the name of a mode in lower case and without the s of a plural.

    >>> unit_word(" Hours")
    'hour'
    """
    return name.strip().lower().removesuffix("s")


def spacing_of(at: NDArray[Any]) -> Spacing:
    """Return the most frequent step between two or more increasing instants.

    >>> days = np.array(["2024-03-07", "2024-03-08", "2024-03-11"], "M8[D]")
    >>> spacing_of(days).step.in_words, spacing_of(days[:2]).step.in_words
    ('1 business day', '1 day')
    """
    # The first of equally good ones: calendar months come before durations, such as 365 days.
    return max(_spacings(at), key=lambda spacing: spacing.share)


def _spacings(at: NDArray[Any]) -> Iterator[Spacing]:
    if at.dtype.kind == "M":
        yield from _by_months(at)
        if np.datetime_data(at.dtype)[0] in "YM":
            return
    yield _by_length(at)
    if at.dtype.kind == "M":
        yield from _by_business_days(at)
        yield from _by_opening_hours(at)


def _by_months(at: NDArray[Any]) -> Iterator[Spacing]:
    """Give the step in months, of dates that are as far from the beginning, or from the end, of their month."""
    months = at.astype("M8[M]")
    apart = np.diff(months).astype(np.int64)
    usual = int(_usual(apart))
    if usual < 1:
        return
    within = [_alike(at - months), _alike((months + 1) - at)]
    for same in within:
        yield Spacing(Step(MONTH, usual), (apart == usual) & same[1:] & same[:-1])


def _by_length(at: NDArray[Any]) -> Spacing:
    apart = np.diff(at)
    usual = _usual(apart) if at.dtype.kind != "f" else np.median(apart)
    if at.dtype.kind in "mM":
        return Spacing(Step(NANOSECOND, int(usual.astype("m8[ns]").astype(np.int64))), apart == usual)
    if at.dtype.kind == "f":
        return Spacing(Step(NUMBER, float(usual)), np.abs(apart - usual) <= _SAME * usual)
    return Spacing(Step(NUMBER, int(usual)), apart == usual)


def _by_business_days(at: NDArray[Any]) -> Iterator[Spacing]:
    days = at.astype("M8[D]")
    if np.is_busday(days).all():
        same = _alike(at - days)
        yield Spacing(Step(BUSINESS_DAY, 1), (np.busday_count(days[:-1], days[1:]) == 1) & same[1:] & same[:-1])


def _by_opening_hours(at: NDArray[Any]) -> Iterator[Spacing]:
    """Give the step from one to the next of the times that every day has, such as half hours while it is open."""
    days = at.astype("M8[D]")
    times, places = np.unique(at - days, return_inverse=True)
    if not 2 <= len(times) <= MOST_TIMES_OF_DAY:
        return
    is_next = (np.diff(places) % len(times)) == 1 if len(times) > 2 else np.diff(places) != 0
    wraps = np.diff(places) < 0
    whole = (days[1:] - days[:-1]).astype(np.int64)
    yield Spacing(Step(OPEN, len(times)), is_next & (whole == wraps))
    if np.is_busday(days).all():
        yield Spacing(Step(BUSINESS_OPEN, len(times)), is_next & (np.busday_count(days[:-1], days[1:]) == wraps))


def _further_open(at: NDArray[Any], ahead: NDArray[Any], *, business: bool) -> NDArray[Any]:
    """Return the next of the times that every day has."""
    days = at.astype("M8[D]")
    times, places = np.unique(at - days, return_inverse=True)
    rounds, place = np.divmod(places[-1] + ahead, len(times))
    next_days = np.busday_offset(days[-1], rounds, roll="backward") if business else days[-1] + rounds
    return np.asarray(next_days.astype(at.dtype) + times[place])


def _usual(values: NDArray[Any]) -> Any:
    """Return the most frequent value, the smallest of several."""
    found, counts = np.unique(values, return_counts=True)
    return found[counts.argmax()]


def _alike(values: NDArray[Any]) -> Booleans:
    """Return which values are the most frequent one."""
    return np.asarray(values == _usual(values))


def _further_months(at: NDArray[Any], ahead: NDArray[Any]) -> NDArray[Any]:
    """Return dates some months after the last one, as far from the beginning of their month, or from its end."""
    months = at.astype("M8[M]")
    after_start, before_end = at - months, (months + 1) - at
    if np.datetime_data(at.dtype)[0] in "YM":
        return np.asarray((months[-1] + ahead).astype(at.dtype))
    from_end = _alike(before_end).mean() > _alike(after_start).mean() or (
        _usual(after_start) >= _LAST_DAYS and _alike(before_end).all()
    )
    if from_end:
        return np.asarray((months[-1] + ahead + 1).astype(at.dtype) - _usual(before_end))
    return np.asarray((months[-1] + ahead).astype(at.dtype) + _usual(after_start))


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
