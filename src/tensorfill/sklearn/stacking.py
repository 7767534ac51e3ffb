"""Weights of models, from their predictions of held-out entries, and which models can still get some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

PRIOR = 500.0
"""The weights of a column are shrunk towards those of all columns, as if by this many further entries."""

WORTH = 0.002
"""The share of the squared error that is worth further work: a thousandth of the error."""

CAUTION = 2.0
"""A model may be better than it seems by this many standard errors."""


@dataclass(frozen=True, eq=False)
class Held:
    """Residuals of held-out entries, and the predictions of each model.

    The predictions of a random model, such as a forest, vary with its random numbers. Here it has few members, so its
    predictions vary more than those of the whole model, whose mean square is then smaller by `excess`. Cross products
    with anything else do not change on average, so the weights of whole models follow from those of small ones.

    Parameters
    ----------
    left
        The residuals.
    predicted
        The predictions of the residuals, one column for each model.
    excess
        The variance of each prediction that the whole model will not have.
    odds
        The weights of the entries.
    """

    left: NDArray[np.float64]
    predicted: NDArray[np.float64]
    excess: NDArray[np.float64]
    odds: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Held]) -> Held:
        """Return the entries of several of these."""
        named = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__}
        return cls(**named)

    def of(self, models: Sequence[int]) -> Held:
        """Return the same entries with some of the models."""
        return Held(self.left, self.predicted[:, models], self.excess[:, models], self.odds)

    def products(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean products of the predictions of whole models, with each other and with the residuals."""
        weighted = self.predicted * (self.odds / len(self.odds))[:, None]
        gram = weighted.T @ self.predicted
        # A mean square is not negative, however few members it is estimated from.
        square = np.diag(gram)
        lost = np.minimum((self.odds @ self.excess) / len(self.odds), square)
        return gram - np.diag(lost), weighted.T @ self.left

    def stacked(self, prior: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the nonnegative weights with the least squared error, shrunk towards `prior` if it is given."""
        gram, right = self.products()
        if prior is not None:
            pull = PRIOR / len(self.left) * np.diag(gram)
            gram, right = gram + np.diag(pull), right + pull * prior
        # With gram = A^T A, the squared error is |A w - A^-T right|^2 and a constant.
        sizes, directions = np.linalg.eigh(gram)
        kept = sizes > len(sizes) * np.finfo(float).eps * sizes.max(initial=0.0)
        root = np.sqrt(sizes[kept])
        weights: NDArray[np.float64] = (
            nnls(root[:, None] * directions[:, kept].T, (right @ directions[:, kept]) / root)[0]
            if kept.any()
            else np.zeros(len(right))
        )
        return weights

    def errors(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared error that whole models leave at each entry, on average."""
        return np.asarray(self.odds * ((self.left - self.predicted @ weights) ** 2 - self.excess @ weights**2))

    def gains(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the reduction of the squared error of each entry."""
        return np.asarray(self.odds * self.left**2 - self.errors(weights))


def still_of_use(held: Held, models: Sequence[int]) -> list[int]:
    """Return the models that may get a weight that is worth it, given all others.

    They leave one by one, the least useful first, and the later of two that are alike.

    Parameters
    ----------
    held
        The predictions of all models.
    models
        The models that are in the race.
    """
    left = list(models)
    while left:
        best_cases = [_best_case(held, each, [other for other in left if other != each]) for each in left]
        place = len(left) - 1 - int(np.argmin(best_cases[::-1]))
        if best_cases[place] >= WORTH:
            break
        del left[place]
    return left


def _best_case(held: Held, model: int, others: Sequence[int]) -> float:
    """Return the share of the squared error by which a model may at most lower it, beside others.

    Let r be the residuals that the others leave, and q the part of the predictions that is not a combination of theirs.
    The weight of q is the mean of q r over that of q^2. If the mean of q r is higher by `CAUTION` standard errors and
    then positive, its square over the mean of q^2 is the gain.
    """
    beside = held.of(others)
    weights = beside.stacked()
    used = held.of([other for other, weight in zip(others, weights, strict=True) if weight > 0] + [model])
    residuals = held.left - beside.predicted @ weights
    gram, _ = used.products()
    shares = np.linalg.lstsq(gram[:-1, :-1], gram[:-1, -1], rcond=None)[0]
    own = used.predicted[:, -1] - used.predicted[:, :-1] @ shares
    square = float(gram[-1, -1] - gram[:-1, -1] @ shares)
    if not square > 1e-9 * float(gram[-1, -1]):
        return 0.0
    products = held.odds * own * residuals
    highest = products.mean() + CAUTION * products.std() / np.sqrt(len(products))
    return float(max(highest, 0.0) ** 2 / square / max(float(np.mean(held.odds * residuals**2)), 1e-300))
