"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def written(value: float, digits: int = 4) -> str:
    """Return a number with so many digits that mean something; commas part its thousands.

    >>> written(3.14159), written(41580.0), written(1234.567), written(2e-7), written(float("nan"))
    ('3.142', '41,580', '1,235', '2e-07', 'not known')
    """
    if not math.isfinite(value):
        return "not known" if math.isnan(value) else ("infinite" if value > 0 else "minus infinite")
    if value == round(value) and abs(value) < 1e12:
        return f"{round(value):,}"
    if 1e3 <= abs(value) < 1e12:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def percent(share: float) -> str:
    """Return a share as a percentage with three digits that mean something.

    >>> percent(0.39371), percent(1.0), percent(1.29e-7), percent(0.0005), percent(0.99999)
    ('39.4%', '100%', '0.0000129%', '0.05%', '99.999%')
    """
    value = 100 * share
    if not math.isfinite(value):
        return "not known"
    if 99.95 <= value < 100:
        return f"{value:.3f}%" if value < 99.9995 else "nearly 100%"
    if value == 0 or value >= 1:
        return f"{value:.3g}%"
    return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}".rstrip("0") + "%"


def sizes(shape: Sequence[int]) -> str:
    """Return a shape as people write it.

    >>> sizes((365, 24, 1464))
    '365 × 24 × 1,464'
    """
    return " × ".join(f"{size:,}" for size in shape)


def bytes_in_words(count: float) -> str:
    """Return a number of bytes in a unit that suits it.

    >>> bytes_in_words(512), bytes_in_words(118_000_000)
    ('512 bytes', '118 MB')
    """
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.3g} {unit}"


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(0.0312), duration(75), duration(7300)
    ('0.03 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
