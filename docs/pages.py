"""Runs the code of the Markdown pages, block after block in one namespace, and compares what it prints.

A block of plain text after a block of Python is its expected output, to the letter. Where the machine or the time
decides about the digits, the block begins with ```` ```text about ````: then the words are the same, and the numbers
about the same.
``python docs/pages.py`` runs every page; ``python docs/pages.py --write docs/PAGE.md`` updates the output in a page.
"""

import contextlib
import io
import math
import re
import tempfile
import traceback
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PAGES = sorted(HERE.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```(text[^\n]*)?\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
FAR = 0.1
"""Numbers of a block that is marked may differ by this share, or by one in their last digit: another machine may round
differently, and so stop one iteration earlier."""

ORDER = [
    "pictures.py",
    "traffic.py",
    "climate.py",
    "ratings.py",
    "knowledge_graph.py",
    "corrupt_entries.py",
    "counts.py",
    "labels.py",
    "scikit_learn.py",
]


class GalleryOrder:
    """The order of the examples in the gallery."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        """Return the place of an example."""
        return ORDER.index(Path(filename).name)


class Block(NamedTuple):
    """A block of Python: its first line, its code, and the output that follows it, or None."""

    line: int
    code: str
    mark: str | None
    expected: str | None

    def prints(self, printed):
        """Return whether a text is the output that follows the block, if there is one."""
        if self.expected is None:
            return True
        return alike(printed, self.expected) if self.mark == "text about" else printed == self.expected


def blocks(page):
    """Return every block of Python in a page."""
    text = page.read_text(encoding="utf-8")
    return [Block(text.count("\n", 0, found.start()) + 2, *found.groups()) for found in BLOCK.finditer(text)]


def run(page, *, rewrite=False):
    """Return the problems with the code of a page, in words, or write what was printed into the page."""
    names = {"__name__": page.stem}
    problems = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks(page):
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
            except Exception:
                problems.append(f"{page.name}, block of line {block.line}: {traceback.format_exc(limit=-1)}")
                break
            if block.prints(printed.getvalue()):
                continue
            if rewrite:
                before = f"{block.code}```\n\n```{block.mark or ''}\n"
                text = page.read_text(encoding="utf-8")
                page.write_text(text.replace(before + block.expected, before + printed.getvalue()))
            else:
                said = f"prints\n{printed.getvalue()}but says\n{block.expected}"
                problems.append(f"{page.name}, block of line {block.line} {said}")
    return problems


def alike(printed, expected):
    """Return whether two texts have the same words and about the same numbers."""
    words = [NUMBER.sub("#", text).split() for text in (printed, expected)]
    pairs = zip(*(NUMBER.findall(text) for text in (printed, expected)), strict=False)
    return words[0] == words[1] and all(_near(*pair) for pair in pairs)


def _near(printed, expected):
    """Return whether two numbers, given as text, are about the same."""
    decimals = max(len(number.partition("e")[0].partition(".")[2]) for number in (printed, expected))
    last_digit = 10.0**-decimals if decimals else 0.0
    return math.isclose(float(printed), float(expected), rel_tol=FAR, abs_tol=1.01 * last_digit)


if __name__ == "__main__":
    import sys
    import time

    wrong, rewrite = 0, "--write" in sys.argv
    for each in [Path(name).resolve() for name in sys.argv[1:] if name != "--write"] or PAGES:
        began = time.monotonic()
        for problem in run(each, rewrite=rewrite):
            wrong += 1
            print(problem)
        print(f"{each.name}: {len(blocks(each))} blocks, {time.monotonic() - began:.1f} s")
    sys.exit(wrong > 0)
