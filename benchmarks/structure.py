"""How the package is built, in numbers: lines of code, what a call passes through, in how many files a stage is named.

python benchmarks/structure.py
"""

from __future__ import annotations

import argparse
import ast
import sys
import tokenize
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

import tensorfill
from tensorfill._support.table import STAGES

PACKAGE = Path(tensorfill.__file__).parent


def code_lines(path: Path) -> int:
    """Return the number of lines that are neither blank, nor comments, nor docstrings."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        for child in getattr(node, "body", []) if isinstance(getattr(node, "body", None), list) else []:
            if (
                isinstance(child, ast.Expr)
                and isinstance(child.value, ast.Constant)
                and isinstance(child.value.value, str)
            ):
                documented |= set(range(child.lineno, child.end_lineno + 1))
    without = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in (*without, tokenize.ENCODING):
                lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def names_in(path: Path) -> set[str]:
    """Return the identifiers of a module, and those in the homes of a table."""
    with path.open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    homes = {token.string.strip("'\"").partition(":")[2] for token in tokens if token.type == tokenize.STRING}
    return homes | {token.string for token in tokens if token.type == tokenize.NAME}


def passed(call) -> tuple[set[str], int]:
    """Return the modules of the package in which a call runs a function, and the most frames of them at a time."""
    modules: set[str] = set()
    deepest = depth = 0

    def watch(frame, event, argument) -> None:
        nonlocal depth, deepest
        if not frame.f_code.co_filename.startswith(str(PACKAGE)) or frame.f_code.co_name == "<module>":
            return
        if event == "call":
            modules.add(str(Path(frame.f_code.co_filename).relative_to(PACKAGE)))
            depth += 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return modules, deepest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--modules", action="store_true", help="name the modules that a call passes")
    asked = parser.parse_args()

    by_folder: dict[str, int] = defaultdict(int)
    for path in PACKAGE.rglob("*.py"):
        folder = path.relative_to(PACKAGE).parts
        by_folder[folder[0] if len(folder) > 1 else "(top level)"] += code_lines(path)
    searches = sum(code_lines(path) for path in (PACKAGE / "choosing" / "search").glob("*.py"))
    print(f"{sum(by_folder.values()):,} lines of code")
    print(", ".join(f"{name} {lines:,}" for name, lines in sorted(by_folder.items())))
    print(f"choosing {by_folder['choosing']:,}, of which searches {searches:,}")

    random = np.random.default_rng(0)
    low_rank = random.standard_normal((30, 2)) @ random.standard_normal((2, 30))
    array = np.where(random.random(low_rank.shape) < 0.6, low_rank + 0.1 * random.standard_normal((30, 30)), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensorfill.complete(array, rng=0)
        modules, deepest = passed(lambda: tensorfill.complete(array, rng=0))
    print(f"complete(array) runs functions of {len(modules)} modules, {deepest} frames deep")
    if asked.modules:
        print("\n".join(sorted(modules)))

    for name, home in STAGES.items():
        kind = home.partition(":")[2]
        files = [path for path in PACKAGE.rglob("*.py") if kind in names_in(path)]
        print(f"the stage {name!r}, {kind}, is named in {len(files)} files")


if __name__ == "__main__":
    main()
