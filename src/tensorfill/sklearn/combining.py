"""Corrections of a projection, combined with weights fitted to held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._support.clock import Clock, TimeUp
from .._support.types import Booleans, Floats
from .corrections import CORRECTIONS, FEW_TREES, TREES, Correction, Maker
from .left_out import LeftOut
from .projection import BUDGET, Projection
from .stacking import PRIOR, WORTH, Held, still_of_use

FOLDS = 4
"""The number of folds; each fold is predicted by models learnt from the others."""

FEWEST_ROWS = 40
"""A column with fewer observed entries is not corrected."""

MOST_ROWS = 1500
"""The largest number of rows, drawn at random, from which corrections are learnt."""

MOST_SYSTEMS = 2**23
"""The largest total size of the linear systems of these rows."""

ENOUGH = PRIOR
"""The race ends with this many held-out entries in a column on average. It then decides on its weights as much as all
others do."""

SHARE_TO_JUDGE = 0.7
"""The share of the time for predictions of held-out rows, if there is a limit; the rest is for models of all rows."""

LEAST_WEIGHT = 0.02
"""Models with a smaller weight are left out."""


@dataclass(frozen=True, eq=False)
class CorrectedColumn:
    """The models of one column, and the weight of each."""

    column: int
    models: Sequence[tuple[float, Correction]] = field(repr=False)

    def predict(self, features: Floats) -> NDArray[np.float64]:
        """Return the corrections of the column at some rows."""
        return sum((weight * model.predict(features) for weight, model in self.models), np.zeros(len(features)))


@dataclass(frozen=True, eq=False)
class Corrections:
    """The corrections that are added to the entries filled by a projection.

    Parameters
    ----------
    columns
        The columns that are corrected.
    weights
        The weight of each kind of correction, over all columns.
    """

    columns: Sequence[CorrectedColumn] = field(default=(), repr=False)
    weights: dict[str, float] = field(default_factory=dict)

    def fill(self, projection: Projection, rows: Floats) -> NDArray[np.float64]:
        """Return rows with NaN filled in: by the projection, and corrected in rows that have any observed entry."""
        filled = projection.fill(rows)
        if not self.columns:
            return filled
        lacking = np.isnan(rows)
        some = np.flatnonzero(lacking.any(axis=1) & ~lacking.all(axis=1))
        size = max(1, BUDGET // max(1, rows.shape[1] * MOST_ROWS, projection.rank**2))
        for first in range(0, len(some), size):
            part = some[first : first + size]
            left_out = LeftOut(projection, rows[part])
            for each in self.columns:
                holes = lacking[part, each.column]
                if holes.any():
                    filled[part[holes], each.column] += each.predict(left_out.without(each.column)[holes])
        return filled


def learn_corrections(
    table: Floats,
    projection: Projection,
    fit_projection: Callable[[Floats, Clock], Projection],
    names: Sequence[str],
    odds: NDArray[np.float64],
    rng: np.random.Generator,
    clock: Clock | None = None,
) -> Corrections:
    """Learn models of the residuals of a projection in each column.

    Rows are divided into folds. For each fold, the projection and the models are learnt from the other rows, and each
    observed entry of the fold is predicted from the other entries of its row. The predictions are combined with
    non-negative weights. Nothing is corrected if that is not better by more than one standard error.

    It is a race, with a round for each fold. After each round, models leave whose weight cannot be worth their time.
    It ends early when no model is left, or when enough entries were held out. Forests have few trees until then. At the
    end they have as many as their weight needs.

    Parameters
    ----------
    table
        The table, with columns on a common scale; NaN is missing.
    projection
        The projection of all rows.
    fit_projection
        Returns the projection learnt from some rows.
    names
        The kinds of corrections, from `CORRECTIONS`.
    odds
        The weight of each entry.
    rng
        The random generator.
    clock
        Columns that are left when it expires are not corrected; those with many gaps come first.
    """
    clock = clock or Clock()
    to_judge = clock.part(SHARE_TO_JUDGE)
    usable = np.flatnonzero((~np.isnan(table)).sum(axis=1) > 1)
    most = min(MOST_ROWS, MOST_SYSTEMS // max(1, projection.rank**2))
    rows = rng.permutation(usable)[:most]
    named = [(name, make) for name in names for make in CORRECTIONS[name]]
    if len(rows) < FEWEST_ROWS or not named:
        return Corrections()
    part, counts, seed = table[rows], odds[rows], int(rng.integers(2**31))
    known = (~np.isnan(part)).sum(axis=0)
    # Columns without gaps use the weights of the others, unless there are no others.
    lacking: Booleans = np.asarray(np.isnan(table).any(axis=0))
    asked = lacking if lacking.any() else ~lacking
    columns = [each for each in np.argsort(known, kind="stable").tolist() if asked[each] and known[each] >= FEWEST_ROWS]
    makers = [make for _, make in named]
    race = _Race(part, counts, columns, makers, fit_projection, seed)
    with suppress(TimeUp):
        race.run(to_judge)
    if not race.racing or not race.held:
        return Corrections()
    together = race.together()
    weights = race.weights(together)
    gains = together.gains(weights)
    if not gains.mean() > gains.std() / np.sqrt(len(gains)):
        return Corrections()
    own = {column: race.weights(Held.joined(each), weights) for column, each in race.held.items()}
    own |= dict.fromkeys(np.flatnonzero(~asked).tolist(), weights)
    left_out = LeftOut(projection, part)
    corrected: list[CorrectedColumn] = []
    with suppress(TimeUp):
        for column, each in own.items():
            held = Held.joined(race.held[column]) if column in race.held else together
            corrected.append(_fitted(left_out, column, makers, each, _trees_needed(held, each), seed, clock))
    by_name = {
        name: float(sum(w for w, (other, _) in zip(weights, named, strict=True) if other == name)) for name in names
    }
    return Corrections([each for each in corrected if each.models], by_name)


class _Race:
    """Models that are judged on one fold after the other, fewer of them in each round.

    Parameters
    ----------
    rows, odds
        The rows, and the weights of their entries.
    columns
        The columns that are predicted, in this order.
    makers
        How to create each model.
    fit_projection
        Returns the projection learnt from some rows.
    seed
        The seed of the models.

    Attributes
    ----------
    racing : list of int
        The models that may still get a weight.
    held : dict
        For each column its held-out entries, a part for each fold.
    """

    def __init__(
        self,
        rows: Floats,
        odds: Floats,
        columns: Sequence[int],
        makers: Sequence[Maker],
        fit_projection: Callable[[Floats, Clock], Projection],
        seed: int,
    ) -> None:
        self._rows, self._odds, self._columns = rows, odds, columns
        self._makers, self._fit_projection, self._seed = makers, fit_projection, seed
        self._fold = np.arange(len(rows)) % FOLDS
        self.racing = list(range(len(makers)))
        self.held: dict[int, list[Held]] = {}

    def run(self, clock: Clock) -> None:
        """Judge the models until nothing is left to find out; raises `TimeUp`, after which there are fewer entries."""
        for each in range(FOLDS):
            test = self._fold == each
            without = LeftOut(self._fit_projection(self._rows[~test], clock), self._rows)
            for column in self._columns:
                if (without.seen[:, column] & test).any():
                    judged = self._judged(without, column, test, clock)
                    self.held.setdefault(column, []).append(judged)
            if not self.held:
                continue
            together = self.together()
            self.racing = still_of_use(together, self.racing)
            if not self.racing or len(together.left) >= ENOUGH * len(self.held):
                break

    def together(self) -> Held:
        """Return the entries of all columns."""
        return Held.joined([part for parts in self.held.values() for part in parts])

    def weights(self, held: Held, prior: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the weights of all models, which are zero for those that have left."""
        weights = np.zeros(len(self._makers))
        weights[self.racing] = held.of(self.racing).stacked(None if prior is None else prior[self.racing])
        return weights

    def _judged(self, without: LeftOut, column: int, test: Booleans, clock: Clock) -> Held:
        """Return the residuals of a column in a fold, and their predictions by models of other rows."""
        seen, features = without.seen[:, column], without.without(column)
        target = without.rows[:, column] - features[:, column]
        train, test = seen & ~test, seen & test
        predicted, spread = np.zeros((2, int(test.sum()), len(self._makers)))
        for place in self.racing:
            clock.check()
            model = self._makers[place](self._seed, column, FEW_TREES).fit(features[train], target[train])
            predicted[:, place], spread[:, place] = model.judged(features[test])
        return Held(target[test], predicted, spread * (1 / FEW_TREES - 1 / TREES), self._odds[test, column])


def _trees_needed(held: Held, weights: NDArray[np.float64]) -> list[int]:
    """Return for each model how many trees add no more to the squared error than is worth further work."""
    # The variance between trees is divided by their number.
    between = held.odds @ held.excess / (1 / FEW_TREES - 1 / TREES) * weights**2
    allowed = WORTH * float(np.sum(held.errors(weights)))
    return [TREES if each >= TREES * allowed else max(1, math.ceil(each / allowed)) for each in between]


def _fitted(
    left_out: LeftOut,
    column: int,
    makers: Sequence[Maker],
    weights: NDArray[np.float64],
    trees: Sequence[int],
    seed: int,
    clock: Clock,
) -> CorrectedColumn:
    """Return the models of a column with nonzero weight, learnt from all rows."""
    seen = left_out.seen[:, column]
    features = left_out.without(column)[seen]
    target = left_out.rows[seen, column] - features[:, column]
    models = []
    for weight, make, number in zip(weights, makers, trees, strict=True):
        if weight > LEAST_WEIGHT:
            clock.check()
            models.append((float(weight), make(seed, column, number).fit(features, target)))
    return CorrectedColumn(column, models)
