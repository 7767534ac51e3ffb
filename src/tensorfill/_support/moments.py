"""Dates, times of day and durations: formatted for people, and parsed from what people write."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CLOCK = r"(?P<hours>\d+):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d(?:\.\d{1,9})?))?"
_DURATION = re.compile(
    rf"(?P<sign>[+-])?(?:(?P<days>\d+)\s*(?:days?|d)\b,?\s*)?(?:(?P<clock>[+-])?{_CLOCK})?", re.IGNORECASE
)
_COUNT = re.compile(r"(?P<count>-?\d+)\s*(?P<unit>[a-z]+)", re.IGNORECASE)

_WRITTEN = re.compile(r"\d{4}-\d{2}(-\d{2}([ T]\d{2}:\d{2}\S*)?)?|\d{2}:\d{2}(:\d{2}(\.\d+)?)?")
"""Dates and times of day as texts that sort as they do."""

_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
"""The nanoseconds in each unit."""

_WORDS = {
    "nanosecond": "ns", "microsecond": "us", "millisecond": "ms", "second": "s", "sec": "s", "minute": "m",
    "min": "m", "hour": "h", "day": "d",
}  # fmt: skip

_HOUR, _MINUTE, _SECOND = _UNITS["h"], _UNITS["m"], _UNITS["s"]


def duration_of(text: str) -> np.timedelta64:
    """Return the duration that a text denotes; NaT if it is not a duration.

    >>> [int(duration_of(text) / np.timedelta64(1, "m")) for text in ("08:00", "0 days 08:00:00", "8h", "1 day 2:30")]
    [480, 480, 480, 1590]
    >>> [int(duration_of(text) / np.timedelta64(1, "m")) for text in ("-1 days +23:00:00", "-1:00")]
    [-60, -60]
    """
    text = text.strip()
    found = _DURATION.fullmatch(text)
    if found and (found["days"] or found["hours"]):
        sign = -1 if found["sign"] == "-" else 1
        # pandas writes -1 hour as -1 days +23:00:00; if the clock part has a sign, the sign of the days does not apply
        # to it.
        within = (-1 if found["clock"] == "-" else 1) if found["clock"] else sign
        days = sign * int(found["days"] or 0) * _UNITS["d"]
        return np.timedelta64(days + within * _clock_nanoseconds(found), "ns")
    counted = _COUNT.fullmatch(text)
    if counted:
        word = counted["unit"].lower()
        unit = _WORDS.get(word.removesuffix("s"), word)
        if unit in _UNITS:
            return np.timedelta64(int(counted["count"]) * _UNITS[unit], "ns")
    return np.timedelta64("NaT")


def _clock_nanoseconds(found: re.Match[str]) -> int:
    whole, _, part = (found["seconds"] or "0").partition(".")
    seconds = int(whole) * _SECOND + int((part or "0").ljust(9, "0"))
    return int(found["hours"] or 0) * _HOUR + int(found["minutes"] or 0) * _MINUTE + seconds


def is_moment(label: Any) -> bool:
    """Return whether a label is a date, a time of day or a duration, or a text such as ``"2024-03-01"`` or ``"08:00"``.

    >>> [is_moment(label) for label in ("2024-03", "2024-03-01 08:00", "08:30", datetime.time(8), "8", "2024-x")]
    [True, True, True, True, False, False]
    """
    if isinstance(label, str):
        return _WRITTEN.fullmatch(label) is not None
    return isinstance(label, datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64)


def written_label(label: Any) -> str:
    """Return a label as a person writes it: dates without a time of zero, durations as on a clock.

    >>> written_label(np.datetime64("2024-03-01T00:00", "ns")), written_label(np.datetime64("2024-03-01T08:30", "ns"))
    ('2024-03-01', '2024-03-01 08:30')
    >>> written_label(np.timedelta64(8 * 60, "m")), written_label(np.timedelta64(3, "D")), written_label(0.1 + 0.2)
    ('08:00', '3 days', '0.3')
    """
    if isinstance(label, np.datetime64):
        return _written_date(label)
    if isinstance(label, datetime.datetime):
        return _without_zeros(label.isoformat(sep=" "))
    if isinstance(label, datetime.time):
        return _without_zero_seconds(label.isoformat())
    if isinstance(label, np.timedelta64 | datetime.timedelta):
        return _written_duration(np.timedelta64(label))
    if isinstance(label, float | np.floating):
        return f"{label:.12g}"
    if isinstance(label, tuple):
        return ", ".join(map(written_label, label))
    return str(label)


def _written_date(moment: np.datetime64) -> str:
    # A date in months or years has no days to show.
    text = str(moment)
    return _without_zeros(text.replace("T", " ")) if "T" in text else text


def _without_zeros(text: str) -> str:
    return _without_zero_seconds(text).removesuffix(" 00:00")


def _without_zero_seconds(text: str) -> str:
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.removesuffix(":00") if text.count(":") == 2 else text


def _written_duration(length: np.timedelta64) -> str:
    if np.isnat(length):
        return "NaT"
    nanoseconds = int(length.astype("timedelta64[ns]").astype(np.int64))
    days, rest = divmod(abs(nanoseconds), _UNITS["d"])
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    clock = _without_zero_seconds(f"{hours:02d}:{minutes:02d}:{rest // _SECOND:02d}.{rest % _SECOND:09d}")
    parts = [f"{days} day{'' if days == 1 else 's'}"] if days else []
    if clock != "00:00" or not days:
        parts.append(clock)
    return f"{'-' if nanoseconds < 0 else ''}{' '.join(parts)}"


def moments(given: NDArray[Any], kind: str) -> NDArray[Any]:
    """Return labels as dates or durations; NaT, which never matches a key, where they cannot be read.

    Parameters
    ----------
    given
        Labels of any kind.
    kind
        ``"M"`` for dates, ``"m"`` for durations.
    """
    read = [_moment(label, kind) for label in given.tolist()]
    return np.asarray(read, dtype=None if read else f"{kind}8[D]")


def _moment(label: Any, kind: str) -> Any:
    make: Any = np.datetime64 if kind == "M" else np.timedelta64
    try:
        # A pandas Timestamp has nanoseconds and a time zone, which NumPy would lose.
        own = getattr(label, "to_datetime64" if kind == "M" else "to_timedelta64", None)
        if own is not None:
            return own()
        if kind == "m" and isinstance(label, str):
            return duration_of(label)
        if kind == "m" and isinstance(label, datetime.time):
            return duration_of(label.isoformat())
        return make(label)
    except (TypeError, ValueError):
        return make("NaT")
