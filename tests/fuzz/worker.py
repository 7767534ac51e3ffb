"""Reads mutants one by one: each line of standard input says where and how, each line of output an answer."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from .attempts import attempt

MEMORY = 4 * 2**30
"""Beyond this many bytes a worker fails, whatever the file promised to need."""


def main() -> None:
    """Answer until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        path, kind, options = json.loads(line)
        print(json.dumps(attempt(Path(path), kind, **options)), flush=True)


if __name__ == "__main__":
    main()
