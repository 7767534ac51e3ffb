"""Data of any size: it is fitted in a unit near its largest value, and everything is reported in its own.

Squares and fourth powers of very large or very small values leave the range of floats, in float32 soon. Values of
ordinary size are fitted as they are. Others are divided by a power of two once, before any work, and the answer is
multiplied by it once, after all work, which changes no digit. Settings and losses that depend on the unit of the data
are converted both ways (see `Method.powers`). Losses of scores, such as that of counts, need no unit, and a loss of the
user's own, whose unit is not known, takes values of ordinary size only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.scaling import times_power_of_two
from .._support.types import Floats
from ..losses import is_score
from ..losses.robust import make_robust
from ..losses.units import loss_in_unit, power_of_loss
from ..methods.base import History, Method, Record, Result
from ..methods.search import PathPoint
from ..models import Model
from ..observations import Observations
from .corrupt import is_robust

if TYPE_CHECKING:
    from .answer import Outcome
    from .baselines import Baseline
    from .empty_slices import SliceFill
    from .error_bars import ErrorBars
    from .recipe import Recipe
    from .task import Task

ORDINARY = {"float64": 1e30, "float32": 1e6}
"""Values up to this size, and down to its inverse, are fitted as they are."""

EXTREMES = {"float64": 1e140, "float32": 1e15}
"""The squares of values up to this size, and down to its inverse, are far from the ends of floats. Sums of squares are
reported in the units of the data."""


@dataclass(frozen=True)
class Unit:
    """The unit that data is fitted in, ``2**exponent``, with the powers that what is reported has.

    Parameters
    ----------
    exponent
        The power of two; 0 for data that is fitted as it is.
    loss, objective
        The powers of the unit that the loss of an entry and the objective of the methods have.
    order
        The order of the tensor.
    """

    exponent: int = 0
    loss: float = 2
    objective: float = 2
    order: int = 3

    @classmethod
    def of(cls, observations: Observations, loss: Any, methods: Sequence[Method]) -> Unit:
        """Return the unit for data with this loss and these methods, or refuse data that has none."""
        largest, name = _largest(observations), observations.dtype.name
        # A score is a logarithm, whatever the size of the counts.
        if is_score(loss) or largest == 0 or 1 / ORDINARY[name] <= largest <= ORDINARY[name]:
            return cls()
        if is_robust(loss):
            # With methods that do not take the robust loss itself, sound entries have the square loss.
            power = power_of_loss(make_robust(loss)) if all(each.takes_robust for each in methods) else 2
        else:
            power = power_of_loss(loss)
        if power is None:
            raise ValueError(
                f"The largest value is {largest:.3g} in size, and must lie between {1 / ORDINARY[name]:g} and "
                f"{ORDINARY[name]:g} for {name} with the loss {loss!r}; divide the values by a constant first."
            )
        objectives = {each.powers(power, observations.ndim)["objective"] for each in methods}
        objective = objectives.pop() if len(objectives) == 1 else power
        return cls(math.frexp(largest)[1], power, objective, observations.ndim)

    @property
    def is_one(self) -> bool:
        """Whether the data is fitted as it is."""
        return self.exponent == 0

    @property
    def size(self) -> float:
        """The unit as a number."""
        return math.ldexp(1.0, self.exponent)

    @property
    def inverse(self) -> Unit:
        """The unit of the data as a number of this unit: it converts the other way."""
        return replace(self, exponent=-self.exponent)

    # From the units of the data

    def task(self, task: Task) -> Task:
        """Return a task in this unit."""
        if self.is_one:
            return task
        choice = task.choice
        if isinstance(choice.validation, Observations):
            choice = replace(choice, validation=self.observations(choice.validation))
        return replace(
            task,
            observations=self.observations(task.observations),
            loss=loss_in_unit(task.loss, self.exponent),
            choice=choice,
            start=None if task.start is None else self.inverse.model(task.start),
        )

    def observations(self, entries: Observations) -> Observations:
        """Return observed entries in this unit."""
        return entries if self.is_one else _scaled(entries, -self.exponent)

    def methods(self, methods: Sequence[Method]) -> list[Method]:
        """Return methods whose settings are in this unit."""
        return [self.inverse.method(each) for each in methods]

    # To the units of the data

    def error(self, error: float) -> float:
        """Return the root of a mean loss."""
        return self._times(error, self.loss / 2)

    def value(self, value: float) -> float:
        """Return a number of the size of the values."""
        return self._times(value, 1)

    def values(self, values: Floats) -> Floats:
        """Return numbers of the size of the values, in double precision, as their squares are needed."""
        return values if self.is_one else values.astype(np.float64) * self.size

    def losses(self, losses: Floats) -> Floats:
        """Return the losses of entries."""
        return losses if self.is_one else losses.astype(np.float64) * self._times(1.0, self.loss)

    def model(self, model: Model) -> Model:
        """Return a model."""
        return model if self.is_one else model.scaled(self.size)

    def method(self, method: Method) -> Method:
        """Return a method with its settings."""
        return method if self.is_one else method.in_unit(-self.exponent, self.loss, self.order)

    def record(self, record: Record, power: float | None = None) -> Record:
        """Return an iteration, of a method whose objective has this power of the unit."""
        if self.is_one:
            return record
        power = self.objective if power is None else power
        return replace(
            record,
            objective=self._times(record.objective, power),
            f_tau=self._times(record.f_tau, power),
            held_out=self.error(record.held_out),
        )

    def result(self, result: Result, method: Method) -> Result:
        """Return the result of a method."""
        if self.is_one:
            return result
        power = method.powers(self.loss, self.order)["objective"]
        history = History([self.record(record, power) for record in result.history])
        return replace(result, model=self.model(result.model), history=history)

    def tried(self, method: Method, tried: Mapping[str, float]) -> dict[str, float]:
        """Return what a search of a method has varied."""
        if self.is_one:
            return dict(tried)
        powers = method.powers(self.loss, self.order)
        return {name: self._times(value, powers.get(name, 0)) for name, value in tried.items()}

    def point(self, point: PathPoint) -> PathPoint:
        """Return a trial of a search."""
        if self.is_one:
            return point
        return replace(
            point,
            method=self.method(point.method),
            tried=self.tried(point.method, point.tried),
            training=self.error(point.training),
            held_out=self.error(point.held_out),
            standard_error=self.error(point.standard_error),
        )

    def error_bars(self, bars: ErrorBars) -> ErrorBars:
        """Return error bars."""
        if self.is_one:
            return bars
        held_out = bars.held_out
        if held_out is not None:
            held_out = replace(
                held_out,
                observed=self.values(held_out.observed),
                predicted=self.values(held_out.predicted),
                around=_scaled(held_out.around, self.exponent),
            )
        slices = [replace(each, residuals=self.values(each.residuals)) for each in bars.slices]
        return replace(bars, residuals=self.values(bars.residuals), slices=slices, held_out=held_out)

    def baselines(self, baselines: Sequence[Baseline]) -> tuple[Baseline, ...]:
        """Return simple answers."""
        return tuple(replace(each, error=self.value(each.error)) for each in baselines)

    def recipe(self, recipe: Recipe) -> Recipe:
        """Return how an answer was made."""
        if self.is_one:
            return recipe
        method, loss = self.method(recipe.method), loss_in_unit(recipe.loss, -self.exponent)
        return replace(recipe, method=method, loss=loss, fills=self._fills(recipe.fills))

    def outcome(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a run."""
        if self.is_one:
            return outcome
        return replace(
            outcome,
            method=self.method(outcome.method),
            result=self.result(outcome.result, outcome.method),
            loss=loss_in_unit(outcome.loss, -self.exponent),
            points=[self.point(each) for each in outcome.points],
            error_bars=None if outcome.error_bars is None else self.error_bars(outcome.error_bars),
            error_of_zero=self.value(outcome.error_of_zero),
            fills=self._fills(outcome.fills),
            core=None if outcome.core is None else self.model(outcome.core),
        )

    def _fills(self, fills: Sequence[SliceFill]) -> tuple[SliceFill, ...]:
        """Return how slices were filled."""
        return tuple(replace(fill, error=self.value(fill.error)) for fill in fills)

    def _times(self, number: float, power: float) -> float:
        """Return a number times the unit to a power."""
        return float(times_power_of_two(number, self.exponent * power))


def _scaled(entries: Observations, exponent: int) -> Observations:
    """Return observed entries times ``2**exponent``."""
    return entries.with_values(np.ldexp(entries.values, exponent))


def check_size(observations: Observations) -> None:
    """Refuse values whose squares are near the ends of floats."""
    largest, name = _largest(observations), observations.dtype.name
    extreme = EXTREMES[name]
    if largest > extreme or 0 < largest < 1 / extreme:
        wider = " or ask for dtype='float64'" if name == "float32" else ""
        raise ValueError(
            f"The largest value is {largest:.3g} in size, and must lie between {1 / extreme:g} and {extreme:g} for "
            f"{name}; divide the values by a constant first{wider}."
        )


def _largest(observations: Observations) -> float:
    """Return the size of the largest value."""
    return float(np.abs(observations.values).max(initial=0.0))
