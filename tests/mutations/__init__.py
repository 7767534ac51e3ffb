"""Small mistakes in the package, by hand, each with the tests that must notice it; `python -m tests.mutants` runs them.

A table for each part of the package. A new mutant is a line there: a name that says what is wrong, the file, the text
that is replaced (it occurs once in the file), what replaces it, and the tests that must fail.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A mistake in one file.

    Parameters
    ----------
    name
        What is wrong.
    file
        The file, from `src/tensorfill` on.
    old, new
        The text of the file that is replaced, and what replaces it.
    tests
        The tests of which one must fail at least, from `tests` on, as pytest names them.
    equivalent
        Why no test can fail, if none can: the mutation is then expected to live.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str = ""
