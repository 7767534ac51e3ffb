"""Links: the curve, its derivative, its bounds, and the calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tensorfill.losses import Huber, Logistic, Poisson, Square, prepare
from tensorfill.losses.links import Link, Through, calibrated, link_for
from tests.refusal import refuses

LINKS = [
    Link(),
    Link(intercept=0.3, slope=2.0),
    Link(low=0.0, width=0.1),
    Link(high=1.0, width=0.3, slope=0.5),
    Link(low=-1.0, high=1.0, width=0.05, intercept=-0.2, slope=1.5),
]
NEAR = np.linspace(-1.5, 1.5, 61)

every_link = pytest.mark.parametrize("link", LINKS, ids=str)


@every_link
def test_the_derivative_is_that_of_the_curve_and_never_zero(link):
    step = 1e-6
    slopes = (link(NEAR + step) - link(NEAR - step)) / (2 * step)
    np.testing.assert_allclose(link.derivative(NEAR), slopes, rtol=1e-5)
    assert (link.derivative(np.linspace(-100, 100, 999)) > 0).all()


@every_link
def test_float32_stays_so_and_far_estimates_are_finite(link):
    far = np.array([-1e4, -3.0, 0.5, 1e4], np.float32)
    assert link(far).dtype == link.derivative(far).dtype == np.float32
    assert np.isfinite(link(far)).all()
    assert (np.diff(link(far)) > 0).all()


def test_inside_the_bounds_the_score_of_an_estimate_is_its_own():
    inside = np.array([0.2, 0.5, 0.7])
    np.testing.assert_allclose(Logistic(low=0.0).mean(Link(0.0, 1.0, 0.005)(inside)), inside, rtol=1e-9)
    rates = np.array([0.5, 3.0, 40.0])
    np.testing.assert_allclose(Poisson().mean(Link(low=0.0, width=0.01)(rates)), rates, rtol=1e-9)


def test_the_bounds_and_the_unit_of_the_width_come_from_the_data():
    loss, values = prepare(Logistic(), np.array([0.0, 0.0, 0.0, 1.0]))
    assert link_for(loss, values, 0.1) == Link(0.0, 1.0, 0.025)
    loss, values = prepare(Logistic(), np.array([-1.0, 1.0, 1.0, 1.0]))
    assert link_for(loss, values, 0.1) == Link(-1.0, 1.0, 0.05)
    assert link_for(Poisson(), np.array([1.0, 5.0]), 0.5) == Link(0.0, math.inf, 1.5)
    for straight in (link_for(Square(), NEAR, 0.1), link_for(Huber(), NEAR, 0.1), link_for(Poisson(), np.zeros(3), 1)):
        assert straight.is_straight
    assert link_for(Poisson(), np.array([1.0, 5.0]), math.inf).is_straight


@pytest.mark.parametrize("loss", [Logistic(low=0.0), Poisson(limit=3.0)], ids=str)
def test_a_loss_through_a_link_has_its_derivative(loss):
    rng = np.random.default_rng(0)
    observed = rng.choice([-1.0, 1.0], 61) if isinstance(loss, Logistic) else rng.poisson(2.0, 61).astype(float)
    through = Through(loss, Link(*loss.extent, 0.2))
    step = 1e-6
    slopes = (through.value(NEAR + step, observed) - through.value(NEAR - step, observed)) / (2 * step)
    np.testing.assert_allclose(through.derivative(NEAR, observed), slopes, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
@pytest.mark.parametrize("width", [math.inf, 0.2])
def test_a_calibration_is_the_best_fit_of_the_likelihood(kind, width):
    rng = np.random.default_rng(1)
    estimates = rng.random(2000)
    if kind == "logistic":
        loss, observed = prepare(Logistic(), (rng.random(2000) < estimates**2).astype(float))
    else:
        loss, observed = prepare(Poisson(), rng.poisson(3 * estimates).astype(float))
    offset = 2 + 0.1 * rng.standard_normal(2000)
    link = calibrated(loss, link_for(loss, observed, width), estimates, observed, offset)
    curve = Link(link.low, link.high, link.width).curve(estimates)

    def mean_loss(point):
        return float(np.mean(loss.value(point[0] + point[1] * curve + offset, observed)))

    best = minimize(mean_loss, [link.intercept, link.slope], method="BFGS")
    assert mean_loss([link.intercept, link.slope]) == pytest.approx(best.fun, rel=1e-3)
    assert best.fun < 0.9 * mean_loss([0.0, 0.0])


def test_a_calibration_is_finite_and_never_turns_the_order_around():
    estimates, loss = np.linspace(0.0, 1.0, 50), Logistic()
    for observed in (np.where(estimates > 0.5, 1.0, -1.0), np.where(estimates > 0.5, -1.0, 1.0), np.ones(50)):
        link = calibrated(loss, Link(), estimates, observed)
        assert math.isfinite(link.intercept)
        assert 0 <= link.slope < math.inf
    assert calibrated(loss, Link(), estimates, np.where(estimates > 0.5, 1.0, -1.0)).slope > 5
    assert calibrated(loss, Link(), np.zeros(50), np.ones(50)).slope == 0


def test_bad_numbers_get_one_sentence():
    refuses(ValueError, ["width", "above 0", "0"], lambda: Link(width=0.0))
    refuses(ValueError, ["low", "below its high"], lambda: Link(low=1.0, high=1.0))
    refuses(ValueError, ["slope"], lambda: Link(slope=math.nan))
