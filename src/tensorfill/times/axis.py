"""The mode of time, its step and its seasonal periods, and the labels of the times that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.checks import mode_number, whole_number
from ..labels import Labels
from ..observations import Observations
from .mode import DAY_SIZES, PARTS_OF_DAY, ModeOfTime, in_days, is_pair, priority, said_to_be_time
from .seasons import seasonal_periods
from .steps import BUSINESS_DAY, BUSINESS_OPEN, DAY, MONTH, NANOSECOND, NUMBER, OPEN, SECOND, Step

WEEKS_FROM = 300 * SECOND
"""Steps of this length are long enough for a week to be a period too."""

MONTHLY = {1: 12, 3: 4, 6: 2}
WEEKS_OF_YEAR = 52
YEAR, WEEK, BUSINESS_WEEK = 365, 7, 5


@dataclass(frozen=True)
class TimeAxis:
    """The mode of time.

    Parameters
    ----------
    modes
        The mode of time; or two modes that are one time, the slow one first, such as day and hour.
    periods
        The seasonal periods in steps, the shortest first; () if none. Those of two modes begin with the size of the
        fast one.
    step
        The step in words, such as ``"1 hour"``; ``""`` if labels do not say.
    """

    modes: tuple[int, ...]
    periods: tuple[int, ...]
    step: str

    @property
    def exact_periods(self) -> tuple[float, ...]:
        """The periods, with a year as long as it is: 365.2425 days, or 52.1775 weeks.

        >>> TimeAxis((0,), (52,), "1 week").exact_periods
        (52.1775,)
        """
        years = {"1 day": {YEAR: 365.2425}, "1 week": {WEEKS_OF_YEAR: 52.1775}}.get(self.step, {})
        return tuple(years.get(period, period) for period in self.periods)


def time_axis(labels: Labels, observations: Observations, asked: Any = "auto") -> TimeAxis | None:
    """Return the mode of time, or the two modes that are one time; None if there is none.

    Parameters
    ----------
    labels, observations
        The names of the modes and indices, and the data.
    asked
        ``"auto"`` to find it by its labels and its name; None for no time; else a mode, or two of them, the slow one
        first, by name or number.

    Examples
    --------
    >>> hours = np.arange("2024-03-01", "2024-03-22", dtype="M8[h]")
    >>> data = Observations.from_dense(np.ones((3, len(hours))))
    >>> time_axis(Labels(("station", "time"), (None, hours)), data)
    TimeAxis(modes=(1,), periods=(24, 168), step='1 hour')
    """
    if asked is None:
        return None
    modes = [ModeOfTime(labels, mode, size) for mode, size in enumerate(observations.shape)]
    if isinstance(asked, str) and asked == "auto":
        found = max(said_to_be_time(modes), key=priority, default=None)
        return None if found is None else _axis(found, observations)
    return _axis(_checked([modes[number] for number in _asked(asked, labels)]), observations)


def continued(labels: Labels, axis: TimeAxis, steps: int) -> Labels:
    """Return the labels of the times after the last one; those of other modes stay.

    Parameters
    ----------
    labels, axis
        The labels of the data, and its time.
    steps
        How many times. Of two modes, the slow one has as many rows as these need.

    Examples
    --------
    >>> labels = Labels(("month",), (np.array(["2024-11", "2024-12"]),))
    >>> continued(labels, TimeAxis((0,), (), "1 month"), 2).keys[0].tolist()
    ['2025-01', '2025-02']
    """
    count = whole_number(steps, "steps", at_least=1)
    mode = axis.modes[0]
    if len(axis.modes) == 2:
        fast = labels.keys[axis.modes[1]]
        count = math.ceil(count / (axis.periods[0] if fast is None else len(fast)))
    keys = labels.keys[mode]
    if keys is None:
        return labels
    own = ModeOfTime(labels, mode, len(keys))
    instants, spacing = own.instants, own.spacing
    if instants is None or spacing is None:
        raise ValueError(
            f"labels of {labels.called(mode)!r} cannot be continued, because they are not increasing dates, times or "
            "numbers; leave the labels of this mode out."
        )
    further = instants.written(spacing.step.further(instants.at, count))
    return Labels(labels.names, (*labels.keys[:mode], further, *labels.keys[mode + 1 :]), labels.value)


def _asked(asked: Any, labels: Labels) -> tuple[int, ...]:
    """Return the modes that somebody names, by number."""
    given = list(asked) if isinstance(asked, list | tuple) else [asked]
    named = all(isinstance(each, str | int | np.integer) and not isinstance(each, bool) for each in given)
    if not named or len(given) not in (1, 2):
        raise ValueError(
            "time must be 'auto', None, a mode or two modes with the slow one first, as in 'hour' or ('day', 'hour'), "
            f"but {asked!r} was given."
        )
    modes = tuple(mode_number(labels.mode(each), "time", len(labels.names)) for each in given)
    if len(set(modes)) < len(modes):
        raise ValueError(f"time must name two different modes, but {asked!r} was given; name one, or another one.")
    return modes


def _checked(named: list[ModeOfTime]) -> tuple[ModeOfTime, ...]:
    """Return the modes that somebody names, or refuse them with one sentence."""
    if len(named) == 1:
        return (named[0].asked(),)
    slow, fast = named
    if is_pair(fast, slow) and not is_pair(slow, fast):
        names = tuple(mode.labels.called(mode.number) for mode in named)
        raise ValueError(f"time must name the slow mode first, but {names!r} was given; give {names[::-1]!r}.")
    # The fast one may have any texts, such as weekdays, in the order that they have.
    return slow.asked(), fast if fast.instants is None and fast.size > 1 else fast.asked()


# What they say


def _axis(found: tuple[ModeOfTime, ...], observations: Observations) -> TimeAxis:
    """Return the step and the periods of the modes of time."""
    numbers = tuple(mode.number for mode in found)
    if len(found) == 2:
        slow, fast = found
        step = _step_of_two(slow, fast)
        return TimeAxis(numbers, _periods_of_two(slow, fast), "" if step.unit == NUMBER else step.in_words)
    (mode,) = found
    if mode.step.unit == NUMBER:
        return TimeAxis(numbers, seasonal_periods(observations, mode.number), "")
    periods = tuple(period for period in _periods(mode.step) if 2 * period <= mode.size)
    return TimeAxis(numbers, periods, mode.step.in_words)


def _periods(step: Step) -> tuple[int, ...]:
    """Return the seasonal periods that steps of some length may have.

    >>> _periods(Step(NANOSECOND, 1800 * SECOND)), _periods(Step(NANOSECOND, DAY)), _periods(Step(MONTH, 3))
    ((48, 336), (7, 365), (4,))
    >>> _periods(Step(OPEN, 18))
    (18, 126)
    """
    count = int(step.count)
    if step.unit == MONTH:
        return (MONTHLY[count],) if count in MONTHLY else ()
    if step.unit == BUSINESS_DAY:
        return (BUSINESS_WEEK,)
    if step.unit in (OPEN, BUSINESS_OPEN):
        return count, count * (WEEK if step.unit == OPEN else BUSINESS_WEEK)
    if count % (WEEK * DAY) == 0:
        weeks = count // (WEEK * DAY)
        return (WEEKS_OF_YEAR // weeks,) if WEEKS_OF_YEAR % weeks == 0 and weeks < WEEKS_OF_YEAR else ()
    if count == DAY:
        return WEEK, YEAR
    if count > DAY or DAY % count:
        return ()
    day = DAY // count
    return (day, WEEK * day) if count >= WEEKS_FROM else (day,)


def _periods_of_two(slow: ModeOfTime, fast: ModeOfTime) -> tuple[int, ...]:
    """Return the size of the fast mode and, if the slow one is days, what a week has."""
    if not in_days(slow):
        return (fast.size,)
    week = BUSINESS_WEEK if slow.step.unit == BUSINESS_DAY else WEEK
    return (fast.size, week * fast.size) if slow.size >= 2 * week else (fast.size,)


def _step_of_two(slow: ModeOfTime, fast: ModeOfTime) -> Step:
    """Return the step of the fast mode, which its labels say or its share of the slow one; a number if neither does."""
    if fast.certainty == 1:
        return fast.step
    if not is_pair(slow, fast):
        return Step(NUMBER, 1)
    if fast.word in PARTS_OF_DAY and fast.size in DAY_SIZES:
        return Step(NANOSECOND, DAY // fast.size)
    return Step(NUMBER, 1).named("day" if fast.word == "weekday" else fast.word)
