"""The held-out entries beside what a fit without them predicts, on the scale of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.types import Floats, Integers
from ..losses import expected, restore
from ..models import Model
from .splits import Split


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out entries of every split, and what a fit without them predicts.

    Parameters
    ----------
    coords
        Their coordinates, of shape (n, ndim).
    observed, predicted
        Their values and the predictions, both on the scale of the data.
    """

    coords: Integers
    observed: Floats
    predicted: Floats

    @classmethod
    def of(cls, splits: Sequence[Split], models: Sequence[Model]) -> HeldOut:
        """Return the held-out entries of splits beside the predictions of a model for each split."""
        pairs = list(zip(splits, models, strict=True))
        return cls(
            np.concatenate([split.held_out.coords for split in splits]),
            observed_values(splits),
            np.concatenate([expected(split.problem.loss, split.predict(model)) for split, model in pairs]),
        )

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def residuals(self) -> Floats:
        """The absolute error at each entry."""
        return np.abs(self.predicted - self.observed)


def observed_values(splits: Sequence[Split]) -> Floats:
    """Return the values of the held-out entries of every split, on the scale of the data."""
    return np.concatenate([restore(split.problem.loss, split.held_out.values) for split in splits])
