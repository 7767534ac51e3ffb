"""Printing: messages on standard error, facts and JSON on standard output."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

READING = re.compile(r"(?<=[ (])(?P<name>missing|layout|value|time)=(?:'(?P<text>[^']*)'|(?P<number>\d+))?")
"""Arguments in a message that are options of the command too."""

Facts = Iterable[tuple[str, str]]
"""Pairs of a name and a text."""


def say(sentence: str) -> None:
    """Print a message on standard error, wrapped between words on a terminal."""
    console = Console(stderr=True, highlight=False)
    console.print(f"tensorfill: {escape(sentence)}", soft_wrap=not console.is_terminal)


def show_facts(facts: Facts, *, beside: bool = False) -> None:
    """Print facts in two columns, without empty ones; a terminal wraps long texts in their column.

    Parameters
    ----------
    facts
        The facts.
    beside
        Whether to print them on standard error, because standard output has the answer.
    """
    console = Console(highlight=False, soft_wrap=True, stderr=beside)
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


def show_text(text: str) -> None:
    """Print lines unchanged; a terminal wraps long ones."""
    Console(highlight=False, soft_wrap=True).print(text, markup=False)


def show_json(record: Mapping[str, Any]) -> None:
    """Print one JSON object for other programs; NaN and infinity become null."""
    Console(highlight=False, soft_wrap=True).print(json.dumps(_plain(record)), markup=False)


def _plain(thing: Any) -> Any:
    """Return an object that JSON can hold."""
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


def as_options(sentence: str) -> str:
    """Return a message of the library with its settings written as options of the command.

    >>> as_options("The time limit was reached; raise time_limit to go on.")
    'The time limit was reached; raise --time-limit to go on.'
    >>> as_options("say layout='wide' if each cell is a value, or name the values with value=")
    'say --layout wide if each cell is a value, or name the values with --value'
    >>> as_options("name it, as in time='hour' or time=1.")
    'name it, as in --time hour or --time 1.'
    """
    said = READING.sub(lambda found: f"--{found['name']} {found['text'] or found['number'] or ''}".strip(), sentence)
    return said.replace("time_limit", "--time-limit").replace("max_iter", "--max-iter")
