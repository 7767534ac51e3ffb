"""Which reading of Section 5.3 gives the paper's sizes: 500 entities, and 8 relations of WN18RR, 39 of FB15k-237.

    python experiments/knowledge_graph_preparation.py
    python experiments/knowledge_graph_preparation.py --all --count 500

A reading has three parts.

Frequency: what is counted for an entity
    mentions: times it is head or tail. heads, tails: times it is the one. relations: distinct relations it is in, as
    head or tail. directed: distinct relations as head plus distinct relations as tail. partners: distinct entities it
    shares a fact with. lesser: the smaller of heads and tails. halves: the 250 most frequent heads and the 250 most
    frequent tails. sides: 500 heads for the rows and 500 tails for the columns, which need not be the same. first: the
    first 500 to appear, as OpenKE numbers them.
Counted in
    all three parts together, or one of them.
Relations kept
    any: those of a fact among the entities. every part: those that each of the three parts has. train and test: those
    that both have. at least n: those with so many facts among the entities.
    touched: those of a fact with one of the entities, on either side, as the words of the paper have it.

What the paper tells
    The sizes 500 x 500 x 8 and 500 x 500 x 39; it does not print how many facts each part has. All but one of its ten
    Hits on WN18RR are multiples of 1/64 to three digits (0.309 is not), which hardly happens by chance: the number of
    test facts there, perhaps times that of repeats, seems to be a multiple of 64. Its Hits on FB15k-237 tell nothing.

What comes out
    Mentions in all parts, the plain reading and that of `tensorfill.knowledge.most_frequent`, leave 9 and 152.
    No way to choose entities leaves 8 and 39 by itself. Counting distinct relations, directed or not, in all parts or
    in train is the only one that comes below 100 on FB15k-237 (69 to 73), with 10 or 11 on WN18RR. With a threshold on
    top, entities by distinct relations in train and relations with at least 13 (or 14) facts leave exactly 8 and 39.
    That is one hit among some 1,400 readings tried, with a threshold that the paper does not mention, and it leaves 2
    test facts of WN18RR, from which no mean over a few repeats gives the paper's Hits: a coincidence as far as can be
    told. No reading leaves 8 relations together with 64 test facts, or a multiple, of WN18RR.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from data import shared_folder
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from tensorfill.knowledge import Triples, read_archive

Array = NDArray[np.int64]
Flags = NDArray[np.bool_]

GRAPHS = {"WN18RR": 8, "FB15k-237": 39}
"""The graphs, and how many relations the paper has of each."""

THRESHOLDS = (*range(2, 31), 40, 50, 60, 80, 100)
"""The n of "at least n"."""


@dataclass(frozen=True)
class Sizes:
    """What a reading leaves: relations, and facts of each part."""

    relations: int
    facts: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.relations:3d} ({' / '.join(f'{count:,}' for count in self.facts)})"


def mentions(facts: Array, entities: int) -> Array:
    """Count how often each entity is head or tail."""
    return np.bincount(facts[:, :2].ravel(), minlength=entities)


def heads(facts: Array, entities: int) -> Array:
    """Count how often each entity is head."""
    return np.bincount(facts[:, 0], minlength=entities)


def tails(facts: Array, entities: int) -> Array:
    """Count how often each entity is tail."""
    return np.bincount(facts[:, 1], minlength=entities)


def distinct(pairs: Array, entities: int) -> Array:
    """Count the distinct second numbers of each first."""
    return np.bincount(np.unique(pairs, axis=0)[:, 0], minlength=entities)


def relations(facts: Array, entities: int) -> Array:
    """Count the relations that each entity is in."""
    return distinct(np.concatenate([facts[:, [0, 2]], facts[:, [1, 2]]]), entities)


def directed(facts: Array, entities: int) -> Array:
    """Count the relations of each entity as head and as tail apart."""
    return distinct(facts[:, [0, 2]], entities) + distinct(facts[:, [1, 2]], entities)


def partners(facts: Array, entities: int) -> Array:
    """Count the entities that each one shares a fact with."""
    return distinct(np.concatenate([facts[:, [0, 1]], facts[:, [1, 0]]]), entities)


def lesser(facts: Array, entities: int) -> Array:
    """Count how often each entity is head, or tail if that is less."""
    return np.minimum(heads(facts, entities), tails(facts, entities))


MEASURES: dict[str, Callable[[Array, int], Array]] = {
    measure.__name__: measure for measure in (mentions, heads, tails, relations, directed, partners, lesser)
}


def top(frequency: Array, count: int) -> Flags:
    """Mark the most frequent; numbers are in the order of appearance, which breaks ties."""
    chosen = np.zeros(len(frequency), dtype=np.bool_)
    chosen[np.argsort(-frequency, kind="stable")[:count]] = True
    return chosen


def choices(parts: dict[str, Triples], count: int) -> Iterator[tuple[str, str, Flags, Flags]]:
    """Yield each way to choose entities: its name, what it counts, the heads and the tails it keeps."""
    entities = len(parts["train"].entities)
    coords = {name: part.coords.astype(np.int64) for name, part in parts.items()}
    for place, facts in {"all": np.concatenate(list(coords.values())), **coords}.items():
        for name, measure in MEASURES.items():
            chosen = top(measure(facts, entities), count)
            yield name, place, chosen, chosen
        as_head, as_tail = heads(facts, entities), tails(facts, entities)
        halves = top(as_head, count // 2) | top(as_tail, count // 2)
        yield "halves", place, halves, halves
        yield "sides", place, top(as_head, count), top(as_tail, count)
    first = np.arange(entities) < count
    yield "first", "-", first, first


def outcomes(parts: dict[str, Triples], rows: Flags, columns: Flags) -> dict[str, Sizes]:
    """Return what each rule for the relations leaves of the facts among some entities."""
    number = len(parts["train"].relation_names)
    inside = [part.coords[rows[part.heads] & columns[part.tails]] for part in parts.values()]
    counts = np.stack([np.bincount(facts[:, 2], minlength=number) for facts in inside])
    total = counts.sum(axis=0)
    touched = [part.relations[rows[part.heads] | columns[part.tails]] for part in parts.values()]
    kept = {
        "any": total > 0,
        "touched": np.bincount(np.concatenate(touched), minlength=number) > 0,
        "every part": (counts > 0).all(axis=0),
        "train and test": (counts[0] > 0) & (counts[2] > 0),
        **{f"at least {least}": total >= least for least in THRESHOLDS},
    }
    return {
        rule: Sizes(int(keep.sum()), tuple(int(of_part[keep].sum()) for of_part in counts))
        for rule, keep in kept.items()
    }


def main() -> None:
    """Print what the readings leave."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--count", type=int, default=500, help="entities to keep")
    arguments.add_argument("--all", action="store_true", help="print every reading, not only the nearest")
    arguments.add_argument("--show", type=int, default=15, help="how many of the nearest to print")
    given = arguments.parse_args()
    found: dict[tuple[str, str, str], dict[str, Sizes]] = {}
    for graph in GRAPHS:
        parts = read_archive(shared_folder() / "kg" / f"{graph}.tar.gz")
        for name, place, rows, columns in choices(parts, given.count):
            for rule, sizes in outcomes(parts, rows, columns).items():
                found.setdefault((name, place, rule), {})[graph] = sizes
    plain = {reading: sizes for reading, sizes in found.items() if reading[2] == "any"}
    console = Console(width=120)
    console.print(table(f"Top {given.count} entities, any relation left", plain))
    nearest = sorted(found.items(), key=lambda item: distance(item[1]))
    shown = nearest if given.all else nearest[: given.show]
    console.print(table("Nearest to the paper's 8 and 39 relations", dict(shown)))


def distance(sizes: dict[str, Sizes]) -> float:
    """Return how far the numbers of relations are from the paper's, as a ratio's logarithm."""
    return sum(abs(math.log(max(sizes[graph].relations, 0.5) / paper)) for graph, paper in GRAPHS.items())


def table(title: str, found: dict[tuple[str, str, str], dict[str, Sizes]]) -> Table:
    """Return readings and what they leave."""
    shown = Table("frequency", "counted in", "relations kept", *(f"{g} (paper {n})" for g, n in GRAPHS.items()))
    shown.title = title
    for reading, sizes in found.items():
        shown.add_row(*reading, *(str(sizes[graph]) for graph in GRAPHS))
    return shown


if __name__ == "__main__":
    main()
