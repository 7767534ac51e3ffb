"""Reads mutants of every format for a while, in processes of their own: `python -m tests.fuzz.run --budget 600`."""

from __future__ import annotations

import argparse
import collections
import json
import os
import select
import signal
import subprocess
import sys
import time

from .samples import samples

PATIENCE = 60.0
"""Seconds that one mutant may take."""


class Worker:
    """A process that reads mutants, and is started again if one kills it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._answer(600)
        return self.process

    def _answer(self, patience: float) -> str | None:
        process = self.process
        ready, _, _ = select.select([process.stdout], [], [], patience)
        line = process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        process.kill()
        code = process.wait()
        self.process = None
        if not ready:
            return f"took more than {patience:g} s"
        return f"killed the process ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"

    def flaw(self, name: str, seed: int) -> str | None:
        """Return what is wrong with how a mutant was read, or None."""
        process = self._started()
        process.stdin.write(json.dumps([name, seed]) + "\n")
        process.stdin.flush()
        return self._answer(PATIENCE)

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def main() -> int:
    """Fuzz until the time is over; print every kind of find once, and return 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=600, help="seconds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="", help="only samples whose name, or kind, has this in it")
    given = parser.parse_args()
    names = [name for name, (kind, _) in samples().items() if given.only in name or given.only == kind]
    tried, finds = collections.Counter(), collections.defaultdict(list)
    worker, end, seed = Worker(), time.monotonic() + given.budget, given.first
    try:
        while time.monotonic() < end:
            for name in names:
                flaw = worker.flaw(name, seed)
                tried[name] += 1
                if flaw is not None:
                    finds[name, _kind(flaw)].append((seed, flaw))
                    if len(finds[name, _kind(flaw)]) == 1:
                        print(f"{name} {seed}: {flaw}", flush=True)
            seed += 1
    except KeyboardInterrupt:
        pass
    worker.close()
    for name, count in tried.items():
        wrong = sum(len(each) for (of, _), each in finds.items() if of == name)
        print(f"{name:12} {count:7,} mutants {wrong:6,} finds")
    total = sum(map(len, finds.values()))
    print(f"{sum(tried.values()):,} mutants, {total:,} finds")
    return int(total > 0)


def _kind(flaw: str) -> str:
    """Return what finds of one kind have in common."""
    return flaw.rpartition("(")[2] if flaw.endswith(")") else flaw


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    raise SystemExit(main())
