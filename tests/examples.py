"""Small fits that several tests look at; each is made once in a run of the tests."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

import tensorfill
from tensorfill import Fit, Nort, Observations, Status
from tensorfill.choosing.error_bars import ErrorBars
from tensorfill.choosing.holdout.kinds import Holdout
from tensorfill.choosing.stages.smooth_field import SmoothField
from tensorfill.labels import Labelled, Labels
from tensorfill.methods.base import History, Record
from tensorfill.models import Dense
from tensorfill.penalties import LSP

NASTY = "<script>alert(1)</script>"
QUOTED = '"it\'s" $x_{ & _y'


def _low_rank(shape, rank=2, noise=0.01, rng=0):
    random = np.random.default_rng(rng)
    factors = [random.random((size, rank)) + 0.2 for size in shape]
    values = np.einsum(",".join(f"{chr(97 + m)}r" for m in range(len(shape))) + "->" + "abcdef"[: len(shape)], *factors)
    return values + noise * random.standard_normal(shape)


@functools.cache
def truth():
    """Return the tensor behind `labelled`."""
    return 100 * _low_rank((12, 15, 9))


@functools.cache
def labelled():
    """Return a fit by NORT with labels, held-out entries and a path, which holds its data densely."""
    array = truth().copy()
    array[np.random.default_rng(1).random(array.shape) < 0.3] = np.nan
    stations = np.array([NASTY, QUOTED, *(f"station {place}" for place in range(10))], dtype=object)
    days = np.datetime64("2024-02-25") + np.arange(15)
    labels = Labels(("station", "day", "hour <b>"), (stations, days, None), "flow & <i>more</i>")
    data = Labelled(Observations.from_dense(array), labels)
    return tensorfill.complete(data, method="nort", smooth=None, centre=False, rng=0)


@functools.cache
def forecast():
    """Return a fit of series over two-hour steps of some days, with gaps and a forecast of eight steps."""
    rng = np.random.default_rng(0)
    hours = np.arange(240)
    waves = np.outer([1.0, 2.0, 3.0, 4.0], np.sin(hours * 2 * np.pi / 12)) + 0.1 * rng.standard_normal((4, 240))
    waves[rng.random(waves.shape) < np.array([[0.05], [0.1], [0.3], [0.2]])] = np.nan
    labels = Labels(("station", "day", "hour"), (None, np.datetime64("2024-03-01") + np.arange(20), None), "flow")
    data = Labelled(Observations.from_dense(waves.reshape(4, 20, 12)), labels)
    return tensorfill.complete(data, method="seasonal_ar", time=("day", "hour"), horizon=8, rng=0)


@functools.cache
def given():
    """Return a fit of sparse observations without labels, whose settings were given."""
    data = tensorfill.datasets.synthetic((30, 25, 20), rank=2, rng=0)
    return tensorfill.complete(data.observations, lam=0.05, penalty="capped_l1", theta=0.8, max_rank=3, rng=0)


@functools.cache
def logistic():
    """Return a fit of zeros and ones."""
    likes = (_low_rank((14, 13), rank=1) > 0.5).astype(float)
    likes[np.random.default_rng(2).random(likes.shape) < 0.3] = np.nan
    return tensorfill.complete(likes, loss="logistic", lam=0.5, rng=0)


@functools.cache
def of_two_values(low):
    """Return a fit of probabilities of low rank, with held-out entries and one setting to choose."""
    rng = np.random.default_rng(0)
    chance = 1 / (1 + np.exp(-3 * np.outer(rng.standard_normal(40), rng.standard_normal(30))))
    values = np.where(rng.random(chance.shape) < chance, 1.0, low)
    values[rng.random(chance.shape) < 0.2] = np.nan
    return tensorfill.complete(values, loss="logistic", method="cp", rank=1, choose=tensorfill.Choice(), rng=0)


@functools.cache
def picture():
    """Return a picture in colour, and a fit of it that is a smooth field alone, stored entry by entry."""
    rows, columns = np.mgrid[0:1:24j, 0:1:20j]
    whole = np.stack([rows, columns, 0.5 + 0.4 * np.sin(3 * rows + 4 * columns)], axis=2)
    seen = np.broadcast_to(np.random.default_rng(3).random((24, 20, 1)) > 0.4, whole.shape)
    recipe = dataclasses.replace(
        given().recipe,
        method=Nort(lam=(1.0, 1.0), penalty=LSP(1.0), modes=(0, 1), max_rank=(3, 3)),
        holdout=Holdout((1, 1, 3), whole.shape),
        after=(SmoothField({0: 1.0, 1: 0.5}, 0.1, low_rank=False),),
    )
    fit = Fit(
        model=Dense(0.9 * whole + 0.05, (0, 0)),
        status=Status.CONVERGED,
        history=History([Record(0, 0.0, 2.0, 2.0, (0, 0)), Record(1, 0.1, 1.0, 1.0, (0, 0))]),
        recipe=recipe,
        error_bars=ErrorBars(np.abs(np.random.default_rng(4).normal(0, 0.03, 80))),
        bounds=(0, 1),
        observations=Observations.from_dense(whole, seen),
    )
    return fit, whole


@functools.cache
def of_method(*names):
    """Return a fit by another method than NORT, whose settings were chosen, or by the best of several methods."""
    data = tensorfill.datasets.synthetic((14, 13, 12), rank=2, rng=0)
    method = names[0] if len(names) == 1 else list(names)
    return tensorfill.complete(data.observations, method=method, smooth=None, centre=False, rng=0)


def tucker():
    """Return a fit by another method than NORT, whose rank was chosen."""
    return of_method("tucker_als")


def several():
    """Return a fit for which two methods were tried."""
    return of_method("nort", "tucker_als")
