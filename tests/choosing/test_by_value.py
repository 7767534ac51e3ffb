"""Gaps that depend on the value: they are found, said in the right direction, and not where gaps are random."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorfill
from tensorfill import Choice, Observations, complete
from tensorfill.choosing import completing
from tensorfill.choosing.error_bars import ErrorBars
from tensorfill.choosing.holdout.by_value import auc_in_groups, value_auc
from tensorfill.choosing.holdout.kinds import Holdout
from tensorfill.models.cp import CPModel
from tensorfill.report.facts import what_went_in

LARGE, SMALL, RANDOM = 1.2, -1.2, 0.0
"""How fast the odds of being missing grow with the value, in standard deviations."""


def tensor(rng, shape=(24, 18, 10)):
    """Return a tensor of rank two with noise."""
    data = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in shape))
    return data + 0.3 * rng.standard_normal(shape)


def by_value(data, slope, rng):
    """Return which entries are missing: about half, with odds that depend on the value."""
    standard = (data - data.mean()) / data.std()
    return rng.random(data.shape) < 1 / (1 + np.exp(-slope * standard))


def fitted(slope, seed=0, **options):
    rng = np.random.default_rng([seed, 3])
    data = tensor(rng)
    holes = np.where(by_value(data, slope, rng), np.nan, data)
    return complete(holes, **{"method": "grow", "rng": seed} | options)


def gaps_line(fit):
    return [line for line in str(fit).splitlines() if line.startswith("  gaps")]


@given(st.integers(0, 2**32 - 1))
def test_the_auc_is_the_share_of_pairs_in_order(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, 2)
    first, second = (rng.integers(0, 6, size).astype(float) for size in sizes)
    places = [rng.integers(0, 9, (size, 2)) for size in sizes]
    auc, error = auc_in_groups((places[0], first), (places[1], second), (9, 9))
    pairs = second[:, None] - first
    assert auc == pytest.approx(np.mean(pairs > 0) + np.mean(pairs == 0) / 2)
    assert error >= 0


def test_the_error_of_independent_entries_is_that_of_hanley_and_mcneil():
    """Each entry has a slice of its own, in a mode too long for neighbours to be of the same kind by chance."""
    rng = np.random.default_rng(0)
    places = rng.permutation(4000)[:, None]
    values = rng.standard_normal(4000)
    auc, error = auc_in_groups((places[:1000], values[:1000]), (places[1000:], values[1000:]), (4000,))
    assert abs(auc - 0.5) < 3 * error
    assert error == pytest.approx(np.sqrt(4001 / (12 * 1000 * 3000)), rel=0.4)


def test_entries_of_one_slice_count_together():
    """Each slice has one value and its own share of gaps, so that the evidence is that of 30 slices."""
    beyond, alone = [], []
    slices = np.repeat(np.arange(30), 50)
    places = np.stack([slices, np.tile(np.arange(50), 30)], axis=1)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        values = rng.standard_normal(30)[slices]
        missing = rng.random(1500) < rng.uniform(0.1, 0.9, 30)[slices]
        for columns, shape, found in ((places, (30, 50), beyond), (places[:, 1:], (50,), alone)):
            auc, error = auc_in_groups(
                (columns[~missing], values[~missing]), (columns[missing], values[missing]), shape
            )
            found.append(abs(auc - 0.5) / error)
    assert np.mean(np.array(beyond) > 3) < 0.05
    assert np.mean(np.array(alone) > 3) > 0.3


def test_every_model_predicts_its_share_of_missing_entries():
    shape, seen = (30, 20), []

    class Seen(CPModel):
        def predict(self, coords):
            seen.append(len(coords))
            return super().predict(coords)

    models = [Seen(shape, [1.0], [np.ones((30, 1)), np.ones((20, 1))]) for _ in range(3)]
    coords = [np.zeros((size, 2), dtype=np.int64) for size in (100, 50, 50)]
    missing = np.zeros((400, 2), dtype=np.int64)
    found = value_auc(coords, [np.zeros(len(each)) for each in coords], iter(models), missing, shape)
    assert seen == [200, 100, 100]
    assert found[0] == 1.0
    assert value_auc(coords, [np.zeros(len(each)) for each in coords], iter(models), missing[:49], shape) is None


def test_nothing_of_the_size_of_a_long_mode_is_made():
    rng, shape = np.random.default_rng(0), (10**7, 10**8, 10**6)
    coords, missing = (np.stack([rng.integers(size, size=3000) for size in shape], axis=1) for _ in range(2))

    class Mean(CPModel):
        def predict(self, coords):
            return np.ones(len(coords))

    model = Mean((1, 1), [1.0], [np.ones((1, 1))] * 2)
    tracemalloc.start()
    auc, error = value_auc([coords], [rng.standard_normal(3000)], iter([model]), missing, shape)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert auc > 0.5
    assert error > 0
    assert peak < 5e6


def test_it_takes_three_errors_and_a_clear_difference():
    for auc, error, said in (
        (0.56, 0.01, "large"), (0.44, 0.01, "small"), (0.549, 0.01, None), (0.451, 0.01, None),
        (0.7, 0.067, None), (0.3, 0.067, None), (0.7, 0.066, "large"), (None, None, None),
    ):  # fmt: skip
        assert Holdout((1, 1), (9, 9), value_auc=auc, value_auc_error=error).missing_more_often == said


class TestWhatIsSaid:
    @pytest.mark.parametrize(("slope", "which"), [(LARGE, "large"), (SMALL, "small")])
    def test_the_values_that_are_missing_more_often_are_named(self, slope, which, tmp_path):
        fit = fitted(slope)
        (line,) = gaps_line(fit)
        auc = fit.missing_by_value
        assert line.endswith(
            f"{which} values are missing more often (AUC {auc:.2f}); held-out entries are weighted by that"
        )
        assert (auc > 0.6) if which == "large" else (auc < 0.4)
        assert dict(what_went_in(fit))["Gaps"] in line
        fit.save(tmp_path / "fit.npz")
        again = tensorfill.load(tmp_path / "fit.npz")
        assert again.missing_by_value == auc
        assert gaps_line(again) == [line]
        assert again.recipe.holdout.value_auc_error == fit.recipe.holdout.value_auc_error > 0

    @pytest.mark.parametrize("seed", range(4))
    def test_nothing_is_said_where_entries_are_missing_at_random(self, seed):
        fit = fitted(RANDOM, seed)
        assert gaps_line(fit) == []
        assert "Gaps" not in dict(what_went_in(fit))
        assert 0.4 < fit.missing_by_value < 0.6

    def test_it_is_not_known_without_missing_entries_to_compare(self):
        rng = np.random.default_rng(0)
        data = tensor(rng)
        entries = Observations.from_dense(data, ~by_value(data, LARGE, rng))
        training, validation = entries.split(0.1, rng=0)
        given_ones = complete(training, method="grow", choose=Choice(validation=validation), rng=0)
        assert given_ones.missing_by_value is None
        assert fitted(LARGE, method="nort", lam=0.1).missing_by_value is None
        answers = np.where(np.isnan(holes := np.where(by_value(data, LARGE, rng), np.nan, data)), np.nan, holes > 0)
        binary = complete(answers[:, :, 0], loss="logistic", method="cp", rank=1, choose=Choice(), rng=0)
        assert binary.missing_by_value is None


def test_no_other_number_depends_on_it(monkeypatch):
    fit = fitted(LARGE, method="auto")
    monkeypatch.setattr(completing, "compared_by_value", lambda contest, *rest: contest.holdout)
    other = fitted(LARGE, method="auto")
    assert fit.missing_by_value is not None
    assert other.missing_by_value is None
    assert fit.recipe == replace(other.recipe, holdout=fit.recipe.holdout)
    np.testing.assert_array_equal(fit.to_dense(), other.to_dense())
    np.testing.assert_array_equal(fit.error_bars.weights, other.error_bars.weights)
    np.testing.assert_array_equal(fit.residuals, other.residuals)


def single(rng, shape):
    """Return entries missing at random."""
    return rng.random(shape) < 0.5


def rows(rng, shape):
    """Return entries missing at random, more of them in some rows."""
    return rng.random(shape) < rng.uniform(0.2, 0.8, (shape[0], 1, 1))


def fibres(rng, shape):
    """Return whole fibres missing at random."""
    return np.broadcast_to(rng.random((*shape[:2], 1)) < 0.5, shape)


def hole(rng, shape):
    """Return a large hole at a random place."""
    missing = np.zeros(shape, dtype=bool)
    first, second = (rng.integers(size // 2) for size in shape[:2])
    missing[first : first + shape[0] // 2, second : second + shape[1] // 2] = True
    return missing


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
@pytest.mark.parametrize("make", [single, rows, fibres, hole])
def test_gaps_that_do_not_depend_on_the_value_are_not_named(make):
    """Not even if they come as whole rows, fibres or holes, of which there are few."""
    distances = []
    for seed in range(30):
        rng = np.random.default_rng([seed, 11])
        data = tensor(rng)
        holdout = complete(np.where(make(rng, data.shape), np.nan, data), method="grow", rng=seed).recipe.holdout
        assert holdout.missing_more_often is None
        distances.append((holdout.value_auc - 0.5) / holdout.value_auc_error)
    assert np.sqrt(np.mean(np.square(distances))) < 1.4


@pytest.mark.slow
def test_weights_let_intervals_hold_where_large_values_have_larger_errors():
    """The noise grows with the value, so intervals of unweighted errors are too narrow for the missing entries."""
    weighted, plain = [], []
    for seed in range(16):
        rng = np.random.default_rng([seed, 7])
        data = 5 * np.einsum("ir,jr,kr->ijk", *(rng.uniform(0.2, 1.2, (size, 2)) for size in (30, 24, 10)))
        data += (0.3 + 0.05 * data) * rng.standard_normal(data.shape)
        missing = by_value(data, 1.0, rng)
        fit = complete(np.where(missing, np.nan, data), method="grow", rng=seed)
        assert fit.recipe.holdout.missing_more_often == "large"
        coords = np.argwhere(missing)
        values, bars = fit.predict(coords), fit.error_bars
        errors = np.abs(values - data[missing])
        alike = ErrorBars(bars.residuals, held_out=bars.held_out)
        weighted.append(np.mean(errors <= bars.half_widths(coords, 0.9, values)))
        plain.append(np.mean(errors <= alike.half_widths(coords, 0.9, values)))
    assert 0.85 < np.mean(weighted) < 0.95
    assert np.mean(plain) < np.mean(weighted) - 0.05
