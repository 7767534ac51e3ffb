"""LATC and TRMF, the library's own methods of the literature, as peers of the experiment on series.

They are run as they are, without centring: the series have mean 0. A period is among the lags of both, and LATC folds
time by the shortest. Their weights are multiples of the units that `complete` takes them from too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from tensorfill import Observations, Problem
from tensorfill.losses import Square

from .arena_data import Array
from .data import DataMissing

FOLDER = "tensorfill.baselines.series"
"""Where both methods are."""

NEAR = (1, 2, 3)
"""The lags beside the periods."""

RIDGE = 1.0
"""The weight of the squares of the factors of TRMF."""

MAX_ITER = 60
"""The most iterations of both."""


def latc_settings(periods: Sequence[int]) -> list[Mapping[str, Any]]:
    """Return the numbers of free singular values and the weights of the autoregression that are tried."""
    tried = ((3, 0.1), (10, 0.1), (20, 0.1), (10, 0.5))
    return [{"periods": tuple(periods), "rank": rank, "lam": lam} for rank, lam in tried]


def trmf_settings(periods: Sequence[int]) -> list[Mapping[str, Any]]:
    """Return the ranks and the weights of the autoregression that are tried."""
    tried = product((10, 30), (30.0, 300.0))
    return [{"periods": tuple(periods), "rank": rank, "lam_time": weight} for rank, weight in tried]


def latc(data: Array, steps: int, periods: tuple[int, ...], rank: int, lam: float) -> Array:
    """Complete by truncated nuclear norms and an autoregression of each series, which also forecasts.

    Parameters
    ----------
    data
        Series by time.
    steps
        The steps to forecast.
    periods
        The periods, the shortest first.
    rank
        How many singular values are free.
    lam
        The weight of the autoregression, in units of the first weight of the low rank.
    """
    module = _module("latc")
    problem = _problem(data)
    method = module.Latc(
        rank=rank,
        lam=lam * module.zeta_unit(problem),
        lags=(*NEAR, *periods),
        along=1,
        period=periods[0] if 2 * periods[0] <= data.shape[1] else 1,
        max_iter=MAX_ITER,
    )
    return _answer(module, method, problem, steps)


def trmf(data: Array, steps: int, periods: tuple[int, ...], rank: int, lam_time: float) -> Array:
    """Complete by a matrix of low rank whose factor of time is autoregressive, and which also forecasts.

    Parameters
    ----------
    data
        Series by time.
    steps
        The steps to forecast.
    periods
        The periods, which are among the lags.
    rank
        The rank, but no more than there are series.
    lam_time
        The weight of the autoregression, for data of deviation 1.
    """
    module = _module("trmf")
    method = module.Trmf(
        rank=min(rank, len(data)), lags=(*NEAR, *periods), lam=RIDGE, lam_time=lam_time, along=1, max_iter=MAX_ITER
    )
    return _answer(module, method, _problem(data), steps)


def _module(name: str) -> Any:
    """Return the module of a method, or raise `DataMissing`: the peer is then left out."""
    try:
        return import_module(f"{FOLDER}.{name}")
    except ImportError as error:
        raise DataMissing(f"this tensorfill has no {FOLDER}.{name}; use a version that has it.") from error


def _problem(data: Array) -> Problem:
    return Problem(Observations.from_dense(data), Square())


def _answer(module: Any, method: Any, problem: Problem, steps: int) -> Array:
    """Return what a method makes of the known entries, and of the steps after them."""
    model = method.solve(problem, rng=0).model
    parts = [model.to_dense(), *([module.forecast(model, steps, method).to_dense()] if steps else [])]
    return np.concatenate([np.asarray(each, dtype=np.float64) for each in parts], axis=1)
