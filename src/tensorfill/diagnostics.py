"""Checks of a loss or a penalty of your own, before a method relies on it.

A wrong sign in a derivative or a curvature that is too small does not raise an error: the method merely goes the
wrong way, or diverges. `check_loss` and `check_penalty` compare the parts with each other at random points, and
say in plain sentences what does not fit, and where.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._support.checks import finite_values, generator, real_array
from ._support.types import Booleans, Floats
from .losses import Loss, make_loss, prepare
from .penalties import Penalty, make_penalty

__all__ = ["Report", "check_loss", "check_penalty"]


@dataclass(frozen=True)
class Report:
    """What a check found.

    Attributes
    ----------
    subject : str
        What was checked.
    findings : tuple of str
        What is wrong, one sentence each; empty if nothing is.

    Examples
    --------
    >>> from tensorfill.losses import Square
    >>> report = check_loss(Square())
    >>> report.ok
    True
    >>> print(report)
    Square() passes every check.
    """

    subject: str
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return f"{self.subject} passes every check."
        return "\n".join([f"{self.subject} does not pass:", *(f"- {finding}" for finding in self.findings)])


def check_loss(
    loss: str | Loss, observed: ArrayLike | None = None, rng: int | np.random.Generator | None = 0
) -> Report:
    """Check that the value, the derivative and the curvature of a loss agree.

    The derivative is compared with finite differences of the value. With the curvature, the parabola
    value(x) + derivative(x) (y - x) + curvature / 2 (y - x)^2 must lie above value(y) for every two predictions x
    and y: a method that steps by 1 / curvature never goes up then. A kink is fine where the loss bends down (as
    where an outlier stops to count), and only there. Further, shapes and dtypes must be kept, the arrays that are
    given left alone, each entry treated by itself, and values be finite and never negative.

    Parameters
    ----------
    loss : str or Loss
        The loss, or the name of one.
    observed : array, optional
        Observed values to try, such as a few of your data; needed if the loss takes special values alone and has
        no method `prepared` that refuses the others. By default values around 0, counts, or -1 and +1, whichever
        the loss takes.
    rng : int or numpy Generator, optional
        Decides the points that are tried.

    Returns
    -------
    Report
        ``report.ok`` says whether all is well, and ``print(report)`` what is not.

    Examples
    --------
    >>> class Wrong:
    ...     curvature = 1.0
    ...
    ...     def value(self, prediction, observed):
    ...         return (prediction - observed) ** 2 / 2
    ...
    ...     def derivative(self, prediction, observed):
    ...         return 2 * (prediction - observed)
    >>> report = check_loss(Wrong(), observed=[3.0])
    >>> report.ok
    False
    >>> print(report)
    Wrong does not pass:
    - derivative at prediction ..., observed 3 is ..., but finite differences of value give ...
    """
    loss = make_loss(loss)
    subject = _name(loss)
    source = generator(rng)
    with np.errstate(all="ignore"):
        try:
            prepared, values = _prepared(loss, observed, source)
            points = _Points.around(values, source)
            return Report(subject, tuple(_loss_findings(prepared, points, source)))
        except _Broken as broken:
            return Report(subject, (str(broken),))


def check_penalty(penalty: str | Penalty, rng: int | np.random.Generator | None = 0) -> Report:
    """Check that the value and the proximal step of a penalty agree.

    The value must be 0 at 0 and never fall. The proximal step of singular values s must reach the least
    1/2 |y - s|^2 + weight * value(y) that a search on a grid, one singular value at a time, can find; it must lie
    between 0 and s, be sorted from large to small, and keep the shape and the dtype of s.

    Parameters
    ----------
    penalty : str or Penalty
        The penalty, or the name of one that takes no theta.
    rng : int or numpy Generator, optional
        Decides the points that are tried.

    Returns
    -------
    Report
        ``report.ok`` says whether all is well, and ``print(report)`` what is not.

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
            return Report(_name(penalty), tuple(_penalty_findings(penalty, source)))
        except _Broken as broken:
            return Report(_name(penalty), (str(broken),))


class _Broken(Exception):
    """What makes any further check useless."""


def _name(checked: Any) -> str:
    """Return an object as it stands in a sentence: the name of its class, if it has no text of its own."""
    text = repr(checked)
    return type(checked).__name__ if " object at 0x" in text else text


def _call(name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function of the user's returns, or say what it raised."""
    try:
        return function(*given)
    except Exception as error:
        raise _Broken(f"{name} raised {type(error).__name__}: {error}") from error


# Losses.


@dataclass(frozen=True)
class _Points:
    """Where a loss is tried: predictions, observed values, and how far away things are looked for."""

    prediction: Floats
    observed: Floats
    width: Floats

    @classmethod
    def around(cls, values: Floats, rng: np.random.Generator) -> _Points:
        """Return predictions near the observed value or near 0, on a scale of 1 or on that of the values."""
        count = 400
        observed = rng.choice(values, count)
        spread = float(np.std(values))
        width = rng.choice([1.0, spread if spread > 0 else 1.0], count)
        offset = width * rng.standard_normal(count) * 10.0 ** rng.uniform(-2.0, 0.5, count)
        return cls(rng.choice([0.0, 1.0], count) * observed + offset, observed, width)


def _prepared(loss: Loss, observed: ArrayLike | None, rng: np.random.Generator) -> tuple[Loss, Floats]:
    """Return the loss as a method would use it, and observed values that it takes."""
    if observed is not None:
        values = real_array(observed, "observed").ravel()
        finite_values(values)
        if values.size == 0:
            raise ValueError("observed must hold at least one value, but none was given.")
        return _ready(loss, values)
    for values in [3.0 * rng.standard_normal(50), rng.poisson(4.0, 50).astype(np.float64), rng.choice([-1.0, 1.0], 50)]:
        try:
            return _ready(loss, values)
        except ValueError:
            continue
    raise ValueError(
        f"observed must be given for the loss {_name(loss)}, as its method prepared refuses numbers around 0, "
        "counts, and -1 and 1; give some of your data."
    )


def _ready(loss: Loss, values: Floats) -> tuple[Loss, Floats]:
    """Return what `prepare` returns, once it is what it should be."""
    try:
        result = prepare(loss, values)
    except ValueError:
        # The values are refused, and the sentence says why.
        raise
    except Exception as error:
        raise _Broken(f"prepared raised {type(error).__name__}: {error}") from error
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Loss)):
        raise _Broken("prepared must return a pair, the loss and the observed values, but it does not.")
    if np.shape(result[1]) != values.shape:
        raise _Broken(f"prepared turns values of shape {values.shape} into shape {np.shape(result[1])}.")
    return result


def _loss_findings(loss: Loss, points: _Points, rng: np.random.Generator) -> Iterator[str]:
    """Say what is wrong with a loss."""
    misshapen = list(_form_findings(loss, points))
    if misshapen:
        # Without the right shape there are no entries to compare.
        yield from misshapen
        return
    yield from _value_findings(loss, points)
    wrong = list(_derivative_findings(loss, points))
    yield from wrong
    curvature = _call("curvature", lambda: float(loss.curvature))
    if not (math.isfinite(curvature) and curvature > 0):
        yield f"curvature must be a finite number above 0, but it is {curvature:g}."
    elif not wrong:
        # The parabola starts along the derivative, so a wrong one would only be told twice.
        yield from _curvature_findings(loss, curvature, points, rng)


def _form_findings(loss: Loss, points: _Points) -> Iterator[str]:
    """Say where the shape or the dtype is lost, an argument is overwritten or entries are mixed."""
    for name, arguments in [("value", 2), ("derivative", 2), ("mean", 1)]:
        function = getattr(loss, name, None)
        if function is None:
            continue
        for dtype in [np.float64, np.float32]:
            for shape in [(6,), (2, 3), (0,)]:
                size = math.prod(shape)
                # Near the observed values only, where no float32 is too small for what comes out.
                given = [points.observed[:size].reshape(shape).astype(dtype) for _ in range(2)][:arguments]
                given[0] += given[0].dtype.type(0.5)
                before = [array.copy() for array in given]
                result = np.asarray(_call(name, function, *given))
                if result.shape != shape:
                    yield f"{name} of arrays of shape {shape} has shape {result.shape}, but must have the same."
                    return
                if result.dtype != dtype:
                    yield f"{name} of {np.dtype(dtype)} arrays is {result.dtype}, but must be {np.dtype(dtype)} too."
                    break
                if not all(np.array_equal(one, other) for one, other in zip(given, before, strict=True)):
                    yield f"{name} writes into the arrays that it is given, but must leave them alone."
                    return
        both = [points.prediction, points.observed][:arguments]
        whole = _call(name, function, *both)
        alone = _call(name, function, *(array[:7] for array in both))
        if not np.allclose(whole[:7], alone, rtol=1e-9, atol=1e-12, equal_nan=True):
            yield f"{name} of an entry depends on the other entries beside it, but must be that of the entry alone."


def _value_findings(loss: Loss, points: _Points) -> Iterator[str]:
    """Say where a value or a derivative is not finite, or a value negative."""
    far = float(points.width.max()) * np.array([0.0, 1e3, -1e3])
    observed = np.concatenate([points.observed, points.observed[:3], points.observed[:3]])
    prediction = np.concatenate([points.prediction, points.observed[:3], far])
    value = _call("value", loss.value, prediction, observed)
    derivative = _call("derivative", loss.derivative, prediction, observed)
    for name, result in [("value", value), ("derivative", derivative)]:
        wrong = ~np.isfinite(result)
        if wrong.any():
            at = int(wrong.argmax())
            yield f"{name} at {_place(prediction[at], observed[at])} is {result[at]:g}, but must be a finite number."
    if np.any(value < 0):
        at = int(np.argmax(value < 0))
        yield (
            f"value at {_place(prediction[at], observed[at])} is {value[at]:.6g}, but must not be negative, as the "
            "held-out error is the root of the mean loss; add a constant that depends on the observed value alone."
        )


def _derivative_findings(loss: Loss, points: _Points) -> Iterator[str]:
    """Say where the derivative is not that of the value."""
    x, o = points.prediction, points.observed
    here = _call("value", loss.value, x, o)
    derivative = _call("derivative", loss.derivative, x, o)
    compared, agrees = np.zeros((2, *x.shape), dtype=bool)
    # A long step loses few digits and a short one passes few bends; a right derivative agrees with one at least.
    for size in [1e-3, 1e-9, 1e-7, 1e-5]:
        length = size * np.maximum(1.0, 1e-6 * np.abs(x))
        right, left = x + length, x - length
        above, below = (_call("value", loss.value, y, o) for y in [right, left])
        forward, backward = (above - here) / (right - x), (here - below) / (x - left)
        scale = np.maximum(1.0, np.maximum(np.abs(forward), np.abs(backward)))
        rounding = 1e-14 * np.maximum(np.abs(above), np.abs(below)) / length
        # The derivative lies between the two differences, at a kink too; rounding of the value blurs both.
        slack = rounding + 1e-6 * scale
        inside = (derivative >= np.minimum(forward, backward) - slack) & (
            derivative <= np.maximum(forward, backward) + slack
        )
        # What drowns in rounding tells nothing, nor does a NaN, which is told elsewhere.
        telling = (rounding <= 1e-2 * scale) & np.isfinite(derivative)
        compared |= telling
        agrees |= telling & inside
    wrong = compared & ~agrees
    if wrong.any():
        difference = 0.5 * (forward + backward)
        at = _furthest(wrong, np.abs(derivative - difference))
        yield (
            f"derivative at {_place(x[at], o[at])} is {derivative[at]:.6g}, "
            f"but finite differences of value give {difference[at]:.6g}."
        )


def _curvature_findings(loss: Loss, curvature: float, points: _Points, rng: np.random.Generator) -> Iterator[str]:
    """Say where the parabola does not lie above the loss."""
    x, o = points.prediction, points.observed
    value = _call("value", loss.value, x, o)
    derivative = _call("derivative", loss.derivative, x, o)
    reach = points.width * rng.choice([-1.0, 1.0], len(x)) * rng.uniform(0.5, 1.0, len(x))
    # To points of every distance, and to the observed value, near which many losses bend most.
    for y in [*(x + reach * scale for scale in [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]), o]:
        reached = _call("value", loss.value, y, o)
        parabola = value + derivative * (y - x) + 0.5 * curvature * (y - x) ** 2
        excess = reached - parabola
        largest = np.maximum(np.abs(value), np.abs(reached)) + np.abs(derivative * (y - x))
        # Of a formula such as exp(x) - o x, the terms may be larger than what is left of them.
        rounding = 1e-12 * largest + 1e-15 * np.abs(y * o)
        wrong = excess > rounding + 1e-9 * curvature * (y - x) ** 2
        if wrong.any():
            at = _furthest(wrong, excess)
            needed = 2 * (reached - value - derivative * (y - x))[at] / (y - x)[at] ** 2
            yield (
                f"curvature is {curvature:.6g}, but from prediction {x[at]:.6g} to {y[at]:.6g}, observed {o[at]:.6g}, "
                f"the loss rises by as much as with a curvature of {needed:.6g}; give a larger bound."
            )
            return


def _furthest(wrong: Booleans, by: Floats) -> int:
    """Return which of the wrong points is furthest off."""
    return int(np.argmax(np.where(wrong, by, -np.inf)))


def _place(prediction: float, observed: float) -> str:
    """Return a point as it stands in a sentence."""
    return f"prediction {prediction:.6g}, observed {observed:.6g}"


# Penalties.


def _penalty_findings(penalty: Penalty, rng: np.random.Generator) -> Iterator[str]:
    """Say what is wrong with a penalty."""
    misshapen = list(_prox_form_findings(penalty, rng))
    yield from misshapen
    yield from _kappa_findings(penalty)
    if not misshapen:
        yield from _prox_findings(penalty, rng)


def _prox_form_findings(penalty: Penalty, rng: np.random.Generator) -> Iterator[str]:
    """Say where a proximal step loses shape, dtype, order or bounds."""
    seen = set()
    for dtype in [np.float64, np.float32]:
        for values in [np.zeros(4), np.zeros(0), *_some_singular_values(penalty, rng, trials=20)]:
            for weight in [0.0, *_some_weights(rng, trials=3)]:
                finding = _prox_form(penalty, values.astype(dtype), weight)
                if finding is not None and finding[0] not in seen:
                    seen.add(finding[0])
                    yield finding[1]


def _prox_form(penalty: Penalty, s: Floats, weight: float) -> tuple[str, str] | None:
    """Return what is wrong with the form of one proximal step, if anything: of what kind, and the sentence."""
    before = s.copy()
    y: NDArray[Any] = np.asarray(_call("prox", penalty.prox, s, weight))
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


def _kappa_findings(penalty: Penalty) -> Iterator[str]:
    """Say where the value is not 0 at 0, falls, or does not have the slope at 0 that it claims."""
    at_zero = _value(penalty, np.zeros(3))
    if at_zero != 0:
        yield f"value of zeros is {at_zero:.6g}, but must be 0."
        return
    free = int(getattr(penalty, "free", 0))
    grid = np.concatenate([np.linspace(0, 40, 401), [1e3, 1e6]])
    leading = np.full(free, 1e6)
    values = np.array([_value(penalty, np.append(leading, s)) for s in grid])
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
        steepness = (_value(penalty, np.append(leading, near)) - values[0]) / near
        if abs(steepness - slope) > 1e-3 * max(abs(slope), abs(steepness)):
            yield f"slope_at_zero is {slope:.6g}, but value rises by {steepness:.6g} per unit from 0."


def _prox_findings(penalty: Penalty, rng: np.random.Generator) -> Iterator[str]:
    """Say where a search on a grid finds a better point than the proximal step."""
    for s in _some_singular_values(penalty, rng, trials=15):
        for weight in _some_weights(rng, trials=4):
            y = np.asarray(_call("prox", penalty.prox, s.copy(), weight), dtype=np.float64)
            reached = _objective(penalty, y, s, weight)
            best, least = _searched(penalty, y, s, weight)
            if reached - least > 1e-9 * (abs(reached) + abs(least)):
                yield (
                    f"prox of {_row(s)} with weight {weight:.6g} is {_row(y)}, where 1/2 |y - s|^2 + weight * value(y) "
                    f"is {reached:.6g}, but at {_row(best)} it is {least:.6g}."
                )
                return


def _searched(penalty: Penalty, y: Floats, s: Floats, weight: float) -> tuple[Floats, float]:
    """Return the best point that differs from y in one place, and its objective."""
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
    """Return what a proximal step makes least."""
    return 0.5 * float(np.sum((y - s) ** 2)) + weight * _value(penalty, y)


def _some_singular_values(penalty: Penalty, rng: np.random.Generator, trials: int) -> Iterator[Floats]:
    """Return sorted singular values of several sizes and numbers, after those that are free."""
    free = np.full(int(getattr(penalty, "free", 0)), 100.0)
    for trial in range(trials):
        penalised = 10.0 ** rng.uniform(-2.0, 1.5, 1 + trial % 4)
        yield np.concatenate([free, np.sort(penalised)[::-1]])


def _some_weights(rng: np.random.Generator, trials: int) -> list[float]:
    """Return weights of several sizes."""
    return [float(weight) for weight in 10.0 ** rng.uniform(-2.0, 1.5, trials)]


def _value(penalty: Penalty, s: Floats) -> float:
    """Return the value of a penalty as a float."""
    value = _call("value", penalty.value, s)
    if np.ndim(value) != 0:
        raise _Broken(f"value must be one number, but it is an array of shape {np.shape(value)}.")
    return float(value)


def _row(numbers: Floats) -> str:
    """Return a few numbers as they stand in a sentence."""
    return "[" + ", ".join(f"{number:.6g}" for number in numbers) + "]"
