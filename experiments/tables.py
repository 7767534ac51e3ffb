"""Tables with holes: `MatrixImputer` and `complete` with nothing said, against scikit-learn's imputers at their best.

    python experiments/tables.py wine-random-30 digits-depending-50
    python experiments/tables.py --peers peers.json --output tables.md

Every number is the root mean square, over the hidden entries, of the error in standard deviations of the column. Each
imputer is given the table with its columns standardised by what is observed.

Contests
    `random`: entries are hidden with one probability. `depending`: in half of the columns they are hidden with a
    probability that is logistic in three other columns, which stay whole; the share is that of these columns.

Columns
    neighbours, ridge, trees: `KNNImputer`, `IterativeImputer` with linear models and with `ExtraTreesRegressor`, each
    at the setting that is best on the hidden entries themselves, which no user has.
    imputer: `MatrixImputer(random_state=seed)`. complete: `complete(table, rng=seed)`.
    behind: imputer / the best of the three. `--peers` keeps what the three reach, so that it is computed once.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.linear_model import BayesianRidge, Ridge
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill.sklearn import MatrixImputer

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

NEIGHBOURS = (3, 5, 7, 10, 15, 20)
RIDGES = (1.0, 10.0, 100.0)
DIGITS = 400
"""The rows of digits that are used."""

RARE = 0.05
"""Pixels that differ from their usual value in a smaller share of the rows are left out of digits: their standard
deviation is that of a few entries, which would decide the score."""

SHARES = {"random": (10, 30, 50), "depending": (30, 50)}
HEADER = ["contest", "seed", "neighbours", "ridge", "trees", "imputer", "complete", "behind", "seconds"]


def digits() -> Array:
    """Return some rows of the digits, without the pixels that are nearly constant."""
    rows = load_digits().data
    rows = rows[np.random.default_rng(0).permutation(len(rows))[:DIGITS]]
    usual = np.median(rows, axis=0)
    return rows[:, (rows != usual).mean(axis=0) > RARE]


def friedman() -> Array:
    """Return the features and the target of Friedman's first problem."""
    features, target = make_friedman1(400, n_features=10, noise=1.0, random_state=0)
    return np.column_stack([features, target])


TABLES: dict[str, Callable[[], Array]] = {
    "diabetes": lambda: np.column_stack(load_diabetes(return_X_y=True)),
    "wine": lambda: load_wine().data,
    "cancer": lambda: load_breast_cancer().data,
    "friedman": friedman,
    "digits": digits,
}


@dataclass(frozen=True)
class Contest:
    """A table, how its entries are hidden, and how many of a hundred."""

    table: str
    way: str
    percent: int

    @property
    def name(self) -> str:
        """The name of the contest."""
        return f"{self.table}-{self.way}-{self.percent}"

    def split(self, seed: int) -> tuple[Array, Array, Mask]:
        """Return the standardised table with holes, without, and what is hidden."""
        truth = np.asarray(TABLES[self.table](), dtype=float)
        random = np.random.default_rng([seed, self.percent])
        hidden = (hidden_at_random if self.way == "random" else hidden_depending)(truth, self.percent / 100, random)
        holes = np.where(hidden, np.nan, truth)
        mean, spread = np.nanmean(holes, axis=0), np.nanstd(holes, axis=0)
        return (holes - mean) / spread, (truth - mean) / spread, hidden


def hidden_at_random(truth: Array, share: float, random: np.random.Generator) -> Mask:
    """Return holes that do not depend on anything."""
    return random.random(truth.shape) < share


def hidden_depending(truth: Array, share: float, random: np.random.Generator) -> Mask:
    """Return holes in half of the columns, with odds that depend on three others."""
    columns = random.permutation(truth.shape[1])
    causes, rest = columns[:3], columns[3:]
    drivers = (truth[:, causes] - truth[:, causes].mean(axis=0)) / truth[:, causes].std(axis=0)
    hidden = np.zeros(truth.shape, dtype=bool)
    for column in rest[: max(1, len(rest) // 2)]:
        direction = random.normal(size=3)
        score = 2.0 * drivers @ direction / np.linalg.norm(direction)
        low, high = -30.0, 30.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if np.mean(1 / (1 + np.exp(-score - middle))) < share else (low, middle)
        hidden[:, column] = random.random(len(truth)) < 1 / (1 + np.exp(-score - low))
    return hidden


CONTESTS = {
    contest.name: contest
    for contest in (Contest(table, way, each) for table in TABLES for way, shares in SHARES.items() for each in shares)
}


def neighbours() -> list[KNNImputer]:
    """Return the nearest neighbours at some settings."""
    return [KNNImputer(n_neighbors=k, weights=weights) for k in NEIGHBOURS for weights in ("uniform", "distance")]


def ridges(seed: int) -> list[IterativeImputer]:
    """Return iterated linear regressions at some settings."""
    models = [BayesianRidge(), *(Ridge(alpha) for alpha in RIDGES)]
    return [IterativeImputer(model, max_iter=each, random_state=seed) for model in models for each in (5, 20)]


def trees(seed: int) -> list[IterativeImputer]:
    """Return iterated extremely randomised trees at some settings."""
    settings = [{}, {"min_samples_leaf": 3}, {"max_features": 0.4}]
    models = [ExtraTreesRegressor(50, random_state=seed, **each) for each in settings]
    return [IterativeImputer(model, max_iter=5, random_state=seed) for model in models]


PEERS = {"neighbours": lambda seed: neighbours(), "ridge": ridges, "trees": trees}


def score(filled: Array, truth: Array, hidden: Mask) -> float:
    """Return the error on the hidden entries, in standard deviations of their column."""
    wrong = (filled - truth) / truth.std(axis=0)
    return float(np.sqrt(np.mean(wrong[hidden] ** 2)))


def peer_scores(contest: Contest, seed: int) -> dict[str, float]:
    """Return what each peer reaches at its best setting, and the seconds of one fit of the trees."""
    holes, truth, hidden = contest.split(seed)
    scores = {}
    for name, imputers in PEERS.items():
        began, made = time.process_time(), imputers(seed)
        scores[name] = min(score(imputer.fit_transform(holes), truth, hidden) for imputer in made)
        scores[f"{name}-seconds"] = (time.process_time() - began) / len(made)
    return scores


def run(contest: Contest, seed: int, peers: dict[str, float], whole: bool, console: Console) -> tuple[list[str], float]:
    """Return the row of one contest, and imputer / best peer."""
    holes, truth, hidden = contest.split(seed)
    began = time.process_time()
    imputer = MatrixImputer(random_state=seed)
    ours = score(imputer.fit_transform(holes), truth, hidden)
    seconds = time.process_time() - began
    completed = score(tensorfill.complete(holes, rng=seed).filled(), truth, hidden) if whole else np.nan
    behind = ours / min(peers[name] for name in PEERS)
    numbers = [*(peers[name] for name in PEERS), ours, completed, behind]
    cells = [contest.name, str(seed), *(f"{number:.4f}" for number in numbers)]
    cells.append(f"{seconds:.1f} (trees {peers['trees-seconds']:.1f})")
    console.print("  ".join(cells), imputer.base_, imputer.corrections_.weights)
    return cells, behind


def main() -> None:
    """Run the contests, and print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contests", nargs="*", metavar="CONTEST", help=f"which of {', '.join(CONTESTS)}; else all")
    parser.add_argument(
        "--seeds", type=int, default=1, help="how many seeds; a seed decides the holes and the imputers"
    )
    parser.add_argument("--peers", type=Path, help="a JSON file that keeps what the peers reach")
    parser.add_argument("--only-peers", action="store_true", help="compute only what the peers reach")
    parser.add_argument("--no-complete", action="store_true", help="leave `complete` out, which is not an imputer")
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file")
    given = parser.parse_args()
    unknown = [name for name in given.contests if name not in CONTESTS]
    if unknown:
        parser.error(f"there is no contest {', '.join(unknown)}; there are {', '.join(CONTESTS)}.")
    console = Console(width=200, highlight=False)
    warnings.filterwarnings("ignore")
    kept: dict[str, dict[str, float]] = (
        json.loads(given.peers.read_text()) if given.peers and given.peers.exists() else {}
    )
    lines, ratios = [HEADER, ["---"] * len(HEADER)], []
    with threadpool_limits(1):
        for seed in range(given.seeds):
            for name in given.contests or CONTESTS:
                key = f"{name} {seed}"
                if key not in kept:
                    kept[key] = peer_scores(CONTESTS[name], seed)
                    if given.peers:
                        given.peers.write_text(json.dumps(kept, indent=1))
                if given.only_peers:
                    continue
                cells, behind = run(CONTESTS[name], seed, kept[key], not given.no_complete, console)
                lines.append(cells)
                ratios.append(behind)
    if not ratios:
        return
    console.print("".join(f"| {' | '.join(line)} |\n" for line in lines))
    console.print(f"ahead in {np.sum(np.array(ratios) <= 1)} of {len(ratios)}, furthest behind {max(ratios):.3f}")
    if given.output:
        given.output.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines))


if __name__ == "__main__":
    main()
