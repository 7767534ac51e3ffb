"""Numerical extremes: what `complete` does with each of some seventy data sets and settings, and how long it takes.

    python experiments/extremes.py --output extremes.md
    python experiments/extremes.py "float32 1e+09" "one entry"

Columns
    what happened: `answered`, if every number of the fit is finite; `refused`, if there was an error of one sentence;
    `WRONG`, if a number is not finite, an error is not in words, or NumPy warned.
    error: the root mean square error at hidden entries, relative to that of zero, where the truth is known.
    said: the warnings of tensorfill, by their first words, or the refusal.
    seconds: of the processor.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import tensorfill

Array = NDArray[Any]

SHAPE = (12, 11, 10)


@dataclass(frozen=True)
class Extreme:
    """Data with gaps, the truth if it is known, and the options of `complete`."""

    data: Any
    truth: Array | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def low_rank() -> Array:
    """Return a tensor of rank two with a little noise."""
    rng = np.random.default_rng(0)
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in SHAPE))
    return truth + 0.02 * rng.standard_normal(SHAPE)


def seen(share: float = 0.6) -> Array:
    """Return which entries are observed."""
    return np.random.default_rng(1).random(SHAPE) < share


def scaled(scale: float, offset: float = 0.0, **options: Any) -> Extreme:
    """Return the low-rank tensor at some scale."""
    truth = low_rank() * scale + offset
    return Extreme(np.where(seen(), truth, np.nan), truth, options)


def holding(entries: Mapping[tuple[int, ...], float], shape: tuple[int, ...] = SHAPE, **options: Any) -> Extreme:
    """Return a tensor with these entries only."""
    data = np.full(shape, np.nan)
    for place, value in entries.items():
        data[place] = value
    return Extreme(data, options=options)


def with_outlier(value: float, **options: Any) -> Extreme:
    """Return the low-rank tensor with one entry replaced."""
    whole = scaled(1.0, **options)
    whole.data[tuple(np.argwhere(seen())[0])] = value
    return whole


def masked(values: Array, **options: Any) -> Extreme:
    """Return a masked array of any type."""
    return Extreme(np.ma.MaskedArray(values, ~seen()), options=options)


def column(value: Callable[[int], float], **options: Any) -> Extreme:
    """Return a tensor of which one fibre is observed."""
    return holding({(row, 3, 4): value(row) for row in range(SHAPE[0])}, **options)


def of_rank_one(power: float) -> Extreme:
    """Return a tensor of rank one, whose factors go from ``10**-power`` to ``10**power``."""
    truth = np.einsum("i,j,k->ijk", *(np.logspace(-power, power, size) for size in SHAPE))
    return Extreme(np.where(seen(), truth, np.nan), truth)


def thin() -> tensorfill.Observations:
    """Return 4,000 entries of a tensor of 20,000 x 3 x 2."""
    rng = np.random.default_rng(0)
    coords = np.unique(np.stack([rng.integers(size, size=4000) for size in (20_000, 3, 2)], axis=1), axis=0)
    return tensorfill.Observations(coords, rng.standard_normal(len(coords)), (20_000, 3, 2))


def counts(rate: float) -> Array:
    """Return counts around a rate, some missing."""
    rates = rate * np.exp(0.3 * low_rank())
    return np.where(seen(), np.random.default_rng(2).poisson(rates).astype(float), np.nan)


def _scales() -> dict[str, Callable[[], Extreme]]:
    wide = (-300, -200, -150, -139, -100, -50, -30, -9, 9, 30, 50, 100, 139, 150, 200, 300)
    narrow = (-40, -20, -14, -9, -6, 6, 9, 14, 20, 38)
    found = {f"float64 {10.0**power:.0e}": lambda power=power: scaled(10.0**power) for power in wide}
    return found | {
        f"float32 {10.0**power:.0e}": lambda power=power: scaled(10.0**power, dtype="float32") for power in narrow
    }


EXTREMES: dict[str, Callable[[], Extreme]] = {
    **_scales(),
    # Methods and losses at other scales
    "nort 1e+100": lambda: scaled(1e100, method="nort"),
    "nort 1e-100": lambda: scaled(1e-100, method="nort"),
    "nort float32 1e+09": lambda: scaled(1e9, method="nort", dtype="float32"),
    "nort float32 1e-09": lambda: scaled(1e-9, method="nort", dtype="float32"),
    "cp 1e+100": lambda: scaled(1e100, method="cp"),
    "tucker_als float32 1e+12": lambda: scaled(1e12, method="tucker_als", dtype="float32"),
    "softimpute 1e-120": lambda: scaled(1e-120, method="softimpute"),
    "huber 1e+100": lambda: scaled(1e100, loss=tensorfill.losses.Huber(1e99), method="nort"),
    "huber for noise of 1, 1e-100": lambda: scaled(1e-100, loss="huber", method="nort"),
    "l1 1e+100": lambda: scaled(1e100, loss="l1"),
    "mcp float32 1e-09": lambda: scaled(1e-9, loss="mcp", dtype="float32"),
    "smooth along two modes 1e+100": lambda: scaled(1e100, smooth=[0, 1]),
    "centred 1e-100": lambda: scaled(1e-100, offset=3e-100, centre=True),
    "counts around 1e+09": lambda: Extreme(counts(1e9), options={"loss": "poisson"}),
    "counts around 1e+09 in float32": lambda: Extreme(counts(1e9), options={"loss": "poisson", "dtype": "float32"}),
    "counts around 1e-03": lambda: Extreme(counts(1e-3), options={"loss": "poisson"}),
    "a yes and 791 no": lambda: Extreme(
        np.where(seen(), np.arange(np.prod(SHAPE)).reshape(SHAPE) == np.argmax(seen()), np.nan),
        options={"loss": "logistic"},
    ),
    # Settings
    "lam 1e-300": lambda: scaled(1.0, method="nort", lam=1e-300),
    "lam 1e+300": lambda: scaled(1.0, method="nort", lam=1e300),
    "lam 1 for 1e+100": lambda: scaled(1e100, method="nort", lam=1.0),
    "lam 1 for 1e-100": lambda: scaled(1e-100, method="nort", lam=1.0),
    "theta 1e-300": lambda: scaled(1.0, method="nort", lam=1.0, theta=1e-300),
    "theta 1e+300": lambda: scaled(1.0, method="nort", lam=1.0, theta=1e300),
    "tau 0.5": lambda: scaled(1.0, method="nort", lam=1.0, tau=0.5),
    "tau 1e+300": lambda: scaled(1.0, method="nort", lam=1.0, tau=1e300),
    "delta 1e-300": lambda: scaled(1.0, method="nort", lam=1e-3, loss=tensorfill.losses.Huber(1e-300)),
    "ridge 1e+300": lambda: scaled(1.0, method="cp", rank=2, ridge=1e300),
    "tol 0": lambda: scaled(1.0, method="nort", lam=1.0, tol=0.0, max_iter=200),
    "rank 20000": lambda: scaled(1.0, method="cp", rank=20_000),
    "a long mode and two short ones": lambda: Extreme(thin(), options={"time_limit": 2}),
    "bounds 1e+300": lambda: scaled(1e100, bounds=(-1e300, 1e300)),
    # Hardly any data
    "nothing but zeros": lambda: Extreme(np.where(seen(), 0.0, np.nan)),
    "nothing but sevens": lambda: Extreme(np.where(seen(), 7.0, np.nan), np.full(SHAPE, 7.0)),
    "nothing but 1e+100": lambda: Extreme(np.where(seen(), 1e100, np.nan), np.full(SHAPE, 1e100)),
    "one entry": lambda: holding({(1, 2, 3): 5.0}),
    "one entry of 1e-100": lambda: holding({(1, 2, 3): 1e-100}),
    "two entries": lambda: holding({(1, 2, 3): 5.0, (4, 5, 6): -5.0}),
    "one column": lambda: column(float),
    "one column of 1e+100": lambda: column(lambda row: 1e100 * (row + 1)),
    "a table of one entry": lambda: holding({(0, 0): 3.0}, (1, 1)),
    "a table of one row": lambda: holding({(0, 0): 3.0, (0, 2): 4.0}, (1, 5)),
    "no entry": lambda: holding({}),
    # Wide ranges
    "1e+09 and a little, float64": lambda: scaled(1.0, offset=1e9),
    "1e+09 and a little, float32": lambda: scaled(1e4, offset=1e9, dtype="float32"),
    "1.7e+09 and a little, float32": lambda: scaled(1.0, offset=1.7e9, dtype="float32"),
    "rank one from 1e-06 to 1e+06": lambda: of_rank_one(2.0),
    "rank one from 1e-15 to 1e+15": lambda: of_rank_one(5.0),
    "1e+15 and a little": lambda: scaled(1.0, offset=1e15),
    "-1e+100 and a hundredth": lambda: scaled(1e98, offset=-1e100),
    "one entry of 1e+100": lambda: with_outlier(1e100),
    "one corrupt entry of 1e+30, l1": lambda: with_outlier(1e30, loss="l1"),
    "one entry of 1e+30, float32": lambda: with_outlier(1e30, dtype="float32"),
    "Cauchy noise": lambda: Extreme(
        np.where(seen(), low_rank() + np.random.default_rng(3).standard_cauchy(SHAPE), np.nan), low_rank()
    ),
    "values from 1e-100 to 1e+100": lambda: Extreme(
        np.where(seen(), 10.0 ** np.random.default_rng(4).uniform(-100, 100, SHAPE), np.nan)
    ),
    "the smallest floats": lambda: scaled(5e-324 * 100),
    "ordinary and the smallest floats": lambda: with_outlier(5e-324),
    # Types
    "integers near 2**63": lambda: masked(2**63 - 1 - np.random.default_rng(5).integers(0, 2**40, SHAPE)),
    "unsigned integers to 2**64": lambda: masked(np.full(SHAPE, 2**64 - 1, dtype=np.uint64)),
    "int8": lambda: masked((20 * low_rank()).clip(-128, 127).astype(np.int8)),
    "float16 to its end": lambda: masked(np.float16(65504) * np.tanh(low_rank()).astype(np.float16)),
    "long doubles": lambda: masked(low_rank().astype(np.longdouble)),
    "infinity": lambda: with_outlier(np.inf),
    "complex numbers": lambda: masked(low_rank() + 1j),
    "1e+40 in float32": lambda: with_outlier(1e40, dtype="float32"),
}


def is_in_words(error: BaseException) -> bool:
    """Return whether an error is a sentence of tensorfill's own."""
    text = str(error)
    return type(error) in (ValueError, TypeError) and text.endswith(".") and "\n" not in text and len(text) > 30


def faults_of(fit: tensorfill.Fit) -> list[str]:
    """Return what of a fit is not finite."""
    numbers: dict[str, Any] = {
        "values": fit.to_dense(),
        "filled": np.asarray(fit),
        "norm": fit.norm(),
        "objective": fit.history["objective"],
        "lam": fit.lam,
    }
    if fit.path is not None:
        numbers |= {"path": fit.path["held_out"], "held-out error": fit.held_out_error}
        numbers["baselines"] = [each.error for each in fit.baselines]
        if len(fit.held_out) >= 9:
            numbers["interval"] = fit.half_width(0.8)
    str(fit)
    return [name for name, value in numbers.items() if not np.isfinite(np.asarray(value, dtype=float)).all()]


@dataclass(frozen=True)
class Happened:
    """What happened to one extreme."""

    what: str
    error: float
    said: str
    seconds: float

    @property
    def is_wrong(self) -> bool:
        """Whether a number is not finite, an error is not in words, or NumPy warned."""
        return self.what.startswith("WRONG")


def run(extreme: Extreme) -> Happened:
    """Complete one data set, and repeat it with what was chosen."""
    began, error, what = time.process_time(), np.nan, "answered"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = tensorfill.complete(extreme.data, rng=0, **extreme.options)
            faults = faults_of(fit)
            if faults:
                what = f"WRONG: {', '.join(faults)} not finite"
            if extreme.truth is not None:
                error = relative_error(fit.to_dense(), extreme.truth)
            said = "; ".join(dict.fromkeys(first_words(each) for each in caught if is_ours(each)))
        except Exception as refusal:
            what, said = ("refused" if is_in_words(refusal) else "WRONG: error"), f"{type(refusal).__name__}: {refusal}"
    leaked = [first_words(each) for each in caught if not is_ours(each)]
    if leaked:
        what, said = "WRONG: NumPy warned", "; ".join(dict.fromkeys(leaked))
    return Happened(what, error, said, time.process_time() - began)


def is_ours(warning: warnings.WarningMessage) -> bool:
    """Return whether a warning is one of tensorfill's."""
    return warning.category.__module__.startswith("tensorfill")


def first_words(warning: warnings.WarningMessage) -> str:
    """Return the beginning of a warning."""
    return str(warning.message).split(":")[0].split(";")[0]


def relative_error(filled: Array, truth: Array) -> float:
    """Return the error at hidden entries relative to that of zero; both are divided first, as squares may overflow."""
    largest = np.abs(truth).max()
    wrong, whole = (filled.astype(float) / largest - truth / largest)[~seen()], (truth / largest)[~seen()]
    return float(np.sqrt(np.mean(wrong**2) / np.mean(whole**2)))


def main() -> None:
    """Run the extremes, and print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which of the extremes; else all")
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in EXTREMES]
    if unknown:
        parser.error(f"there is no extreme {', '.join(unknown)}; there are {', '.join(EXTREMES)}.")
    console = Console(width=220, highlight=False)
    rows = [["extreme", "what happened", "error", "said", "seconds"], ["---", "---", "---:", "---", "---:"]]
    happened = []
    for name in given.names or EXTREMES:
        found = run(EXTREMES[name]())
        error = "" if np.isnan(found.error) else f"{found.error:.2g}"
        rows.append([name, found.what, error, found.said.replace("|", "\\|"), f"{found.seconds:.1f}"])
        happened.append(found)
        console.print("  ".join(rows[-1]), markup=False)
    wrong = sum(each.is_wrong for each in happened)
    answered = sum(each.what == "answered" for each in happened)
    console.print(
        f"{len(happened)} extremes: {answered} answered, {len(happened) - answered - wrong} refused in words, "
    )
    console.print(f"{wrong} wrong; {sum(each.seconds for each in happened):.0f} s, longest "
                  f"{max(each.seconds for each in happened):.1f} s")  # fmt: skip
    if given.output:
        given.output.write_text("".join(f"| {' | '.join(row)} |\n" for row in rows))


if __name__ == "__main__":
    main()
