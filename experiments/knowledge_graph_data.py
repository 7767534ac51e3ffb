"""The knowledge graphs of Section 5.3, WN18RR and FB15k-237, in the readings of its words that can be tried.

The paper keeps "the top 500 (head and tail) entities that appear most frequently in the relations", prints tensors of
500 x 500 x 8 and 500 x 500 x 39, and splits "following the public splits". No plain reading gives these sizes
(`knowledge_graph_preparation.py` tries many), and on WN18RR the public split leaves 7 test facts among 500 entities,
where the Hits that the paper prints are multiples of 1/64.

Readings
    sizes: the 500 entities most frequent in all three parts, and among their facts the 8 or 39 most frequent relations,
    which gives tensors of the paper's sizes. FB15k-237 keeps its public split. The facts of WN18RR are pooled and split
    anew by the seed, 70, 15 and 15 in a hundred, so that there are 62 test facts.
    plain: all relations of these facts, and the public split: 9 and 152 relations, 7 and 489 test facts.
    A number: the same with so many entities.
"""

from __future__ import annotations

import numpy as np
from data import DataMissing, shared_folder

from tensorfill.knowledge import Triples, most_frequent, read_archive

Parts = tuple[Triples, Triples, Triples]
"""Training, validation and test facts."""

RELATIONS = {"WN18RR": 8, "FB15k-237": 39}
"""The graphs, and how many relations the paper has of each."""

SPLIT_ANEW = ("WN18RR",)
"""The graphs of which the public split leaves too few test facts."""

SHARES = (0.7, 0.15, 0.15)
"""Of the training, validation and test facts where a graph is split anew."""


def read(graph: str, reading: str = "sizes", seed: int = 0) -> Parts:
    """Return the parts of a graph in a reading; the seed decides how facts are split anew."""
    if graph not in RELATIONS:
        raise ValueError(f"there is no graph {graph!r}; there are {', '.join(RELATIONS)}.")
    path = shared_folder() / "kg" / f"{graph}.tar.gz"
    if not path.exists():
        raise DataMissing(f"{path} does not exist; see README.md of the shared data for where to get it.")
    named = reading in ("sizes", "plain")
    train, valid, test = most_frequent(*read_archive(path).values(), count=500 if named else int(reading))
    parts = train, valid, test
    if reading == "sizes":
        parts = with_relations(parts, RELATIONS[graph])
        if graph in SPLIT_ANEW:
            parts = split_anew(parts, seed)
    return parts


def with_relations(parts: Parts, count: int) -> Parts:
    """Return the facts of the most frequent relations."""
    names, entities = parts[0].relation_names, parts[0].entities
    frequency = np.bincount(np.concatenate([part.relations for part in parts]), minlength=len(names))
    kept = np.sort(np.argsort(-frequency, kind="stable")[:count])
    number = np.full(len(names), -1)
    number[kept] = np.arange(len(kept))
    labels = [names[relation] for relation in kept.tolist()]
    train, valid, test = (
        Triples(part.heads[inside], number[part.relations[inside]], part.tails[inside], tuple(entities), tuple(labels))
        for part, inside in ((part, number[part.relations] >= 0) for part in parts)
    )
    return train, valid, test


def split_anew(parts: Parts, seed: int) -> Parts:
    """Return all facts in parts of the sizes `SHARES`, drawn at random."""
    facts = np.concatenate([part.coords for part in parts])
    shuffled = np.random.default_rng(seed).permutation(facts)
    ends = np.rint(np.cumsum(SHARES)[:2] * len(facts)).astype(int)
    train, valid, test = (parts[0].with_coords(rows) for rows in np.split(shuffled, ends))
    return train, valid, test
