"""Which modes are time: by the labels and names of each, and of pairs such as day and hour."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from ..labels import Labels, shown
from .instants import Instants, instants_of
from .steps import DAY, MONTH, NANOSECOND, NUMBER, Spacing, Step, spacing_of, unit_word

NAMES = frozenset(
    (
        "time", "date", "datetime", "timestamp", "slot", "step", "period", "year", "quarter", "month", "week", "day",
        "hour", "minute", "second",
    )
)  # fmt: skip
"""What a mode of time may be called if its indices are counted or numbered."""

FEWEST_STEPS = 8
"""A mode with fewer steps is taken for time only if somebody says so."""

NEARLY_ALL = 0.95
"""Labels whose steps are the same in this share are taken for time, although some are missing."""

DAY_SIZES = (24, 48, 96, 144, 288, 1440)
"""How many hours, half hours and so on a day has."""

MOST_COUNTED = {"hour": 24, "slot": 1440}
"""The largest other size of a counted part of a day; sixty minutes are part of an hour."""

PARTS_OF_DAY = frozenset({"hour", "slot", "minute"})
PARTS: Mapping[tuple[str, int], Mapping[str, Sequence[int]]] = {
    (MONTH, 12): {"month": (12,), "quarter": (4,), "week": (52, 53)},
    (NANOSECOND, 7 * DAY): {"day": (7,), "weekday": (7,)},
}
"""The modes that are parts of a year or a week, and the sizes that they may have."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""What the names of months and weekdays begin with; a week may begin on any day."""


@dataclass(frozen=True, eq=False)
class ModeOfTime:
    """A mode that may be time."""

    labels: Labels
    number: int
    size: int

    @property
    def keys(self) -> NDArray[Any] | None:
        """The labels; None if they are counted."""
        return self.labels.keys[self.number]

    @cached_property
    def word(self) -> str:
        """The name in lower case, without the s of a plural."""
        return unit_word(self.labels.names[self.number])

    @cached_property
    def instants(self) -> Instants | None:
        """The labels as instants; None if there are none, or if they are no times."""
        return None if self.keys is None else instants_of(self.keys)

    @cached_property
    def spacing(self) -> Spacing | None:
        """The usual step of the labels; None if these are not increasing."""
        if self.instants is None or self.size < 2 or self.descent is not None:
            return None
        return spacing_of(self.instants.at)

    @property
    def descent(self) -> int | None:
        """The first label that is before the one before it."""
        if self.instants is None:
            return None
        falls = self.instants.at[1:] <= self.instants.at[:-1]
        return int(falls.argmax()) + 1 if falls.any() else None

    @cached_property
    def step(self) -> Step:
        """The step, with its unit as far as labels or the name say it."""
        return (Step(NUMBER, 1) if self.spacing is None else self.spacing.step).named(self.word)

    @property
    def is_regular(self) -> bool:
        """Whether the indices are counted, or nearly all steps of the labels are the same."""
        return self.keys is None or (self.spacing is not None and self.spacing.share >= NEARLY_ALL)

    @property
    def is_numbered(self) -> bool:
        """Whether the indices are counted, or their labels are equally spaced numbers."""
        return self.keys is None or (self.keys.dtype.kind in "iuf" and self.is_regular)

    @property
    def certainty(self) -> int:
        """2 for dates, 1 for durations, and 0 for what only has a name."""
        return 0 if self.instants is None else {"M": 2, "m": 1}.get(self.instants.kind, 0)

    @property
    def is_time(self) -> bool:
        """Whether labels and name say that it is time."""
        return self.is_regular if self.certainty else self.is_numbered and self.word in NAMES

    @property
    def is_in_order(self) -> bool:
        """Whether it is counted, numbered, or has the names of months or weekdays in their order."""
        return self.is_numbered or (self.keys is not None and _are_calendar([str(key) for key in self.keys.tolist()]))

    def asked(self) -> ModeOfTime:
        """Return the same if its labels are equally spaced, or refuse it with one sentence."""
        name, keys = self.labels.called(self.number), self.keys
        if self.size < 2:
            raise ValueError(f"time {name!r} must have 2 or more steps, but it has {self.size}; name another mode.")
        if keys is None:
            return self
        if self.instants is None:
            raise ValueError(
                f"time {name!r} must have labels that are dates, times or numbers, but it has {shown(keys[0])}; "
                "name another mode, or leave the labels of this one out."
            )
        place = self.descent
        if place is not None:
            raise ValueError(
                f"time {name!r} must have labels in increasing order, but after {shown(keys[place - 1])} comes "
                f"{shown(keys[place])}; sort the data by time."
            )
        if self.spacing is not None and not self.spacing.alike.all():
            place = int(self.spacing.alike.argmin()) + 1
            raise ValueError(
                f"time {name!r} must have equally spaced labels, but after {shown(keys[place - 1])} comes "
                f"{shown(keys[place])} where most steps are {self.step.in_words}; add the missing times as empty rows, "
                "or leave time out."
            )
        return self


# Which modes


def said_to_be_time(modes: list[ModeOfTime]) -> Iterator[tuple[ModeOfTime, ...]]:
    """Give the modes, and pairs of modes, that labels and names say are time."""
    for mode in modes:
        if mode.is_time and mode.size >= FEWEST_STEPS:
            yield (mode,)
    for slow in modes:
        for fast in modes:
            if slow is not fast and slow.size >= 2 and slow.size * fast.size >= FEWEST_STEPS and is_pair(slow, fast):
                yield slow, fast


def priority(found: tuple[ModeOfTime, ...]) -> tuple[int, int]:
    """Return what is taken first: dates, then the longest."""
    return max(mode.certainty for mode in found), math.prod(mode.size for mode in found)


def is_pair(slow: ModeOfTime, fast: ModeOfTime) -> bool:
    """Return whether one mode is divided by another, as days are by hours."""
    if not (slow.is_time or (slow.is_numbered and slow.word in NAMES)):
        return False
    if in_days(slow):
        return _is_part_of_day(fast)
    sizes = PARTS.get((slow.step.unit, int(slow.step.count)), {}).get(fast.word, ())
    return fast.size in sizes and fast.certainty == 0 and fast.is_in_order


def in_days(mode: ModeOfTime) -> bool:
    """Return whether the steps of a mode are days; those of a numbered date are."""
    return mode.step.is_day or (mode.word == "date" and mode.certainty == 0)


def _is_part_of_day(fast: ModeOfTime) -> bool:
    if fast.certainty == 1:
        step, spacing = fast.step, fast.spacing
        return spacing is not None and bool(spacing.alike.all()) and step.count * fast.size == DAY
    if not (fast.is_numbered and fast.word in PARTS_OF_DAY):
        return False
    return fast.size in DAY_SIZES or (fast.keys is None and 2 <= fast.size <= MOST_COUNTED.get(fast.word, 0))


def _are_calendar(texts: list[str]) -> bool:
    """Return whether texts are all months, or all weekdays, in order.

    >>> _are_calendar("Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split())
    True
    """
    names = {len(MONTHS): MONTHS, len(WEEKDAYS): WEEKDAYS}.get(len(texts), ())
    begun = tuple(text.strip().lower()[:3] for text in texts)
    if names == WEEKDAYS and begun[0] in names:
        first = names.index(begun[0])
        names = names[first:] + names[:first]
    return bool(names) and begun == names
