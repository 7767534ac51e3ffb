"""Labels of time as dates, durations or numbers of NumPy, and the way back to labels of the same form."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.moments import duration_of, is_moment

_ZONE = re.compile(r"(?<=\d{2}:\d{2})(?P<rest>[\d:.]*)(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)")
_CLOCK = re.compile(r"\d{2}:.*")
_DAY = np.timedelta64(1, "D")
_MINUTE = np.timedelta64(1, "m")


@dataclass(frozen=True, eq=False)
class Instants:
    """Labels as points of time, or as numbers.

    Parameters
    ----------
    at
        The labels as dates, durations, int64 or float64.
    written
        Returns further ones as labels of the form that these have.

    Examples
    --------
    >>> found = instants_of(np.array(["2024-03-01 08:00", "2024-03-01 09:00"]))
    >>> found.written(found.at + np.timedelta64(2, "h")).tolist()
    ['2024-03-01 10:00', '2024-03-01 11:00']
    """

    at: NDArray[Any]
    written: Callable[[NDArray[Any]], NDArray[Any]]

    @property
    def kind(self) -> str:
        """M for dates, m for durations, else i or f."""
        return self.at.dtype.kind


def instants_of(keys: NDArray[Any]) -> Instants | None:
    """Return labels as instants; None if they are texts or objects that are no times."""
    if keys.dtype.kind in "mM":
        return Instants(keys, lambda at: at.astype(keys.dtype))
    if keys.dtype.kind in "iuf":
        wide = keys.astype(np.float64 if keys.dtype.kind == "f" else np.int64)
        return Instants(wide, lambda at: _narrowed(at, keys.dtype))
    listed = keys.tolist()
    if keys.dtype.kind not in "UTO" or not listed:
        return None
    try:
        return _of_texts(listed, keys.dtype) if all(isinstance(key, str) for key in listed) else _of_objects(listed)
    except (ValueError, TypeError, AttributeError):
        # A text such as 2024-13-01 has the form of a date but is none.
        return None


def _narrowed(at: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers in the type of the labels if that can hold them."""
    narrow = at.astype(dtype)
    return narrow if dtype.kind == "f" or np.array_equal(narrow, at) else at


def _of_texts(texts: list[str], dtype: np.dtype[Any]) -> Instants | None:
    if not all(map(is_moment, texts)):
        return None
    clocks = [_CLOCK.fullmatch(text) is not None for text in texts]
    last = texts[-1]
    make = np.array if dtype.kind == "U" else _objects
    if all(clocks):
        at = np.array([duration_of(text) for text in texts], dtype="m8[ns]")
        return Instants(at, lambda at: make([_as_clock(each, last) for each in at]))
    if any(clocks):
        return None
    pairs = [_without_zone(text) for text in texts]
    zones = [zone is not None for _, zone in pairs]
    if any(zones) != all(zones):
        return None
    at = np.array([np.datetime64(naive) - zone * _MINUTE if zone else np.datetime64(naive) for naive, zone in pairs])
    return Instants(at, lambda at: make([_as_date(each, last) for each in at]))


def _without_zone(text: str) -> tuple[str, int | None]:
    """Return a date without its time zone, and the minutes by which that is ahead of UTC.

    >>> _without_zone("2024-03-01 08:00+01:30"), _without_zone("2024-03-01")
    (('2024-03-01 08:00', 90), ('2024-03-01', None))
    """
    found = _ZONE.search(text)
    if found is None:
        return text, None
    zone = found["zone"]
    digits = zone[1:].replace(":", "").ljust(4, "0")
    ahead = 0 if zone == "Z" else (1 if zone[0] == "+" else -1) * (60 * int(digits[:2]) + int(digits[2:]))
    return text[: found.start("zone")], ahead


def _as_date(at: np.datetime64, like: str) -> str:
    """Return a date as a text of the form of another.

    >>> _as_date(np.datetime64("2024-03-01T07:00"), "2024-02-01 08:00:00+01:00")
    '2024-03-01 08:00:00+01:00'
    """
    naive, ahead = _without_zone(like)
    units = {7: "M", 10: "D", 16: "m", 19: "s"}
    unit = units.get(len(naive), "ns")
    moved = at + ahead * _MINUTE if ahead else at
    text = str(np.datetime_as_string(moved.astype(f"M8[{unit}]")))[: len(naive)]
    return text.replace("T", naive[10:11] or "T") + like[len(naive) :]


def _as_clock(length: np.timedelta64, like: str) -> str:
    """Return a duration as a time of day of the form of another, with more than 24 hours if need be."""
    nanoseconds = int(length.astype("m8[ns]").astype(np.int64))
    minutes, rest = divmod(nanoseconds, 60 * 10**9)
    seconds, fraction = divmod(rest, 10**9)
    hours = minutes // 60
    # More hours than those of `like` may need another digit.
    width = len(like) + len(f"{hours:02d}") - 2
    return f"{hours:02d}:{minutes % 60:02d}:{seconds:02d}.{fraction:09d}"[:width]


def _of_objects(listed: list[Any]) -> Instants | None:
    last = listed[-1]
    if all(isinstance(key, datetime.time) for key in listed):
        at = np.array([duration_of(key.isoformat()) for key in listed], dtype="m8[ns]")
        return Instants(at, lambda at: _objects([_as_time(each) for each in at]))
    if all(hasattr(key, "ordinal") and hasattr(key, "freqstr") for key in listed):
        if len({key.freqstr for key in listed}) > 1:
            return None
        # The periods of pandas are asked for what they are, so that pandas need not be there.
        at = np.array([key.to_timestamp().to_datetime64() for key in listed])
        return Instants(at, lambda at: _objects([type(last)(each, freq=last.freq) for each in at]))
    if all(isinstance(key, datetime.timedelta | np.timedelta64) for key in listed):
        return Instants(np.array([np.timedelta64(key) for key in listed]), lambda at: at)
    if all(isinstance(key, datetime.datetime) and key.tzinfo is not None for key in listed):
        return _with_zones(listed)
    if all(isinstance(key, datetime.date | np.datetime64) for key in listed):
        if any(getattr(key, "tzinfo", None) is not None for key in listed):
            return None
        return Instants(np.array([np.datetime64(key) for key in listed]), lambda at: at)
    return None


def _with_zones(listed: list[Any]) -> Instants:
    """Return dates with a time zone: by the clock if that is always at the same time of day, else by UTC."""
    zone, make = listed[-1].tzinfo, type(listed[-1])
    by_clock = len({key.time() for key in listed}) == 1
    used = [key if by_clock else key.astimezone(datetime.UTC) for key in listed]
    at = np.array([np.datetime64(key.replace(tzinfo=None).isoformat()) for key in used])

    def written(at: NDArray[Any]) -> NDArray[Any]:
        naive = at.astype("M8[us]").tolist()
        if by_clock:
            moments = [each.replace(tzinfo=zone) for each in naive]
        else:
            moments = [each.replace(tzinfo=datetime.UTC).astimezone(zone) for each in naive]
        return _objects(moments if make is datetime.datetime else [make(each) for each in moments])

    return Instants(at, written)


def _as_time(length: np.timedelta64) -> datetime.time:
    """Return a duration since midnight as a time of day."""
    if length >= _DAY:
        raise ValueError(
            "labels that are times of day cannot be continued past midnight; give durations or dates as labels."
        )
    return (datetime.datetime.min + datetime.timedelta(microseconds=int(length / np.timedelta64(1, "us")))).time()


def _objects(listed: list[Any]) -> NDArray[Any]:
    row = np.empty(len(listed), dtype=object)
    row[:] = listed
    return row
