"""How many splits there are, and that they hold out different entries."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete, load
from tensorfill.choosing.doubts import DoubtfulFitWarning, doubt_of_resemblance
from tensorfill.choosing.holdout.kinds import Holdout
from tensorfill.choosing.holdout.likeness import auc, features_among, features_in
from tensorfill.choosing.holdout.splits import make_splits
from tensorfill.losses import Square


def random_data(count, shape=(40, 30, 20)):
    rng = np.random.default_rng(0)
    positions = np.sort(rng.choice(np.prod(shape), count, replace=False))
    return Observations(np.stack(np.unravel_index(positions, shape), axis=1), rng.standard_normal(count), shape)


def splits_of(data, choice):
    return make_splits(data, Square(), choice, np.random.default_rng(0))


@pytest.mark.parametrize(("count", "expected"), [(200, 5), (550, 5), (990, 4), (1700, 2), (3200, 1), (20_000, 1)])
def test_there_are_as_many_splits_as_hold_out_three_hundred_entries(count, expected):
    splits, _ = splits_of(random_data(count), Choice())
    assert len(splits) == expected
    assert expected == 5 or sum(len(split.held_out) for split in splits) >= 300


@pytest.mark.parametrize("count", [1, 3, 7])
def test_a_number_of_splits_is_obeyed(count):
    assert len(splits_of(random_data(500), Choice(splits=count))[0]) == count


@pytest.mark.parametrize("holdout", ["entry", "auto", ("fibre", 1), (4, 5, 5)])
def test_splits_hold_out_different_entries(holdout):
    splits, _ = splits_of(random_data(1500), Choice(splits=5, holdout=holdout))
    held_out = np.concatenate([split.held_out.positions for split in splits])
    assert len(np.unique(held_out)) == len(held_out)
    for split in splits:
        assert not np.isin(split.held_out.positions, split.problem.observations.positions).any()
        assert len(split.held_out) + len(split.problem.observations) == 1500


def test_more_splits_than_fit_hold_out_some_entries_again():
    splits, _ = splits_of(random_data(300), Choice(splits=5, validation=0.4))
    counts = np.unique(np.concatenate([split.held_out.positions for split in splits]), return_counts=True)[1]
    assert counts.max() <= 3


def test_words_other_than_auto_are_refused():
    with pytest.raises(
        TypeError, match="splits, unless it is 'auto', must be a whole number of at least 1, but 'many'"
    ):
        Choice(splits="many")
    with pytest.raises(ValueError, match="splits must be 1 if validation is the entries themselves"):
        Choice(splits=2, validation=random_data(20))
    assert Choice(validation=random_data(20)).splits == "auto"


def test_features_from_masks_and_from_coordinates_are_the_same():
    rng = np.random.default_rng(0)
    for density in (0.05, 0.5, 0.95):
        seen = rng.random((9, 8, 7)) < density
        coords = rng.integers(0, (9, 8, 7), (200, 3))
        np.testing.assert_allclose(
            features_in(coords, seen), features_among(coords, Observations.from_dense(np.ones(seen.shape), seen))
        )


def test_features_are_distances_and_shares():
    seen = np.ones((4, 10), dtype=bool)
    seen[1, 4:] = False
    found = features_in(np.array([[1, 9]]), seen)[0]
    # Nearest along the rows: the row above. Along the columns: six steps. Slices have 3 of 8.5 and 4 of 8.5 entries.
    np.testing.assert_allclose(2**found, [1, 4 / 8.5, 6, 3 / 3.4])


def test_the_auc_is_that_of_two_normal_distributions():
    """With noise of one, entries that differ by d have an AUC of Phi(d / sqrt 2)."""
    rng = np.random.default_rng(0)
    first, second = np.zeros((4000, 1)), np.ones((4000, 1))
    assert auc(first, second) == pytest.approx(0.760, abs=0.015)
    assert auc(first, first + 0.001 * rng.standard_normal(first.shape)) < 0.52
    assert auc(first[:9], second) is None


def test_a_few_entries_that_are_alike_suffice_for_a_weighted_auc():
    rng = np.random.default_rng(0)
    held_out = 3 * (rng.random((2000, 1)) < 0.1)
    missing = 3 * (rng.random((2000, 1)) < 0.8)
    assert auc(held_out, missing) > 0.75
    assert auc(held_out, missing, weighted=True) < 0.55
    assert auc(np.zeros((2000, 1)), missing, weighted=True) > 0.75


def low_rank(shape=(46, 38), noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1])) + noise * rng.standard_normal(shape)


def test_a_fit_says_how_alike_held_out_and_missing_entries_are(tmp_path):
    data = low_rank()
    data[np.random.default_rng(1).random(data.shape) < 0.2] = np.nan
    fit = complete(data, method="softimpute", rng=0)
    assert 0.5 <= fit.resemblance < 0.6
    assert f"AUC {fit.resemblance:.2f}" in str(fit)
    fit.save(tmp_path / "fit.npz")
    assert load(tmp_path / "fit.npz").resemblance == fit.resemblance
    assert complete(data, method="softimpute", lam=1.0, rng=0).resemblance is None


@pytest.mark.filterwarnings("ignore:Nothing is missing")
def test_nothing_is_said_where_nothing_is_missing():
    fit = complete(low_rank(), method="softimpute", rng=0)
    assert fit.resemblance is None
    assert "AUC" not in str(fit)


def test_what_the_caller_holds_out_is_not_doubted():
    data = low_rank()
    data[:8, 25:] = np.nan
    assert complete(data, method="softimpute", choose=Choice(holdout="entry"), rng=0).resemblance is None


def below_the_diagonal():
    rng = np.random.default_rng(0)
    first, second = np.arange(24)[:, None], np.arange(20)[:, None]
    bumps = [np.exp(-(((at - places) / 5) ** 2)) for at, places in ((first, [4, 12, 19]), (second, [3, 9, 16]))]
    data = np.einsum("ir,jr,kr->ijk", rng.random((10, 3)), *bumps) + 0.01 * rng.standard_normal((10, 24, 20))
    return np.where(first >= second.T, data, np.nan)


def test_a_warning_says_that_nothing_alike_could_be_held_out():
    with pytest.warns(DoubtfulFitWarning, match="Nothing like the missing entries could be held out"):
        fit = complete(below_the_diagonal(), method="cp", rng=0)
    assert fit.resemblance > 0.75
    assert "Nothing like the missing entries could be held out" in str(fit)
    # Intervals rest on a fifth of the held-out entries.
    weights = fit.error_bars.weights
    assert 0.15 < np.mean(weights > 1) < 0.3


@pytest.mark.parametrize(("found", "doubtful"), [(None, False), (0.74, False), (0.76, True)])
def test_from_three_quarters_on_there_is_a_doubt(found, doubtful):
    assert (doubt_of_resemblance(Holdout((1, 1), (9, 9), auc=found)) is not None) == doubtful


def test_large_sparse_data_needs_no_room_of_the_size_of_the_tensor():
    rng = np.random.default_rng(0)
    shape = (10**8, 10**7, 50)
    data = Observations(np.stack([rng.integers(0, size, 100_000) for size in shape], axis=1), np.ones(100_000), shape)
    splits, how = splits_of(data, Choice())
    assert str(how) == "single entries"
    assert len(splits) == 1
    assert how.auc is not None
