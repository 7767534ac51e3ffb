"""The rank of the true relation, head or tail among all candidates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from .._support.checks import in_words, whole_number
from .._support.types import Floats, Integers
from .facts import FactRows, Facts, coords_of, gathered, shape_of

BATCH = 2**18
"""The number of entries that are scored at a time; the entries of one test triple are never divided."""


class Scorer(Protocol):
    """Anything that scores coordinates: a `Fit`, whose `scores` are used, a model, or a user-defined object."""

    def predict(self, coords: Any, /) -> Any:
        """Return one number for each row of (head, tail, relation)."""


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """The ranks of the true answers among all candidates.

    Parameters
    ----------
    mrr : float
        The mean reciprocal rank, mean(1 / rank); 1 is best.
    hits : dict of int to float
        The share of ranks that are at most k, for each k.
    ranks : array of float
        The ranks, from 1; equal scores share the mean of their ranks.

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
        """Return the summary of ranks, with Hits@k for each k in `hits`."""
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
    """Return how well relations are predicted: the rank of each test fact's relation among all relations.

    With X the scores, the rank of (i1, i2, i3) is the position of X[i1, i2, i3] among X[i1, i2, j] for all relations j,
    in descending order (Section 5.3). Equal scores share the mean of their ranks, so that a model that gives every
    entry the same score is not rewarded.

    Parameters
    ----------
    score : Fit, model, or anything with `predict`
        Scores n x relations entries; nothing of the size of the tensor is allocated.
    test : Triples, several of them, or rows of (head, tail, relation)
        The facts to rank.
    known : the same, optional
        Facts that are not candidates. The paper excludes none, so only one of two true relations of a pair can be
        first.
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
    """Return how well entities are predicted: the filtered ranks of the head and of the tail of each test fact.

    The head of (h, r, t) is ranked among all (h', r, t), and the tail among all (h, r, t'). Candidates that form a fact
    in `known` are left out, except for the test fact itself; this is the "filtered" ranking. Equal scores share the
    mean of their ranks, which is the "realistic" rank.

    Parameters
    ----------
    score : Fit, model, or anything with `predict`
        Scores 2 x n x entities entries in batches; nothing of the size of the tensor is allocated.
    test : Triples, several of them, or rows of (head, tail, relation)
        The facts to rank.
    known : the same, or None
        Every known fact: usually all parts of the graph, including the test part. None leaves out nothing, which is
        the "raw" ranking.
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


class _Competitors:
    """The indices of one mode that complete the other two of a fact to a known fact."""

    def __init__(self, known: Integers, mode: int) -> None:
        self._others = [other for other in range(3) if other != mode]
        self._groups = FactRows(known[:, self._others])
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
    """Return the shape, the facts to rank, and the facts that are not candidates."""
    ranked, others = gathered(test), None if known is None else gathered(known)
    stated = getattr(score, "shape", None)
    shape = shape_of(stated, "score.shape", ranked, *([] if others is None else [others]))
    facts = coords_of(ranked, shape, "test")
    if len(facts) == 0:
        raise ValueError("test must have at least one fact, but it is empty.")
    return shape, facts, None if others is None else coords_of(others, shape, "known")


def _ranks(score: Scorer, facts: Integers, mode: int, known: Integers | None, shape: tuple[int, ...]) -> Floats:
    """Return the rank of each fact among those with another index of one mode, without the known ones."""
    size = shape[mode]
    competitors = None if known is None else _Competitors(known, mode)
    step = max(1, BATCH // size)
    ranks = np.empty(len(facts))
    for first in range(0, len(facts), step):
        batch = facts[first : first + step]
        coords = np.repeat(batch, size, axis=0)
        coords[:, mode] = np.tile(np.arange(size), len(batch))
        scores = scores_of(score, coords).reshape(len(batch), size)
        rows = np.arange(len(batch))
        own = scores[rows, batch[:, mode]][:, np.newaxis]
        # Below every score, so that they are ignored.
        scores[rows, batch[:, mode]] = -np.inf
        if competitors is not None:
            scores[competitors.of(batch)] = -np.inf
        ranks[first : first + step] = 1 + np.sum(scores > own, axis=1) + np.sum(scores == own, axis=1) / 2
    return ranks


def scores_of(score: Scorer, coords: Integers) -> Floats:
    """Return a new array of finite scores, one for each row."""
    if not hasattr(score, "predict"):
        raise TypeError(f"score must have a method predict(coords), but a {type(score).__name__} has none; give a Fit.")
    # Scores are used because predictions have ties where they reach 0, 1 or their bounds.
    scores = np.array(getattr(score, "scores", score.predict)(coords), dtype=np.float64)
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
