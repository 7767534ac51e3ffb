"""Forty real Ctrl-C at random moments of a run: how many give an answer, in Python and with the command.

Run it as ``python experiments/interrupts.py [--times 40] [--command]``. A child process says when its data is there,
gets SIGINT after a random share of the time that the whole run takes, and prints why it stopped.
"""

from __future__ import annotations

import argparse
import collections
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console

CHILD = """
import sys, traceback, warnings
import numpy as np, tensorfill
warnings.simplefilter("ignore")
complete, data = tensorfill.complete, np.load(sys.argv[1])
print("ready", flush=True)
try:
    fit = complete(data, rng=0, **eval(sys.argv[2]))
except KeyboardInterrupt as stop:
    where = [(frame.name, frame.lineno) for frame in traceback.extract_tb(stop.__traceback__)]
    print("raised in", where[1:4], flush=True)
else:
    print(fit.status.name, np.isfinite(fit.filled()).all(), flush=True)
"""

RUNS = {"auto": {}, "l1": {"loss": "l1"}, "given": {"lam": 1.0}, "poisson": {"loss": "poisson"}}


def holes(shape: tuple[int, ...] = (24, 16, 10)) -> np.ndarray:
    """Return counts with effects and a low rank, half of them missing."""
    rng = np.random.default_rng(0)
    rates = sum(np.ix_(*(0.3 * rng.standard_normal(size) for size in shape))) + 1.5
    rates = rates + 0.3 * np.einsum("i,j,k", *(rng.standard_normal(size) for size in shape))
    counts = rng.poisson(np.exp(np.minimum(rates, 5.0))).astype(float)
    return np.where(rng.random(shape) < 0.5, counts, np.nan)


def interrupted(path: Path, options: dict[str, object], after: float | None) -> tuple[str, float]:
    """Return the last words of a child, which gets Ctrl-C after some seconds if asked for, and how long it took."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), repr(options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    child.stdout.readline()
    began = time.monotonic()
    if after is not None:
        time.sleep(after)
        child.send_signal(signal.SIGINT)
    out, errors = child.communicate()
    return out.strip() or (errors.strip().splitlines() or ["nothing"])[-1], time.monotonic() - began


def commanded(path: Path, after: float | None) -> tuple[str, float]:
    """Run the command once, as `interrupted` does; its display says when the data has been read."""
    output = path.with_name("out.npy")
    output.unlink(missing_ok=True)
    code = "from tensorfill.cli import main; import sys; sys.exit(main())"
    child = subprocess.Popen(
        [sys.executable, "-c", code, "complete", str(path), "-o", str(output), "--quiet"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    began = time.monotonic()
    if after is not None:
        time.sleep(after)
        child.send_signal(signal.SIGINT)
    _, errors = child.communicate()
    written = "written" if output.exists() else "not written"
    return f"exit {child.returncode}, {written}: {errors.strip().splitlines()[-1:]}", time.monotonic() - began


def main() -> None:
    """Press Ctrl-C many times, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--command", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "holes.npy"
        np.save(path, holes())
        runs = {"command": None} if given.command else RUNS
        for name, options in runs.items():
            run = (lambda after: commanded(path, after)) if options is None else (
                lambda after, options=options: interrupted(path, options, after)
            )  # fmt: skip
            whole = run(None)[1]
            answers: collections.Counter[str] = collections.Counter()
            waits = []
            for after in rng.uniform(0, whole, given.times // len(runs)):
                words, seconds = run(after)
                answers[words] += 1
                waits.append(seconds - after)
            Console().print(f"{name}: {whole:.1f} s; {dict(answers)}; answered after at most {max(waits):.2f} s")


if __name__ == "__main__":
    main()
