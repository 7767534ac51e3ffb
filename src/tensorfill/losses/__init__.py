"""Losses: how far a predicted entry is from the observed one.

A method minimises f(X) = sum over the observed entries p of loss(X_p, O_p), plus its regularisation. It needs the value
of a loss, the derivative with respect to the prediction, and a bound of the second derivative, which sets the step size
1 / tau. It takes any object with these three (see `Loss`); `tensorfill.diagnostics.check_loss` checks that they agree.

The prediction of `Logistic` and `Poisson` is a score, any real number; their `mean` turns it into the
expected observation, such as a probability or a rate. Losses for data with outliers are in `tensorfill.losses.robust`.
"""

from .base import Loss, error, expected, is_score, prepare, restore
from .registry import LOSSES, make_loss
from .robust import ROBUST, Robust
from .smooth import Huber, Logistic, Poisson, Square

__all__ = [
    "LOSSES",
    "ROBUST",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Robust",
    "Square",
    "error",
    "expected",
    "is_score",
    "make_loss",
    "prepare",
    "restore",
]
