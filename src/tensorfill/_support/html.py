"""The HTML display of an object in a notebook: a plain table, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = (
    ".tensorfill{font-size:13px;line-height:1.45;margin:2px 0 10px}"
    ".tensorfill b{font-weight:600}"
    ".tensorfill table{border-collapse:collapse;margin:4px 0 0;font-size:inherit;color:inherit}"
    ".tensorfill th,.tensorfill td{text-align:left!important;vertical-align:top;font-weight:400;padding:2px 14px 2px 0;"
    "border:0;border-bottom:1px solid rgba(128,128,128,.3);background:none!important;color:inherit}"
    ".tensorfill tr{background:none!important}"
    ".tensorfill th{opacity:.7;white-space:nowrap}"
    ".tensorfill .doubt{border-left:4px solid #e69f00;background:rgba(230,159,0,.16);padding:4px 10px;margin:5px 0}"
)
"""Inline styles, because notebooks have style rules for tables that must be overridden. The colours are inherited or
faint enough for light and dark pages."""

MOST_ROWS = 20
"""Of a longer table, only the first and last rows are shown."""


def card(
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    doubts: Iterable[str] = (),
) -> str:
    """Return self-contained HTML with a title, facts and a table.

    Parameters
    ----------
    title
        The title.
    facts
        Pairs of a name and its text; empty texts are left out.
    head, rows
        The header and rows of a table; the middle of a table of more than 20 rows is left out.
    doubts
        Warnings, shown prominently.

    Examples
    --------
    >>> "<b>A &amp; B</b>" in card("A & B")
    True
    """
    parts = [f"<b>{escape(title)}</b>"]
    parts += [f'<div class="doubt">{escape(doubt)}</div>' for doubt in doubts]
    lines = [f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts if text]
    if lines:
        parts.append(f"<table>{''.join(lines)}</table>")
    if rows:
        parts.append(_table(head, rows))
    return f'<div class="tensorfill"><style>{STYLE}</style>{"".join(parts)}</div>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    shown = [*rows] if len(rows) <= MOST_ROWS else [*rows[: MOST_ROWS // 2], ("…",), *rows[-MOST_ROWS // 2 :]]
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in shown)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
