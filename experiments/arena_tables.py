"""Tables of the arena, made from its CSV files."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .arena_patterns import PATTERNS

BEHIND = 1.03
"""From this ratio on, the best peer is better by more than noise may explain."""

AHEAD = 0.99
"""Up to this ratio, `complete` is better than the best peer."""

HOLDS = (0.87, 0.93)
"""Coverage of 90% intervals within these limits holds what was asked."""

Rows = Sequence[Mapping[str, str]]
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Outcome:
    """What came out of a contest.

    Parameters
    ----------
    key
        The data set, the pattern and the seed.
    half
        The half of the data set.
    error
        The error of `complete`; infinite if it failed.
    peer, best
        The best peer, and its error; NaN if none was run.
    coverage, claimed, said
        What 90% intervals hold, the claimed error over the true one, and whether the fit said that it may not hold.
    fits
        The CPU seconds in single fits.
    chosen
        What was chosen, or the error's text.
    """

    key: Key
    half: str
    error: float
    peer: str
    best: float
    coverage: float
    claimed: float
    said: str
    cpu: float
    fits: float
    chosen: str

    @property
    def ratio(self) -> float:
        """The error of `complete` over that of the best peer."""
        return self.error / self.best

    @property
    def holds(self) -> bool:
        """Whether the intervals hold what was asked, or the answer said that they may not."""
        return bool(self.said) or HOLDS[0] <= self.coverage <= HOLDS[1]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def best_peers(peers: Rows) -> dict[Key, tuple[str, float]]:
    """Return the best peer of every contest, and its error."""
    found: dict[Key, tuple[str, float]] = {}
    for row in peers:
        error = _number(row["rmse"])
        if math.isfinite(error) and error < found.get(_key(row), ("", math.inf))[1]:
            found[_key(row)] = (row["peer"], error)
    return found


def outcomes(rows: Rows, peers: Rows) -> list[Outcome]:
    """Return the outcome of every contest that a run has."""
    best = best_peers(peers)
    return [_outcome(row, *best.get(_key(row), ("", math.nan))) for row in rows]


def summary(runs: Mapping[str, Rows], peers: Rows) -> str:
    """Return a table that compares runs on the contests that all of them have, by half and by pattern."""
    found = {label: outcomes(rows, peers) for label, rows in runs.items()}
    common = set.intersection(*({each.key for each in those if not math.isnan(each.best)} for those in found.values()))
    shared = {label: [each for each in those if each.key in common] for label, those in found.items()}
    lines = [_header("run", "contests of"), _rule(2 + len(NUMBERS))]
    for name, belongs in (*_halves(), *_patterns()):
        for label, those in shared.items():
            some = [each for each in those if belongs(each)]
            if some:
                lines.append(_line([label, name, *_numbers(some)]))
    return "\n".join(lines)


def each_contest(rows: Rows, peers: Rows) -> str:
    """Return a table of every contest of a run, the worst ratio first."""
    # What has no peers yet comes last.
    found = sorted(outcomes(rows, peers), key=lambda each: math.inf if math.isnan(each.ratio) else -each.ratio)
    lines = [_line(EACH), _rule(len(EACH))]
    for each in found:
        numbers = (each.ratio, each.error, each.best, each.coverage, each.claimed, each.cpu, each.fits)
        ratio, error, best, *others = (f"{number:.3g}" for number in numbers)
        ratio = f"{each.ratio:.3f}"
        cells = [
            " ".join(each.key),
            each.half,
            ratio,
            error,
            best,
            each.peer,
            *others,
            "yes" if each.said else "",
            each.chosen,
        ]
        lines.append(_line(cells))
    return "\n".join(lines)


def page(rows: Rows, peers: Rows) -> str:
    """Return the tables of a run for the documentation: by half and pattern, and ratios by data set."""
    found = [each for each in outcomes(rows, peers) if not math.isnan(each.best)]
    parts = [_header("contests of"), _rule(1 + len(NUMBERS))]
    for name, belongs in (*_halves(), *_patterns()):
        some = [each for each in found if belongs(each)]
        if some:
            parts.append(_line([name, *_numbers(some)]))
    parts += ["", _line(["data", "half", *PATTERNS]), _rule(2 + len(PATTERNS))]
    for name in sorted({each.key[0] for each in found}):
        of_it = [each for each in found if each.key[0] == name]
        cells = [_cell([each for each in of_it if each.key[1] == pattern]) for pattern in PATTERNS]
        parts.append(_line([name, of_it[0].half, *cells]))
    return "\n".join(parts) + "\n"


def _cell(some: Sequence[Outcome]) -> str:
    """Return the median ratio, the peer that is best most often if it is ahead, and the median coverage."""
    if not some:
        return "-"
    ratio = float(np.median([each.ratio for each in some]))
    names = [each.peer for each in some]
    peer = f" {max(names, key=names.count)}" if ratio > BEHIND else ""
    return f"{ratio:.2f}{peer}; {_percent(float(np.median([each.coverage for each in some])))}"


NUMBERS: dict[str, Callable[[Sequence[Outcome]], str]] = {
    "contests": lambda some: str(len(some)),
    "median ratio": lambda some: f"{_median(each.ratio for each in some):.3f}",
    "worst": lambda some: f"{max(each.ratio for each in some):.2f}",
    f"above {BEHIND}": lambda some: _percent(_share([each.ratio > BEHIND for each in some])),
    f"below {AHEAD}": lambda some: _percent(_share([each.ratio < AHEAD for each in some])),
    "coverage": lambda some: _range([each.coverage for each in some]),
    "holds or said": lambda some: _percent(_share([each.holds for each in some])),
    "claimed / true": lambda some: f"{_median(each.claimed for each in some):.2f}",
    "CPU s": lambda some: f"{_median(each.cpu for each in some):.1f}",
    "in single fits": lambda some: f"{_median(each.fits for each in some):.1f}, at most {_most(some):.0f}",
    "failed": lambda some: str(sum(math.isinf(each.error) for each in some)),
}
"""The numbers of a summary by name."""

EACH = (
    "contest", "half", "ratio", "complete", "best peer", "peer", "coverage", "claimed / true", "CPU s",
    "in single fits", "said", "chosen",
)  # fmt: skip


def _numbers(some: Sequence[Outcome]) -> list[str]:
    return [number(some) for number in NUMBERS.values()]


def _halves() -> list[tuple[str, Callable[[Outcome], bool]]]:
    return [
        ("tuning half", lambda each: each.half == "tuning"),
        ("report half", lambda each: each.half == "report"),
        ("all", lambda each: True),
    ]


def _patterns() -> list[tuple[str, Callable[[Outcome], bool]]]:
    return [(name, lambda each, name=name: each.key[1] == name) for name in PATTERNS]  # type: ignore[misc]


def _outcome(row: Mapping[str, str], peer: str, best: float) -> Outcome:
    error = _number(row["rmse"])
    return Outcome(
        key=_key(row),
        half=row["half"],
        error=math.inf if math.isnan(error) else error,
        peer=peer,
        best=best,
        coverage=_number(row["coverage"]),
        claimed=_number(row["claimed"]) / error,
        said=row["said"],
        cpu=_number(row["cpu"]),
        fits=_number(row["cpu"]) / _number(row["single_cpu"]),
        chosen=row["chosen"] or row["error"],
    )


def _key(row: Mapping[str, str]) -> Key:
    return (row["set"], row["pattern"], row["seed"])


def _number(text: str) -> float:
    return float(text) if text else math.nan


def _median(numbers: Iterable[float]) -> float:
    finite = [number for number in numbers if not math.isnan(number)]
    return float(np.median(finite)) if finite else math.nan


def _share(marks: Sequence[bool]) -> float:
    return sum(marks) / len(marks)


def _most(some: Sequence[Outcome]) -> float:
    return max((each.fits for each in some if not math.isnan(each.fits)), default=math.nan)


def _range(numbers: Iterable[float]) -> str:
    finite = [number for number in numbers if not math.isnan(number)]
    return f"{min(finite):.2f} to {max(finite):.2f}" if finite else "-"


def _percent(share: float) -> str:
    return f"{share:.0%}" if not math.isnan(share) else "-"


def _header(*first: str) -> str:
    return _line([*first, *NUMBERS])


def _rule(columns: int) -> str:
    return _line(["---"] * columns)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
