"""Numbers as people read them, in reports and on the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence


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
    """Return a share as a percentage with three significant digits, never rounded up to 100%.

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
    """Return a number of bytes with three significant digits, in the largest binary unit that it fills.

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
