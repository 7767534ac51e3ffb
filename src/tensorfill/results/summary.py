"""The properties of a fit: its model, its settings and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.types import Floats
from ..choosing.error_bars import ErrorBars
from ..choosing.recipe import Recipe
from ..methods.base import Method
from ..models import Model


class Summary:
    """Properties derived from the parts of a `tensorfill.Fit`, which inherits from this class."""

    model: Model
    recipe: Recipe
    error_bars: ErrorBars | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.model.shape

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each regularised mode, or of every mode, or the number of terms, depending on the model."""
        return self.model.ranks

    @property
    def nbytes(self) -> int:
        """Bytes held by the model."""
        return self.model.nbytes

    @property
    def method(self) -> Method:
        """The method with all its settings, given or chosen."""
        return self.recipe.method

    @property
    def loss(self) -> Any:
        """The loss that the entries were fitted with."""
        return self.recipe.loss

    @property
    def seed(self) -> int:
        """The seed of all random numbers; drawn from the given generator, if there was one."""
        return self.recipe.seed

    @property
    def modes(self) -> tuple[int, ...]:
        """The regularised modes, for a method that has them."""
        return tuple(getattr(self.method, "modes", None) or ())

    @property
    def lam(self) -> tuple[float, ...]:
        """The lambda of each regularised mode, for a method that has them."""
        return tuple(np.atleast_1d(getattr(self.method, "lam", ())).tolist())

    @property
    def penalties(self) -> tuple[Any, ...]:
        """The penalty of each regularised mode, for a method that has them."""
        penalty = getattr(self.method, "penalty", ())
        return tuple(penalty) if isinstance(penalty, list | tuple) else (penalty,) * len(self.lam)

    @property
    def theta(self) -> tuple[float | None, ...]:
        """The theta of each regularised mode; None for a penalty without one."""
        return tuple(getattr(penalty, "theta", None) for penalty in self.penalties)

    @property
    def residuals(self) -> Floats | None:
        """The absolute errors at the held-out entries, of a fit without them; None if nothing was held out.

        It is on the scale of the data, as `predict` is.
        """
        return None if self.error_bars is None else self.error_bars.residuals

    @property
    def held_out_error(self) -> float:
        """Root mean square error on the held-out entries, of a fit without them; NaN if nothing was held out.

        It is on the scale of the data. For ``loss="logistic"`` and data of 0 and 1 it is the root mean square
        difference of the predicted probability and the observed 0 or 1 (the root of the Brier score), and 0.5 is the
        error of tossing a coin. For ``loss="poisson"`` it is that of the expected and the observed count.
        ``path["held_out"]`` has the error by which settings were chosen, the root of twice the mean loss.
        """
        return float("nan") if self.error_bars is None else self.error_bars.rmse

    @property
    def resemblance(self) -> float | None:
        """How alike held-out and missing entries are, from 0.5 (alike) to 1; None if that is not known.

        It is the probability (AUC) that a classifier, which knows how far from fitted entries an entry is and how many
        of them its slices have, takes the missing one of two entries for the missing one. Above 0.75 nothing alike
        could be held out, so the error at missing entries may be larger than that at held-out ones.
        """
        return None if self.recipe.holdout is None else self.recipe.holdout.auc

    @property
    def missing_by_value(self) -> float | None:
        """Whether large values are missing more often, from 0 (all small ones) to 1; 0.5 if it does not depend on them.

        It is the probability (AUC) that the prediction of a missing entry is larger than that of a held-out one, both
        by a fit without the held-out ones; None if that is not known. It says that values and gaps go together, not
        why. ``print(fit)`` says so if it is below 0.45 or above 0.55, and at least three standard errors from 0.5.
        """
        return None if self.recipe.holdout is None else self.recipe.holdout.value_auc
