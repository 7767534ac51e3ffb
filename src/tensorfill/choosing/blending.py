"""A blend: the weighted sum of answers that predicts held-out entries best, if it beats the best of them.

The weights w are not negative and sum to one. With r_i the errors of answer i at the held-out entries, they minimise

    |w_1 r_1 + .. + w_k r_k|^2.

Weights that were chosen by some entries are too good there. So the entries are divided into folds, and the blend of
each fold has the weights that the other folds choose. These errors say how far to go from the best single answer
towards the blend, and whether it is worth it: the blend must lower the squared error by one per cent. It need not do so
by more than chance, because these entries did not choose the weights.
"""

from __future__ import annotations

import numpy as np

from .._support.types import Floats
from .search.trials import LEAST_PART

FOLDS = 5
"""The number of folds. Each is a run of neighbouring entries, since the errors of neighbours are alike."""

LEAST = 0.03
"""Parts with less weight than this are left out."""

SAME = 1e-12
"""What counts as nothing, relative to the squared errors or the weights."""

MOST_CHANGES = 10
"""At most this many times the number of answers join; each lowers the error, so that none comes back for long."""

FEWEST = 20
"""With fewer held-out entries than this, weights would be chance."""


def blend_weights(errors: Floats, best: int) -> Floats | None:
    """Return the weight of each answer, or None if the best answer is no worse than a blend.

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
    if np.mean((alone - way * step) ** 2) > (1 - LEAST_PART) * np.mean(alone**2):
        return None
    weights = way * _on_the_simplex(errors @ errors.T)
    weights[best] += 1 - way
    weights[weights < LEAST] = 0.0
    total: Floats = weights / weights.sum()
    return total if np.count_nonzero(total) > 1 else None


def _on_the_simplex(gram: Floats) -> Floats:
    """Return the weights that minimise w^T G w, not negative and with a sum of one.

    This is Wolfe's algorithm for the point of least norm in the convex hull of the rows of the errors. An answer joins
    those with weight as long as its product with the point says that this lowers the norm.
    """
    size = float(np.trace(gram)) / len(gram) or 1.0
    # Two answers that are the same would make the system singular.
    gram = gram / size + SAME * np.eye(len(gram))
    weights: Floats = np.zeros(len(gram))
    weights[np.argmin(np.diag(gram))] = 1.0
    for _ in range(MOST_CHANGES * len(gram)):
        slopes = gram @ weights
        joining = int(np.argmin(slopes))
        if weights[joining] > 0 or slopes[joining] >= (1 - SAME) * float(weights @ slopes):
            break
        inside = np.flatnonzero((weights > 0) | (np.arange(len(gram)) == joining))
        while True:
            target = np.linalg.solve(gram[np.ix_(inside, inside)], np.ones(len(inside)))
            target /= target.sum()
            leaving = target <= 0
            if not leaving.any():
                weights[inside] = target
                break
            now = weights[inside]
            step = np.min(now[leaving] / (now[leaving] - target[leaving]))
            now = now + step * (target - now)
            now[leaving & (now <= SAME)] = 0.0
            weights[inside] = now
            inside = inside[now > 0]
    return weights
