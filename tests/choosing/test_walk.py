"""The default search, on methods whose best settings are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tensorfill import Method, Observations, complete
from tensorfill.choosing.context import Context
from tensorfill.choosing.doubts import DoubtfulFitWarning
from tensorfill.choosing.holdout.splits import Split
from tensorfill.choosing.search.trials import Trials, error_of, search_through, standard_error_of
from tensorfill.choosing.search.walk import PATIENCE, Walk
from tensorfill.losses import Square
from tensorfill.methods.base import Axis, Progress
from tensorfill.methods.problem import Problem
from tensorfill.methods.registry import METHODS
from tensorfill.models import Dense


@dataclass(frozen=True, kw_only=True)
class Constant(Method):
    """Predicts level + shift everywhere; the best is level 7 and shift 0.5."""

    level: Any = "auto"
    shift: Any = "auto"

    @property
    def open_settings(self):
        return tuple(name for name in ("level", "shift") if getattr(self, name) == "auto")

    def axes(self, problem, rng):
        axes = [Axis("level", range(1, 100)), Axis("shift", (0.0, 0.25, 0.5, 0.75, 1.0), meanwhile=0.0)]
        return [axis for axis in axes if axis.setting in self.open_settings]

    def prepare(self, problem, start, rng):
        return ConstantSolver(self, problem)


class ConstantSolver:
    def __init__(self, settings, problem):
        self._value, self._problem = settings.level + settings.shift, problem

    def step(self):
        pass

    def progress(self):
        seen = np.full(len(self._problem.observations), float(self._value))
        return Progress(self._problem.value(seen), float("nan"), (0,))

    def model(self):
        return Dense(np.full(self._problem.observations.shape, float(self._value)), (0,))


def observations():
    rng = np.random.default_rng(0)
    return Observations.from_dense(7.5 + 0.1 * rng.standard_normal((12, 10)))


def trials():
    everything = observations()
    training, held_out = everything.split(0.2, rng=0)
    return Trials([Split(Problem(training, Square()), held_out=held_out)], Context(np.random.default_rng(0)))


def test_each_axis_is_walked_from_the_best_of_the_last():
    found = trials()
    search_through(Walk(Constant()), found)
    assert (found.leader.method.level, found.leader.method.shift) == (7, 0.5)
    levels = [point.tried["level"] for point in found.points if point.tried["shift"] == 0]
    assert levels[: 7 + 1] == list(range(1, 9))
    # It stops soon after the best.
    assert max(levels) <= 7 + 1 + PATIENCE
    assert Walk(Constant()).final(found, 500).level == 7


@dataclass(frozen=True, kw_only=True)
class UpAndDown(Constant):
    """Its level is chosen along two axes: upwards and then downwards."""

    def axes(self, problem, rng):
        axes = [Axis("level", (9, 10, 11)), Axis("level", (8, 7, 6)), Axis("shift", (0.0, 0.5), meanwhile=0.0)]
        return [axis for axis in axes if axis.setting in self.open_settings]


def test_a_setting_is_chosen_along_all_its_axes_before_a_method_is_given_up():
    found = trials()
    next(Walk(UpAndDown()).run(found))
    assert [point.tried["level"] for point in found.points] == [9, 10, 8, 7, 6]
    assert {point.tried["shift"] for point in found.points} == {0.0}


def test_a_walk_pauses_after_each_axis():
    found = trials()
    next(Walk(Constant()).run(found))
    assert {point.tried["shift"] for point in found.points} == {0}


def test_only_open_settings_are_walked():
    found = trials()
    search_through(Walk(Constant(level=7)), found)
    assert {point.tried.get("level") for point in found.points} == {None}
    assert found.leader.method.shift == 0.5


def test_a_method_with_nothing_open_is_tried_once():
    found = trials()
    search_through(Walk(Constant(level=7, shift=0.5)), found)
    assert len(found.points) == 1
    assert found.points[0].standard_error == pytest.approx(standard_error_of(found.leader.losses))
    assert found.points[0].held_out == pytest.approx(error_of(found.leader.losses))


def test_the_standard_error_is_that_of_the_error():
    rng = np.random.default_rng(0)
    samples = [error_of(0.5 * rng.standard_normal(400) ** 2) for _ in range(400)]
    typical = standard_error_of(0.5 * rng.standard_normal(400) ** 2)
    assert np.std(samples) == pytest.approx(typical, rel=0.25)
    assert standard_error_of(np.zeros(5)) == 0


def test_a_method_put_into_the_registry_runs_and_says_its_name(monkeypatch):
    monkeypatch.setitem(METHODS, "constant", Constant)
    fit = complete(observations(), method="constant", smooth=None, centre=False, rng=0)
    assert fit.method == Constant(level=7, shift=0.5)
    assert fit.method.name == "constant"
    np.testing.assert_allclose(fit.to_dense(), 7.5)
    _, low, high = fit.predict([[0, 0]], interval=0.8)
    assert 0 < high[0] - low[0] < 1
    assert [point.method.name for point in fit.path] == ["constant"] * len(fit.path)
    with pytest.warns(DoubtfulFitWarning, match="worse than the mean of all entries"):
        half = complete(observations(), method="constant", level=3, smooth=None, centre=False, rng=0)
    assert half.method == Constant(level=3, shift=1.0)
