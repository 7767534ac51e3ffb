"""Phrases that stay out of summaries and comments, because a native reader stumbles over them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "tensorfill"

BANNED = re.compile(r"\b(so many|shall|of its own|stands? where|as it stands|where it stands|nobody)\b", re.IGNORECASE)

FILES = sorted(PACKAGE.rglob("*.py"))


def prose(source):
    """Yield the docstrings and comments of a module, each on one line, with the line that it begins on."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, " ".join(node.value.value.split())
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_no_banned_phrase(file):
    found = [f"line {line}: {text}" for line, text in prose(file.read_text("utf-8")) if BANNED.search(text)]
    assert found == []


def test_banned_phrases_are_found():
    source = 'def f():\n    """Return so\n    many of them."""\n    # This shall stay.\n'
    assert [line for line, text in prose(source) if BANNED.search(text)] == [2, 4]
