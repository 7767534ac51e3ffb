"""The answer of a method on every split, and the outcome of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .._support.types import Booleans, Floats
from ..losses import Loss
from ..losses.robust import Robust
from ..methods.base import Method, Result
from ..methods.search import PathPoint, Search, Trial, are_better
from ..models import Model
from ..observations import Observations
from .empty_slices import SliceFill
from .error_bars import ErrorBars
from .held_out import HeldOut
from .holdout import Holdout
from .polish import Polish
from .smooth_field import Smoothing
from .splits import Split
from .trials import Trials


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer of one method on every split, and what was done to get it.

    Parameters
    ----------
    trials, search, trial
        Where it was found.
    splits, models
        The splits as the models take them, centred or not, and the model of each.
    losses
        The loss at each held-out entry.
    polish, smoothing
        What was done to the answer of the method, if anything.
    centred
        Whether the models are of centred data.
    rounds
        How often the mean and the effects were fitted again, beside the answer.
    """

    trials: Trials
    search: Search
    trial: Trial
    splits: Sequence[Split]
    models: Sequence[Model]
    losses: Floats
    polish: Polish | None = None
    smoothing: Smoothing | None = None
    centred: bool = False
    rounds: int = 0

    @classmethod
    def of(cls, trials: Trials, search: Search, trial: Trial) -> Answer:
        """Return the answer of a trial as it is."""
        return cls(trials, search, trial, trials.splits, trial.models, trial.losses, centred=trials.centred)

    def beats(self, other: Answer | None) -> bool:
        """Return whether it is better than another answer, or than none, by more than chance."""
        return other is None or are_better(self.losses, other.losses, clipped=self.trials.clipped)

    def held_out(self, around: Observations) -> HeldOut:
        """Return the held-out entries beside its predictions, on the scale of the data.

        `around` has all observed entries.
        """
        return HeldOut.of(self.splits, self.models, around)

    @property
    def whole_model(self) -> Model:
        """The model of the whole tensor on the first split."""
        return self.splits[0].whole(self.models[0])

    def final(self, entries: int) -> Method:
        """Return the method with what was chosen, for a fit of this many entries."""
        return self.search.final(self.trials, entries)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The answer of a run, and how it was made.

    Parameters
    ----------
    method, result
        The method with its final settings, and its result.
    loss
        The loss it was fitted with.
    points
        Every trial, in order; empty if nothing was held out.
    error_bars
        The errors at what was held out; None if nothing was.
    error_of_zero
        The root mean square of the held-out values: the error of an answer that is zero.
    holdout
        How entries were held out.
    polish, smoothing, centred, mu, fills
        What was done around the method.
    core
        The answer of the method without a smooth field, if there is one; None if the model has no such field.
    corrupt
        Which observed entries were judged corrupt; None if none were judged.
    """

    method: Method
    result: Result
    loss: Loss | Robust
    points: Sequence[PathPoint] = ()
    error_bars: ErrorBars | None = None
    error_of_zero: float = math.nan
    holdout: Holdout | None = None
    polish: Polish | None = None
    smoothing: Smoothing | None = None
    centred: bool = False
    mu: float = 0.0
    fills: Sequence[SliceFill] = ()
    core: Model | None = None
    corrupt: Booleans | None = None

    @property
    def held_out(self) -> HeldOut | None:
        """What was held out, beside the predictions of a fit without it; None if nothing was."""
        return None if self.error_bars is None else self.error_bars.held_out
