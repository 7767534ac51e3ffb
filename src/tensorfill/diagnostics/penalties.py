"""Checks for penalties."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import generator
from .._support.types import Floats
from ..penalties import Elementwise, Penalty, make_penalty
from .report import Broken, Report, call, furthest, lies_between, name_of

SLOPES = 100
"""The number of singular values at which a slope is compared with differences."""


def check_penalty(penalty: str | Penalty, rng: int | np.random.Generator | None = 0) -> Report:
    """Check that the value and the proximal operator of a penalty agree.

    The value must be 0 at 0 and nondecreasing. The proximal operator at singular values s must reach the least
    1/2 |y - s|^2 + weight * value(y) that a search on a grid, one singular value at a time, can find. Its result must
    lie between 0 and s, be sorted from large to small, and keep the shape and the dtype of s. Singular values of 0 must
    lead to no division by zero, and the candidates of an `Elementwise` penalty must be finite there. If the penalty has
    the optional `slope`, it is compared with differences of the value.

    Parameters
    ----------
    penalty : str or Penalty
        The penalty, or the name of one that takes no theta.
    rng : int or numpy Generator, optional
        The seed or generator of the points that are tried.

    Returns
    -------
    Report
        ``report.ok`` is True if nothing is wrong, and ``print(report)`` shows what is.

    Examples
    --------
    >>> from tensorfill.penalties import LSP
    >>> print(check_penalty(LSP(theta=0.5)))
    LSP(theta=0.5) passes every check.
    """
    penalty = make_penalty(penalty)
    source = generator(rng)
    with np.errstate(all="ignore"):
        try:
            return Report(name_of(penalty), tuple(_findings(penalty, source)))
        except Broken as broken:
            return Report(name_of(penalty), (str(broken),))


def _findings(penalty: Penalty, rng: np.random.Generator) -> Iterator[str]:
    """Yield what is wrong with a penalty."""
    misshapen = list(_prox_form_findings(penalty, rng))
    yield from misshapen
    yield from _zero_findings(penalty)
    yield from _kappa_findings(penalty)
    if not misshapen:
        yield from _prox_findings(penalty, rng)
    yield from _slope_findings(penalty, rng)


# The value


def _kappa_findings(penalty: Penalty) -> Iterator[str]:
    """Yield where the value is not 0 at 0, falls, or does not have the slope at 0 that the penalty claims."""
    at_zero = _value(penalty, np.zeros(3))
    if at_zero != 0:
        yield f"value of zeros is {at_zero:.6g}, but must be 0."
        return
    grid = np.concatenate([np.linspace(0, 40, 401), [1e3, 1e6]])
    values = _kappa(penalty, grid)
    if not np.all(np.isfinite(values)):
        at = int(np.argmin(np.isfinite(values)))
        yield f"value of the singular value {grid[at]:.6g} is {values[at]:g}, but must be finite."
        return
    falls = np.diff(values) < -1e-12 * np.abs(values[1:])
    if falls.any():
        at = int(falls.argmax())
        yield (
            f"value falls from {values[at]:.6g} at the singular value {grid[at]:.6g} to {values[at + 1]:.6g} at "
            f"{grid[at + 1]:.6g}, but must never fall."
        )
    slope = getattr(penalty, "slope_at_zero", None)
    if slope is not None and math.isfinite(slope):
        near = 1e-12
        steepness = float(_kappa(penalty, np.array([near]))[0] - values[0]) / near
        if abs(steepness - slope) > 1e-3 * max(abs(slope), abs(steepness)):
            yield f"slope_at_zero is {slope:.6g}, but value rises by {steepness:.6g} per unit from 0."


def _slope_findings(penalty: Penalty, rng: np.random.Generator) -> Iterator[str]:
    """Yield where the optional slope is not the derivative of the value of one singular value."""
    # The slope of the base class only raises an error.
    if getattr(type(penalty), "slope", Elementwise.slope) is Elementwise.slope:
        return
    function: Any = penalty.slope  # type: ignore[attr-defined]
    s = 10.0 ** rng.uniform(-3.0, 2.0, SLOPES)
    for dtype in [np.float64, np.float32]:
        result = np.asarray(call("slope", function, s.astype(dtype)))
        if result.shape != s.shape:
            yield f"slope of singular values of shape {s.shape} has shape {result.shape}, but must have the same."
            return
        if result.dtype != dtype:
            yield f"slope of {np.dtype(dtype)} singular values is {result.dtype}, but must be {np.dtype(dtype)} too."
            return
    slope = np.asarray(call("slope", function, s.copy()))
    here = _kappa(penalty, s)
    agrees = np.zeros(s.shape, dtype=bool)
    # A long step loses few digits, and a short one crosses few kinks; a correct slope agrees with at least one.
    for size in [1e-3, 1e-7, 1e-5]:
        right, left = s * (1 + size), s * (1 - size)
        above, below = _kappa(penalty, right), _kappa(penalty, left)
        forward, backward = (above - here) / (right - s), (here - below) / (s - left)
        # The slope lies between the two differences, even at a kink.
        rounding = 1e-14 * np.abs(above) / (size * s)
        agrees |= lies_between(
            slope, forward, backward, rounding + 1e-6 * np.maximum(np.abs(forward), np.abs(backward))
        )
    if not agrees.all():
        difference = 0.5 * (forward + backward)
        at = furthest(~agrees, np.abs(slope - difference))
        yield (
            f"slope at the singular value {s[at]:.6g} is {slope[at]:.6g}, but finite differences of value give "
            f"{difference[at]:.6g}."
        )


def _kappa(penalty: Penalty, s: Floats) -> NDArray[np.float64]:
    """Return the value of each single singular value, after the free ones."""
    leading = np.full(int(getattr(penalty, "free", 0)), 1e6)
    return np.array([_value(penalty, np.append(leading, one)) for one in s])


def _value(penalty: Penalty, s: Floats) -> float:
    """Return the value of a penalty as a float."""
    value = call("value", penalty.value, s)
    if np.ndim(value) != 0:
        raise Broken(f"value must be one number, but it is an array of shape {np.shape(value)}.")
    return float(value)


# The proximal operator


def _prox_form_findings(penalty: Penalty, rng: np.random.Generator) -> Iterator[str]:
    """Yield where the proximal operator loses shape, dtype, order or bounds."""
    seen = set()
    for dtype in [np.float64, np.float32]:
        for values in [np.zeros(4), np.zeros(0), *_some_singular_values(penalty, rng, trials=20)]:
            for weight in [0.0, *_some_weights(rng, trials=3)]:
                finding = _prox_form(penalty, values.astype(dtype), weight)
                if finding is not None and finding[0] not in seen:
                    seen.add(finding[0])
                    yield finding[1]


def _prox_form(penalty: Penalty, s: Floats, weight: float) -> tuple[str, str] | None:
    """Return what is wrong with the form of one result, if anything: its kind, and the sentence."""
    before = s.copy()
    y: NDArray[Any] = np.asarray(call("prox", penalty.prox, s, weight))
    step = f"prox of {_row(before)} with weight {weight:.6g}"
    if y.shape != s.shape:
        return "shape", f"prox of singular values of shape {s.shape} has shape {y.shape}, but must have the same."
    if y.dtype != s.dtype:
        return "dtype", f"prox of {s.dtype} singular values is {y.dtype}, but must be {s.dtype} too."
    if not np.array_equal(s, before):
        return "overwritten", "prox writes into the singular values that it is given, but must leave them alone."
    if not np.all(np.isfinite(y)):
        return "finite", f"{step} is {_row(y)}, but must be finite."
    if np.any(y < 0) or np.any(y > s * (1 + 4 * np.finfo(s.dtype).eps)):
        return "bounds", f"{step} is {_row(y)}, but must lie between 0 and the singular values."
    if np.any(np.diff(y) > 0):
        return "order", f"{step} is {_row(y)}, but must be sorted from large to small."
    if weight == 0 and not np.allclose(y, s, rtol=4 * float(np.finfo(s.dtype).eps), atol=0.0):
        return "weight", f"{step} is {_row(y)}, but a weight of 0 must change nothing."
    return None


def _zero_findings(penalty: Penalty) -> Iterator[str]:
    """Yield what fails at a singular value of 0, although the comparison of objectives may hide it in the result."""
    s = np.append(np.full(int(getattr(penalty, "free", 0)), 100.0), [1.0, 0.0])
    for weight in [0.01, 1.0, 30.0]:
        step = f"of {_row(s)} with weight {weight:.6g}"
        try:
            with np.errstate(divide="raise", invalid="raise"):
                penalty.prox(s.copy(), weight)
                points = list(penalty.candidates(s.copy(), weight)) if isinstance(penalty, Elementwise) else []
        except FloatingPointError as error:
            yield f"prox {step} computes something undefined ({error}), but must take a singular value of 0."
            return
        for point in points:
            if not np.all(np.isfinite(point)):
                yield f"candidates {step} are {_row(np.atleast_1d(point))}, but must be finite."
                return


def _prox_findings(penalty: Penalty, rng: np.random.Generator) -> Iterator[str]:
    """Yield where a search on a grid finds a better point than the proximal operator."""
    for s in _some_singular_values(penalty, rng, trials=15):
        for weight in _some_weights(rng, trials=4):
            y = np.asarray(call("prox", penalty.prox, s.copy(), weight), dtype=np.float64)
            reached = _objective(penalty, y, s, weight)
            best, least = _searched(penalty, y, s, weight)
            if reached - least > 1e-9 * (abs(reached) + abs(least)):
                yield (
                    f"prox of {_row(s)} with weight {weight:.6g} is {_row(y)}, where 1/2 |y - s|^2 + weight * value(y) "
                    f"is {reached:.6g}, but at {_row(best)} it is {least:.6g}."
                )
                return


def _searched(penalty: Penalty, y: Floats, s: Floats, weight: float) -> tuple[Floats, float]:
    """Return the best point that differs from y in one element, and its objective."""
    best, least = y, math.inf
    for place in range(len(s)):
        near = y[place] * (1 + np.array([-1e-2, -1e-3, 1e-3, 1e-2]))
        for other in [*np.linspace(0, s[place], 41), *near]:
            point = y.copy()
            point[place] = other
            point = np.sort(point)[::-1]
            objective = _objective(penalty, point, s, weight)
            if objective < least:
                best, least = point, objective
    return best, least


def _objective(penalty: Penalty, y: Floats, s: Floats, weight: float) -> float:
    """Return the objective that the proximal operator minimises."""
    return 0.5 * float(np.sum((y - s) ** 2)) + weight * _value(penalty, y)


def _some_singular_values(penalty: Penalty, rng: np.random.Generator, trials: int) -> Iterator[Floats]:
    """Yield sorted singular values of various sizes and numbers, after the free ones."""
    free = np.full(int(getattr(penalty, "free", 0)), 100.0)
    for trial in range(trials):
        penalised = 10.0 ** rng.uniform(-2.0, 1.5, 1 + trial % 4)
        yield np.concatenate([free, np.sort(penalised)[::-1]])


def _some_weights(rng: np.random.Generator, trials: int) -> list[float]:
    """Return weights of various sizes."""
    return [float(weight) for weight in 10.0 ** rng.uniform(-2.0, 1.5, trials)]


def _row(numbers: Floats) -> str:
    """Return a few numbers as text, for a finding."""
    return "[" + ", ".join(f"{number:.6g}" for number in numbers) + "]"
