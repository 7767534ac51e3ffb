"""The answer of a method on every split, and the outcome of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.types import Booleans, Floats, Integers
from ..losses import Loss
from ..losses.robust import Robust
from ..methods.base import Method, Result
from ..methods.search import PathPoint, Search, Trial, are_better
from ..models import Model
from ..observations import Observations
from .empty_slices import SliceFill
from .error_bars import ErrorBars, HeldOut
from .holdout import Holdout
from .intervals import expected, on_the_scale_of_the_data
from .polish import Polish
from .resemblance import distances
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

    def held_out(self, observed: Observations) -> HeldOut:
        """Return the held-out entries of all splits with their predictions, on the scale of the data.

        Parameters
        ----------
        observed
            All observed entries.
        """
        loss = self.splits[0].problem.loss
        pairs = list(zip(self.splits, self.models, strict=True))
        coords = np.concatenate([split.held_out.coords for split in self.splits])
        # With graphs, a split has only some slices, and distances within these say little.
        far = [np.ones_like(split.held_out.coords) for split in self.splits]
        if self.splits[0].reduced is None:
            far = [distances_to(split.held_out.coords, split.problem.observations) for split in self.splits]
        return HeldOut(
            coords,
            on_the_scale_of_the_data(loss, np.concatenate([split.held_out.values for split in self.splits])),
            expected(loss, np.concatenate([split.predict(model) for split, model in pairs])),
            np.concatenate(far),
            observed if self.splits[0].reduced is None else None,
        )

    @property
    def whole_model(self) -> Model:
        """The model of the whole tensor on the first split."""
        return self.splits[0].whole(self.models[0])

    def final(self, entries: int) -> Method:
        """Return the method with what was chosen, for a fit of this many entries."""
        return self.search.final(self.trials, entries)


def distances_to(coords: Integers, fitted: Observations) -> Integers:
    """Return the distance of entries along each mode to the nearest fitted one."""
    columns = [distances(coords, fitted, mode) for mode in range(fitted.ndim)]
    return np.stack(columns, axis=1).astype(np.int64)


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
