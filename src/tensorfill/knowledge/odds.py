"""Scores that correct for the sampling of negatives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._support.types import Floats, Integers
from .facts import coords_of
from .negatives import Negatives
from .ranking import Scorer, scores_of


@dataclass(frozen=True, eq=False, repr=False)
class GraphOdds:
    """The log odds of an entry in the graph, from the scores of a fit to facts and sampled negatives.

    A fit with the logistic loss estimates the odds in its sample: facts against sampled negatives. The sample has all
    known facts, but only some of the other entries. With d(p) the expected number of times that entry p is drawn as a
    negative, and 1 - exp(-d(p)) the probability that it is drawn at all,

        log odds of p in the graph  =  score of p  +  log(1 - exp(-d(p)))

    This is the correction of a case-control study. Negatives that replace the head or tail are drawn more often if many
    facts have the same relation and head, or relation and tail. So the score alone does not reflect that a relation is
    frequent, or frequent for a head. `Negatives.draws` has the formula of d.

    In large graphs of which little is known, it ranks relations far better. If nearly all facts are known it adds
    little, and the scores alone may rank heads and tails as well. Rank validation facts both ways if it matters.

    Parameters
    ----------
    score : Fit, model, or anything with `predict`
        Its scores are log odds in the sample, so fit with ``loss="logistic"``.
    negatives : Negatives, or several of them
        All the negatives of the fit, as `sample_negatives` returned them.

    Examples
    --------
    >>> from tensorfill.knowledge import Triples, relation_ranking, sample_negatives
    >>> facts = Triples([0, 1, 2, 3], [0, 0, 0, 1], [1, 2, 3, 0], list("abcd"), ["often", "rarely"])
    >>> class Undecided:
    ...     def predict(self, coords):
    ...         return np.zeros(len(coords))
    >>> odds = GraphOdds(Undecided(), sample_negatives(facts, rng=0))
    >>> relation_ranking(odds, [[0, 2, 0]])
    Ranking(MRR 1.000, Hits@1 1.000, Hits@3 1.000, of 1 ranks)
    """

    score: Scorer
    negatives: Negatives | Sequence[Negatives]

    def __post_init__(self) -> None:
        given = self.negatives
        parts = (given,) if isinstance(given, Negatives) or not isinstance(given, Iterable) else tuple(given)
        wrong = next((part for part in parts if not isinstance(part, Negatives)), None)
        if wrong is not None or not parts:
            what = f"a {type(wrong).__name__} was" if parts else "none were"
            raise TypeError(f"negatives must be what sample_negatives returned, but {what} given.")
        coords_of(list(parts), parts[0].shape, "negatives")
        object.__setattr__(self, "negatives", parts)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the tensor: (entities, entities, relations)."""
        return self._parts[0].shape

    def predict(self, coords: ArrayLike) -> Floats:
        """Return the log odds of each row of (head, tail, relation)."""
        asked: Integers = np.asarray(coords)
        draws: Floats = np.sum([part.draws(asked) for part in self._parts], axis=0)
        return scores_of(self.score, asked) + np.log(-np.expm1(-draws))

    @property
    def _parts(self) -> tuple[Negatives, ...]:
        parts: tuple[Negatives, ...] = self.negatives  # type: ignore[assignment]
        return parts

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.score!r}, {len(self._parts)} sampling(s))"
