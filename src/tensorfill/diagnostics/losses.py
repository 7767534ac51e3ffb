"""Checks for losses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._support.checks import finite_values, generator, real_array
from .._support.types import Floats
from ..losses import Loss, make_loss, prepare
from .report import Broken, Report, call, furthest, lies_between, name_of

POINTS = 400
"""The number of points at which a loss is tried."""


def check_loss(
    loss: str | Loss, observed: ArrayLike | None = None, rng: int | np.random.Generator | None = 0
) -> Report:
    """Check that the value, the derivative and the curvature of a loss agree.

    The derivative is compared with finite differences of the value. With the curvature, the parabola
    value(x) + derivative(x) (y - x) + curvature / 2 (y - x)^2 must lie above value(y) for every two predictions x
    and y, so that a method with the step size 1 / curvature never increases the objective. A kink is allowed only where
    the loss bends down, for example where an outlier loses its influence. Results must keep shape and dtype, leave the
    given arrays unchanged, and treat each entry by itself. Values must be finite and at least 0. If the loss has the
    optional method `restored`, it must be the inverse of `prepared`.

    Parameters
    ----------
    loss : str or Loss
        The loss, or the name of one.
    observed : array, optional
        Observed values to try, such as some of your data. They are needed if the loss takes only special values and has
        no method `prepared` that refuses others. By default values around 0, counts, -1 and +1, or 0 and 1 are tried,
        whichever the loss takes.
    rng : int or numpy Generator, optional
        The seed or generator of the points that are tried.

    Returns
    -------
    Report
        ``report.ok`` is True if nothing is wrong, and ``print(report)`` shows what is.

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
    source = generator(rng)
    with np.errstate(all="ignore"):
        try:
            samples = _samples(loss, observed, source)
            restored = [finding for sample in samples for finding in _restored_findings(sample)]
            points = _Points.around(samples[0].values, source)
            return Report(name_of(loss), (*restored[:1], *_findings(samples[0].loss, points, source)))
        except Broken as broken:
            return Report(name_of(loss), (str(broken),))


@dataclass(frozen=True, eq=False)
class _Sample:
    """Observed values, raw and prepared by the loss.

    Parameters
    ----------
    given
        The values as they were given.
    loss, values
        The loss and the values as a method uses them.
    """

    given: Floats
    loss: Loss
    values: Floats


def _samples(loss: Loss, observed: ArrayLike | None, rng: np.random.Generator) -> list[_Sample]:
    """Return values that the loss accepts: those of the user, or several common kinds."""
    if observed is not None:
        given = real_array(observed, "observed").ravel()
        finite_values(given)
        if given.size == 0:
            raise ValueError("observed must hold at least one value, but none was given.")
        return [_sample(loss, given)]
    usual = [
        3.0 * rng.standard_normal(50),
        rng.poisson(4.0, 50).astype(np.float64),
        rng.choice([-1.0, 1.0], 50),
        rng.choice([0.0, 1.0], 50),
    ]
    found = []
    for given in usual:
        try:
            found.append(_sample(loss, given))
        except ValueError:
            continue
    if not found:
        raise ValueError(
            f"observed must be given for the loss {name_of(loss)}, as its method prepared refuses numbers around 0, "
            "counts, -1 and 1, and 0 and 1; give some of your data."
        )
    return found


def _sample(loss: Loss, given: Floats) -> _Sample:
    """Return values prepared by the loss, or raise a ValueError if it refuses them."""
    try:
        result = prepare(loss, given.copy())
    except ValueError:
        # The loss refuses the values, and its message says why.
        raise
    except Exception as error:
        raise Broken(f"prepared raised {type(error).__name__}: {error}") from error
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Loss)):
        raise Broken("prepared must return a pair, the loss and the observed values, but it does not.")
    if np.shape(result[1]) != given.shape:
        raise Broken(f"prepared turns values of shape {given.shape} into shape {np.shape(result[1])}.")
    return _Sample(given, *result)


def _restored_findings(sample: _Sample) -> Iterator[str]:
    """Yield a sentence if the optional `restored` does not give back the values before `prepared`."""
    restored = getattr(sample.loss, "restored", None)
    if restored is None:
        return
    back = np.asarray(call("restored", restored, sample.values.copy()))
    if back.shape != sample.given.shape:
        yield f"restored turns values of shape {sample.given.shape} into shape {back.shape}."
        return
    wrong = ~np.isclose(back, sample.given, rtol=1e-9, atol=1e-12)
    if wrong.any():
        at = int(wrong.argmax())
        yield (
            f"restored must be the inverse of prepared, but the observed value {sample.given[at]:.6g} becomes "
            f"{sample.values[at]:.6g} and then {back[at]:.6g}."
        )


@dataclass(frozen=True)
class _Points:
    """Predictions and observed values to try, and the distance within which to look."""

    prediction: Floats
    observed: Floats
    width: Floats

    @classmethod
    def around(cls, values: Floats, rng: np.random.Generator) -> _Points:
        """Return predictions near the observed value or near 0, on a scale of 1 or on that of the values."""
        observed = rng.choice(values, POINTS)
        spread = float(np.std(values))
        width = rng.choice([1.0, spread if spread > 0 else 1.0], POINTS)
        offset = width * rng.standard_normal(POINTS) * 10.0 ** rng.uniform(-2.0, 0.5, POINTS)
        return cls(rng.choice([0.0, 1.0], POINTS) * observed + offset, observed, width)


def _findings(loss: Loss, points: _Points, rng: np.random.Generator) -> Iterator[str]:
    """Yield what is wrong with a loss."""
    misshapen = list(_form_findings(loss, points))
    if misshapen:
        # Without the right shape there are no entries to compare.
        yield from misshapen
        return
    yield from _value_findings(loss, points)
    wrong = list(_derivative_findings(loss, points))
    yield from wrong
    curvature = call("curvature", lambda: float(loss.curvature))
    if not (math.isfinite(curvature) and curvature > 0):
        yield f"curvature must be a finite number above 0, but it is {curvature:g}."
    elif not wrong:
        # The parabola starts along the derivative, so a wrong derivative would be reported twice.
        yield from _curvature_findings(loss, curvature, points, rng)


def _form_findings(loss: Loss, points: _Points) -> Iterator[str]:
    """Yield where shape or dtype are lost, an argument is overwritten or entries are mixed."""
    for name, arguments in [("value", 2), ("derivative", 2), ("mean", 1)]:
        function = getattr(loss, name, None)
        if function is None:
            continue
        for dtype in [np.float64, np.float32]:
            for shape in [(6,), (2, 3), (0,)]:
                size = math.prod(shape)
                # Only near the observed values, where the result does not overflow float32.
                given = [points.observed[:size].reshape(shape).astype(dtype) for _ in range(2)][:arguments]
                given[0] += given[0].dtype.type(0.5)
                before = [array.copy() for array in given]
                result = np.asarray(call(name, function, *given))
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
        whole = call(name, function, *both)
        alone = call(name, function, *(array[:7] for array in both))
        if not np.allclose(whole[:7], alone, rtol=1e-9, atol=1e-12, equal_nan=True):
            yield f"{name} of an entry depends on the other entries beside it, but must be that of the entry alone."


def _value_findings(loss: Loss, points: _Points) -> Iterator[str]:
    """Yield where a value or a derivative is not finite, or a value is negative."""
    far = float(points.width.max()) * np.array([0.0, 1e3, -1e3])
    observed = np.concatenate([points.observed, points.observed[:3], points.observed[:3]])
    prediction = np.concatenate([points.prediction, points.observed[:3], far])
    value = call("value", loss.value, prediction, observed)
    derivative = call("derivative", loss.derivative, prediction, observed)
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
    """Yield where the derivative is not that of the value."""
    x, o = points.prediction, points.observed
    here = call("value", loss.value, x, o)
    derivative = call("derivative", loss.derivative, x, o)
    compared, agrees = np.zeros((2, *x.shape), dtype=bool)
    # A long step loses few digits, and a short one crosses few kinks; a correct derivative agrees with at least one.
    for size in [1e-3, 1e-9, 1e-7, 1e-5]:
        length = size * np.maximum(1.0, 1e-6 * np.abs(x))
        right, left = x + length, x - length
        above, below = (call("value", loss.value, y, o) for y in [right, left])
        forward, backward = (above - here) / (right - x), (here - below) / (x - left)
        scale = np.maximum(1.0, np.maximum(np.abs(forward), np.abs(backward)))
        rounding = 1e-14 * np.maximum(np.abs(above), np.abs(below)) / length
        # The derivative lies between the two differences, even at a kink.
        inside = lies_between(derivative, forward, backward, rounding + 1e-6 * scale)
        # A difference lost in rounding proves nothing, and a NaN is reported elsewhere.
        comparable = (rounding <= 1e-2 * scale) & np.isfinite(derivative)
        compared |= comparable
        agrees |= comparable & inside
    wrong = compared & ~agrees
    if wrong.any():
        difference = 0.5 * (forward + backward)
        at = furthest(wrong, np.abs(derivative - difference))
        yield (
            f"derivative at {_place(x[at], o[at])} is {derivative[at]:.6g}, "
            f"but finite differences of value give {difference[at]:.6g}."
        )


def _curvature_findings(loss: Loss, curvature: float, points: _Points, rng: np.random.Generator) -> Iterator[str]:
    """Yield where the parabola does not lie above the loss."""
    x, o = points.prediction, points.observed
    value = call("value", loss.value, x, o)
    derivative = call("derivative", loss.derivative, x, o)
    reach = points.width * rng.choice([-1.0, 1.0], len(x)) * rng.uniform(0.5, 1.0, len(x))
    # To points at every distance, and to the observed value, near which many losses bend most.
    for y in [*(x + reach * scale for scale in [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]), o]:
        reached = call("value", loss.value, y, o)
        parabola = value + derivative * (y - x) + 0.5 * curvature * (y - x) ** 2
        excess = reached - parabola
        largest = np.maximum(np.abs(value), np.abs(reached)) + np.abs(derivative * (y - x))
        # The terms of a formula such as exp(x) - o x may be larger than their difference.
        rounding = 1e-12 * largest + 1e-15 * np.abs(y * o)
        wrong = excess > rounding + 1e-9 * curvature * (y - x) ** 2
        if wrong.any():
            at = furthest(wrong, excess)
            needed = 2 * (reached - value - derivative * (y - x))[at] / (y - x)[at] ** 2
            yield (
                f"curvature is {curvature:.6g}, but from prediction {x[at]:.6g} to {y[at]:.6g}, observed {o[at]:.6g}, "
                f"the loss rises by as much as with a curvature of {needed:.6g}; give a larger bound."
            )
            return


def _place(prediction: float, observed: float) -> str:
    """Return the description of a point, for a finding."""
    return f"prediction {prediction:.6g}, observed {observed:.6g}"
