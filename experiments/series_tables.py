"""Tables of the experiment on series, made from its CSV files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .series_contests import HORIZONS, KINDS

Rows = Sequence[Mapping[str, str]]
Key = tuple[str, str, str]

GROUPS: dict[str, Callable[[str], bool]] = {
    "gaps": lambda kind: kind.startswith("gap"),
    "points": lambda kind: kind.startswith("points"),
    "forecasts": lambda kind: kind.startswith("ahead"),
    "all": lambda kind: True,
}
"""The kinds of contests that a summary counts together."""


@dataclass(frozen=True)
class Standing:
    """A contest of a run beside its best peer.

    Parameters
    ----------
    row
        The row of the run.
    peer
        The peer that is best by the mean absolute error; "" if none has an answer.
    ours, best
        The errors of the run and of that peer, at the entries that both have.
    squared
        The ratio to the peer that is best by the root mean square error.
    sampled
        Whether these entries are those of a sample of the series.
    """

    row: Mapping[str, str]
    peer: str
    ours: float
    best: float
    squared: float
    sampled: bool

    @property
    def ratio(self) -> float:
        """The error of the run over that of the best peer: infinite where the run failed."""
        return self.ours / self.best


def standings(rows: Rows, peers: Rows) -> list[Standing]:
    """Return every contest of a run beside its best peer."""
    return [_standing(row, [each for each in peers if _key(each) == _key(row)]) for row in rows]


def _standing(row: Mapping[str, str], peers: Rows) -> Standing:
    compared = [(*_compared(row, each, "mae"), each["peer"]) for each in peers]
    ours, best, sampled, peer = max(compared, key=_lead, default=(math.nan, math.nan, False, ""))
    ratios = [ours / best for ours, best, _ in (_compared(row, each, "rmse") for each in peers)]
    squared = max((ratio for ratio in ratios if not math.isnan(ratio)), default=math.nan)
    return Standing(row, peer if not math.isnan(best) else "", ours, best, squared, sampled)


def _compared(row: Mapping[str, str], peer: Mapping[str, str], name: str) -> tuple[float, float, bool]:
    """Return the errors of a run and of a peer at what both have, and whether that is a sample of the series."""
    sampled = not peer[name] and bool(peer[f"sample_{name}"])
    column = f"sample_{name}" if sampled else name
    ours = _number(row[column])
    # A run that failed is behind all peers.
    return (math.inf if math.isnan(ours) else ours, _number(peer[column]), sampled)


def _lead(compared: tuple[float, float, bool, str]) -> tuple[float, float]:
    """Return what is largest for the best peer; where the run failed, the peer with the smallest error."""
    ours, best, *_ = compared
    return (-math.inf, -math.inf) if math.isnan(best) else (ours / best, -best)


COLUMNS = (
    "contest", "seed", "MAE", "best peer", "peer", "ratio", "in RMSE", "coverage", "by steps ahead", "CPU s", "error",
)  # fmt: skip


def summary(rows: Rows, peers: Rows) -> str:
    """Return every contest of a run beside its best peer, and the median ratios."""
    found = standings(rows, peers)
    lines = [_line(COLUMNS), _rule(len(COLUMNS)), *(_line(_cells(each)) for each in found)]
    starred = "\n* on a sample of the series, which is all that this peer gets\n" if any(_stars(found)) else ""
    return "\n".join([*lines, starred, medians(found)])


def _stars(found: Iterable[Standing]) -> list[bool]:
    return [each.sampled for each in found]


def _cells(each: Standing) -> list[str]:
    ahead = " ".join(_percent(each.row[f"coverage{steps}"]) for steps in HORIZONS if each.row[f"coverage{steps}"])
    return [
        f"{each.row['set']} {each.row['kind']}",
        each.row["seed"],
        f"{each.ours:.3f}",
        f"{each.best:.3f}",
        each.peer + ("*" if each.sampled else ""),
        f"{each.ratio:.3f}",
        f"{each.squared:.3f}",
        _percent(each.row["coverage"]),
        ahead,
        f"{_number(each.row['cpu']):.1f}",
        each.row["error"],
    ]


def medians(found: Sequence[Standing]) -> str:
    """Return the median and the worst ratio of each kind of contest, and what the intervals hold."""
    lines = [_line(["contests of", "number", "median ratio", "worst", "in RMSE", "coverage", "failed"]), _rule(7)]
    for name, belongs in GROUPS.items():
        some = [each for each in found if each.peer and belongs(each.row["kind"])]
        if some:
            ratios = [each.ratio for each in some]
            covered = [_number(each.row["coverage"]) for each in some if each.row["coverage"]]
            cells = [
                f"{np.median(ratios):.3f}",
                f"{max(ratios):.3f}",
                f"{np.median([each.squared for each in some]):.3f}",
                f"{min(covered):.0%} to {max(covered):.0%}" if covered else "-",
                str(sum(bool(each.row["error"]) for each in some)),
            ]
            lines.append(_line([name, str(len(some)), *cells]))
    return "\n".join(lines)


def peers_table(peers: Rows) -> str:
    """Return the mean absolute error of every peer in every contest, the best in bold."""
    names = list(dict.fromkeys(row["peer"] for row in peers))
    lines = [_line(["contest", "seed", *names]), _rule(2 + len(names))]
    for key in dict.fromkeys(_key(row) for row in peers):
        of_it = {row["peer"]: row for row in peers if _key(row) == key}
        whole = [_number(row["mae"]) for row in of_it.values() if row["mae"]]
        cells = [_error(of_it.get(name), min(whole, default=math.nan)) for name in names]
        lines.append(_line([" ".join(key[:2]), key[2], *cells]))
    return "\n".join([*lines, "\n* on a sample of the series"])


def _error(row: Mapping[str, str] | None, best: float) -> str:
    if row is None:
        return ""
    if row["mae"]:
        error = _number(row["mae"])
        return f"**{error:.3f}**" if error == best else f"{error:.3f}"
    return f"{_number(row['sample_mae']):.3f}*" if row["sample_mae"] else "failed"


def page(rows: Rows, peers: Rows) -> str:
    """Return the tables of a run for the documentation: the medians, ratios by set and kind, and the peers."""
    found = [each for each in standings(rows, peers) if each.peer]
    kinds = [kind for kind in KINDS if any(each.row["kind"] == kind for each in found)]
    lines = [_line(["series", *kinds]), _rule(1 + len(kinds))]
    for name in sorted({each.row["set"] for each in found}):
        of_it = [each for each in found if each.row["set"] == name]
        lines.append(_line([name, *(_cell([each for each in of_it if each.row["kind"] == kind]) for kind in kinds)]))
    return "\n".join([medians(found), "", *lines, "", peers_table(peers)]) + "\n"


def _cell(some: Sequence[Standing]) -> str:
    """Return the median ratio, the peer that is best most often, and the median coverage."""
    if not some:
        return "-"
    names = [each.peer for each in some]
    covered = [_number(each.row["coverage"]) for each in some if each.row["coverage"]]
    share = f"; {np.median(covered):.0%}" if covered else ""
    return f"{np.median([each.ratio for each in some]):.2f} {max(names, key=names.count)}{share}"


def _key(row: Mapping[str, str]) -> Key:
    return (row["set"], row["kind"], row["seed"])


def _number(text: str) -> float:
    return float(text) if text else math.nan


def _percent(text: str) -> str:
    return f"{_number(text):.0%}" if text else "-"


def _rule(columns: int) -> str:
    return _line(["---"] * columns)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
