"""Negative facts: sampling them, and observations of +1 and -1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .._support.checks import coordinates, generator, in_words, listed, whole_number
from .._support.ordering import labels_of
from .._support.types import Floats, Integers
from ..observations import Observations
from .facts import FactRows, Facts, coords_of, gathered, shape_of
from .triples import MODES, Triples

ROUNDS = 20
"""The number of rounds of random draws; after that, the remaining negatives are enumerated."""

ELSEWHERE = 0.1
"""Negatives per fact that are assumed to be drawn anywhere with its relation; from 0.001 to 0.3 ranks hardly differ."""


@dataclass(frozen=True, eq=False, repr=False)
class Negatives(Triples):
    """Negatives drawn by `sample_negatives`, with the settings of the draw.

    Parameters
    ----------
    heads, relations, tails, entities, relation_names
        As in `Triples`.
    facts : Triples
        The facts that they were drawn for.
    ratio : int
        The number of negatives for each fact.
    replace : tuple of {"head", "tail", "relation"}
        The positions in which negatives may differ from their facts.
    """

    facts: Triples
    ratio: int
    replace: tuple[str, ...]

    def draws(self, coords: ArrayLike) -> Floats:
        """Return how often the sampling is expected to draw each entry.

        For (h, r, t) and ``replace=("head", "tail")``, with E entities, R relations, and n[.] the number of facts with
        the same relation, and with the same head or tail too,

            ratio (n[h, r] + n[r, t]) / 2E  +  0.1 n[r] / E^2  +  1 / (E^2 R)

        The first term is the rule of `sample_negatives`, ignoring that known facts are not drawn. It is zero where no
        fact has this relation together with the head or the tail. The other terms keep the result positive there: they
        assume a tenth of a negative per fact with any head and tail, and a single one anywhere.

        Parameters
        ----------
        coords : array of int, of shape (n, 3)
            FactRows of (head, tail, relation).

        Examples
        --------
        >>> facts = Triples([0, 1], [0, 0], [1, 2], ["Ann", "Bob", "Cid"], ["knows"])
        >>> sample_negatives(facts, rng=0).draws([[0, 0, 0], [2, 0, 0]]).round(3).tolist()
        [0.3, 0.133]
        """
        asked = coordinates(coords, self.shape).astype(np.int64)
        modes = _modes(self.replace)
        choices = sum(self.shape[mode] for mode in modes)
        near = sum(self._facts_like[mode].count(asked) for mode in modes)
        anywhere = sorted({0, 1, *modes})
        far = _Alike(self.facts.coords, anywhere).count(asked) / math.prod(self.shape[mode] for mode in anywhere)
        draws: Floats = self.ratio * near / choices + ELSEWHERE * far + 1 / math.prod(self.shape)
        return draws

    @cached_property
    def _facts_like(self) -> dict[int, _Alike]:
        """Counters of the facts that agree with an entry in all modes but one, by that mode."""
        return {mode: _Alike(self.facts.coords, [mode]) for mode in _modes(self.replace)}


class _Alike:
    """Counts the facts that agree with an entry in all modes but some."""

    def __init__(self, facts: Integers, apart: Sequence[int]) -> None:
        self._modes = [mode for mode in range(len(MODES)) if mode not in apart]
        self._total = len(facts)
        if self._modes:
            self._rows = FactRows(facts[:, self._modes])
            self._counts = np.bincount(self._rows.find(facts[:, self._modes]), minlength=self._rows.count)

    def count(self, coords: Integers) -> Floats:
        """Return the number of these facts for each entry."""
        if not self._modes or not self._total:
            return np.full(len(coords), float(self._total))
        place = self._rows.find(coords[:, self._modes])
        return np.where(place >= 0, self._counts[place], 0).astype(np.float64)


def sample_negatives(
    triples: Triples,
    ratio: int = 1,
    *,
    replace: Sequence[str] = ("head", "tail"),
    known: Facts | None = None,
    rng: int | np.random.Generator | None = None,
) -> Negatives:
    """Return unknown facts, `ratio` for each known one, with its head or its tail replaced.

    A negative of (h, r, t) is drawn uniformly from all unknown (h', r, t) and (h, r, t'), where h' and t' are any
    entities; the relation is kept unless `replace` says otherwise. No negative is drawn twice.

    Frequent relations get more negatives, so a fit to both does not learn which relations are frequent, nor which ones
    are frequent for a head or tail. `GraphOdds` corrects for that in a ranking.

    Parameters
    ----------
    triples : Triples
        The facts to draw negatives for; all of them are known.
    ratio : int, optional
        Negatives for each fact. Those of fact i are the rows from i * ratio to (i + 1) * ratio - 1 of the answer.
    replace : sequence of {"head", "tail", "relation"}, optional
        A negative differs in exactly one of these. There are few relations among many entities, so sample negatives
        with ``replace=["relation"]`` separately, with the earlier negatives as `known`. They show which relations a
        pair does not have.
    known : Triples, several of them, or rows of (head, tail, relation), optional
        Facts besides `triples` that must not be drawn. The paper uses all parts of the graph, the held-out ones too.
    rng : int, numpy.random.Generator or None, optional
        The seed or generator of the draw.

    Notes
    -----
    The paper defines the set to draw from as an intersection, {(h', r, t) not in S} with {(h, r, t') not in S}. That is
    empty, because only (h, r, t) itself has both forms and it is in S: the union is meant.

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
    modes = _modes(replace)
    source = generator(rng)
    facts = triples.coords
    if known is not None:
        facts = np.concatenate([facts, coords_of(gathered(known), triples.shape, "known")])
    wanted = np.repeat(triples.coords, ratio, axis=0)
    drawn = _draw(wanted, FactRows(facts), triples.shape, modes, source)
    names = tuple(MODES[mode] for mode in modes)
    return Negatives(
        drawn[:, 0], drawn[:, 2], drawn[:, 1], triples.entities, triples.relation_names, triples, ratio, names
    )


def to_observations(positives: Facts, negatives: Facts, shape: Sequence[int] | None = None) -> Observations:
    """Return observations that are +1 at the positive facts and -1 at the negative ones; a repeated fact counts once.

    Parameters
    ----------
    positives, negatives : Triples, several of them, or rows of (head, tail, relation)
        True facts and false facts; none in both.
    shape : sequence of int, optional
        (entities, entities, relations); by default that of the Triples.

    Examples
    --------
    >>> facts = Triples([0, 1], [0, 0], [1, 2], ["Ann", "Bob", "Cid"], ["knows"])
    >>> obs = to_observations(facts, sample_negatives(facts, rng=0))
    >>> obs
    Observations(shape=(3, 3, 1), observed=4 of 9 (44.4%), sparse)
    >>> sorted(obs.values.tolist())
    [-1.0, -1.0, 1.0, 1.0]
    """
    given = gathered(positives), gathered(negatives)
    lengths = shape_of(shape, "shape", *given)
    true, false = coords_of(given[0], lengths, "positives"), coords_of(given[1], lengths, "negatives")
    both = FactRows(true).find(false) >= 0
    if both.any():
        row = false[int(both.argmax())]
        raise ValueError(
            f"a fact must be positive or negative, but {np.count_nonzero(both):,} of the negatives are positives too, "
            f"for example {in_words(row)}; leave them out of one of the two."
        )
    values = np.repeat([1.0, -1.0], [len(true), len(false)])
    return Observations(np.concatenate([true, false]), values, lengths, duplicates="last")


def _draw(
    wanted: Integers, known: FactRows, shape: tuple[int, ...], modes: Sequence[int], rng: np.random.Generator
) -> Integers:
    """Return an unknown fact for each fact that differs in one of `modes`, all distinct."""
    choices = sum(shape[mode] for mode in modes)
    drawn = np.empty_like(wanted)
    done, waiting = np.arange(0), np.arange(len(wanted))
    for _ in range(ROUNDS):
        if len(waiting) == 0:
            return drawn
        drawn[waiting] = _replaced(wanted[waiting], rng.integers(choices, size=len(waiting)), shape, modes)
        unknown = np.concatenate([done, waiting[known.find(drawn[waiting]) < 0]])
        if len(unknown):
            # The first of equal rows is kept, and finished rows come first.
            first = np.unique(labels_of(drawn[unknown], shape), return_index=True)[1]
            done = unknown[np.sort(first)]
        waiting = np.setdiff1d(waiting, done)
    taken = set(map(tuple, drawn[done].tolist()))
    every = np.arange(choices)
    for row in waiting.tolist():
        candidates = _replaced(np.repeat(wanted[row : row + 1], len(every), axis=0), every, shape, modes)
        free = [tuple(fact) for fact in candidates[known.find(candidates) < 0].tolist() if tuple(fact) not in taken]
        if not free:
            raise ValueError(
                f"each fact must have enough negatives, but for (head, tail, relation) {in_words(wanted[row])} every "
                f"other {' and '.join(MODES[mode] for mode in modes)} gives a known fact or a negative drawn before; "
                "lower ratio or leave the fact out."
            )
        drawn[row] = free[rng.integers(len(free))]
        taken.add(tuple(drawn[row].tolist()))
    return drawn


def _replaced(facts: Integers, choices: Integers, shape: tuple[int, ...], modes: Sequence[int]) -> Integers:
    """Return facts with one index replaced; a choice is a position in the concatenated indices of all modes."""
    ends = np.cumsum([shape[mode] for mode in modes])
    place = np.searchsorted(ends, choices, side="right")
    changed = facts.copy()
    changed[np.arange(len(facts)), np.array(modes)[place]] = choices - (ends - [shape[mode] for mode in modes])[place]
    return changed


def _modes(replace: Sequence[str]) -> list[int]:
    """Return the numbers of the modes that may be replaced."""
    names = [replace] if isinstance(replace, str) else list(replace)
    wrong = [name for name in names if name not in MODES]
    if wrong or not names or len(set(names)) < len(names):
        raise ValueError(f"replace must be some of {listed(MODES)}, each once, but {replace!r} was given.")
    return [MODES.index(name) for name in names]
