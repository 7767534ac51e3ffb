"""How much too low the error of the best of many answers is at the entries by which it was chosen.

The best of many answers is best partly by chance. The bootstrap shows by how much (Tsamardinos, Greasidou and
Borboudakis 2018): held-out entries are drawn with replacement, the answer that is best at the drawn ones is chosen, and
its loss is measured at the others, which took no part in this choice. The mean of that over many draws is the loss of
an answer that was chosen in this way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._support.types import Floats

DRAWS = 200
"""How often entries are drawn."""

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
    alike = [losses for losses in judged if len(losses) == count]
    if not 1 < count <= ENOUGH or len(alike) < 2 or not chosen.mean() > 0:
        return 1.0
    losses = np.stack(alike).astype(np.float64)
    # Its own generator, so that the same seed gives the same answer with and without error bars.
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=DRAWS)
    others = drawn == 0
    usable = others.any(axis=1)
    drawn, others = drawn[usable], others[usable]
    best = np.argmin(losses @ drawn.T, axis=0)
    # What is left of the answer itself at the same entries is subtracted, which does not change the mean.
    beyond = np.einsum("bn,bn->b", losses[best] - chosen, others) / others.sum(axis=1)
    return float(np.sqrt(1 + max(float(beyond.mean()) / float(chosen.mean(dtype=np.float64)), 0.0)))
