"""The settings of every method in another unit of the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from tensorfill import Nort, Observations, Problem, complete
from tensorfill.algebra.roughness import Roughness
from tensorfill.losses import Square
from tensorfill.losses.robust import Robust
from tensorfill.methods.nort.smoothing import SmoothedNort
from tensorfill.methods.registry import METHODS
from tensorfill.penalties import LSP, MCP, SCAD, CappedL1, Nuclear
from tests.refusal import refuses

from .test_contract import GIVEN, LOSS

MORE = [
    ("nort", {"lam": 2.0, "penalty": "nuclear", "tau": 1.5}),
    ("nort", {"lam": (2.0, 0.5, 1.0), "penalty": "mcp", "theta": 3.0}),
    ("nort", {"lam": 1.0, "penalty": ("mcp", "scad", CappedL1(4.0)), "theta": (2.0, 3.7, "auto")}),
    ("nort", {"lam": 1.0, "penalty": "tnn", "theta": 1}),
    ("gdpan", {"lam": 1.0, "penalty": SCAD(3.7, 2.0)}),
    ("admm", {"lam": 0.5, "zeta": 0.3}),
    ("lrtc", {"observed": "fixed", "penalty": "nuclear", "zeta": 0.05}),
    ("lrtc", {"observed": "fixed", "penalty": "tnn", "theta": 0.2, "lam": 0.3}),
    ("halrtc", {"weights": 1.0, "zeta": 0.05}),
    ("tennn", {"along": 2, "zeta": 0.05}),
    ("rtdgc", {"lam": 1.0, "zeta": 0.05}),
]
"""Settings with a unit that the examples of the contract leave out."""

SMOOTH = sorted((name, settings) for name, settings in GIVEN.items() if name not in LOSS)
"""Methods for the square loss."""

EXPONENT = 9

LOOSER = {"tucker": 1e-2, "trmm": 1e-2, "rescal": 1e-2}
"""Methods whose first steps are not the same in every unit, but whose answers are, to the tolerance."""


@pytest.fixture(scope="module")
def entries():
    rng = np.random.default_rng(0)
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in (10, 9, 8)))
    return Observations.from_dense(truth + 0.1 * rng.standard_normal(truth.shape), rng.random(truth.shape) < 0.6)


def both(method, entries, loss, power):
    """Return the results for data and for a multiple of it, with the settings in its unit."""
    larger = entries.with_values(entries.values * 2.0**EXPONENT)
    return [
        each.solve(Problem(data, loss), rng=0)
        for each, data in ((method, entries), (method.in_unit(-EXPONENT, power, 3), larger))
    ]


@pytest.mark.parametrize(("name", "settings"), [*SMOOTH, *MORE], ids=lambda value: str(value)[:40])
def test_a_multiple_of_the_data_has_the_multiple_of_the_answer(name, settings, entries):
    many = 300 if name == "rescal" else 60 if name in LOOSER else 8
    method = METHODS[name](**settings, max_iter=many, tol=1e-12)
    if name == "rescal":
        entries = Observations.from_dense(entries.to_dense()[:9])
    one, other = both(method, entries, Square(), 2)
    dense, tolerance = one.model.to_dense(), LOOSER.get(name, 1e-8)
    assert np.abs(dense).max() > 0.1
    np.testing.assert_allclose(other.model.to_dense() / 2.0**EXPONENT, dense, atol=tolerance * np.abs(dense).max())
    times = 2.0 ** (EXPONENT * method.powers(2, 3)["objective"])
    assert other.history[-1].objective == pytest.approx(times * one.history[-1].objective, rel=tolerance)


@pytest.mark.parametrize("penalty", [Nuclear(), LSP(2.0)], ids=str)
def test_robust_losses(penalty, entries):
    method = SmoothedNort(lam=1.0, penalty=MCP(4.0), max_iter=8)
    power = penalty.power
    larger = LSP(2.0 * 2.0**EXPONENT) if isinstance(penalty, LSP) else penalty
    one = method.solve(Problem(entries, Robust(penalty)), rng=0)
    data = entries.with_values(entries.values * 2.0**EXPONENT)
    other = method.in_unit(-EXPONENT, power, 3).solve(Problem(data, Robust(larger)), rng=0)
    np.testing.assert_allclose(other.model.to_dense() / 2.0**EXPONENT, one.model.to_dense(), atol=1e-8)
    objective = one.history[-1].objective * 2.0 ** (EXPONENT * power)
    assert other.history[-1].objective == pytest.approx(objective)


@pytest.mark.parametrize(("name", "settings"), [*sorted(GIVEN.items()), *MORE], ids=lambda value: str(value)[:40])
def test_there_and_back(name, settings):
    method = METHODS[name](**settings)
    there = method.in_unit(40, 2, 3)
    assert there.in_unit(-40, 2, 3).in_unit(40, 2, 3) == there


def test_what_is_open_stays_open_and_a_penalty_of_unknown_unit_is_refused():
    assert Nort().in_unit(7, 2, 3) == Nort()

    class Own:
        def value(self, s):
            return s.sum()

        def prox(self, s, weight):
            return np.maximum(s - weight, 0)

    refuses(ValueError, ["unit of the data is not known"], lambda: Nort(lam=1.0, penalty=Own()).in_unit(7, 2, 3))
    mixed = Nort(lam=1.0, penalty=("lsp", "mcp", "mcp"))
    refuses(ValueError, ["have no unit in common"], lambda: mixed.in_unit(7, 2, 3))


@pytest.mark.parametrize("name", ["nort", "pa_apg", "gdpan"])
def test_a_tau_below_the_curvature_is_refused_before_any_work(name, entries):
    words = ["tau must be at least 1,", "0.99 was given", "leave it out"]
    refuses(ValueError, words, lambda: complete(entries, method=name, tau=0.99))
    refuses(ValueError, words, lambda: METHODS[name](**GIVEN[name], tau=0.99).solve(Problem(entries, Square())))
    assert METHODS[name](**GIVEN[name], tau=1.0, max_iter=2).solve(Problem(entries, Square()), rng=0).model.shape
    if name == "nort":
        problem = Problem(entries, Square(), roughness=Roughness({0: scipy.sparse.eye_array(10)}, 1.0))
        refuses(ValueError, ["must be at least 2", "1.5 was given"], lambda: Nort(lam=1.0, tau=1.5).solve(problem))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("nort", {}),
        ("nort", {"penalty": "mcp"}),
        ("nort", {"penalty": "tnn", "theta": 1}),
        ("softimpute", {}),
        ("gdpan", {}),
        ("admm", {}),
        ("rtdgc", {}),
    ],
)
def test_a_lambda_below_the_rounding_of_the_data_is_refused_before_any_work(name, settings, entries):
    words = ["lam=", "the rounding of the largest", "lam=0"]
    for lam in (1e-300, 1e-40):
        refuses(ValueError, words, lambda lam=lam: complete(entries, method=name, lam=lam, **settings))
    for lam in (0.0, 1e-8):
        METHODS[name](lam=lam, **settings).check(Problem(entries, Square()))
    METHODS[name](lam=1.0, **settings).check(Problem(entries.with_values(np.zeros(len(entries))), Square()))


@pytest.mark.parametrize("name", ["cp", "tucker", "ffw", "trmm"])
def test_other_methods_take_any_weight(name, entries):
    weight = "ridge" if "ridge" in GIVEN[name] else "lam"
    fit = complete(entries, method=name, **{**GIVEN[name], weight: 1e-300}, max_iter=5, rng=0, time_limit=20)
    assert np.isfinite(fit.to_dense()).all()


def test_a_penalty_that_only_shrinks_is_not_taken_for_a_small_one(entries):
    class Squared:
        def value(self, s):
            return 0.5 * float(s @ s)

        def prox(self, s, weight):
            return s / (1 + weight)

    result = Nort(lam=1.0, penalty=Squared(), max_rank=2, max_iter=3).solve(Problem(entries, Square()), rng=0)
    assert result.history[-1].objective < result.history[0].objective
