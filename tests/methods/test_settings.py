"""Settings that are declared once: what a subclass keeps, and what is checked again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tensorfill import Method, Observations, Problem
from tensorfill.losses import Square
from tensorfill.methods.registry import METHODS
from tensorfill.methods.settings import (
    Axis,
    auto_or,
    declared,
    loss_less,
    one_axis,
    real,
    searched,
    setting,
    weight_path,
)
from tests.refusal import refuses

SEEN = []


def seen(value, name):
    SEEN.append((name, value))
    real(at_least=0)(value, name)


@dataclass(frozen=True, kw_only=True)
class Weighed(Method):
    rank: int | str = setting(
        "auto", path=one_axis("rank", lambda method, problem: range(1, problem.observations.ndim))
    )
    ridge: float | str = setting(
        "auto", check=auto_or(seen), power=loss_less(2), path=weight_path("ridge", 1.0, (3.0,), (0.3,))
    )

    def prepare(self, problem, start, rng):
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Stronger(Weighed):
    ridge: float | str = 5.0
    tol: float = setting(0.5, power=1)


@pytest.fixture
def problem():
    return Problem(Observations.from_dense(np.ones((3, 3, 3))), Square())


def test_what_is_open_and_its_axes_follow_from_the_declarations(problem):
    rng = np.random.default_rng(0)
    assert searched(Weighed) == Weighed().open_settings == ("rank", "ridge")
    rank, *ridges = Weighed().axes(problem, rng)
    assert rank == Axis("rank", range(1, 3))
    assert ridges == [Axis("ridge", [3.0], meanwhile=1.0), Axis("ridge", [0.3], meanwhile=1.0)]
    assert Weighed(rank=2).axes(problem, rng)[0] == Axis("ridge", [1.0, 3.0], meanwhile=1.0)
    assert Weighed(rank=2, ridge=1.0).axes(problem, rng) == []


def test_a_subclass_keeps_what_it_does_not_name():
    assert declared(Stronger)["ridge"] == declared(Weighed)["ridge"]
    assert Stronger().open_settings == ("rank",)
    assert Stronger(ridge="auto").open_settings == ("rank", "ridge")
    assert Stronger().powers(2, 3) == {"objective": 2, "ridge": 0, "tol": 1}
    refuses(ValueError, ["ridge", "-1"], lambda: Stronger(ridge=-1))
    refuses(ValueError, ["tol", "-1"], lambda: Stronger(tol=-1))


def test_a_sound_value_is_looked_at_once_and_a_bad_one_always():
    SEEN.clear()
    method = Weighed(ridge=0.125)
    for rank in range(1, 10):
        method = replace(method, rank=rank)
    assert SEEN == [("ridge", 0.125)]
    for _ in range(2):
        refuses(ValueError, ["ridge", "-0.125"], lambda: Weighed(ridge=-0.125))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_equal_values_of_another_type_are_looked_at(name):
    METHODS[name](max_iter=1)
    refuses(TypeError, ["max_iter", "True (bool)"], lambda: METHODS[name](max_iter=True))
    refuses(TypeError, ["max_iter", "1.0 (float)"], lambda: METHODS[name](max_iter=1.0))
