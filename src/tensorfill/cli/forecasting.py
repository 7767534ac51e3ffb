"""The forecast of a model, which `forecast` writes and `report` shows."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._support.checks import whole_number

if TYPE_CHECKING:
    from ..fit import Fit


def forecast_of_model(given: argparse.Namespace, fit: Fit, horizon: int) -> Fit:
    """Return a model that has its data, with a forecast along the mode of time that --time names, if any."""
    from ..forecasting import forecast_of

    if given.time != "auto":
        fit = replace(fit, recipe=replace(fit.recipe, asked={**fit.recipe.asked, "time": given.time}))
    random = np.random.default_rng(whole_number(given.seed, "--seed"))
    return replace(fit, ahead=forecast_of(fit, horizon, random))
