"""The parts of a subcommand."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

WIDTH = 78
"""The width of the help; argparse does not wrap descriptions if examples keep their lines."""


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Parameters
    ----------
    summary
        A short description.
    options
        A function that adds its options to a parser.
    run
        Runs it and returns the exit code.
    usage
        Its main arguments, for the first line of its help.
    details
        Sentences for its help.
    examples
        Lines that a user can paste.
    """

    summary: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    usage: str = ""
    details: str = ""
    examples: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """The summary as a sentence, and the details, wrapped to a readable width."""
        sentence = f"{self.summary[0].upper()}{self.summary[1:]}."
        parts = [sentence, *self.details.split("\n\n")]
        return "\n\n".join(
            textwrap.fill(" ".join(part.split()), WIDTH, break_on_hyphens=False) for part in parts if part
        )

    @property
    def epilog(self) -> str:
        """The examples."""
        return "\n  ".join(["examples:", *self.examples]) if self.examples else ""
