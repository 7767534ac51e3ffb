"""Methods by name, and a method of somebody's own among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tensorfill import CP, Method, complete
from tensorfill.methods.base import Axis, Progress
from tensorfill.methods.registry import METHODS, make_method
from tensorfill.models import CPModel
from tests.refusal import refuses

TABLE = np.full((12, 10, 9), 2.0)


@dataclass(frozen=True, kw_only=True)
class Shrunk(Method):
    """The mean of the entries, times a share that held-out entries choose."""

    share: float | str = "auto"

    @property
    def open_settings(self):
        return ("share",) if self.share == "auto" else ()

    def axes(self, problem, rng):
        return [Axis("share", (0.5, 1.0, 2.0))]

    def prepare(self, problem, start, rng):
        return ShrunkSolver(problem, self.share)


class ShrunkSolver:
    def __init__(self, problem, share):
        shape, mean = problem.observations.shape, problem.observations.values.mean()
        self._model = CPModel(shape, np.array([share * mean]), [np.ones((size, 1)) for size in shape])
        self._objective = problem.value(self._model.predict(problem.observations.coords))

    def progress(self):
        return Progress(self._objective, float("nan"), self._model.ranks)

    def step(self):
        pass

    def model(self):
        return self._model


def test_a_method_that_is_put_into_the_registry_runs_by_its_name(monkeypatch):
    monkeypatch.setitem(METHODS, Shrunk.name, Shrunk)
    rng = np.random.default_rng(0)
    table = np.where(rng.random(TABLE.shape) < 0.7, TABLE + 0.1 * rng.standard_normal(TABLE.shape), np.nan)
    fit = complete(table, method="shrunk", smooth=None, centre=False, rng=0)
    assert fit.method.name == "shrunk"
    assert fit.method.share == 1.0
    assert [point.tried for point in fit.path] == [{"share": 0.5}, {"share": 1.0}, {"share": 2.0}]
    np.testing.assert_allclose(fit.to_dense(), 2.0, atol=0.02)
    given = complete(table, method="shrunk", share=0.5, rng=0)
    assert given.path is None
    np.testing.assert_allclose(given.to_dense(), 1.0, atol=0.02)


def test_without_that_its_name_is_unknown():
    refuses(ValueError, ["method must be one of", "'cp'", "'shrunk'"], lambda: complete(TABLE, method="shrunk"))


def test_a_method_object_runs_without_the_registry():
    fit = complete(TABLE, method=Shrunk(share=1.0), rng=0)
    assert fit.method == Shrunk(share=1.0)
    assert make_method(fit.method) is fit.method


@pytest.mark.parametrize("given", [{"rank": 2}, {"max_iter": 3}])
def test_a_method_object_brings_all_its_settings(given):
    refuses(ValueError, ["method object", *map(repr, given), "CP(...)"], lambda: make_method(CP(), given))


def test_what_is_no_method_is_refused():
    refuses(TypeError, ["method", "'nort'", "3 (int)"], lambda: make_method(3))


def test_cp_is_known_by_another_name():
    assert make_method("cp_wopt", {"rank": 3}) == CP(rank=3)
    assert "cp_wopt" not in METHODS
    fit = complete(TABLE, method="cp_wopt", rank=1, ridge=0.1, rng=0)
    assert fit.method.name == "cp"
