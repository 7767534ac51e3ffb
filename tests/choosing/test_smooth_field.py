"""Smooth modes: the field, which modes are smooth, and the sum with a low-rank part."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from tensorfill import Centre, Clock, Observations, complete, graphs
from tensorfill._support.clock import TimeUp
from tensorfill.algebra.field import POWER, smooth_field
from tensorfill.choosing import choose as choosing
from tensorfill.choosing.contest import Contest
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout import gaps
from tensorfill.choosing.holdout.splits import Split
from tensorfill.choosing.stages.smooth_field import SmoothField, smooth_modes
from tensorfill.choosing.task import taken_in
from tensorfill.labels import Labelled, Labels
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tensorfill.metrics import rmse
from tests.refusal import refuses
from tests.strategies import generators, shapes


@settings(max_examples=30, deadline=None)
@given(data=st.data(), rng=generators, share=st.floats(0.2, 1.0))
def test_the_field_solves_its_normal_equations(data, rng, share):
    shape = data.draw(shapes(max_entries=300))
    modes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1, max_size=len(shape)))
    weights = {mode: float(rng.uniform(0.1, 2)) for mode in modes}
    stiffness = float(rng.uniform(0.01, 2))
    seen = rng.random(shape) < share
    values = np.where(seen, rng.standard_normal(shape), 0)
    start = rng.standard_normal(shape) if data.draw(st.booleans()) else None
    field = smooth_field(values, seen, weights, stiffness, start=start)
    roughness = stiffness * power_of_chains(shape, weights, POWER) @ field.ravel()
    left = np.where(seen, field, 0) + roughness.reshape(shape)
    assert np.linalg.norm(left - values) <= 5e-4 * np.linalg.norm(values) + 1e-3 * (start is not None)


def test_a_field_takes_any_mean_and_unit_and_is_zero_in_slices_without_entries():
    rng = np.random.default_rng(0)
    values, seen = rng.standard_normal((20, 3, 15)), rng.random((20, 3, 15)) < 0.3
    seen[:, 1] = False
    field = smooth_field(np.where(seen, values, 0), seen, {2: 1.0, 0: 0.5}, 0.1)
    assert not field[:, 1].any()
    moved = smooth_field(np.where(seen, 1e9 + 1e3 * values, 0), seen, {2: 1.0, 0: 0.5}, 0.1)
    np.testing.assert_allclose((moved[:, ::2] - 1e9) / 1e3, field[:, ::2], atol=1e-3)


def power_of_chains(shape, weights, power):
    """Return the power of the weighted sum of chain Laplacians as a dense matrix."""
    total = np.zeros((np.prod(shape), np.prod(shape)))
    for mode, weight in weights.items():
        parts = [graphs.chain(size).toarray() if axis == mode else np.eye(size) for axis, size in enumerate(shape)]
        total += weight * functools.reduce(np.kron, parts)
    values, vectors = np.linalg.eigh(total)
    return (vectors * np.maximum(values, 0) ** power) @ vectors.T


def picture(seed=0, keep=0.2, rows=36, columns=30):
    """A smooth picture of full rank, of which pixels are missing whole."""
    rng = np.random.default_rng(seed)
    truth = gaussian_filter(rng.standard_normal((rows, columns, 3)), (3, 3, 0)) * 10
    missing = np.broadcast_to((rng.random((rows, columns)) > keep)[:, :, None], truth.shape)
    return truth, np.where(missing, np.nan, truth), missing


def test_smooth_modes_are_found_by_their_neighbours():
    truth, holes, _ = picture()
    assert set(smooth_modes(Observations.from_dense(holes), "auto")) == {0, 1}
    noise = np.random.default_rng(0).standard_normal((20, 20, 20))
    assert smooth_modes(Observations.from_dense(noise), "auto") == {}
    shuffled = truth[np.random.default_rng(0).permutation(36)]
    assert set(smooth_modes(Observations.from_dense(shuffled), "auto")) == {1}
    assert smooth_modes(Observations.from_dense(truth), None) == {}


def test_a_row_that_is_alike_in_any_order_is_not_smooth():
    rng = np.random.default_rng(0)
    likes = np.round(rng.random(40))[:, None] + 0.1 * rng.standard_normal((40, 30))
    likes[rng.random(likes.shape) < 0.5] = np.nan
    assert smooth_modes(Observations.from_dense(likes), "auto") == {}
    drifting = likes + 0.3 * np.cumsum(rng.standard_normal(30))
    assert set(smooth_modes(Observations.from_dense(drifting), "auto")) == {1}


def test_a_field_that_takes_too_long_does_not_keep_methods_from_their_answers(monkeypatch):
    shares = []

    def slow(self, problem, model, clock, near=None):
        shares.append(clock.remaining)
        raise TimeUp

    monkeypatch.setattr(SmoothField, "improve", slow)
    entries = Observations.from_dense(picture()[1])
    problem = Problem(entries, Square())

    def rival(clock):
        split = Split(problem, held_out=entries)
        return Contest(problem, [split], None, {}, {"smooth": [0]}, Context(clock=clock)).rival

    assert rival(Clock(100.0)) == np.inf
    assert shares[0] < 20
    with pytest.raises(TimeUp):
        rival(Clock(1e-9))


@pytest.mark.slow
def test_a_smooth_picture_gains_and_a_table_without_order_does_not():
    truth, holes, missing = picture()
    fit, without = (complete(holes, smooth=how, rng=0) for how in ("auto", None))
    errors = [rmse(each.to_dense()[missing], truth[missing]) for each in (fit, without)]
    assert errors[0] < 0.85 * errors[1]
    assert tuple(fit.recipe.stage(SmoothField).weights) == (0, 1)
    order = np.random.default_rng(1).permutation(36), np.random.default_rng(2).permutation(30)
    plain = complete(holes[np.ix_(*order)], rng=0)
    assert plain.recipe.stage(SmoothField) is None


@pytest.mark.slow
def test_smooth_answers_keep_every_promise(tmp_path):
    from tensorfill import load

    truth, holes, missing = picture()
    fit = complete(holes, smooth=[0, 1], rng=0)
    assert tuple(fit.recipe.stage(SmoothField).weights) == (0, 1)
    np.testing.assert_allclose(fit.predict(np.argwhere(missing)), fit.to_dense()[missing])
    np.testing.assert_array_equal(fit.filled()[~missing], truth[~missing])
    fit.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(load(tmp_path / "fit.npz").to_dense(), fit.to_dense())
    _, low, high = fit.predict(np.argwhere(missing), interval=0.9)
    assert 0.8 < np.mean((low <= truth[missing]) & (truth[missing] <= high)) < 0.97
    scaled = complete(holes * 1e6, smooth=[0, 1], rng=0)
    np.testing.assert_allclose(scaled.to_dense() / 1e6, fit.to_dense(), atol=1e-5)


@pytest.mark.parametrize(
    ("given_", "kind", "words"),
    [
        ("rows", ValueError, ["smooth", "'auto'", "'rows'"]),
        (3, ValueError, ["smooth", "'auto'", "3"]),
        ([7], ValueError, ["smooth", "7"]),
    ],
)
def test_bad_modes_get_one_sentence(given_, kind, words):
    refuses(kind, words, lambda: complete(picture()[1], smooth=given_, rng=0))


def test_a_field_is_looked_for_unasked_only_where_entries_have_neighbours(monkeypatch):
    wave = np.sin(np.arange(60.0) / 5)[:, None] * np.random.default_rng(0).standard_normal(50)
    data = Observations.from_dense(wave)
    monkeypatch.setattr(gaps, "SMALL", 100)
    for sparser, modes in ((1, [0]), (40, [])):
        coords = np.column_stack([data.coords, np.zeros(len(data), dtype=int)])
        seen = Observations(coords, data.values, (60, 50, sparser))
        assert list(smooth_modes(seen, "auto")) == modes
        assert list(smooth_modes(seen, [0])) == [0]


def test_a_field_that_does_without_low_rank_takes_the_data_as_it_is(monkeypatch):
    truth, holes, missing = picture(keep=0.1, rows=60, columns=50)
    monkeypatch.setattr(choosing, "_with_and_without_centring", lambda contest, method: [(Centre(),)])
    fit = complete(holes, rng=0)
    assert fit.ranks == (0,) * len(fit.ranks)
    assert fit.recipe.stage(Centre) is None
    values = np.where(missing, 0.0, truth)
    field = smooth_field(
        values, ~missing, smooth_modes(fit.observations, "auto"), fit.recipe.stage(SmoothField).stiffness
    )
    np.testing.assert_allclose(fit.to_dense(), field, atol=0.02 * truth.std())
    coords = np.argwhere(missing)
    assert 0.8 < np.mean(np.abs(fit.predict(coords) - truth[missing]) <= fit.half_width(0.9)) < 0.97


@pytest.mark.parametrize(("labels", "modes"), [
    ([f"city {place}" for place in range(36)], [1]),
    ([f"2024-03-01 {place // 2:02d}:{30 * (place % 2):02d}" for place in range(36)], [0, 1]),
], ids=["texts", "times as texts"])  # fmt: skip
def test_texts_have_no_order_so_that_auto_finds_no_field_along_them(labels, modes):
    _, holes, _ = picture()
    named = Labels(("place", "column", "colour"), (np.array(labels), None, np.array(["red", "green", "blue"])))
    data = Labelled(Observations.from_dense(holes), named)
    for said in ({}, {"smooth": "auto"}):
        task = taken_in(data, **said).task
        assert list(smooth_modes(task.observations, task.asked["smooth"], task.unordered)) == modes
        assert task.stages_asked() == []
    # A mode that is named is smooth, whatever its labels.
    assert list(smooth_modes(data.observations, taken_in(data, smooth=["place"]).task.asked["smooth"])) == [0]


def test_auto_among_ordered_modes_is_kept_only_if_it_gains():
    _, holes, _ = picture()
    data = Labelled(Observations.from_dense(holes), Labels(("a", "b", "c"), (None, None, np.array(["r", "g", "b"]))))
    fit = complete(data, method="softimpute", rng=0)
    assert list(fit.recipe.stage(SmoothField).modes) == [0, 1]
    named = complete(data, method="softimpute", smooth=["a"], rng=0)
    assert list(named.recipe.stage(SmoothField).modes) == [0]
