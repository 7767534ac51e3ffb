"""Numbers formatted for people, in reports and on the command line."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def written(value: float, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, or with all digits before the point, in groups of thousands.

    >>> written(3.14159), written(41580.0), written(1234.567), written(999.7, 3), written(2e-7), written(float("nan"))
    ('3.142', '41,580', '1,235', '1,000', '2e-07', 'not known')
    """
    if not math.isfinite(value):
        return "not known" if math.isnan(value) else ("infinite" if value > 0 else "minus infinite")
    if value == round(value) and abs(value) < 1e12:
        return f"{round(value):,}"
    if min(1e3, 10**digits - 0.5) <= abs(value) < 1e12:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def numbers(values: Sequence[float | None]) -> str:
    """Return one number for each mode with three significant digits, or a single number if all look the same.

    >>> numbers((0.5, 0.5)), numbers((0.5, None))
    ('0.5', '(0.5, none)')
    """
    words = ["none" if value is None else f"{value:.3g}" for value in values]
    return words[0] if len(set(words)) == 1 else f"({', '.join(words)})"


def percent(share: float) -> str:
    """Return a fraction as a percentage with three significant digits, never rounded up to 100%.

    >>> percent(0.39371), percent(1.0), percent(1.29e-7), percent(0.0005), percent(0.99999), percent(12.0)
    ('39.4%', '100%', '0.0000129%', '0.05%', '99.999%', '1,200%')
    """
    value = 100 * share
    if not math.isfinite(value):
        return "not known"
    if 99.95 <= value < 100:
        return f"{value:.3f}%" if value < 99.9995 else "nearly 100%"
    if abs(value) >= 999.5:
        return f"{value:,.0f}%"
    if value == 0 or abs(value) >= 1:
        return f"{value:.3g}%"
    decimals = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".") + "%"


def sizes(shape: Sequence[int], times: str = "x") -> str:
    """Return a shape with `times` between its sizes.

    >>> sizes((365, 24, 1464)), sizes((365, 24), times="×")
    ('365 x 24 x 1,464', '365 × 24')
    """
    return f" {times} ".join(f"{size:,}" for size in shape)


def bytes_in_words(count: float) -> str:
    """Return a number of bytes with three significant digits, in the largest binary unit that it reaches.

    >>> bytes_in_words(512), bytes_in_words(1536), bytes_in_words(118_000_000)
    ('512 bytes', '1.5 KiB', '113 MiB')
    """
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:,.0f} {unit}" if count >= 99.95 else f"{count:.3g} {unit}"


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours.

    >>> duration(0.0312), duration(75), duration(7300)
    ('0.03 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def label_in_words(label: Any) -> str:
    """Return a label as people write it: dates without the time where that is midnight, and no trailing zeros.

    >>> label_in_words(np.datetime64("2024-03-01T00:00:00")), label_in_words(np.datetime64("2024-03-01T08:30"))
    ('2024-03-01', '2024-03-01 08:30')
    >>> label_in_words(np.timedelta64(90, "m")), label_in_words(np.timedelta64(3, "D")), label_in_words(0.1 + 0.2)
    ('1:30', '3 days', '0.3')
    """
    if isinstance(label, np.datetime64):
        return _moment(str(label.astype("datetime64[ns]")).replace("T", " "))
    if isinstance(label, np.timedelta64):
        return _length(label / np.timedelta64(1, "s"))
    if isinstance(label, datetime.timedelta):
        return _length(label.total_seconds())
    if isinstance(label, datetime.datetime):
        return _moment(label.isoformat(sep=" "))
    if isinstance(label, datetime.time):
        return str(label)[:5] if label.second == 0 and label.microsecond == 0 else str(label)
    if isinstance(label, float | np.floating):
        return f"{label:.12g}"
    if isinstance(label, tuple):
        return ", ".join(map(label_in_words, label))
    return str(label)


def _moment(text: str) -> str:
    """Return a date with the nonzero part of its time."""
    day, _, clock = text.partition(" ")
    clock = clock.rstrip("0").rstrip(".") if "." in clock else clock
    if clock in ("", "00:00:00", "00:00", "00"):
        return day
    return f"{day} {clock.removesuffix(':00') if clock.count(':') == 2 else clock}"


def _length(seconds: float) -> str:
    """Return a duration: whole days, or hours and minutes as on a clock."""
    if not math.isfinite(seconds):
        return "not known"
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    days, rest = divmod(seconds, 86400)
    if rest == 0 and days:
        return f"{sign}{days:,.0f} day{'s' if days != 1 else ''}"
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    clock = f"{hours:.0f}:{minutes:02.0f}" + (f":{rest:05.2f}".rstrip("0").rstrip(".") if rest else "")
    return f"{sign}{days:,.0f} day{'s' if days != 1 else ''} {clock}" if days else f"{sign}{clock}"
