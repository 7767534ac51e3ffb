"""Square finds: scores from least squares, where a fit by the true loss starts.

Least squares have a fast and reliable solver. What they find of yes and no, or of counts, is about a straight line away
from scores:

    score = a + b * (least squares of the observed minus the expected values),

with a and b by the true loss. From there, the true loss has few steps to go, and ends in better minima than from terms
that are appended one by one, where one value is rare.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._support.clock import Clock
from ..losses import Square, expected, restore
from ..losses.links import Link, calibrated
from ..models import CPModel, Model
from .base import Callback, Record, Result
from .grow import Grow
from .problem import Problem


def scores_by_least_squares(
    problem: Problem, rank: int, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
) -> Result:
    """Return scores as a sum of outer products, by least squares and a calibration.

    Parameters
    ----------
    problem
        The observed entries and the loss of scores. If it has an offset, as after centring, scores are added to that.
    rank
        The number of terms. Without an offset, the last one is the constant a, so there must be two or more.
    rng, callback, clock
        As in `Method.solve`.
    """
    observations, loss = problem.observations, problem.loss
    seen = restore(loss, observations.values)
    offset = np.zeros_like(seen) if problem.offset is None else problem.offset
    terms = rank - 1 if problem.offset is None else rank

    def as_scores(model: Model) -> Model:
        link = calibrated(loss, Link(), model.predict(observations.coords), observations.values, offset)
        scaled = model.scaled(link.slope)
        if problem.offset is not None or not isinstance(scaled, CPModel):
            return scaled
        columns = [np.ones((size, 1), scaled.dtype) for size in scaled.shape]
        return scaled.plus(CPModel(scaled.shape, np.array([link.intercept], scaled.dtype), columns))

    def shown(record: Record, model: Model) -> object:
        return callback is not None and callback(record, as_scores(model))

    squares = Problem(observations.with_values(seen - expected(loss, offset)), Square())
    method = Grow(rank=terms, form="cp")
    result = method.solve(squares, rng=rng, callback=None if callback is None else shown, clock=clock)
    return replace(result, model=as_scores(result.model))
