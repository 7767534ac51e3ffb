"""How entries of a table go missing, so that held-out entries count where entries are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from .._support.types import Booleans, Floats

STRENGTHS = (0.01, 0.1, 1.0)
"""The inverse strengths of the regularisation that are tried in each logistic model."""

FOLDS = 3

FEWEST = 10
"""A column needs as many missing and as many observed entries for a model of its own."""

MOST_ROWS = 2000
"""The models are learnt from at most so many rows, drawn at random."""

LARGEST = 10.0
"""No entry counts more than so many times as much as the mean, nor less than its inverse: a few entries with large
weights would decide everything."""


def missing_odds(table: Floats, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return how much each entry of a table counts as an example of missing ones, with mean 1 over what is observed.

    Each column's missingness is a logistic model of the other columns, whose own gaps are filled with their mean. An
    observed entry counts by its odds of being missing, p / (1 - p): weighted so, the observed entries have the
    distribution of the missing ones, as far as that depends on the other columns. If the model of a column is not
    clearly better on held-out rows than a constant, all its entries have the odds of the column. Every column counts as
    if it lacked one entry more, so that one without gaps counts a little.

    Parameters
    ----------
    table
        The table, its columns on one scale; NaN is missing.
    rng
        Decides which rows learn the models, and how they are held out.
    """
    seen = ~np.isnan(table)
    others = np.where(seen, table - np.nanmean(table, axis=0), 0.0)
    rows = rng.permutation(len(table))[:MOST_ROWS]
    seed = int(rng.integers(2**31))
    weights = np.ones(table.shape)
    for column in range(table.shape[1]):
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


def _clipped(odds: NDArray[np.float64], seen: Booleans) -> NDArray[np.float64]:
    """Return odds that are not far from their mean over the observed entries, divided by it."""
    near = np.clip(odds / odds[seen].mean(), 1 / LARGEST, LARGEST)
    return np.asarray(near / near[seen].mean())
