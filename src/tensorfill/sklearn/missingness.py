"""Models of how entries go missing, to weight held-out entries like the missing ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from .._support.clock import Clock
from .._support.types import Booleans, Floats

STRENGTHS = (0.01, 0.1, 1.0)
"""The inverse strengths of the regularisation that are tried in each logistic model."""

FOLDS = 3

FEWEST = 10
"""A column needs this many missing and this many observed entries for a separate model."""

MOST_ROWS = 2000
"""The largest number of rows, drawn at random, from which the models are learnt."""

LARGEST = 10.0
"""The largest weight of an entry relative to the mean, and the inverse of the smallest: otherwise a few entries with
large weights would dominate."""


def missing_odds(table: Floats, rng: np.random.Generator, clock: Clock | None = None) -> NDArray[np.float64]:
    """Return the weight of each entry as an example of missing ones, with mean 1 over the observed entries.

    Each column's missingness is a logistic model of the other columns, whose gaps are filled with their mean. An
    observed entry is weighted by its odds of being missing, p / (1 - p). With these weights, the observed entries have
    the distribution of the missing ones, to the extent that it depends on the other columns. If the model of a column
    is not clearly better on held-out rows than a constant, all its entries have the odds of the column. Every column is
    treated as if it had one more gap, so that one without gaps has a small weight.

    Parameters
    ----------
    table
        The table, with columns on a common scale; NaN is missing.
    rng
        The random generator that draws the rows and the folds.
    clock
        Columns that are left when it expires have no model.
    """
    clock = clock or Clock()
    seen = ~np.isnan(table)
    others = np.where(seen, table - np.nanmean(table, axis=0), 0.0)
    rows = rng.permutation(len(table))[:MOST_ROWS]
    seed = int(rng.integers(2**31))
    weights = np.ones(table.shape)
    for column in range(table.shape[1]):
        if clock.expired:
            break
        lacking = ~seen[:, column]
        if min(lacking[rows].sum(), (~lacking[rows]).sum()) < FEWEST or table.shape[1] == 1:
            continue
        model = _model(np.delete(others, column, axis=1)[rows], lacking[rows], seed)
        if model is not None:
            chance = model.predict_proba(np.delete(others, column, axis=1))[:, 1]
            weights[:, column] = _clipped(chance / np.maximum(1 - chance, 1e-12), ~lacking)
    weights *= (1 + (~seen).sum(axis=0)) / seen.sum(axis=0)
    return np.asarray(weights / weights[seen].mean())


def _model(features: Floats, lacking: Booleans, seed: int) -> LogisticRegression | None:
    """Return the logistic model that is best on held-out rows, or None if a constant is about as good."""
    if not _may_depend(features, lacking):
        return None
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    share = lacking.mean()
    constant = -np.where(lacking, np.log(share), np.log(1 - share))
    best, least = None, np.inf
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=200)
        chance = cross_val_predict(model, features, lacking, cv=folds, method="predict_proba")[:, 1]
        losses = -np.log(np.maximum(np.where(lacking, chance, 1 - chance), 1e-12))
        gain = constant - losses
        if losses.mean() < least and gain.mean() > gain.std() / np.sqrt(len(gain)):
            best, least = model, float(losses.mean())
    return None if best is None else best.fit(features, lacking)


def _may_depend(features: Floats, lacking: Booleans) -> bool:
    """Return whether a linear regression predicts gaps better than a constant, each row from all others.

    It is one Newton step of each logistic model, with the same ridge, and leaving out a row has a closed form. So it
    costs little where nothing can be learnt, which is most often the case.
    """
    share, rows = lacking.mean(), len(lacking)
    centred, wrong = features - features.mean(axis=0), lacking - share
    squares, directions = np.linalg.eigh(centred.T @ centred)
    scores = centred @ directions
    for strength in STRENGTHS:
        inverse = 1 / (np.maximum(squares, 0.0) + 1 / (strength * share * (1 - share)))
        left = wrong - scores @ (inverse * (scores.T @ wrong))
        leverage = 1 / rows + scores**2 @ inverse
        if np.mean((left / (1 - leverage)) ** 2) < np.mean((wrong / (1 - 1 / rows)) ** 2):
            return True
    return False


def _clipped(odds: NDArray[np.float64], seen: Booleans) -> NDArray[np.float64]:
    """Return odds divided by their mean over the observed entries, and clipped."""
    near = np.clip(odds / odds[seen].mean(), 1 / LARGEST, LARGEST)
    return np.asarray(near / near[seen].mean())
