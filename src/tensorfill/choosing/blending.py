"""A blend: the weighted sum of answers that predicts held-out entries best, if it clearly beats the best of them.

The weights w are not negative and sum to one. With r_i the errors of answer i at the held-out entries, they minimise

    |w_1 r_1 + .. + w_k r_k|^2.

Weights that were chosen by some entries are too good there. So the entries are divided into folds, and the blend of
each fold has the weights that the other folds choose. These errors say how far to go from the best single answer
towards the blend, and whether it is worth it at all.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize

from .._support.types import Floats
from .search.base import are_better

FOLDS = 5
"""The number of folds. Each is a run of neighbouring entries, since the errors of neighbours are alike."""

LEAST = 0.03
"""Parts with less weight than this are left out."""

FEWEST = 20
"""With fewer held-out entries than this, weights would be chance."""


def blend_weights(errors: Floats, best: int) -> Floats | None:
    """Return the weight of each answer, or None if the best answer is not clearly worse than a blend.

    Parameters
    ----------
    errors
        Prediction minus observation of each answer (row) at each held-out entry (column).
    best
        The row of the answer that is taken otherwise.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> two = random.standard_normal((2, 1000))  # errors of two answers that have nothing in common
    >>> blend_weights(two, 0).round(1)
    array([0.5, 0.5])
    >>> blend_weights(np.stack([two[0], 10 * two[1]]), 0) is None
    True
    """
    count = errors.shape[1]
    if len(errors) < 2 or count < FEWEST:
        return None
    errors = errors.astype(np.float64, copy=False)
    blended = np.empty(count)
    for fold in np.array_split(np.arange(count), FOLDS):
        others = np.delete(errors, fold, axis=1)
        blended[fold] = _on_the_simplex(others @ others.T) @ errors[:, fold]
    alone = errors[best]
    step = alone - blended
    way = float(np.clip(alone @ step / max(float(step @ step), np.finfo(float).tiny), 0.0, 1.0))
    if not are_better((alone - way * step) ** 2, alone**2):
        return None
    weights = way * _on_the_simplex(errors @ errors.T)
    weights[best] += 1 - way
    weights[weights < LEAST] = 0.0
    total: Floats = weights / weights.sum()
    return total if np.count_nonzero(total) > 1 else None


def _on_the_simplex(gram: Floats) -> Floats:
    """Return the weights that minimise w^T G w, not negative and with a sum of one.

    The minimum of w^T G w + c (sum w - 1)^2 over w >= 0 is a multiple of them, for any c > 0: along any direction, the
    best multiple has a value that rises with w^T G w.
    """
    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    unit = np.sqrt(np.trace(gram) / len(gram)) or 1.0
    rows = np.vstack([root / unit, np.ones(len(gram))])
    found = scipy.optimize.nnls(rows, np.append(np.zeros(len(gram)), 1.0))[0]
    weights: Floats = found / found.sum()
    return weights
