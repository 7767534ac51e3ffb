"""Reads mutants of every format for a while, in a process of its own: `python -m tests.fuzz.run --budget 600`.

The file of each find is kept, because saved fits hold times, so that their mutants are not the same in another run.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from .mutants import mutant
from .samples import options_for, samples

PATIENCE = 60.0
"""Seconds that one mutant may take."""


class Worker:
    """A process that reads mutants, and is started again if one kills it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.folder = tempfile.TemporaryDirectory()

    def flaw(self, name: str, seed: int) -> tuple[str | None, Path]:
        """Return what is wrong with how a mutant was read, or None, and its file."""
        kind, content = samples()[name]
        path = Path(self.folder.name) / name
        path.write_bytes(mutant(content, np.random.default_rng([zlib.crc32(name.encode()), seed])))
        if self.process is None:
            command = [sys.executable, "-m", "tests.fuzz.worker"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen(command, text=True, **pipes)
        self.process.stdin.write(json.dumps([str(path), kind, options_for(name, seed)]) + "\n")
        self.process.stdin.flush()
        return self._answer(), path

    def _answer(self) -> str | None:
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        code = self._ended()
        if not ready:
            return f"took more than {PATIENCE:g} s"
        return f"killed the process ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"

    def _ended(self) -> int:
        """End the process."""
        process, self.process = self.process, None
        process.kill()
        process.stdin.close()
        process.stdout.close()
        return process.wait()

    def close(self) -> None:
        """End the process, and remove the files."""
        if self.process is not None:
            self._ended()
        self.folder.cleanup()


def main() -> int:
    """Fuzz until the time is over; print every kind of find once, and return 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=600, help="seconds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="", help="only samples whose name has this in it, or whose kind it is")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "fuzz-finds", help="folder of finds")
    given = parser.parse_args()
    names = [name for name, (kind, _) in samples().items() if given.only in name or given.only == kind]
    tried, finds, kinds = collections.Counter(), collections.Counter(), set()
    worker, end, spent = Worker(), time.monotonic() + given.budget, dict.fromkeys(names, 0.0)
    try:
        while time.monotonic() < end:
            # Every sample gets the same time, so that those that are read fast have more mutants.
            name = min(spent, key=lambda each: spent[each])
            began, seed = time.monotonic(), given.first + tried[name]
            flaw, path = worker.flaw(name, seed)
            spent[name] += time.monotonic() - began
            tried[name] += 1
            if flaw is not None:
                finds[name] += 1
                if (name, _kind(flaw)) not in kinds:
                    kinds.add((name, _kind(flaw)))
                    print(f"{name}: {flaw}; see {_kept(path, given.keep, seed)}", flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        worker.close()
    for name, count in tried.items():
        print(f"{name:12} {count:7,} mutants {finds[name]:6,} finds")
    print(f"{sum(tried.values()):,} mutants, {sum(finds.values()):,} finds")
    return int(sum(finds.values()) > 0)


def _kept(path: Path, folder: Path, seed: int) -> Path:
    """Return the path of a copy that stays."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / f"{seed}-{path.name}"
    copy.write_bytes(path.read_bytes())
    return copy


def _kind(flaw: str) -> str:
    """Return what finds of one kind have in common: the place where they were raised."""
    return flaw.rpartition("(")[2] if flaw.endswith(")") else flaw


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    raise SystemExit(main())
