"""Corrections of a projection, combined with weights fitted to held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from .._support.clock import Clock, TimeUp
from .._support.types import Booleans, Floats
from .corrections import CORRECTIONS, Correction, Maker
from .left_out import LeftOut
from .projection import BUDGET, Projection

FOLDS = 4
"""The number of folds; each fold is predicted by models learnt from the others."""

FEWEST_ROWS = 40
"""A column with fewer observed entries is not corrected."""

MOST_ROWS = 1500
"""The largest number of rows, drawn at random, from which corrections are learnt."""

MOST_SYSTEMS = 2**23
"""The largest total size of the linear systems of these rows."""

PRIOR = 500.0
"""The weights of a column are shrunk towards those of all columns, as if by this many further entries."""

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


@dataclass(frozen=True, eq=False)
class _Held:
    """The residuals of a column at held-out rows, the predictions of each model, and the weights of the rows."""

    left: NDArray[np.float64]
    predicted: NDArray[np.float64]
    odds: NDArray[np.float64]

    @property
    def parts(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The three arrays, to be concatenated with those of other columns."""
        return self.left, self.predicted, self.odds

    def stacked(self, prior: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the nonnegative weights with the least squared error, shrunk towards `prior` if it is given."""
        root = np.sqrt(self.odds)
        matrix, right = self.predicted * root[:, None], self.left * root
        if prior is not None:
            pull = np.sqrt(PRIOR * np.mean(matrix**2, axis=0))
            matrix, right = np.vstack([matrix, np.diag(pull)]), np.concatenate([right, pull * prior])
        weights: NDArray[np.float64] = nnls(matrix, right)[0]
        return weights

    def gains(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the reduction of the squared error of each entry."""
        return self.odds * (self.left**2 - (self.left - self.predicted @ weights) ** 2)


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
    makers = [(name, make) for name in names for make in CORRECTIONS[name]]
    if len(rows) < FEWEST_ROWS or not makers:
        return Corrections()
    part, counts, seed = table[rows], odds[rows], int(rng.integers(2**31))
    fold = np.arange(len(rows)) % FOLDS
    try:
        without = [LeftOut(fit_projection(part[fold != each], to_judge), part) for each in range(FOLDS)]
    except TimeUp:
        return Corrections()
    known = (~np.isnan(part)).sum(axis=0)
    # Columns without gaps use the weights of the others, unless there are no others.
    lacking: Booleans = np.asarray(np.isnan(table).any(axis=0))
    asked = lacking if lacking.any() else ~lacking
    held: dict[int, _Held] = {}
    with suppress(TimeUp):
        for column in np.argsort(known, kind="stable").tolist():
            if asked[column] and known[column] >= FEWEST_ROWS:
                made = [make for _, make in makers]
                held[column] = _held_out(without, fold, column, made, counts[:, column], seed, to_judge)
    if not held:
        return Corrections()
    together = _Held(*(np.concatenate(parts) for parts in zip(*(each.parts for each in held.values()), strict=True)))
    weights = together.stacked()
    gains = together.gains(weights)
    if not gains.mean() > gains.std() / np.sqrt(len(gains)):
        return Corrections()
    own = {column: each.stacked(weights) for column, each in held.items()}
    own |= dict.fromkeys(np.flatnonzero(~asked).tolist(), weights)
    left_out = LeftOut(projection, part)
    columns: list[CorrectedColumn] = []
    with suppress(TimeUp):
        for column, each in own.items():
            columns.append(_fitted(left_out, column, [make for _, make in makers], each, seed, clock))
    by_name = {
        name: float(sum(w for w, (other, _) in zip(weights, makers, strict=True) if other == name)) for name in names
    }
    return Corrections([each for each in columns if each.models], by_name)


def _held_out(
    without: Sequence[LeftOut],
    fold: NDArray[np.intp],
    column: int,
    makers: Sequence[Maker],
    odds: NDArray[np.float64],
    seed: int,
    clock: Clock,
) -> _Held:
    """Return the residuals of a column, and their predictions by models of other rows."""
    seen = without[0].seen[:, column]
    left, predicted = np.zeros(len(fold)), np.zeros((len(fold), len(makers)))
    for each, left_out in enumerate(without):
        features = left_out.without(column)
        target = left_out.rows[:, column] - features[:, column]
        train, test = seen & (fold != each), seen & (fold == each)
        if not test.any():
            continue
        left[test] = target[test]
        for place, make in enumerate(makers):
            clock.check()
            predicted[test, place] = make(seed, column).fit(features[train], target[train]).predict(features[test])
    return _Held(left[seen], predicted[seen], odds[seen])


def _fitted(
    left_out: LeftOut,
    column: int,
    makers: Sequence[Maker],
    weights: NDArray[np.float64],
    seed: int,
    clock: Clock,
) -> CorrectedColumn:
    """Return the models of a column with nonzero weight, learnt from all rows."""
    seen = left_out.seen[:, column]
    features = left_out.without(column)[seen]
    target = left_out.rows[seen, column] - features[:, column]
    models = []
    for weight, make in zip(weights, makers, strict=True):
        if weight > LEAST_WEIGHT:
            clock.check()
            models.append((float(weight), make(seed, column).fit(features, target)))
    return CorrectedColumn(column, models)
