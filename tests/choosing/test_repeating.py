"""A fit that is repeated with what was chosen has the same answer, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tensorfill
from tensorfill import Choice, Nort, Observations
from tensorfill.datasets import synthetic
from tests.refusal import refuses

LOW_RANK = synthetic((25, 20, 15), rank=2, observed=3_000, rng=0).observations
SMALL_MODES = synthetic((30, 30, 30, 5, 5), rank=1, observed=20_000, rng=0).observations


def waves():
    """Return a table that is low rank, smooth and noisy, so that a blend gains."""
    rng = np.random.default_rng(0)
    times = np.linspace(0, 6, 60)
    table = np.sin(np.outer(np.arange(1, 31) / 8, times)) + 0.3 * rng.standard_normal((30, 60)).cumsum(axis=1) / 4
    return Observations.from_dense(table, rng.random(table.shape) < 0.7)


def corrupt():
    """Return low-rank data with a few gross errors."""
    values = LOW_RANK.values.copy()
    values[::97] += 30 * values.std()
    return LOW_RANK.with_values(values)


def moving():
    """Return noisy data of many ranks, observed densely, with a few gross errors; NORT suits it best."""
    rng = np.random.default_rng(3)
    factors = [rng.standard_normal((size, 12)) for size in (24, 22, 20)]
    values = np.einsum("ir,jr,kr,r->ijk", *factors, 0.7 ** np.arange(12.0)) + 0.2 * rng.standard_normal((24, 22, 20))
    known = rng.random(values.shape) < 0.6
    values[rng.random(values.shape) < 0.02] += 40
    return Observations.from_dense(values, known)


@pytest.mark.parametrize(
    ("data", "given"),
    [
        (LOW_RANK, {}),
        (LOW_RANK, {"method": "nort"}),
        (LOW_RANK, {"method": "cp"}),
        (LOW_RANK, {"method": "lrtc"}),
        (LOW_RANK, {"method": ["nort", "cp"], "choose": Choice(splits=2)}),
        (SMALL_MODES, {}),
        (waves(), {}),
        (corrupt(), {"loss": "l1"}),
        (moving(), {"loss": "l1", "method": "nort"}),
        (LOW_RANK.with_values(LOW_RANK.values * 2.0**120), {"method": "nort"}),
    ],
    ids=["grow", "nort", "cp", "lrtc", "several", "small modes", "blend", "robust", "robust nort", "huge"],
)
def test_a_repeated_fit_has_the_same_answer(data, given, tmp_path):
    fit = tensorfill.complete(data, rng=5, **given)
    fit.save(tmp_path / "fit.npz")
    for recipe in (fit.recipe, tensorfill.load(tmp_path / "fit.npz").recipe):
        again = tensorfill.complete(data, **recipe.arguments())
        assert again.path is None
        np.testing.assert_array_equal(again.predict(data.coords), fit.predict(data.coords))
    again.save(tmp_path / "again.npz")
    np.testing.assert_array_equal(
        tensorfill.complete(data, **again.recipe.arguments()).predict(data.coords), fit.predict(data.coords)
    )


def test_what_was_left_out_is_left_out_again_unless_the_data_is_other(tmp_path):
    data = moving()
    fit = tensorfill.complete(data, loss="l1", rng=0)
    fit.save(tmp_path / "fit.npz")
    for recipe in (fit.recipe, tensorfill.load(tmp_path / "fit.npz").recipe):
        again = tensorfill.complete(data, **recipe.arguments())
        np.testing.assert_array_equal(again.predict(data.coords), fit.predict(data.coords))
        np.testing.assert_array_equal(again.corrupt, fit.corrupt)
    other = tensorfill.complete(data.with_values(data.values[::-1]), **fit.recipe.arguments())
    assert np.count_nonzero(fit.corrupt) > 50
    known = fit.recipe.start.left_out
    assert known.are_of(data)
    assert not replace(known, entries=known.entries[1:]).are_of(data)  # as a damaged file may have it
    assert not np.array_equal(other.corrupt, fit.corrupt)


def test_data_of_another_shape_has_its_own_starting_point():
    fit = tensorfill.complete(LOW_RANK, rng=0)
    assert fit.recipe.start.model is not None
    less = LOW_RANK.select(LOW_RANK.coords[:, 0] < 20)
    fewer = Observations(less.coords, less.values, (20, 20, 15))
    again = tensorfill.complete(fewer, **fit.recipe.arguments())
    assert again.shape == (20, 20, 15)
    assert again.recipe.start.model is None


def test_a_fit_with_all_settings_given_is_repeated_as_it_was_given():
    fit = tensorfill.complete(LOW_RANK, method=Nort(lam=0.1), rng=0)
    assert "start" not in fit.recipe.arguments()


def test_a_start_for_a_search_is_refused():
    fit = tensorfill.complete(LOW_RANK, rng=0)
    refuses(ValueError, ["start", "method=fit.method"], lambda: tensorfill.complete(LOW_RANK, start=fit.recipe.start))
