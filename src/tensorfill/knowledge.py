"""Knowledge graphs as tensors: reading triples, negatives, ranking and recommending (Section 5.3 of the paper).

A graph of facts (head, relation, tail) is a tensor of shape (entities, entities, relations) that is +1 where a fact
is known. Coordinates stand everywhere in the order of its modes: head, tail, relation.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import coordinates, generator, in_words, plain_array, tensor_shape, whole_number
from ._types import Booleans, Floats, Integers
from .algebra.ordering import labels_of
from .observations import Observations

__all__ = [
    "Ranking",
    "Recommendations",
    "Triples",
    "entity_ranking",
    "most_frequent",
    "read_archive",
    "recommend",
    "relation_ranking",
    "sample_negatives",
    "to_observations",
]

_File = TypeVar("_File")

MODES = ("head", "tail", "relation")
"""What the modes of the tensor are."""

SPLITS = ("train", "valid", "test")
"""The parts of a published knowledge graph."""

BATCH = 2**18
"""Entries scored at a time in a ranking, or those of one test triple if they are more."""

ROUNDS = 20
"""Times that a negative is drawn and refused before those that are left are listed."""


class Scorer(Protocol):
    """Anything that scores coordinates: a `Fit`, a model, or an object of your own."""

    def predict(self, coords: Any, /) -> Any:
        """Return one number for each row of (head, tail, relation)."""


@dataclass(frozen=True, eq=False, repr=False)
class Triples:
    """Facts (head, relation, tail) by number, with the labels of the numbers.

    Parameters
    ----------
    heads, relations, tails : array of int, of shape (n,)
        The numbers of each fact, from 0.
    entities, relation_names : sequence of str
        The label of each entity and of each relation.

    Examples
    --------
    >>> facts = Triples([0, 1], [0, 0], [1, 2], ["Ann", "Bob", "Cid"], ["knows"])
    >>> facts
    Triples(2 facts, 3 entities, 1 relations)
    >>> facts.shape, facts.coords.tolist()
    ((3, 3, 1), [[0, 1, 0], [1, 2, 0]])
    >>> list(facts.labelled())
    [('Ann', 'knows', 'Bob'), ('Bob', 'knows', 'Cid')]
    """

    heads: Integers
    relations: Integers
    tails: Integers
    entities: tuple[str, ...]
    relation_names: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("entities", "relation_names"):
            object.__setattr__(self, name, _labels(getattr(self, name), name))
        for name, labels in (("heads", self.entities), ("relations", self.relation_names), ("tails", self.entities)):
            object.__setattr__(self, name, _numbers(getattr(self, name), name, len(labels)))
        lengths = len(self.heads), len(self.relations), len(self.tails)
        if len(set(lengths)) > 1:
            raise ValueError(f"heads, relations and tails must have the same length, but {lengths} were given.")

    @classmethod
    def read(cls, source: str | os.PathLike[str] | IO[bytes] | IO[str]) -> Self:
        r"""Return the facts of a file with one `head<TAB>relation<TAB>tail` in each line, plain or gzipped.

        Entities and relations are numbered in the order in which they first appear. Blank lines are skipped, and
        labels are kept as they stand. Files that belong together need a common numbering: see `read_archive`.

        Parameters
        ----------
        source : path, or file open for reading
            UTF-8 text; whether it is gzipped is seen from its first bytes.

        Examples
        --------
        >>> facts = Triples.read(io.StringIO("Ann\tknows\tBob\nBob\tlikes\tAnn\n"))
        >>> facts.entities, facts.relation_names, facts.coords.tolist()
        (('Ann', 'Bob'), ('knows', 'likes'), [[0, 1, 0], [1, 0, 1]])
        """
        numbering = _Numbering()
        if isinstance(source, str | os.PathLike):
            name = repr(os.fspath(source))
            with open(source, "rb") as file:
                coords = numbering.read(file, name)
        else:
            name = repr(str(getattr(source, "name", "the file")))
            coords = numbering.read(source, name)
        if len(coords) == 0:
            raise ValueError(f"a file of triples must have at least one line, but {name} is empty.")
        return cls(coords[:, 0], coords[:, 2], coords[:, 1], numbering.entity_labels, numbering.relation_labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the tensor: (entities, entities, relations)."""
        return len(self.entities), len(self.entities), len(self.relation_names)

    @cached_property
    def coords(self) -> Integers:
        """The (n, 3) coordinates of the facts in the tensor: head, tail, relation."""
        coords = np.stack([self.heads, self.tails, self.relations], axis=1)
        coords.flags.writeable = False
        return coords

    def labelled(self) -> Iterator[tuple[str, str, str]]:
        """Yield each fact as the labels of its head, relation and tail."""
        for head, tail, relation in self.coords.tolist():
            yield self.entities[head], self.relation_names[relation], self.entities[tail]

    def with_coords(self, coords: ArrayLike) -> Triples:
        """Return other facts, given as (head, tail, relation), about the same entities and relations."""
        numbers = coordinates(coords, self.shape)
        return Triples(numbers[:, 0], numbers[:, 2], numbers[:, 1], self.entities, self.relation_names)

    def __len__(self) -> int:
        return len(self.heads)

    def __repr__(self) -> str:
        facts, entities, relations = len(self), len(self.entities), len(self.relation_names)
        return f"{type(self).__name__}({facts:,} facts, {entities:,} entities, {relations:,} relations)"


Facts = Triples | Mapping[str, Triples] | Iterable[Triples] | ArrayLike
"""Triples, several of them (a list, or the dict of `read_archive`), or rows of (head, tail, relation)."""

_Gathered = list[Triples] | NDArray[Any]


def read_archive(path: str | os.PathLike[str]) -> dict[str, Triples]:
    """Return the "train", "valid" and "test" part of a knowledge graph, all with one numbering.

    Parameters
    ----------
    path : path
        A tar archive, compressed or not, or a folder. It holds one file for each part, in any folder within, named
        `train`, `valid` and `test` with the ending `.txt`, `.tsv` or none, in the form that `Triples.read` reads.
        Other files are left alone, and nothing is unpacked to disk.

    Notes
    -----
    Entities and relations are numbered as they first appear, in train, then valid, then test.
    """
    where = Path(path)
    numbering = _Numbering()
    parts: dict[str, Integers] = {}
    if where.is_dir():
        found = _parts_of([(file.name, file) for file in sorted(where.rglob("*")) if file.is_file()], str(where))
        for part, file in found.items():
            with open(file, "rb") as opened:
                parts[part] = numbering.read(opened, repr(str(file)))
    else:
        try:
            with tarfile.open(where) as archive:
                members = [(PurePosixPath(member.name).name, member) for member in archive if member.isfile()]
                for part, member in _parts_of(members, str(where)).items():
                    content = archive.extractfile(member)
                    if content is not None:
                        parts[part] = numbering.read(content, f"{member.name!r} of {str(where)!r}")
        except (tarfile.TarError, EOFError, zlib.error):
            raise ValueError(
                f"path must be a tar archive, such as a .tar.gz, or a folder, but {str(where)!r} cannot be read as one."
            ) from None
    entities, relations = numbering.entity_labels, numbering.relation_labels
    return {part: Triples(at[:, 0], at[:, 2], at[:, 1], entities, relations) for part, at in parts.items()}


def most_frequent(*splits: Triples, count: int = 500) -> tuple[Triples, ...]:
    """Return the facts among the most frequent entities, one part for each part given, with a new numbering.

    An entity's frequency is how many times it stands as head or as tail of a fact, in all the parts together. Of
    entities as frequent as each other those come first that appear first: part by part, fact by fact, head before
    tail. Facts whose head and tail are both among the `count` first entities are kept, and of the relations those
    that such a fact has. What is kept is numbered in the order it had.

    Parameters
    ----------
    *splits : Triples
        Parts of one knowledge graph, with one numbering.
    count : int, optional
        How many entities to keep; all of them if there are fewer.

    Notes
    -----
    The paper keeps "the top 500 (head and tail) entities that appear most frequently in the relations" and prints
    tensors of 500 x 500 x 8 for WN18RR and 500 x 500 x 39 for FB15k-237. The reading here, with all three parts
    given, leaves 9 and 152 relations (train, valid and test facts: 398, 12, 7 and 9,262, 403, 489). No plain reading
    of the words gives the paper's pair: `experiments/knowledge_graph_preparation.py` tries many, and says what
    speaks against the one that does with a threshold chosen to fit.

    Examples
    --------
    >>> facts = Triples([0, 1, 2], [0, 1, 1], [3, 2, 1], ["Ann", "Bob", "Cid", "Dee"], ["likes", "knows"])
    >>> (few,) = most_frequent(facts, count=2)
    >>> few.entities, few.relation_names, few.coords.tolist()
    (('Bob', 'Cid'), ('knows',), [[0, 1, 0], [1, 0, 0]])
    """
    count = whole_number(count, "count", at_least=1)
    first = _one_numbering(splits)
    entities, relations = len(first.entities), len(first.relation_names)
    # Head and tail of each fact in turn, which is the order of appearance.
    mentions = np.concatenate([split.coords[:, :2].ravel() for split in splits])
    frequency = np.bincount(mentions, minlength=entities)
    appearance = np.full(entities, len(mentions))
    mentioned, at = np.unique(mentions, return_index=True)
    appearance[mentioned] = at
    kept = np.zeros(entities, dtype=np.bool_)
    kept[np.lexsort((appearance, -frequency))[:count]] = True
    inside = [split.coords[kept[split.heads] & kept[split.tails]] for split in splits]
    related = np.bincount(np.concatenate(inside)[:, 2], minlength=relations) > 0
    entity_labels, relation_labels = _chosen(first.entities, kept), _chosen(first.relation_names, related)
    new_entity, new_relation = np.cumsum(kept) - 1, np.cumsum(related) - 1
    return tuple(
        Triples(new_entity[at[:, 0]], new_relation[at[:, 2]], new_entity[at[:, 1]], entity_labels, relation_labels)
        for at in inside
    )


def sample_negatives(
    triples: Triples,
    ratio: int = 1,
    *,
    known: Facts | None = None,
    rng: int | np.random.Generator | None = None,
) -> Triples:
    """Return facts that are not known, `ratio` of them for each known one, with its head or its tail replaced.

    A negative of (h, r, t) is drawn uniformly from all (h', r, t) and (h, r, t') that are not known, h' and t' any
    entity; the relation stays. No negative is drawn twice.

    Parameters
    ----------
    triples : Triples
        The facts to draw negatives for; all of them are known.
    ratio : int, optional
        How many for each fact. Those of fact i are the rows from i * ratio to (i + 1) * ratio - 1 of the answer.
    known : Triples, several of them, or rows of (head, tail, relation), optional
        Facts besides `triples` that must not be drawn. The paper gives all parts of the graph, those held out too.
    rng : int, numpy.random.Generator or None, optional
        What decides the draw.

    Notes
    -----
    The paper writes the set to draw from as an intersection, {(h', r, t) not in S} with {(h, r, t') not in S}. That
    is empty, for only (h, r, t) itself has both forms and it is in S: the union is meant.

    Examples
    --------
    >>> facts = Triples([0, 1], [0, 0], [1, 2], ["Ann", "Bob", "Cid"], ["knows"])
    >>> negatives = sample_negatives(facts, ratio=2, rng=0)
    >>> len(negatives), set(negatives.labelled()) & set(facts.labelled())
    (4, set())
    """
    if not isinstance(triples, Triples):
        raise TypeError(f"triples must be Triples, but a {type(triples).__name__} was given; see Triples.read.")
    ratio = whole_number(ratio, "ratio", at_least=1)
    source = generator(rng)
    facts = triples.coords
    if known is not None:
        facts = np.concatenate([facts, _coords_of(_gathered(known), triples.shape, "known")])
    wanted = np.repeat(triples.coords, ratio, axis=0)
    drawn = _draw(wanted, _Rows(facts), triples.shape, source)
    return triples.with_coords(drawn)


def to_observations(positives: Facts, negatives: Facts, shape: Sequence[int] | None = None) -> Observations:
    """Return observations that are +1 at the positive facts and -1 at the negative ones; a repeated fact counts once.

    Parameters
    ----------
    positives, negatives : Triples, several of them, or rows of (head, tail, relation)
        Facts that hold, and facts that do not; none of them in both.
    shape : sequence of int, optional
        (entities, entities, relations); that of the Triples if not given.

    Examples
    --------
    >>> facts = Triples([0, 1], [0, 0], [1, 2], ["Ann", "Bob", "Cid"], ["knows"])
    >>> obs = to_observations(facts, sample_negatives(facts, rng=0))
    >>> obs
    Observations(shape=(3, 3, 1), observed=4 of 9 (44.4%), sparse)
    >>> sorted(obs.values.tolist())
    [-1.0, -1.0, 1.0, 1.0]
    """
    given = _gathered(positives), _gathered(negatives)
    lengths = _shape_of(shape, "shape", *given)
    true, false = _coords_of(given[0], lengths, "positives"), _coords_of(given[1], lengths, "negatives")
    both = _Rows(true).find(false) >= 0
    if both.any():
        row = false[int(both.argmax())]
        raise ValueError(
            f"a fact must be positive or negative, but {np.count_nonzero(both):,} of the negatives are positives too, "
            f"such as {in_words(row)}; leave them out of one of the two."
        )
    values = np.repeat([1.0, -1.0], [len(true), len(false)])
    return Observations(np.concatenate([true, false]), values, lengths, duplicates="last")


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """How high the true answers stand among all that were possible.

    Parameters
    ----------
    mrr : float
        The mean reciprocal rank, mean(1 / rank); 1 is best.
    hits : dict of int to float
        For each k the share of ranks that are at most k.
    ranks : array of float
        The ranks, from 1; of several equal scores each has the mean of their places.

    Examples
    --------
    >>> Ranking.of([1, 2, 4], hits=(1, 3))
    Ranking(MRR 0.583, Hits@1 0.333, Hits@3 0.667, of 3 ranks)
    """

    mrr: float
    hits: dict[int, float]
    ranks: Floats

    @classmethod
    def of(cls, ranks: ArrayLike, hits: Iterable[int]) -> Self:
        """Return the summary of some ranks, with Hits@k for each k of `hits`."""
        given = np.asarray(ranks, dtype=np.float64)
        if given.size == 0:
            raise ValueError("a ranking must have at least one rank, but none was given.")
        if not (given >= 1).all():
            raise ValueError(f"ranks must be numbers of at least 1, but {given.min()} was given; count from 1.")
        shares = {k: float(np.mean(given <= k)) for k in _places(hits)}
        return cls(float(np.mean(1.0 / given)), shares, given)

    def __repr__(self) -> str:
        hits = "".join(f", Hits@{k} {share:.3f}" for k, share in self.hits.items())
        return f"{type(self).__name__}(MRR {self.mrr:.3f}{hits}, of {self.ranks.size:,} ranks)"


def relation_ranking(
    score: Scorer, test: Facts, known: Facts | None = None, *, hits: Iterable[int] = (1, 3)
) -> Ranking:
    """Return how well relations are told: the rank of each test fact's relation among all, for its head and tail.

    With X the scores, the rank of (i1, i2, i3) is the place of X[i1, i2, i3] among X[i1, i2, j] for all relations j,
    in descending order (Section 5.3). Equal scores share the mean of their places, so that a model that gives one
    score to everything does not look good.

    Parameters
    ----------
    score : Fit, model, or anything with `predict`
        Scores only n x relations entries; nothing of the tensor's size is built.
    test : Triples, several of them, or rows of (head, tail, relation)
        The facts to rank.
    known : the same, optional
        Facts left out of the competition. The paper leaves out none, so that of two true relations of one pair
        only one can be first.
    hits : sequence of int, optional
        The k of each Hits@k.

    Returns
    -------
    Ranking
        With ranks of shape (n,).

    Examples
    --------
    >>> class Scores:
    ...     shape = (1, 2, 3)
    ...     def predict(self, coords):
    ...         return np.array([[0.9, 0.1, 0.5], [0.2, 0.2, 0.2]])[coords[:, 1], coords[:, 2]]
    >>> ranking = relation_ranking(Scores(), [[0, 0, 2], [0, 1, 0]])
    >>> ranking
    Ranking(MRR 0.500, Hits@1 0.000, Hits@3 1.000, of 2 ranks)
    >>> ranking.ranks.tolist()
    [2.0, 2.0]
    """
    places = _places(hits)
    shape, facts, others = _competition(score, test, known)
    return Ranking.of(_ranks(score, facts, 2, others, shape), places)


def entity_ranking(score: Scorer, test: Facts, known: Facts | None, *, hits: Iterable[int] = (1, 3, 10)) -> Ranking:
    """Return how well entities are told: the filtered ranks of each test fact's head and of its tail.

    The head of (h, r, t) is ranked among all (h', r, t), and the tail among all (h, r, t'). Candidates that make a
    fact of `known` are left out, except for the fact in question; this is the "filtered" ranking. Equal scores share
    the mean of their places, which is the "realistic" rank.

    Parameters
    ----------
    score : Fit, model, or anything with `predict`
        Scores 2 x n x entities entries, a batch at a time; nothing of the tensor's size is built.
    test : Triples, several of them, or rows of (head, tail, relation)
        The facts to rank.
    known : the same, or None
        Every fact that is known to hold: usually all parts of the graph, the test part among them. None leaves out
        nothing, which is the "raw" ranking.
    hits : sequence of int, optional
        The k of each Hits@k.

    Returns
    -------
    Ranking
        With ranks of shape (n, 2), of the head and of the tail; MRR and Hits are means over both.

    Examples
    --------
    >>> class Scores:
    ...     shape = (2, 2, 1)
    ...     def predict(self, coords):
    ...         return np.array([[0.9, 0.6], [0.8, 0.7]])[coords[:, 0], coords[:, 1]]
    >>> entity_ranking(Scores(), [[1, 1, 0]], known=None).ranks.tolist()
    [[1.0, 2.0]]
    >>> entity_ranking(Scores(), [[1, 1, 0]], known=[[1, 0, 0], [1, 1, 0]]).ranks.tolist()
    [[1.0, 1.0]]
    """
    places = _places(hits)
    shape, facts, others = _competition(score, test, known)
    ranks = [_ranks(score, facts, mode, others, shape) for mode in (0, 1)]
    return Ranking.of(np.stack(ranks, axis=1), places)


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations:
    """The best answers to a question, the best first; a sequence of pairs (index, score).

    Parameters
    ----------
    kind : {"head", "tail", "relation"}
        What the answers are.
    indices : array of int
        Their numbers.
    scores : array of float
        Their scores, which never rise.
    labels : tuple of str, or None
        Their labels, where labels are known.
    """

    kind: str
    indices: Integers
    scores: Floats
    labels: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return iter(zip(self.indices.tolist(), self.scores.tolist(), strict=True))

    def __repr__(self) -> str:
        names: Iterable[object] = self.indices.tolist() if self.labels is None else map(repr, self.labels)
        best = ", ".join(f"{name}: {score:.4g}" for name, score in zip(names, self.scores.tolist(), strict=True))
        return f"{type(self).__name__}({self.kind}, {{{best}}})"


def recommend(
    score: Scorer,
    *,
    head: int | str | None = None,
    tail: int | str | None = None,
    relation: int | str | None = None,
    k: int = 10,
    known: Facts | None = None,
    labels: Triples | None = None,
) -> Recommendations:
    """Return the `k` best of what is not given: heads, tails or relations for the two others.

    Only the candidates are scored, never the whole tensor. Of equal scores the lower number comes first.

    Parameters
    ----------
    score : Fit, model, or anything with `predict`
        What scores the candidates.
    head, tail, relation : int or str
        Exactly two of them, by number or by label.
    k : int, optional
        How many to return; there are fewer if fewer candidates are left.
    known : Triples, several of them, or rows of (head, tail, relation), optional
        Facts that are known already and so are not recommended.
    labels : Triples, optional
        Where labels come from; if not given, from `known`.

    Examples
    --------
    >>> class Scores:
    ...     def predict(self, coords):
    ...         return coords @ np.array([1.0, 2.0, 0.0])
    >>> facts = Triples([0, 0], [0, 0], [1, 2], ["Ann", "Bob", "Cid"], ["knows"])
    >>> recommend(Scores(), head="Ann", relation="knows", labels=facts)
    Recommendations(tail, {'Cid': 4, 'Bob': 2, 'Ann': 0})
    >>> list(recommend(Scores(), tail="Cid", relation=0, known=facts))
    [(2, 6.0), (1, 5.0)]
    """
    k = whole_number(k, "k", at_least=1)
    query = (head, tail, relation)
    given = [name for name, value in zip(MODES, query, strict=True) if value is not None]
    if len(given) != 2:
        what = " and ".join(given) or "none of them"
        raise ValueError(f"two of head, tail and relation must be given, but {what} was; leave out what is asked for.")
    if labels is not None and not isinstance(labels, Triples):
        raise TypeError(f"labels must be Triples, but a {type(labels).__name__} was given; see Triples.read.")
    facts = _gathered([] if known is None else known)
    names = labels if labels is not None else facts[0] if isinstance(facts, list) else None
    shape = _shape_of(getattr(score, "shape", None), "score.shape", [] if names is None else [names])
    if names is not None and names.shape != shape:
        raise ValueError(f"labels must be of a tensor of shape {shape}, as score is, but theirs is {names.shape}.")
    asked = query.index(None)
    row = [0 if value is None else _index(value, mode, shape, names) for mode, value in enumerate(query)]
    others = _coords_of(facts, shape, "known")
    same = np.logical_and.reduce([others[:, mode] == row[mode] for mode in range(3) if mode != asked])
    candidates = np.setdiff1d(np.arange(shape[asked]), others[same, asked])
    coords = np.repeat(np.array([row], dtype=np.int64), len(candidates), axis=0)
    coords[:, asked] = candidates
    scores = _scores(score, coords)
    best = np.argsort(-scores, kind="stable")[:k]
    indices = candidates[best]
    chosen = None if names is None else tuple(_labels_of_mode(names, asked)[index] for index in indices.tolist())
    return Recommendations(MODES[asked], indices, scores[best], chosen)


class _Numbering:
    """Numbers for labels, in the order in which they first appear."""

    def __init__(self) -> None:
        self._entities: dict[str, int] = {}
        self._relations: dict[str, int] = {}

    @property
    def entity_labels(self) -> tuple[str, ...]:
        return tuple(self._entities)

    @property
    def relation_labels(self) -> tuple[str, ...]:
        return tuple(self._relations)

    def read(self, file: IO[bytes] | IO[str], name: str) -> Integers:
        """Return the coordinates of the facts in a file, which `name` stands for in a sentence."""
        numbers = array("q")
        entities, relations = self._entities, self._relations
        for head, relation, tail in _facts(_unzipped(file), name):
            numbers.append(entities.setdefault(head, len(entities)))
            numbers.append(entities.setdefault(tail, len(entities)))
            numbers.append(relations.setdefault(relation, len(relations)))
        return np.array(numbers, dtype=np.int64).reshape(-1, 3)


def _unzipped(file: IO[Any]) -> Iterable[str | bytes]:
    """Return the lines of a file, gzipped or not."""
    if file.seekable():
        start = file.tell()
        first = file.read(2)
        file.seek(start)
    else:
        rest = file.read()
        first, file = rest[:2], io.StringIO(rest) if isinstance(rest, str) else io.BytesIO(rest)
    return gzip.GzipFile(fileobj=file) if first == b"\x1f\x8b" else file


def _facts(lines: Iterable[str | bytes], name: str) -> Iterator[Sequence[str]]:
    """Yield (head, relation, tail) of each line that is not blank."""
    number = 0
    try:
        for number, given in enumerate(lines, start=1):
            line = (given.decode("utf-8") if isinstance(given, bytes) else given).rstrip("\r\n")
            if number == 1:
                line = line.removeprefix("\ufeff")
            if not line.strip():
                continue
            fields = line.split("\t")
            if len(fields) != 3 or not all(field.strip() for field in fields):
                shown = repr(line if len(line) <= 60 else line[:60] + "...")
                raise ValueError(
                    f"each line must be head, relation and tail with a tab between them, but line {number} of {name} "
                    f"is {shown}; correct it or take it out."
                )
            yield fields
    except UnicodeDecodeError:
        raise ValueError(f"triples must be UTF-8 text, but line {number} of {name} is not; convert it first.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ValueError(f"{name} is gzipped but damaged after line {number}; get the file again.") from None


def _parts_of(files: Iterable[tuple[str, _File]], where: str) -> dict[str, _File]:
    """Return the file of each part, given all files with their names."""
    found: dict[str, _File] = {}
    for name, file in files:
        part = PurePosixPath(name)
        if part.stem in SPLITS and part.suffix in ("", ".txt", ".tsv"):
            if part.stem in found:
                raise ValueError(f"{where!r} must hold one {part.stem} file, but it holds several; leave one of them.")
            found[part.stem] = file
    missing = [part for part in SPLITS if part not in found]
    if missing:
        raise ValueError(
            f"{where!r} must hold train, valid and test files, ending in .txt, .tsv or nothing, "
            f"but {' and '.join(missing)} is missing; name its files so, or read them with Triples.read."
        )
    return {part: found[part] for part in SPLITS}


def _labels(given: Any, name: str) -> tuple[str, ...]:
    """Return labels as a tuple of distinct strings."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a sequence of strings, but a {type(given).__name__} was given.")
    labels = tuple(given)
    other = next((label for label in labels if not isinstance(label, str)), None)
    if other is not None:
        raise TypeError(f"{name} must be strings, but {other!r} ({type(other).__name__}) was given; convert with str.")
    if len(set(labels)) < len(labels):
        repeated, times = Counter(labels).most_common(1)[0]
        raise ValueError(f"{name} must be distinct, but {repeated!r} was given {times} times.")
    return labels


def _numbers(given: Any, name: str, size: int) -> Integers:
    """Return numbers from 0 to size - 1 as an array of their own that nobody changes."""
    numbers = plain_array(given, name)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must have one dimension, but an array of shape {numbers.shape} was given.")
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, but {numbers.dtype} was given; convert with astype(int).")
    wrong = (numbers < 0) | (numbers >= size)
    if wrong.any():
        raise ValueError(
            f"{name} must be from 0 to {size - 1}, for there are {size} labels, but {numbers[wrong][0]} was given; "
            "count from 0 or give more labels."
        )
    own = numbers.astype(np.int64)
    own.flags.writeable = False
    return own


def _chosen(labels: tuple[str, ...], keep: Booleans) -> tuple[str, ...]:
    return tuple(label for label, kept in zip(labels, keep.tolist(), strict=True) if kept)


def _same_labels(one: Triples, other: Triples) -> bool:
    return one.entities == other.entities and one.relation_names == other.relation_names


def _one_numbering(parts: Sequence[Any]) -> Triples:
    """Return the first of some parts, all of which must have its labels."""
    if not parts:
        raise ValueError("at least one Triples must be given, but there is none.")
    for part in parts:
        if not isinstance(part, Triples):
            raise TypeError(
                f"parts of a graph must be Triples, but a {type(part).__name__} was given; "
                "put a * before a list, and *splits.values() for a dict."
            )
        if not _same_labels(part, parts[0]):
            raise ValueError(
                f"all parts must have the same entities and relations in the same order, but {parts[0]!r} and {part!r} "
                "differ in them; read them together with read_archive."
            )
    first: Triples = parts[0]
    return first


def _gathered(given: Facts) -> _Gathered:
    """Return Triples as a list, and anything else as an array."""
    if isinstance(given, Triples):
        return [given]
    if isinstance(given, np.ndarray):
        return given
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, Iterable):
        items: list[Any] = list(given)
        if items and any(isinstance(item, Triples) for item in items):
            _one_numbering(items)
            return items
        return plain_array(items, "coords")
    return plain_array(given, "coords")


def _shape_of(stated: Any, name: str, *facts: _Gathered) -> tuple[int, ...]:
    """Return the shape that is stated, or else that of the first Triples among the facts."""
    if stated is None:
        shapes = [part.shape for given in facts if isinstance(given, list) for part in given]
        if not shapes:
            raise ValueError(
                f"the shape of the tensor must be known, but {name} is not there and no Triples were given; "
                "give Triples in place of an array."
            )
        stated = shapes[0]
    shape = tensor_shape(stated)
    if len(shape) != 3:
        raise ValueError(
            f"a knowledge graph is a tensor of three modes, (heads, tails, relations), but {name} is {shape}."
        )
    return shape


def _coords_of(given: _Gathered, shape: tuple[int, ...], name: str) -> Integers:
    """Return facts as an (n, 3) array of (head, tail, relation) within the tensor."""
    if isinstance(given, list):
        for part in given:
            if part.shape != shape:
                raise ValueError(
                    f"{name} must be facts of a tensor of shape {shape}, but those given are of shape {part.shape}; "
                    "give the parts of one graph."
                )
        return np.concatenate([part.coords for part in given])
    return coordinates(given, shape).astype(np.int64)


class _Rows:
    """Distinct rows of whole numbers, each with a number of its own, to look up others among them.

    Columns are joined one by one, and what has been joined is numbered anew each time, so that no key passes
    n^2 however large the numbers are.
    """

    def __init__(self, rows: Integers) -> None:
        self._levels: list[tuple[Integers, Integers]] = []
        number = np.zeros(len(rows), dtype=np.int64)
        for column in rows.T:
            values, place = np.unique(column, return_inverse=True)
            joined, number = np.unique(number * len(values) + place, return_inverse=True)
            self._levels.append((values, joined))
        self.count = len(self._levels[-1][1])

    def find(self, rows: Integers) -> Integers:
        """Return the number of each row, and -1 for rows that are not among them."""
        if self.count == 0:
            return np.full(len(rows), -1)
        number: Integers = np.zeros(len(rows), dtype=np.int64)
        found = np.ones(len(rows), dtype=np.bool_)
        for column, (values, joined) in zip(rows.T, self._levels, strict=True):
            place = _place(values, column, found)
            number = _place(joined, number * len(values) + place, found)
        return np.where(found, number, -1)


def _place(ordered: Integers, wanted: Integers, found: Booleans) -> Integers:
    """Return where each number stands among ordered ones, and take those that are not there out of `found`."""
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    found &= ordered[place] == wanted
    return place


class _Competitors:
    """For two indices of a fact, the values of the third that make a known one."""

    def __init__(self, known: Integers, mode: int) -> None:
        self._others = [other for other in range(3) if other != mode]
        self._groups = _Rows(known[:, self._others])
        group = self._groups.find(known[:, self._others])
        self._values = known[np.argsort(group, kind="stable"), mode]
        self._counts = np.bincount(group, minlength=self._groups.count)
        self._starts = np.cumsum(self._counts) - self._counts

    def of(self, facts: Integers) -> tuple[Integers, Integers]:
        """Return pairs of a row of `facts` and a value, as two arrays."""
        group = self._groups.find(facts[:, self._others])
        rows = np.flatnonzero(group >= 0)
        counts = self._counts[group[rows]]
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(rows, counts), self._values[np.repeat(self._starts[group[rows]], counts) + steps]


def _competition(score: Scorer, test: Facts, known: Facts | None) -> tuple[tuple[int, ...], Integers, Integers | None]:
    """Return the shape, the facts to rank, and those to leave out."""
    ranked, others = _gathered(test), None if known is None else _gathered(known)
    stated = getattr(score, "shape", None)
    shape = _shape_of(stated, "score.shape", ranked, *([] if others is None else [others]))
    facts = _coords_of(ranked, shape, "test")
    if len(facts) == 0:
        raise ValueError("test must have at least one fact, but it is empty.")
    return shape, facts, None if others is None else _coords_of(others, shape, "known")


def _ranks(score: Scorer, facts: Integers, mode: int, known: Integers | None, shape: tuple[int, ...]) -> Floats:
    """Return the rank of each fact among those with another index of one mode, all but the known ones."""
    size = shape[mode]
    competitors = None if known is None else _Competitors(known, mode)
    step = max(1, BATCH // size)
    ranks = np.empty(len(facts))
    for first in range(0, len(facts), step):
        batch = facts[first : first + step]
        coords = np.repeat(batch, size, axis=0)
        coords[:, mode] = np.tile(np.arange(size), len(batch))
        scores = _scores(score, coords).reshape(len(batch), size)
        rows = np.arange(len(batch))
        own = scores[rows, batch[:, mode]][:, np.newaxis]
        # Below every score: out of the competition.
        scores[rows, batch[:, mode]] = -np.inf
        if competitors is not None:
            scores[competitors.of(batch)] = -np.inf
        ranks[first : first + step] = 1 + np.sum(scores > own, axis=1) + np.sum(scores == own, axis=1) / 2
    return ranks


def _scores(score: Scorer, coords: Integers) -> Floats:
    """Return a new array of finite scores, one for each row."""
    if not hasattr(score, "predict"):
        raise TypeError(f"score must have a method predict(coords), but a {type(score).__name__} has none; give a Fit.")
    scores = np.array(score.predict(coords), dtype=np.float64)
    if scores.shape != (len(coords),):
        raise ValueError(
            f"score.predict must return one number for each of {len(coords):,} rows, "
            f"but it returned an array of shape {scores.shape}."
        )
    wrong = ~np.isfinite(scores)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"scores must be finite, but that of {in_words(coords[row])} is {scores[row]}.")
    return scores


def _places(hits: Iterable[int]) -> tuple[int, ...]:
    """Return the k of Hits@k."""
    if isinstance(hits, str | bytes) or not isinstance(hits, Iterable):
        raise TypeError(f"hits must be a sequence of whole numbers, such as (1, 3), but {hits!r} was given.")
    return tuple(whole_number(k, "each of hits", at_least=1) for k in hits)


def _draw(wanted: Integers, known: _Rows, shape: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Return for each fact another one with a new head or tail, none of them known and none of them twice."""
    drawn = np.empty_like(wanted)
    done, waiting = np.arange(0), np.arange(len(wanted))
    for _ in range(ROUNDS):
        if len(waiting) == 0:
            return drawn
        drawn[waiting] = _replaced(wanted[waiting], rng.integers(2 * shape[0], size=len(waiting)), shape[0])
        unknown = np.concatenate([done, waiting[known.find(drawn[waiting]) < 0]])
        if len(unknown):
            # The first of equal rows stays, and those that are done come first.
            first = np.unique(labels_of(drawn[unknown], shape), return_index=True)[1]
            done = unknown[np.sort(first)]
        waiting = np.setdiff1d(waiting, done)
    taken = set(map(tuple, drawn[done].tolist()))
    every = np.arange(2 * shape[0])
    for row in waiting.tolist():
        candidates = _replaced(np.repeat(wanted[row : row + 1], len(every), axis=0), every, shape[0])
        free = [tuple(fact) for fact in candidates[known.find(candidates) < 0].tolist() if tuple(fact) not in taken]
        if not free:
            raise ValueError(
                f"each fact must have enough negatives, but for (head, tail, relation) {in_words(wanted[row])} every "
                "other head and tail makes a known fact or a negative drawn already; lower ratio or leave it out."
            )
        drawn[row] = free[rng.integers(len(free))]
        taken.add(tuple(drawn[row].tolist()))
    return drawn


def _replaced(facts: Integers, choices: Integers, entities: int) -> Integers:
    """Return facts with the head (choices below `entities`) or the tail (the others) replaced."""
    mode, entity = np.divmod(choices, entities)
    changed = facts.copy()
    changed[np.arange(len(facts)), mode] = entity
    return changed


def _labels_of_mode(triples: Triples, mode: int) -> tuple[str, ...]:
    return triples.relation_names if mode == 2 else triples.entities


def _index(value: Any, mode: int, shape: tuple[int, ...], names: Triples | None) -> int:
    """Return the number of what was given by number or by label."""
    if isinstance(value, str):
        if names is None:
            raise ValueError(
                f"{MODES[mode]} must be a number where no labels are known, but {value!r} was given; "
                "give labels, the Triples it is from."
            )
        labels = _labels_of_mode(names, mode)
        if value not in labels:
            where = "relation_names" if mode == 2 else "entities"
            raise ValueError(
                f"{MODES[mode]} must be a number or one of the {len(labels):,} {where} of the Triples, "
                f"but {value!r} was given."
            )
        return labels.index(value)
    number = whole_number(value, MODES[mode])
    if number >= shape[mode]:
        raise ValueError(f"{MODES[mode]} must be from 0 to {shape[mode] - 1}, but {number} was given.")
    return number
