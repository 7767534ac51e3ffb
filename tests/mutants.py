"""Mutation tests: each mistake of `tests/mutations` is put into a copy of the package, and its tests must fail.

    python -m tests.mutants                 all of them
    python -m tests.mutants momentum        those with this word in their name or file
    python -m tests.mutants --list

The checkout is never touched: the package and its tests are copied to a temporary folder once, with what numba and
Python compiled. A file that is restored there gets its old time again, so nothing is compiled twice.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from .mutations import (
    Mutant,
    choosing,
    elsewhere,
    error_bars,
    forms,
    honest,
    imputer,
    nort,
    seasonal,
    series,
    stages_of_nort,
    times,
)

ROOT = Path(__file__).parents[1]

TABLES = (nort, stages_of_nort, error_bars, choosing, forms, honest, imputer, seasonal, series, times, elsewhere)

MUTANTS: tuple[Mutant, ...] = tuple(mutant for table in TABLES for mutant in table.MUTANTS)

PATIENCE = 300.0
"""Seconds that the tests of one mutant may take; a mutant that never ends is noticed too."""

LATER = 10
"""Seconds by which a mutated file is younger than the last one, so that nothing compiled from one serves another."""


class Outcome(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    ALIVE = "alive"
    STALE = "stale"
    EXPLAINED = "explained"

    @property
    def is_fine(self) -> bool:
        """Whether it is as it should be."""
        return self in (Outcome.KILLED, Outcome.EXPLAINED)


class Copy:
    """A copy of the package and its tests, in which one file at a time is mutated.

    Parameters
    ----------
    folder
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        for part in ("src/tensorfill", "tests"):
            shutil.copytree(ROOT / part, folder / part)
        shutil.copy2(ROOT / "pyproject.toml", folder)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Have a mutant in the copy for a while."""
        path = self._folder / "src" / "tensorfill" / mutant.file
        text, times = path.read_text("utf-8"), path.stat()
        self._count += 1
        kept = self._folder / "compiled"
        compiled = path.parent / "__pycache__"
        # Compiled loops are part of others, whose files do not change.
        of_loops = compiled.is_dir() and path.parent.name == "compiled"
        if of_loops:
            compiled.rename(kept)
        try:
            path.write_text(text.replace(mutant.old, mutant.new), "utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + self._count * LATER * 10**9))
            yield
        finally:
            path.write_text(text, "utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if of_loops:
                shutil.rmtree(compiled, ignore_errors=True)
                kept.rename(compiled)

    def tested(self, tests: Sequence[str]) -> int | None:
        """Run tests on the copy and return the exit code of pytest; None if they do not end."""
        paths = [f"tests/{test}" for test in tests]
        # Without doctests: with them, pytest says the same of a file that cannot be imported and of a test that fails.
        plain = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=--strict-markers"]
        command = [sys.executable, "-m", "pytest", *plain, *paths]
        ours = {"PYTHONPATH": str(self._folder / "src"), "PYTHONDONTWRITEBYTECODE": "", "HYPOTHESIS_PROFILE": "steady"}
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **ours}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            return subprocess.run(command, cwd=self._folder, env=environment, timeout=PATIENCE, **quiet).returncode
        except subprocess.TimeoutExpired:
            return None


def is_stale(mutant: Mutant) -> bool:
    """Return whether the text of a mutant is not in its file, or not once."""
    path = ROOT / "src" / "tensorfill" / mutant.file
    return not path.is_file() or path.read_text("utf-8").count(mutant.old) != 1


def outcome_of(mutant: Mutant, copy: Copy) -> Outcome:
    """Return what becomes of a mutant."""
    if is_stale(mutant):
        return Outcome.STALE
    with copy.mutated(mutant):
        code = copy.tested(mutant.tests)
    # pytest returns 1 if a test failed; with any other code than that and 0, it did not get to the tests.
    if code in (None, 1):
        return Outcome.KILLED
    if code != 0:
        return Outcome.STALE
    return Outcome.EXPLAINED if mutant.equivalent else Outcome.ALIVE


def named(words: Sequence[str]) -> list[Mutant]:
    """Return the mutants with one of these words in their name or file; all without words."""
    return [each for each in MUTANTS if not words or any(word in f"{each.name} {each.file}" for word in words)]


def run(mutants: Sequence[Mutant], console: Console) -> int:
    """Try mutants, say what became of each, and return the exit code: 1 if one is alive or stale."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, console.status("copying the package") as status:
        copy = Copy(Path(folder))
        status.update("running the tests without any mutant")
        if copy.tested(sorted({test for mutant in mutants for test in mutant.tests})) != 0:
            console.print(
                "The tests of the mutants fail without any mutant, or were not found; run them by themselves."
            )
            return 1
        found: list[Outcome] = []
        for number, mutant in enumerate(mutants, start=1):
            status.update(f"{number} of {len(mutants)}: {escape(mutant.name)}")
            found.append(outcome_of(mutant, copy))
            why = f" ({mutant.equivalent})" if found[-1] is Outcome.EXPLAINED else ""
            said = f"{found[-1].value:9} {mutant.file}: {mutant.name}{why}"
            console.print(
                escape(said), style=None if found[-1].is_fine else "bold red", highlight=False, soft_wrap=True
            )
    counts = ", ".join(f"{found.count(each)} {each.value}" for each in Outcome)
    console.print(f"{len(found)} mutants in {time.monotonic() - began:.0f} s: {counts}.", highlight=False)
    return 0 if all(each.is_fine for each in found) else 1


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", metavar="NAME", help="words in the name or the file of a mutant")
    parser.add_argument("--list", action="store_true", help="say which there are, and run none")
    given, console = parser.parse_args(), Console()
    mutants = named(given.words)
    if not mutants:
        console.print(f"No mutant has one of {given.words} in its name or file; --list has them all.")
        return 1
    if given.list:
        for mutant in mutants:
            console.print(escape(f"{mutant.file}: {mutant.name}"), highlight=False, soft_wrap=True)
        return 0
    return run(mutants, console)


if __name__ == "__main__":
    sys.exit(main())
