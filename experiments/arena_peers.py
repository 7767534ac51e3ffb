"""The peers of the arena: single methods with the settings that are best at the test entries themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import tensorfill
from tensorfill import Choice, Effects, Interpolation, Observations
from tensorfill.metrics import rmse

from .arena_data import Array

METHODS = ("nort", "grow", "cp", "lrtc", "softimpute", "tucker")
"""The library's methods that are peers."""

FEW_COLUMNS = 20
"""Trees are iterated over the columns of a matrix that has no more than this; more take minutes."""


def peers_of(
    data: Array, test: Observations, ordered: Sequence[int], seed: int, time_limit: float
) -> dict[str, Callable[[], Array]]:
    """Return the peers: each returns its answer at the test entries, with the settings that are best there.

    Parameters
    ----------
    data
        The tensor with holes.
    test
        The hidden entries.
    ordered
        The modes with an order.
    seed
        The seed of every fit.
    time_limit
        Seconds of each fit of the library.
    """
    seen = {"choose": Choice(validation=test), "rng": seed, "time_limit": time_limit, "n_jobs": 1}

    def of_the_library(**given: Any) -> Callable[[], Array]:
        return lambda: np.asarray(tensorfill.complete(data, **given).predict(test.coords))

    peers = {method: of_the_library(method=method, **seen) for method in METHODS}
    peers |= {
        f"interpolation {mode}": of_the_library(method=Interpolation(along=mode), centre=False, smooth=None, rng=0)
        for mode in ordered
    }
    peers["effects"] = of_the_library(method=Effects(), centre=True, smooth=None, rng=0)
    if ordered:
        peers["smooth field"] = of_the_library(method=Effects(), smooth=ordered, **seen)
    if data.ndim == 2:
        peers |= {
            name: lambda tried=tried: _best_imputed(data, test, tried)  # type: ignore[misc]
            for name, tried in _imputers(data.shape[1], seed).items()
        }
    return peers


def _imputers(columns: int, seed: int) -> dict[str, list[Any]]:
    """Return scikit-learn's imputers at some settings."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer
    from sklearn.linear_model import BayesianRidge, Ridge

    linear = [BayesianRidge(), *(Ridge(alpha) for alpha in (1.0, 10.0, 100.0))]
    found = {
        "neighbours": [
            KNNImputer(n_neighbors=count, weights=weights)
            for count in (3, 5, 10, 20)
            for weights in ("uniform", "distance")
        ],
        "regressions": [
            IterativeImputer(model, max_iter=each, n_nearest_features=FEW_COLUMNS, random_state=seed)
            for model in linear
            for each in (3, 10)
        ],
    }
    if columns <= FEW_COLUMNS:
        models = [ExtraTreesRegressor(30, random_state=seed, min_samples_leaf=leaf) for leaf in (1, 3)]
        found["trees"] = [IterativeImputer(model, max_iter=4, random_state=seed) for model in models]
    return found


def _best_imputed(data: Array, test: Observations, tried: Iterable[Any]) -> Array:
    """Return the test entries as that imputer fills them in which is best there."""
    where = tuple(test.coords.T)
    answers = [np.asarray(imputer.fit_transform(data))[where] for imputer in tried]
    return min(answers, key=lambda answer: rmse(answer, test.values))
