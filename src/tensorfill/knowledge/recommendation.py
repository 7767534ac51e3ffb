"""The best heads, tails or relations, given the other two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.checks import whole_number
from .._support.types import Floats, Integers
from .facts import Facts, coords_of, gathered, shape_of
from .ranking import Scorer, scores_of
from .triples import MODES, Triples


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations:
    """The best answers to a question, the best first; a sequence of pairs (index, score).

    Parameters
    ----------
    kind : {"head", "tail", "relation"}
        The kind of the answers.
    indices : array of int
        Their numbers.
    scores : array of float
        Their scores, in decreasing order.
    labels : tuple of str, or None
        Their labels, if they are known.
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
    along: Sequence[str] | None = None,
    labels: Triples | None = None,
) -> Recommendations:
    """Return the `k` best heads, tails or relations, whichever is not given, for the other two.

    Only the candidates are scored, never the whole tensor. Among equal scores the lower number comes first.

    Parameters
    ----------
    score : Fit, model, or anything with `predict`
        Scores the candidates.
    head, tail, relation : int or str
        Exactly two of these, by number or by label.
    k : int, optional
        The number of answers, if there are enough candidates.
    known : Triples, several of them, or rows of (head, tail, relation), optional
        Known facts. An answer is left out if it occurs in one of them together with the given values of the modes
        `along`.
    along : sequence of {"head", "tail", "relation"}, optional
        By default the given head or tail, for any relation: what a user has already, from any month, is not recommended
        again. For a relation between a head and a tail it is both of these. Give ``("head", "relation")`` to leave out
        only what is known with the same relation, as in a graph where Ann may both know and like Bob.
    labels : Triples, optional
        The source of the labels; by default `known`.

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
    >>> owned = Triples([0], [1], [2], ["user", "lamp", "sofa"], ["in May", "in June"])
    >>> recommend(Scores(), head="user", relation="in May", known=owned)
    Recommendations(tail, {'lamp': 2, 'user': 0})
    >>> recommend(Scores(), head="user", relation="in May", known=owned, along=("head", "relation"))
    Recommendations(tail, {'sofa': 4, 'lamp': 2, 'user': 0})
    """
    k = whole_number(k, "k", at_least=1)
    query = (head, tail, relation)
    given = [name for name, value in zip(MODES, query, strict=True) if value is not None]
    if len(given) != 2:
        what = " and ".join(given) or "none of them"
        raise ValueError(f"two of head, tail and relation must be given, but {what} was; leave out the one to find.")
    if labels is not None and not isinstance(labels, Triples):
        raise TypeError(f"labels must be Triples, but a {type(labels).__name__} was given; see Triples.read.")
    facts = gathered([] if known is None else known)
    names = labels if labels is not None else facts[0] if isinstance(facts, list) else None
    shape = shape_of(getattr(score, "shape", None), "score.shape", [] if names is None else [names])
    if names is not None and names.shape != shape:
        raise ValueError(f"labels must be of a tensor of shape {shape}, as score is, but theirs is {names.shape}.")
    asked = query.index(None)
    row = [0 if value is None else _index(value, mode, shape, names) for mode, value in enumerate(query)]
    others = coords_of(facts, shape, "known")
    same = np.logical_and.reduce([others[:, mode] == row[mode] for mode in _along(along, given)])
    candidates = np.setdiff1d(np.arange(shape[asked]), others[same, asked])
    coords = np.repeat(np.array([row], dtype=np.int64), len(candidates), axis=0)
    coords[:, asked] = candidates
    scores = scores_of(score, coords)
    best = np.argsort(-scores, kind="stable")[:k]
    indices = candidates[best]
    chosen = None if names is None else tuple(_labels_of_mode(names, asked)[index] for index in indices.tolist())
    return Recommendations(MODES[asked], indices, scores[best], chosen)


def _along(along: Sequence[str] | None, given: Sequence[str]) -> list[int]:
    """Return the modes in which a known fact must agree with the question to exclude an answer."""
    if along is None:
        names = [name for name in given if name != "relation"]
    else:
        names = [along] if isinstance(along, str) else list(along)
    if not names or any(name not in given for name in names):
        raise ValueError(
            f"along must be one or both of {' and '.join(given)}, which are given, but {along!r} was given."
        )
    return [MODES.index(name) for name in names]


def _labels_of_mode(triples: Triples, mode: int) -> tuple[str, ...]:
    return triples.relation_names if mode == 2 else triples.entities


def _index(value: Any, mode: int, shape: tuple[int, ...], names: Triples | None) -> int:
    """Return the number of an entity or relation that was given by number or by label."""
    if isinstance(value, str):
        if names is None:
            raise ValueError(
                f"{MODES[mode]} must be a number if no labels are known, but {value!r} was given; "
                "give labels=, the Triples with its labels."
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
