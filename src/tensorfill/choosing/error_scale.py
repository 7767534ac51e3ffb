"""The usual size of errors at an entry, by its prediction, its indices and its distance from observed entries.

Each of these divides the entries into groups. The usual size of an error is a product,

    sigma(x) = base * product over the groupings g of factor_g[group of x in g],

fitted by sweeps: a factor is multiplied by the mean of |error| / sigma over its group, shrunk towards one. The
groupings are chosen by the likelihood of a Laplace distribution, log sigma + |error| / sigma, at entries that were not
used to fit sigma.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from .._support.types import Floats, Integers

SHRINKAGE = 10.0
"""The effective number of errors in a group at which its factor is shrunk half way to one."""

SWEEPS = 5
"""The number of sweeps over the groupings."""

STANDARD_ERRORS = 2.0
"""A grouping is used if it improves the log-likelihood by this many standard errors."""

FEWEST = 100
"""With fewer errors than this, all entries have the same scale."""

MOST = 20_000
"""The largest number of errors used to choose the groupings."""

LARGEST_FACTOR = 30.0
"""The limit of a factor and of its inverse."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each entry, in several groupings.

    Parameters
    ----------
    of
        The group of each entry, by the name of the grouping.
    sizes
        The number of groups in each grouping.
    """

    of: Mapping[str, Integers]
    sizes: Mapping[str, int]

    def select(self, chosen: Integers) -> Groups:
        """Return the groups of some of the entries."""
        return Groups({name: group[chosen] for name, group in self.of.items()}, self.sizes)


@dataclass(frozen=True, eq=False)
class ErrorScale:
    """The usual size of an error.

    Parameters
    ----------
    base
        The mean size of all errors.
    factors
        The factor of each group, by grouping.
    """

    base: float = 1.0
    factors: Mapping[str, Floats] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The groupings that are used."""
        return tuple(self.factors or ())

    def at(self, groups: Groups, count: int) -> Floats:
        """Return the scale at `count` entries."""
        scale = np.full(count, self.base)
        for name, factor in (self.factors or {}).items():
            scale *= factor[groups.of[name]]
        return scale

    @classmethod
    def fitted(cls, groups: Groups, errors: Floats, weights: Floats, names: Sequence[str]) -> Self:
        """Return the scale with some groupings, fitted to absolute errors."""
        base = float(weights @ errors / weights.sum())
        if base == 0:
            return cls()
        scaled = errors / base
        factors = {name: np.ones(groups.sizes[name]) for name in names}
        for _ in range(SWEEPS if len(names) > 1 else 1):
            for name in names:
                group, size = groups.of[name], groups.sizes[name]
                sums = np.bincount(group, weights * scaled, size) + SHRINKAGE
                ratio = sums / (np.bincount(group, weights, size) + SHRINKAGE)
                new = np.clip(factors[name] * ratio, 1 / LARGEST_FACTOR, LARGEST_FACTOR)
                scaled = scaled / (new / factors[name])[group]
                factors[name] = new
        return cls(base, factors)

    @classmethod
    def chosen(cls, groups: Groups, errors: Floats, weights: Floats, rng: np.random.Generator) -> Self:
        """Return the scale with the groupings that predict the size of unseen errors, added one by one."""
        if len(errors) < FEWEST:
            return cls.fitted(groups, errors, weights, ())
        some = rng.permutation(len(errors))[:MOST]
        parts = np.array_split(some, 2)

        def costs(names: Sequence[str]) -> Floats:
            """Return minus the log-likelihood of each error under a scale fitted to other errors."""
            found = []
            for seen, other in (parts, parts[::-1]):
                scale = cls.fitted(groups.select(seen), errors[seen], weights[seen], names)
                sigma = scale.at(groups.select(other), len(other))
                found.append(np.log(sigma) + errors[other] / sigma)
            return np.concatenate(found)

        names: list[str] = []
        best = costs(names)
        while True:
            tried = {name: costs([*names, name]) for name in groups.of if name not in names}
            gains = {name: best - each for name, each in tried.items()}
            name = max(gains, key=lambda each: float(gains[each].mean()), default=None)
            if name is None or gains[name].mean() <= STANDARD_ERRORS * gains[name].std() / math.sqrt(len(some)):
                return cls.fitted(groups, errors, weights, names)
            names.append(name)
            best = tried[name]
