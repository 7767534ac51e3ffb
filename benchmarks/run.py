"""What tensorfill costs, as ratios within one run: `make bench` writes benchmarks/results.md.

`python benchmarks/run.py iteration storage` measures only these tables, prints them, and writes nothing. The tables are
iteration, first_call, storage, waiting, growth, peers (which needs TensorLy) and scale, which takes the longest.
"""

from __future__ import annotations

import importlib
import sys

from measure import FOLDER

TABLES = ["iteration", "first_call", "storage", "waiting", "growth", "peers", "scale"]


def main(names: list[str]) -> None:
    """Measure the tables and, unless only some were named, write them."""
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        sys.exit(f"There is no table {', '.join(unknown)}; give none, or some of {', '.join(TABLES)}.")
    sections = []
    for name in names or TABLES:
        module = importlib.import_module(name)
        print(module.TEXT, flush=True)
        sections.append(module.TEXT + "\n" + "\n".join(module.table()) + "\n")
    if not names:
        (FOLDER / "results.md").write_text(
            "# Benchmarks\n\nFrom `make bench`, as ratios within one run.\n\n" + "\n".join(sections)
        )


if __name__ == "__main__":
    main(sys.argv[1:])
