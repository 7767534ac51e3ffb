"""Link prediction in knowledge graphs (Section 5.3, Tables 8 and 9): WN18RR and FB15k-237, with the logistic loss.

    python experiments/knowledge_graph.py
    python experiments/knowledge_graph.py WN18RR --methods nort complete --repeats 5 --output kg.md
    python experiments/knowledge_graph.py --quick

The task, as the paper has it: facts are +1, one negative for each training fact with its head or tail replaced is -1,
and for each test fact the true relation is ranked among all relations. `knowledge_graph_data.py` says which facts there
are, `knowledge_graph_study.py` varies one thing at a time, and `knowledge_graph_paper.py` says what differs from the
paper.

What is fitted
    nort: LSP on the unfoldings of heads and tails, ranks of at most 20. nort_inverse: the same, with each fact and
    negative given again as one of an inverse relation, with head and tail exchanged. pa_apg, admm: nuclear norms.
    tucker, cp_wopt: factors with a ridge. All have what the paper tunes chosen by the MRR on the validation facts:
    lambda along falling cuts with warm starts, or rank and ridge.
    complete: `tensorfill.complete(obs, loss="logistic")`, which chooses all by the logistic loss on the validation
    facts and as many negatives.
    pa_apg and admm decompose whole unfoldings, so they refuse tensors above `LARGEST` entries (FB15k-237 with all its
    152 relations). The others take graphs of any number of entities.

Columns
    MRR, Hits@1, Hits@3: ranks by `tensorfill.knowledge.GraphOdds`. By scores: the same by the scores alone, as the
    paper has it. By counts: by what `GraphOdds` adds to them alone, without any fit. Scores are rounded to six digits,
    because those of entities without training facts are rounding errors, and equal scores share the mean of their
    places.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from data import DataMissing
from knowledge_graph_data import RELATIONS, Parts, read
from knowledge_graph_paper import PAPER, WHAT_DIFFERS
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill.knowledge import (
    GraphOdds,
    Negatives,
    Ranking,
    Scorer,
    relation_ranking,
    sample_negatives,
    to_observations,
)
from tensorfill.penalties import make_penalty, weight_for_cut

TAU = 1.01 / 4
"""Just above the curvature of the logistic loss."""

RATIO, STEPS = 0.45, 5
"""The path of cuts, from where the answer becomes zero."""

LARGEST = 2e7
"""Entries of the largest tensor for methods that hold it as a whole: a dozen of them at a time."""

DIGITS = 6
"""Of scores; smaller differences are rounding errors."""

__all__ = ["METHODS", "WHAT_DIFFERS", "TooLarge", "run"]

Array = NDArray[np.float64]
Fits = Iterator[tensorfill.Fit]


@dataclass(frozen=True)
class Effort:
    """How much work each method may do.

    Parameters
    ----------
    steps
        Cuts along the path.
    iterations
        Of each fit.
    ranks, ridges
        What is tried for the factorisations.
    seconds
        Of the automatic choice.
    """

    steps: int = STEPS
    iterations: int = 40
    ranks: tuple[int, ...] = (5, 15)
    ridges: tuple[float, ...] = (30.0, 10.0, 3.0, 1.0)
    seconds: float = 120.0


QUICK = Effort(steps=3, iterations=10, ranks=(5,), ridges=(10.0, 1.0), seconds=20.0)


# What is fitted


def cuts(
    obs: tensorfill.Observations,
    effort: Effort,
    *,
    method: str = "nort",
    penalty: str = "lsp",
    share: float = 1.0,
    modes: tuple[int, ...] = (0, 1),
    max_rank: int = 20,
) -> Fits:
    """Follow falling cuts of the singular values, each from the answer of the last; theta is a share of the cut."""
    top = largest_singular_value(obs, modes)
    fit = None
    for step in range(1, effort.steps + 1):
        cut = top * RATIO**step
        theta = {} if penalty == "nuclear" else {"theta": share * cut}
        lam = weight_for_cut(make_penalty(penalty, theta.get("theta")), cut) * TAU / len(modes)
        given: dict[str, Any] = {"lam": lam, "modes": list(modes), "max_iter": effort.iterations}
        if method == "nort":
            given |= {"penalty": penalty, "tau": TAU, "max_rank": max_rank, **theta}
        fit = tensorfill.complete(obs, loss="logistic", method=method, start=fit, dtype=np.float32, rng=0, **given)
        yield fit


def factors(obs: tensorfill.Observations, effort: Effort, *, method: str, seed: int) -> Fits:
    """Try each rank with each ridge."""
    for rank in effort.ranks:
        for ridge in effort.ridges:
            ranks: Any = [min(rank, size) for size in obs.shape] if method == "tucker" else rank
            yield tensorfill.complete(
                obs, loss="logistic", method=method, rank=ranks, ridge=ridge, max_iter=2 * effort.iterations, rng=seed
            )


def largest_singular_value(obs: tensorfill.Observations, modes: Sequence[int]) -> float:
    """Return the largest singular value of the unfolded gradient at zero over tau, over some modes."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    largest = 0.0
    for mode in modes:
        one, other = (each for each in range(3) if each != mode)
        columns = obs.coords[:, one].astype(np.int64) * obs.shape[other] + obs.coords[:, other]
        used, column = np.unique(columns, return_inverse=True)
        matrix = csr_array((obs.values / (2 * TAU), (obs.coords[:, mode], column)), (obs.shape[mode], len(used)))
        largest = max(largest, float(svds(matrix, 1, return_singular_vectors=False, random_state=0)[0]))
    return largest


def with_inverses(obs: tensorfill.Observations) -> tensorfill.Observations:
    """Return observations of the relations, and of their inverses with head and tail exchanged."""
    heads, tails, relations = obs.shape
    exchanged = obs.coords[:, [1, 0, 2]] + np.array([0, 0, relations])
    coords, values = np.concatenate([obs.coords, exchanged]), np.tile(obs.values, 2)
    return tensorfill.Observations(coords, values, (heads, tails, 2 * relations))


def automatic(obs: tensorfill.Observations, effort: Effort, *, parts: Parts, negatives: Negatives, seed: int) -> Fits:
    """Let `complete` choose everything by the logistic loss of the validation facts."""
    others = sample_negatives(parts[1], known=[*parts, negatives], rng=seed)
    choice = tensorfill.Choice(validation=to_observations(parts[1], others))
    yield tensorfill.complete(obs, loss="logistic", choose=choice, time_limit=effort.seconds, rng=seed)


def fits(method: str, parts: Parts, negatives: Negatives, effort: Effort, seed: int) -> Fits:
    """Yield what a method tries, for the validation facts to choose from."""
    obs = to_observations(parts[0], negatives)
    if method in ("pa_apg", "admm"):
        if float(np.prod(obs.shape)) > LARGEST:
            raise TooLarge(
                f"{method} holds whole tensors, and one of {obs.shape} has more than {LARGEST:,.0f} entries."
            )
        return cuts(obs, effort, method=method, penalty="nuclear")
    if method in ("tucker", "cp_wopt"):
        return factors(obs, effort, method=method, seed=seed)
    if method == "complete":
        return automatic(obs, effort, parts=parts, negatives=negatives, seed=seed)
    return cuts(with_inverses(obs) if method == "nort_inverse" else obs, effort)


class TooLarge(ValueError):
    """The method cannot take a tensor of this size."""


METHODS = ("nort", "nort_inverse", "pa_apg", "admm", "tucker", "cp_wopt", "complete")


# How it is measured


@dataclass(frozen=True)
class Scores:
    """Scores from a formula."""

    formula: Callable[[Any], Array]

    def predict(self, coords: Any) -> Array:
        """Return one score for each row."""
        return self.formula(coords)


def by_scores(fit: tensorfill.Fit) -> Scores:
    """Return the scores of a fit without rounding errors."""
    return Scores(lambda coords: np.round(fit.scores(coords), DIGITS))


def by_odds(fit: tensorfill.Fit, negatives: Negatives) -> GraphOdds:
    """Return the log odds in the graph."""
    return GraphOdds(by_scores(fit), negatives)


def by_counts(negatives: Negatives) -> GraphOdds:
    """Return what the log odds are without any fit."""
    return GraphOdds(Scores(lambda coords: np.zeros(len(coords))), negatives)


def run(data: str, method: str, *, quick: bool = False, seed: int = 0, reading: str = "sizes") -> dict[str, Any]:
    """Fit one method to one graph, with one sampling of negatives, and rank the relations of the test facts.

    Parameters
    ----------
    data
        ``"WN18RR"`` or ``"FB15k-237"``.
    method
        One of `METHODS`.
    quick
        Whether to do little work.
    seed
        Decides the negatives, all that is random in a method, and how WN18RR is split.
    reading
        Which facts there are; see `knowledge_graph_data`.

    Returns
    -------
    dict
        ``mrr``, ``hits@1`` and ``hits@3`` by `GraphOdds`; the same with ``scores_`` before by the scores alone, and
        with ``counts_`` without any fit; ``valid_mrr``; ``ranks`` of what was chosen; ``test_facts``; ``seconds``.
    """
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r} here; there are {', '.join(METHODS)}.")
    train, valid, test = parts = read(data, reading, seed)
    negatives = sample_negatives(train, known=parts, rng=seed)
    began = time.perf_counter()
    by: dict[str, Callable[[tensorfill.Fit], Scorer]] = {"": lambda fit: by_odds(fit, negatives), "scores_": by_scores}
    best: dict[str, tuple[float, Ranking, Any]] = {}
    with threadpool_limits(1), warnings.catch_warnings():
        # Some entities have no training fact, as in the paper.
        warnings.simplefilter("ignore")
        for fit in fits(method, parts, negatives, QUICK if quick else Effort(), seed):
            for name, score in by.items():
                valid_mrr = relation_ranking(score(fit), valid).mrr
                if name not in best or valid_mrr > best[name][0]:
                    best[name] = valid_mrr, relation_ranking(score(fit), test), fit.ranks
    found = {name: ranking for name, (_, ranking, _) in best.items()}
    found["counts_"] = relation_ranking(by_counts(negatives), test)
    answer: dict[str, Any] = {}
    for name, ranking in found.items():
        answer |= {f"{name}mrr": ranking.mrr, f"{name}hits@1": ranking.hits[1], f"{name}hits@3": ranking.hits[3]}
    seconds = time.perf_counter() - began
    return answer | {
        "valid_mrr": best[""][0],
        "ranks": tuple(best[""][2]),
        "test_facts": len(test),
        "seconds": seconds,
    }


# The table

HEADER = ["graph", "method", "paper's MRR", "MRR", "Hits@1", "Hits@3", "MRR by scores", "by counts", "seconds"]
SHOWN = ("mrr", "hits@1", "hits@3", "scores_mrr", "counts_mrr")


def row(graph: str, method: str, answers: Sequence[dict[str, Any]]) -> list[str]:
    """Return means over samplings, with standard deviations."""
    printed = PAPER[graph].get(method)
    cells = [graph, method, f"{printed[0]:.3f}" if printed else ""]
    for name in SHOWN:
        values = np.array([answer[name] for answer in answers])
        cells.append(f"{values.mean():.3f}" + (f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""))
    return [*cells, f"{np.mean([answer['seconds'] for answer in answers]):.0f}"]


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", help=f"which of {', '.join(RELATIONS)}; by default both")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=METHODS, metavar="METHOD")
    parser.add_argument("--reading", default="sizes", help="sizes, plain, or a number of entities")
    parser.add_argument("--repeats", type=int, default=5, help="samplings of the negatives")
    parser.add_argument("--quick", action="store_true", help="do little work")
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file, after every row")
    return parser.parse_args()


def main() -> None:
    """Run the methods and print and write the table."""
    arguments = parse()
    console = Console(width=150)
    rows: list[list[str]] = []
    for graph in arguments.graphs or RELATIONS:
        for method in arguments.methods:
            options = {"quick": arguments.quick, "reading": arguments.reading}
            try:
                answers = [run(graph, method, seed=seed, **options) for seed in range(arguments.repeats)]
            except (DataMissing, TooLarge) as refused:
                console.print(f"{graph} {method} skipped: {refused}")
                continue
            rows.append(row(graph, method, answers))
            console.print(" | ".join(rows[-1]), highlight=False, markup=False)
            if arguments.output:
                arguments.output.write_text(markdown(rows))
    table = Table(*HEADER)
    for line in rows:
        table.add_row(*line)
    console.print(table)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return the table as Markdown."""
    lines = [HEADER, ["---"] * len(HEADER), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
