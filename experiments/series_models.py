"""Peers from scikit-learn and statsmodels: regressions on neighbours, and state space models.

These libraries are slow on long series. So that a contest takes minutes, forecasts follow from the last `RECENT` steps,
parameters of structural models are estimated on no more than `ESTIMATED` steps and then smooth all of them, and
dynamic factors get series in pieces of `PIECE` steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arena_data import Array, packaged

RECENT = 1500
"""Forecasts are made from this many of the last steps."""

ESTIMATED = 1000
"""Parameters of a structural model are estimated on this many steps."""

PIECE = 1500
"""Dynamic factors are estimated on so many steps at a time."""

MANY = 100
"""With more columns than this, regressions are iterated five times, and otherwise ten."""

OWN_MEMORY = 30
"""Up to this many series, what the factors leave of each follows an autoregression too; more take too long."""

EM_STEPS = 30
"""Steps of expectation maximisation for dynamic factors."""

FORMS: dict[str, dict[str, Any]] = {
    "level": {"level": "llevel"},
    "trend": {"level": "lltrend"},
    "AR": {"level": "fixed intercept", "autoregressive": 2},
}
"""What a structural model has beside the season and the noise."""

HARMONICS = 4
"""The sines and cosines of a long season."""


def regressions(data: Array, steps: int, period: int) -> Array:
    """Impute each series from the others, one step before and after, and one period before and after."""
    packaged("sklearn")
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer
    from sklearn.linear_model import BayesianRidge

    filled = _extended(data, steps)
    series = filled[:, -_kept(data, steps) - steps :]
    columns = np.vstack([series, *(_shifted(series, lag) for lag in (-1, 1, -period, period))])
    imputer = IterativeImputer(
        BayesianRidge(),
        max_iter=5 if len(columns) > MANY else 10,
        n_nearest_features=20,
        keep_empty_features=True,
        random_state=0,
    )
    filled[:, -series.shape[1] :] = imputer.fit_transform(columns.T).T[: len(data)]
    return filled


def structural(data: Array, steps: int, form: str, periods: tuple[int, ...]) -> Array:
    """Smooth each series by a level, a season and noise, estimated by maximum likelihood, and forecast by the same.

    Parameters
    ----------
    data
        Series by time.
    steps
        The steps to forecast.
    form
        One of `FORMS`.
    periods
        The periods; one of up to 12 steps has a seasonal effect for each step, a longer one a few harmonics.
    """
    models = packaged("statsmodels.api").tsa
    given: dict[str, Any] = dict(FORMS[form])
    if periods[0] <= 12:
        given["seasonal"] = periods[0]
    else:
        given["freq_seasonal"] = [{"period": each, "harmonics": HARMONICS} for each in periods]
    kept = _kept(data, steps)
    filled = _extended(data, steps)
    for row in filled:
        recent = row[-kept - steps :]
        estimated = models.UnobservedComponents(recent[: len(recent) - steps][-ESTIMATED:], **given)
        params = estimated.fit(disp=0, maxiter=30).params
        smoothed = models.UnobservedComponents(recent, **given).smooth(params)
        answer = smoothed.model.ssm["design"][0] @ smoothed.smoothed_state
        row[-len(recent) :] = np.where(np.isfinite(recent), recent, answer)
    return filled


def dynamic_factors(data: Array, steps: int, period: int, factors: int) -> Array:
    """Smooth and forecast by a few factors that follow autoregressions, estimated by expectation maximisation.

    Parameters
    ----------
    data
        Series by time.
    steps
        The steps to forecast.
    period
        The means of the slots of this period are subtracted before.
    factors
        How many factors there are.
    """
    extended = _extended(data, steps)
    recent = extended[:, -_kept(data, steps) - steps :]
    season = _slot_means(recent, period)
    count = max(round(recent.shape[1] / PIECE), 1)
    pieces = np.array_split(recent - season, count, axis=1)
    answer = season + np.concatenate([_smoothed_by_factors(piece, factors) for piece in pieces], axis=1)
    recent[:] = np.where(np.isfinite(recent), recent, answer)
    return extended


def _smoothed_by_factors(series: Array, factors: int) -> Array:
    models = packaged("statsmodels.api").tsa
    known = np.isfinite(series).any(axis=1)
    # The sets have deviation 1, and statsmodels' own standardising makes NaN of series with holes.
    model = models.DynamicFactorMQ(
        series[known].T,
        factors=factors,
        factor_orders=1,
        idiosyncratic_ar1=int(known.sum()) <= OWN_MEMORY,
        standardize=False,
    )
    fitted = model.fit(disp=0, maxiter=EM_STEPS)
    answer = np.zeros_like(series)
    answer[known] = fitted.model.ssm["design"] @ fitted.smoothed_state
    return answer


def _kept(data: Array, steps: int) -> int:
    """Return how many of the last steps are used."""
    return min(RECENT, data.shape[1]) if steps else int(data.shape[1])


def _extended(data: Array, steps: int) -> Array:
    """Return the series with unknown steps after their end."""
    return np.pad(data, ((0, 0), (0, steps)), constant_values=np.nan)


def _shifted(series: Array, lag: int) -> Array:
    """Return what each series is `lag` steps later."""
    moved = np.full_like(series, np.nan)
    if lag > 0:
        moved[:, :-lag] = series[:, lag:]
    else:
        moved[:, -lag:] = series[:, :lag]
    return moved


def _slot_means(series: Array, period: int) -> Array:
    """Return each entry's mean over the known entries in the same slot of the period."""
    slots: NDArray[np.intp] = np.arange(series.shape[1]) % period
    known = np.isfinite(series)
    sums, counts = (
        np.stack([np.bincount(slots, row, minlength=period) for row in rows])
        for rows in (np.where(known, series, 0.0), known.astype(float))
    )
    overall = sums.sum(axis=1, keepdims=True) / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    means: Array = np.where(counts > 0, sums / np.maximum(counts, 1), overall)[:, slots]
    return means
