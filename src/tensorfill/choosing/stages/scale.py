"""Data of any size: it is fitted in a unit near its largest value, and everything is reported in its own.

Squares and fourth powers of very large or very small values leave the range of floats, in float32 soon. Values of
ordinary size are fitted as they are. Others are divided by a power of two once, before any work, and the answer is
multiplied by it once, after all work, which changes no digit. What depends on the unit of the data says so where it is
declared: settings by `Method.powers`, and what is reported by the metadata of its field. Losses of scores,
such as that of counts, need no unit, and a loss written by the user, whose unit is not known, takes values of ordinary
size only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from ..._support.clock import Clock
from ..._support.records import Records
from ..._support.scaling import ORDINARY, UNIT, times_power_of_two
from ..._support.types import Floats
from ...losses import is_score
from ...losses.robust import is_robust, make_robust
from ...losses.units import has_unit, loss_in_unit, power_of_loss
from ...methods.base import Method
from ...methods.problem import Problem
from ...models import Model
from ...observations import Observations
from .base import Before, Lift

EXTREMES = {"float64": 1e140, "float32": 1e15}
"""The squares of values up to this size, and down to its inverse, are far from the ends of floats. Sums of squares are
reported in the units of the data."""

MOST_LOST = 0.01
"""Values that rounding changes by more than this share of their standard deviation are refused."""

T = TypeVar("T")


@dataclass(frozen=True)
class Scale(Before):
    """Divide the data by ``2**exponent``.

    Parameters
    ----------
    exponent
        The power of two; 0 for data that is fitted as it is.
    loss, objective
        The powers of the unit that the loss of an entry and the objective of the methods have.
    order
        The order of the tensor.
    """

    name: ClassVar[str] = "scale"
    title: ClassVar[str] = "Scale"
    chosen: ClassVar[bool] = False

    exponent: int = 0
    loss: float = 2
    objective: float = 2
    order: int = 3

    @classmethod
    def of(cls, observations: Observations, loss: Any, methods: Sequence[Method]) -> Scale:
        """Return the scale for data with this loss and these methods, or refuse data that has none."""
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

    def reduce(self, problem: Problem, clock: Clock, beside: Model | None = None) -> tuple[Problem, Lift]:
        """Return the problem in this unit."""
        return Problem(self.down(problem.observations), self.down(problem.loss)), Unit(self)

    def down(self, thing: T) -> T:
        """Return a thing in the units of the data as one in this unit; see `up`."""
        return replace(self, exponent=-self.exponent).up(thing)

    def up(self, thing: T, method: Method | None = None) -> T:
        """Return a thing in this unit as one in the units of the data.

        Parameters
        ----------
        thing
            Entries, a model, a method, a loss, or anything that is made of these and of numbers that say what they
            measure.
        method
            The method that the thing is about, if it is not part of it.
        """
        made: T = thing if self.exponent == 0 else self._up(thing, method)
        return made

    def error(self, error: float) -> float:
        """Return the root of a mean loss in the units of the data."""
        return self._times(error, self.loss / 2)

    def _up(self, thing: Any, method: Method | None) -> Any:
        if isinstance(thing, Model):
            return thing.scaled(math.ldexp(1.0, self.exponent))
        if isinstance(thing, Observations):
            return thing.with_values(np.ldexp(thing.values, self.exponent))
        if isinstance(thing, Method):
            return thing.in_unit(-self.exponent, self.loss, self.order)
        if has_unit(thing):
            return loss_in_unit(thing, -self.exponent)
        if isinstance(thing, Records):
            return type(thing)([self._up(each, method) for each in thing])
        if isinstance(thing, list | tuple):
            return type(thing)(self._up(each, method) for each in thing)
        return self._fields_up(thing, method) if is_dataclass(thing) and not isinstance(thing, type) else thing

    def _fields_up(self, thing: Any, method: Method | None) -> Any:
        """Return a dataclass whose fields are in the units of the data."""
        method = next((each for each in vars(thing).values() if isinstance(each, Method)), method)
        own = self.objective if method is None else method.powers(self.loss, self.order)["objective"]
        powers = {"value": 1.0, "error": self.loss / 2, "loss": self.loss, "objective": own}
        changed = {}
        for each in fields(thing):
            value, unit = getattr(thing, each.name), each.metadata.get(UNIT)
            made: Any
            if isinstance(value, Mapping) and unit == "settings" and method is not None:
                of_settings = method.powers(self.loss, self.order)
                made = {name: self._times(number, of_settings.get(name, 0)) for name, number in value.items()}
            elif isinstance(value, np.ndarray) and unit is not None:
                made = value.astype(np.float64) * self._times(1.0, powers[unit])
            else:
                made = self._up(value, method) if unit is None else self._times(value, powers[unit])
            if made is not value and each.init:
                changed[each.name] = made
        return replace(thing, **changed) if changed else thing

    def _times(self, number: float, power: float) -> float:
        """Return a number times the unit to a power."""
        return float(times_power_of_two(number, self.exponent * power))


@dataclass(frozen=True, eq=False)
class Unit(Lift):
    """Multiplies by the unit again."""

    scale: Scale

    def model(self, model: Model) -> Model:
        """Return the model in the units of the data."""
        return self.scale.up(model)

    def start(self, core: Model) -> Model:
        """Return the model in the unit of the problem."""
        return self.scale.down(core)

    def entries(self, entries: Observations) -> Observations:
        """Return the entries in the unit of the problem."""
        return self.scale.down(entries)

    def back(self, entries: Observations) -> Observations:
        """Return the entries in the units of the data."""
        return self.scale.up(entries)


def rounded(observations: Observations, dtype: DTypeLike) -> Observations:
    """Return the entries in another type, unless rounding would lose what distinguishes them.

    Nothing can notice that loss later: held-out entries are rounded too.
    """
    made = observations.astype(dtype)
    if made.values is observations.values:
        return made
    given, spread = observations.values.astype(np.float64), _spread(observations.values)
    lost = float(np.sqrt(np.mean((made.values.astype(np.float64) - given) ** 2)))
    if lost > MOST_LOST * spread > 0:
        raise ValueError(
            f"Values of about {np.abs(given).max():.3g} with a standard deviation of {spread:.3g} are changed by "
            f"{lost:.2g} on average if they are rounded to {made.dtype.name}; ask for dtype='float64', or subtract "
            "their mean first."
        )
    return made


def _spread(values: Floats) -> float:
    """Return the standard deviation of values."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    return largest * float(np.std(values / largest, dtype=np.float64))


def check_size(observations: Observations) -> None:
    """Refuse values whose squares are near the ends of floats."""
    check_largest(_largest(observations), observations.dtype.name)


def check_largest(largest: float, name: str, limits: Mapping[str, float] = EXTREMES, where: str = "") -> None:
    """Refuse data whose largest value is not of a size that can be fitted.

    Parameters
    ----------
    largest, name
        The size of the largest value, and the name of the type.
    limits
        The largest size by type; its inverse is the least. By default, values are divided by a power of two first.
    where
        What the limits hold for, if not for all data.
    """
    extreme = limits[name]
    if largest > extreme or 0 < largest < 1 / extreme:
        wider = " or ask for dtype='float64'" if name == "float32" else ""
        raise ValueError(
            f"The largest value is {largest:.3g} in size, and must lie between {1 / extreme:g} and {extreme:g} for "
            f"{name}{where}; divide the values by a constant first{wider}."
        )


def _largest(observations: Observations) -> float:
    """Return the size of the largest value."""
    return float(np.abs(observations.values).max(initial=0.0))
