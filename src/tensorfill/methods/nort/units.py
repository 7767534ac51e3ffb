"""Lambda, penalty and theta for data in another unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._support.checks import is_auto
from ..._support.scaling import times_power_of_two
from ...penalties import make_penalty
from ...penalties.units import penalty_in_unit, power_of_penalty
from .modes import per_mode


def regulariser_in_unit(lam: Any, penalty: Any, theta: Any, exponent: int, loss: float) -> dict[str, Any]:
    """Return lambda, penalty and theta, by name, for data that is divided by ``2**exponent``.

    A penalty by name whose theta is a singular value becomes an object.

    Parameters
    ----------
    lam, penalty, theta
        The settings, one for all modes or one for each.
    exponent
        The power of two.
    loss
        The power of the unit by which the loss of an entry scales.
    """
    given = {"lam": lam, "penalty": penalty, "theta": theta}
    several = {name: value for name, value in given.items() if isinstance(value, list | tuple | np.ndarray)}
    modes = range(max((len(value) for value in several.values()), default=1))
    of_modes = list(zip(*(per_mode(value, name, modes) for name, value in given.items()), strict=True))
    if len({power_of_penalty(kind) for _, kind, _ in of_modes}) > 1:
        # The lambdas weight the modes relative to one another, so they must have a common unit.
        raise ValueError(
            f"The penalties {penalty!r} have no unit in common; divide data of this size by a constant first, or take "
            "penalties that are all 'lsp' or none of them."
        )
    found = zip(*(_in_unit(*each, exponent=exponent, loss=loss) for each in of_modes), strict=True)
    # One value for all modes stays one value, unless the results differ.
    return {
        name: values if name in several or any(value != values[0] for value in values) else values[0]
        for name, values in zip(given, found, strict=True)
    }


def _in_unit(lam: Any, penalty: Any, theta: Any, *, exponent: int, loss: float) -> tuple[Any, Any, Any]:
    """Return lambda, penalty and theta of one mode for data that is divided by ``2**exponent``."""
    weight = times_power_of_two(lam, -exponent * (loss - power_of_penalty(penalty)))
    if not isinstance(penalty, str):
        return weight, penalty_in_unit(penalty, exponent), theta
    if is_auto(theta, "theta") or penalty in ("nuclear", "tnn"):
        return weight, penalty, theta
    return weight, penalty_in_unit(make_penalty(penalty, theta), exponent), "auto"
