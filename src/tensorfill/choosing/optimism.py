"""How much too low the error of the best of many answers is at the entries by which it was chosen.

The best of many answers is best partly by chance. Cross-fitting shows by how much: the held-out entries are divided
into folds, the answer that is best at all folds but one is chosen, and its loss is measured at that one, which took no
part in this choice. The mean over all folds, of many random divisions, is the loss of an answer that was chosen in this
way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._support.types import Floats, Integers

FOLDS, DIVISIONS = 5, 40
"""The number of folds, and how often the entries are divided into them."""

EXACT = 1e-12
"""Losses below this share of the mean loss of the worst answer are all alike: both answers are exact there."""

ENOUGH = 2_000
"""With more held-out entries than this, the best of a hundred answers is not better by chance."""


def inflation(judged: Sequence[Floats], chosen: Floats) -> float:
    """Return by how much the root mean loss of a chosen answer must be multiplied, at least 1.

    Parameters
    ----------
    judged
        The losses, at each held-out entry, of all answers among which it was chosen.
    chosen
        Its own losses.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> answers = random.exponential(size=(40, 30))  # forty answers that are equally good
    >>> best = min(answers, key=np.mean)
    >>> bool(best.mean() < 0.8), bool(0.9 < inflation(answers, best) ** 2 * best.mean() < 1.1)
    (True, True)
    >>> inflation([best], best)
    1.0
    """
    count = len(chosen)
    others = [losses for losses in judged if len(losses) == count]
    if not FOLDS <= count <= ENOUGH or len(others) < 2 or not chosen.mean() > 0:
        return 1.0
    # The chosen answer comes first, because the first of equally good ones is taken.
    losses = np.stack([chosen, *others]).astype(np.float64)
    losses = np.maximum(losses, EXACT * losses.mean(axis=1).max())
    beyond = np.mean([_beyond(losses, fold) for fold in _divisions(count)])
    return float(np.sqrt(1 + max(float(beyond / losses[0].mean()), 0.0)))


def _divisions(count: int) -> list[Integers]:
    """Return the fold of each entry, in several random divisions."""
    # Its own generator, so that the same seed gives the same answer with and without error bars.
    random = np.random.default_rng(0)
    return [random.permutation(count) % FOLDS for _ in range(DIVISIONS)]


def _beyond(losses: Floats, fold: Integers) -> float:
    """Return the mean loss, beyond that of the first answer, of those that the other folds choose for each fold."""
    inside = fold == np.arange(FOLDS)[:, None]
    best = np.argmin(losses @ ~inside.T, axis=0)
    return float(np.mean((losses[best] - losses[0])[inside]))
