"""What moves the MRR of relations in Section 5.3: one thing at a time, on validation facts only.

    python experiments/knowledge_graph_study.py
    python experiments/knowledge_graph_study.py WN18RR --repeats 3

The base is `nort` of `knowledge_graph.py`: one negative with head or tail replaced for each training fact, LSP on the
modes of heads and tails, ranks of at most 20. Each row changes one thing in what is fitted. Each column ranks by
another rule, and has the best MRR on the validation facts along the path of cuts, as a mean over seeds, which decide
the negatives and, for WN18RR, the split. Test facts are never ranked.

Columns
    mean: equal scores share the mean of their places. best, worst: the best or the worst of these places. numbered:
    equal scores in the order of the relations, which are numbered as they first appear, so that frequent ones mostly
    come first. filtered: as mean, but relations that are known for this pair are no candidates. zero: as mean, but
    where the head has no training fact as a head, or the tail as a tail, all scores are zero; the library gives an
    entity without facts the mean of the others. frequent: score + log(1 + negatives of the relation). odds: by
    `GraphOdds`.

Rows
    relation mode: the mode of relations is regularised too. nuclear, capped l1: other penalties. theta / 10: a harder
    LSP. rank 50: ranks of at most 50. five negatives: five for each fact. relation negatives: one more with the
    relation replaced. only known: negatives may be facts of the validation or test part. inverse: each fact is also
    one of the inverse relation. no fit: scores of zero.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from knowledge_graph import Effort, by_scores, cuts, with_inverses
from knowledge_graph_data import RELATIONS, Parts, read
from numpy.typing import NDArray
from rich.console import Console
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill.knowledge import GraphOdds, Negatives, Triples, sample_negatives, to_observations

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Variation:
    """What is fitted.

    Parameters
    ----------
    settings
        Of the path of cuts.
    ratio
        Negatives with another head or tail for each fact.
    of_relations
        Whether there is one with another relation too.
    only_known
        Whether facts of the validation and test part may be drawn.
    inverse
        Whether every fact is given as one of the inverse relation too.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    ratio: int = 1
    of_relations: bool = False
    only_known: bool = False
    inverse: bool = False

    def negatives(self, parts: Parts, seed: int) -> list[Negatives]:
        """Draw the negatives of the training facts."""
        known = [parts[0]] if self.only_known else list(parts)
        drawn = [sample_negatives(parts[0], self.ratio, known=known, rng=seed)]
        if self.of_relations:
            drawn.append(sample_negatives(parts[0], replace=["relation"], known=[*known, *drawn], rng=seed))
        return drawn


VARIATIONS = {
    "base": Variation(),
    "relation mode": Variation({"modes": (0, 1, 2)}),
    "nuclear": Variation({"penalty": "nuclear"}),
    "capped l1": Variation({"penalty": "capped_l1"}),
    "theta / 10": Variation({"share": 0.1}),
    "rank 50": Variation({"max_rank": 50}),
    "five negatives": Variation(ratio=5),
    "relation negatives": Variation(of_relations=True),
    "only known": Variation(only_known=True),
    "inverse": Variation(inverse=True),
}


# How facts are ranked


@dataclass(frozen=True)
class Candidates:
    """The scores of all relations for the pair of each fact, and what the rules need to know of them."""

    facts: Triples
    scores: Array
    negatives: list[Negatives]
    known: Flags

    @classmethod
    def of(cls, fit: tensorfill.Fit | None, facts: Triples, parts: Parts, negatives: list[Negatives]) -> Candidates:
        """Return the candidates for some facts, with scores of zero without a fit."""
        every = all_relations(facts)
        scores = np.zeros(len(every)) if fit is None else by_scores(fit).predict(every)
        there = {tuple(row) for part in parts for row in part.coords.tolist()}
        known = np.array([tuple(row) in there for row in every.tolist()])
        shape = len(facts), facts.shape[2]
        return cls(facts, scores.reshape(shape), negatives, known.reshape(shape))

    def mrr(self, scores: Array, share: float = 0.5, left_out: Flags | None = None) -> float:
        """Return the mean reciprocal rank, if a true relation stands behind this share of its equals."""
        above, equal = self._compared(scores, left_out)
        return float(np.mean(1 / (1 + above.sum(axis=1) + share * equal.sum(axis=1))))

    def numbered(self) -> float:
        """Return it with equals in the order of the relations."""
        above, equal = self._compared(self.scores, None)
        before = equal & (np.arange(self.scores.shape[1]) < self.facts.relations[:, np.newaxis])
        return float(np.mean(1 / (1 + above.sum(axis=1) + before.sum(axis=1))))

    def with_zeros(self) -> Array:
        """Return the scores, zero where the head has no training fact as a head, or the tail as a tail."""
        train = self.negatives[0].facts
        seen = np.isin(self.facts.heads, train.heads) & np.isin(self.facts.tails, train.tails)
        return np.where(seen[:, np.newaxis], self.scores, 0.0)

    def with_frequency(self) -> Array:
        """Return the scores plus the logarithm of the negatives of each relation."""
        counts = sum(np.bincount(part.relations, minlength=self.scores.shape[1]) for part in self.negatives)
        return self.scores + np.log1p(counts)

    def odds(self) -> Array:
        """Return the log odds in the graph."""
        draws = GraphOdds(Nothing(), self.negatives).predict(all_relations(self.facts))
        return self.scores + draws.reshape(self.scores.shape)

    def _compared(self, scores: Array, left_out: Flags | None) -> tuple[Flags, Flags]:
        """Return which other relations are above the true one, and which are equal."""
        own, rows = self.facts.relations, np.arange(len(self.facts))
        true = scores[rows, own][:, np.newaxis]
        others = np.ones(scores.shape, dtype=np.bool_) if left_out is None else ~left_out
        others[rows, own] = False
        return (scores > true) & others, (scores == true) & others


class Nothing:
    """Scores of zero."""

    def predict(self, coords: Any) -> Array:
        """Return one zero for each row."""
        return np.zeros(len(coords))


def all_relations(facts: Triples) -> NDArray[np.integer[Any]]:
    """Return the pair of each fact with every relation."""
    coords = np.repeat(facts.coords, facts.shape[2], axis=0)
    coords[:, 2] = np.tile(np.arange(facts.shape[2]), len(facts))
    return coords


RULES: dict[str, Callable[[Candidates], float]] = {
    "mean": lambda each: each.mrr(each.scores),
    "best": lambda each: each.mrr(each.scores, share=0),
    "worst": lambda each: each.mrr(each.scores, share=1),
    "numbered": Candidates.numbered,
    "filtered": lambda each: each.mrr(each.scores, left_out=each.known),
    "zero": lambda each: each.mrr(each.with_zeros()),
    "frequent": lambda each: each.mrr(each.with_frequency()),
    "odds": lambda each: each.mrr(each.odds()),
}


def best_along_the_path(parts: Parts, variation: Variation, seed: int, effort: Effort) -> Array:
    """Return the best MRR on the validation facts by each rule."""
    negatives = variation.negatives(parts, seed)
    obs = to_observations(parts[0], negatives)
    observed = with_inverses(obs) if variation.inverse else obs
    found = [
        [rule(Candidates.of(fit, parts[1], parts, negatives)) for rule in RULES.values()]
        for fit in cuts(observed, effort, **variation.settings)
    ]
    best: Array = np.array(found).max(axis=0)
    return best


def main() -> None:
    """Print what each variation gives by each rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=list(RELATIONS), metavar="GRAPH")
    parser.add_argument("--reading", default="sizes")
    parser.add_argument("--variations", nargs="*", default=list(VARIATIONS), choices=list(VARIATIONS), metavar="ROW")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4)
    given = parser.parse_args()
    console = Console(width=150)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for graph in given.graphs:
            console.print(f"| {graph} | {' | '.join(RULES)} |", highlight=False)
            every = [read(graph, given.reading, seed) for seed in range(given.repeats)]
            nothing = [
                Candidates.of(None, parts[1], parts, VARIATIONS["base"].negatives(parts, seed))
                for seed, parts in enumerate(every)
            ]
            print_row(console, "no fit", np.array([[rule(each) for rule in RULES.values()] for each in nothing]))
            for name in given.variations:
                found = [
                    best_along_the_path(parts, VARIATIONS[name], seed, Effort(steps=given.steps))
                    for seed, parts in enumerate(every)
                ]
                print_row(console, name, np.array(found))


def print_row(console: Console, name: str, found: Array) -> None:
    """Print means over seeds."""
    console.print(f"| {name} | {' | '.join(f'{value:.3f}' for value in found.mean(axis=0))} |", highlight=False)


if __name__ == "__main__":
    main()
