"""What the command says, and how."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

Facts = Iterable[tuple[str, str]]
"""Names and what is to be said of each."""


def say(sentence: str) -> None:
    """Say something beside the answer, on standard error; a terminal gets lines that end between words."""
    console = Console(stderr=True, highlight=False)
    console.print(f"tensorfill: {escape(sentence)}", soft_wrap=not console.is_terminal)


def show_facts(facts: Facts) -> None:
    """Print facts one under the other; on a terminal long ones are wrapped within their column."""
    console = Console(highlight=False, soft_wrap=True)
    rows = [(name, text) for name, text in facts if text]
    width = max(len(name) for name, _ in rows)
    if not console.is_terminal:
        for name, text in rows:
            console.print(f"{name:<{width}}  {text}", markup=False)
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for name, text in rows:
        grid.add_row(name, escape(text))
    console.print(grid, soft_wrap=False)


def show_json(record: Mapping[str, Any]) -> None:
    """Print one JSON object for machines; what is no number is null there."""
    Console(highlight=False, soft_wrap=True).print(json.dumps(_plain(record)), markup=False)


def _plain(thing: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(thing, Mapping):
        return {str(name): _plain(value) for name, value in thing.items()}
    if isinstance(thing, str | bool | None):
        return thing
    if isinstance(thing, Iterable):
        return [_plain(each) for each in thing]
    number = thing.item() if hasattr(thing, "item") else thing
    if isinstance(number, float) and not math.isfinite(number):
        return None
    return number if isinstance(number, int | float) else str(number)


def sizes(shape: Sequence[int]) -> str:
    """Return a shape as people write it.

    >>> sizes((365, 24, 1464))
    '365 x 24 x 1,464'
    """
    return " x ".join(f"{size:,}" for size in shape)


def share(part: float) -> str:
    """Return a share as a percentage with three digits that mean something.

    >>> share(0.39371), share(1.0), share(1.29e-7)
    ('39.4%', '100%', '0.0000129%')
    """
    percent = 100 * part
    if percent == 0 or percent >= 1:
        return f"{percent:.3g}%"
    return f"{percent:.{2 - math.floor(math.log10(percent))}f}%"


def bytes_in_words(count: float) -> str:
    """Return a number of bytes in a unit that suits it.

    >>> bytes_in_words(512), bytes_in_words(118_000_000)
    ('512 B', '113 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}" if count < 1000 else f"{count:,.0f} {unit}"


def numbers(values: Sequence[float | None]) -> str:
    """Return one number for each mode, or a single one where they agree.

    >>> numbers((0.5, 0.5)), numbers((0.5, None))
    ('0.5', '(0.5, none)')
    """
    words = ["none" if value is None else f"{value:.3g}" for value in values]
    return words[0] if len(set(words)) == 1 else f"({', '.join(words)})"


def as_options(sentence: str) -> str:
    """Return a sentence of the library with the names that its settings have here.

    >>> as_options("The time limit was reached; raise time_limit to go on.")
    'The time limit was reached; raise --time-limit to go on.'
    """
    return sentence.replace("time_limit", "--time-limit").replace("max_iter", "--max-iter")
