"""Reads mutants one by one: each line of standard input is a sample and a seed, each line of output an answer."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

from .attempts import attempt
from .mutants import mutant
from .samples import samples

MEMORY = 4 * 2**30
"""Beyond this many bytes a worker fails, whatever the file promised to need."""


def mutant_of(name: str, seed: int) -> bytes:
    """Return a mutant by its sample and number."""
    return mutant(samples()[name][1], np.random.default_rng([zlib.crc32(name.encode()), seed]))


def main() -> None:
    """Answer until the input ends."""
    samples()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            name, seed = json.loads(line)
            path = Path(folder) / name
            path.write_bytes(mutant_of(name, seed))
            print(json.dumps(attempt(path, samples()[name][0])), flush=True)


if __name__ == "__main__":
    main()
