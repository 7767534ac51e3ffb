"""A mode of time that is treated as two: the folded problem, and `complete` with fold=."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorfill
from tensorfill import Centre, Clock, Fold, Graphs, Grow, Merge, Nort, Observations, Problem, SmoothField
from tensorfill.choosing.stages.base import Reduced
from tensorfill.choosing.stages.empty_slices import EmptySlices
from tensorfill.choosing.stages.fold import fold_of
from tensorfill.graphs import chain
from tensorfill.labels import Labels
from tensorfill.losses import Logistic, Square
from tensorfill.methods.effects.scores import fit_score_effects
from tensorfill.metrics import rmse
from tensorfill.models import CPModel, Dense, Placed, Unfolded
from tensorfill.models.folded import nothing
from tensorfill.times import TimeAxis
from tests.refusal import refuses
from tests.strategies import generators, shapes

SERIES, ROWS, PERIOD, RANK = 4, 20, 12, 5
STEPS = ROWS * PERIOD - 5
GROW = Grow(rank=RANK, form="cp")
PLAIN = Grow(rank=3, form="cp")
EMPTY_STEPS = pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")


def low_rank_once_folded(seed=0, share=0.7, noise=0.0):
    """Return few series, of full rank as a matrix and of rank 5 as series x rows x slots, and the same with holes."""
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((size, RANK)) for size in (SERIES, ROWS, PERIOD)]
    whole = np.einsum("ir,jr,kr->ijk", *factors).reshape(SERIES, -1)[:, :STEPS]
    seen = rng.random(whole.shape) < share
    return whole, np.where(seen, whole + noise * rng.standard_normal(whole.shape), np.nan)


def error(fit, whole):
    return rmse(fit.to_dense(), whole) / whole.std()


def by_hand(array, mode, period):
    """Return an array with a mode folded, entry by entry from the definition."""
    rows = -(-array.shape[mode] // period)
    out = np.full((*array.shape[:mode], rows, period, *array.shape[mode + 1 :]), np.nan)
    for place in np.ndindex(*array.shape):
        out[(*place[:mode], place[mode] // period, place[mode] % period, *place[mode + 1 :])] = array[place]
    return out


# The stage


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=shapes(max_order=4, max_entries=300), rng=generators, is_dense=st.booleans())
def test_the_folded_problem_has_the_same_entries(data, shape, rng, is_dense):
    mode = data.draw(st.integers(0, len(shape) - 1))
    if shape[mode] < 3:
        return
    period = data.draw(st.integers(2, shape[mode] - 1))
    whole, seen = rng.standard_normal(shape), rng.random(shape) < 0.6
    seen.flat[0] = True
    entries = Observations.from_dense(whole, seen)
    if not is_dense:
        entries = Observations(entries.coords, entries.values, shape)
    part = Reduced(Problem(entries, Square())).by([Fold(mode, period)], Clock())
    folded, lift = part.problem.observations, part.lifts[0]
    assert folded.is_dense is is_dense
    np.testing.assert_array_equal(folded.to_dense(), by_hand(np.where(seen, whole, np.nan), mode, period))
    np.testing.assert_array_equal(lift.places(folded.coords), entries.coords)
    assert part.placed.fingerprint == Observations(entries.coords, entries.values, shape).fingerprint
    assert lift.entries(entries.astype(np.float32)).dtype == lift.back(folded.astype(np.float32)).dtype == np.float32
    # Any answer is the same numbers elsewhere, but for rows and slots without an entry.
    answer = Dense(rng.standard_normal(folded.shape))
    lifted = part.whole(answer)
    assert lifted.shape == shape
    np.testing.assert_array_equal(lifted.predict(entries.coords), answer.predict(folded.coords))
    np.testing.assert_array_equal(part.start(part.core(answer)).to_dense(), answer.to_dense())


def test_an_offset_stays_with_its_entry():
    rng = np.random.default_rng(0)
    yes = np.where(rng.random((5, 11)) < 0.5, 1.0, -1.0)
    problem = Problem(Observations.from_dense(yes, rng.random(yes.shape) < 0.7), Logistic())
    beyond = problem.beyond(fit_score_effects(problem).predict(problem.observations.coords))
    part = Reduced(beyond).by([Fold(1, 4)], Clock())
    np.testing.assert_array_equal(part.problem.offset, beyond.offset)


def test_rows_without_an_entry_are_the_mean_of_the_others():
    seen = np.ones((4, 10), dtype=bool)
    seen[:, 3:6] = False
    part = Reduced(Problem(Observations.from_dense(np.ones((4, 10)), seen), Square())).by([Fold(1, 3)], Clock())
    answer = CPModel((4, 4, 3), [1.0], [np.ones((4, 1)), np.array([[1.0], [50.0], [2.0], [6.0]]), np.ones((3, 1))])
    lifted = part.whole(answer)
    assert lifted.predict([[0, 0], [0, 4], [0, 9]]).tolist() == [1.0, 3.0, 6.0]
    assert isinstance(lifted.model, Placed)
    # A later run starts from it too.
    assert part.start(lifted).shape == part.problem.observations.shape


@pytest.mark.parametrize("other", [
    Unfolded(nothing((4, 5, 2)), 1, 10), Unfolded(nothing((2, 2, 10)), 0, 4), nothing((4, 10)),
    Unfolded(nothing((4, 4, 3)), 1, 10).restrict([np.arange(4), np.arange(10)[::-1]]),
])  # fmt: skip
def test_a_start_that_is_folded_otherwise_is_not_one(other):
    part = Reduced(Problem(Observations.from_dense(np.ones((4, 10))), Square())).by([Fold(1, 3)], Clock())
    assert part.start(other) is other


def test_words_labels_and_numbers():
    days = np.arange("2024-01-01", "2024-01-11", dtype="M8[D]")
    labels = Labels(("place", "time", "kind"), (None, days, np.array(["a", "b"])))
    fold = Fold(1, 7)
    assert fold.in_words(labels) == "the mode 'time' was folded into rows of 7"
    assert fold.in_words(Labels.plain(3)) == "the mode 1 was folded into rows of 7"
    assert fold.labels(labels).names == ("place", "time ÷ 7", "time mod 7", "kind")
    assert fold.labels(labels).keys[1].tolist() == days[[0, 7]].tolist()
    assert [each is None for each in fold.labels(labels).keys] == [True, False, True, False]
    assert fold.labels(labels).keys[3] is labels.keys[2]
    assert fold.numbers([0, 2], 3) == {0, 3}
    assert fold.numbers([1], 3) == {1, 2}


@pytest.mark.parametrize(
    ("axis", "shape", "periods"),
    [
        (None, (5, 400), []),
        (TimeAxis((1,), (), ""), (5, 400), []),
        (TimeAxis((1,), (24, 168), "1 hour"), (5, 400), [168, 24]),
        (TimeAxis((1,), (24, 168), "1 hour"), (5, 168), [24]),
        (TimeAxis((0, 1), (24, 168), "1 hour"), (60, 24, 3), []),
    ],
)
def test_the_periods_of_one_mode_of_time_are_proposed(axis, shape, periods):
    found = Fold.proposed(np.zeros((0, len(shape)), int), np.zeros(0), shape, axis)
    assert [stage.period for stage in found] == periods
    assert all(stage.mode == axis.modes[0] for stage in found)


def test_bad_folds_get_one_sentence():
    labels = Labels(("place", "time"), (None, None))
    for given_ in ["time", 24, True, {}, {"time": 24, "place": 2}, [("time", 24)]]:
        refuses(ValueError, ["fold must be", repr(given_)], lambda given_=given_: fold_of(given_, labels, (3, 100)))
    for given_, words in [
        ({"day": 24}, "There is no mode 'day'"),
        ({2: 24}, "fold must be a whole number from -2 to 1 .* but 2 was given"),
        ({"time": 1}, "at least 2"),
        ({"time": 100}, "2 or more rows, but a period of 100 leaves one of the 100 indices of mode 1"),
        (Fold(5, 3), "5 was given"),
    ]:
        with pytest.raises(ValueError, match=words):
            fold_of(given_, labels, (3, 100))
    refuses(TypeError, ["1.5"], lambda: fold_of({"time": 1.5}, labels, (3, 100)))
    assert fold_of({-1: 24}, labels, (3, 100)) == Fold(1, 24)


# The front door


@EMPTY_STEPS
def test_what_is_of_low_rank_once_folded_is_found(tmp_path):
    whole, data = low_rank_once_folded()
    fit = tensorfill.complete(data, fold={1: PERIOD}, method="grow", rng=0)
    plain = tensorfill.complete(data, method=PLAIN, smooth=None, rng=0)
    assert fit.shape == whole.shape
    assert error(fit, whole) < 1e-4 < 0.3 < error(plain, whole)
    assert fit.recipe.stage(Fold) == Fold(1, PERIOD)
    assert plain.recipe.stage(Fold) is None
    fit.save(tmp_path / "fit.npz")
    loaded = tensorfill.load(tmp_path / "fit.npz")
    assert loaded.recipe == fit.recipe
    assert isinstance(loaded.model, Unfolded)
    np.testing.assert_array_equal(loaded.to_dense(), fit.to_dense())


@pytest.mark.parametrize("method", [GROW, Nort(lam=0.3, max_iter=30), "tucker_als"])
def test_it_repeats_to_the_bit_and_is_that_of_the_array_folded_by_hand(method):
    _, data = low_rank_once_folded(share=0.7)
    how = {"rank": 3} if method == "tucker_als" else {}
    fit = tensorfill.complete(data, fold={1: PERIOD}, method=method, rng=3, **how)
    again = tensorfill.complete(data, **fit.recipe.arguments())
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    assert again.recipe == fit.recipe
    whole = tensorfill.complete(by_hand(data, 1, PERIOD), method=method, rng=3, **how).to_dense()
    np.testing.assert_array_equal(whole.reshape(SERIES, -1)[:, :STEPS], fit.to_dense())
    assert fit.path is None


def test_modes_and_entries_by_label():
    whole, data = low_rank_once_folded()
    hours = pd.date_range("2024-03-01", periods=STEPS, freq="h")
    table = pd.DataFrame(data, [f"s{number}" for number in range(SERIES)], hours).rename_axis(index="s", columns="time")
    table = table.stack().rename("flow").reset_index()
    fit = tensorfill.complete(table, fold={"time": PERIOD}, method=GROW, rng=0)
    assert fit.recipe.stage(Fold) == Fold(1, PERIOD)
    places = np.argwhere(np.isnan(data))[:5]
    asked = pd.DataFrame({"s": [f"s{row}" for row in places[:, 0]], "time": hours[places[:, 1]]})
    np.testing.assert_allclose(fit.predict(asked)["flow"], whole[tuple(places.T)], atol=1e-3)
    assert set(fit.factors()) == {"s", f"time ÷ {PERIOD}", f"time mod {PERIOD}"}
    # Settings that name modes speak of the folded tensor.
    along = tensorfill.complete(
        table, fold={"time": PERIOD}, method="nort", lam=0.3, modes=[f"time mod {PERIOD}"], rng=0
    )
    assert along.method.modes == (2,)


@EMPTY_STEPS
def test_auto_and_none_fold_nothing_without_a_time():
    _, data = low_rank_once_folded()
    fits = [tensorfill.complete(data, method=PLAIN, rng=0, **how) for how in ({}, {"fold": None}, {"fold": "auto"})]
    assert all(fit.recipe.before == () for fit in fits)


def test_what_does_not_go_with_it_is_refused():
    _, data = low_rank_once_folded()
    for how, words in [
        ({"smooth": [0]}, ["smooth=[0]"]),
        ({"smooth": SmoothField({0: 1.0}, 0.1, True)}, ["smooth=SmoothField"]),
        ({"laplacian": {0: chain(4)}}, ["laplacian"]),
        ({"laplacian": Graphs({0: chain(4)}, 0.1)}, ["laplacian"]),
    ]:
        refuses(ValueError, [*words, "does not go with fold", "leave one of them out"],
                lambda how=how: tensorfill.complete(data, fold={1: PERIOD}, **how))  # fmt: skip
    three = data[:, :96].reshape(SERIES, 12, 8)
    refuses(ValueError, ["fold does not go with merge"],
            lambda: tensorfill.complete(three, fold={1: 3}, merge=[(0, 2)]))  # fmt: skip
    refuses(TypeError, ["fold", "Fold", "Centre"], lambda: tensorfill.complete(data, fold=Centre()))
    whiten = tensorfill.Whiten(1.0, ((), ()))
    refuses(ValueError, ["whiten does not go with fold"],
            lambda: tensorfill.complete(data, fold={1: PERIOD}, whiten=whiten, method=GROW))  # fmt: skip


def with_axis(monkeypatch, axis):
    """Let `complete` know the mode of time of all data."""
    known = tensorfill.completion.taken_in

    def taken_in(*given, **how):
        job = known(*given, **how)
        return dataclasses.replace(job, task=dataclasses.replace(job.task, axis=axis))

    monkeypatch.setattr(tensorfill.completion, "taken_in", taken_in)


@EMPTY_STEPS
def test_a_period_of_time_is_tried_and_kept_where_held_out_entries_gain(monkeypatch):
    whole, data = low_rank_once_folded(noise=0.1)
    with_axis(monkeypatch, TimeAxis((1,), (PERIOD, 7 * PERIOD), ""))
    fit = tensorfill.complete(data, rng=0)
    apart = tensorfill.complete(data, fold=None, rng=0)
    assert any(part.stage(Fold) == Fold(1, PERIOD) for part in fit.recipe.parts)
    assert all(part.stage(Fold) is None for part in apart.recipe.parts)
    missing = np.isnan(data)
    assert rmse(fit.to_dense()[missing], whole[missing]) < 0.5 * rmse(apart.to_dense()[missing], whole[missing])


def test_a_period_that_gains_nothing_does_not_end_the_trials(monkeypatch):
    _, data = low_rank_once_folded(noise=0.1)
    tried = []

    def proposed(cls, coords, residuals, shape, axis=None):
        tried.extend([cls(1, 17), cls(1, PERIOD)])
        return tried

    monkeypatch.setattr(Fold, "proposed", classmethod(proposed))
    fit = tensorfill.complete(data, rng=0)
    assert tried
    assert any(part.stage(Fold) == Fold(1, PERIOD) for part in fit.recipe.parts)


def test_steps_without_any_entry_are_known_from_their_row_and_slot():
    whole, data = low_rank_once_folded()
    data[:, [17, 40, 41, 42]] = np.nan
    fit = tensorfill.complete(data, fold={1: PERIOD}, method=GROW, rng=0)
    assert fit.recipe.stage(EmptySlices) is None
    assert error(fit, whole) < 1e-3


def test_a_mode_of_time_keeps_its_empty_slices_where_it_is_long():
    rng = np.random.default_rng(0)
    steps = 2**16 + 48
    factors = [rng.standard_normal((size, 1)) for size in (6, 24)]
    days = rng.choice(steps // 24, 60, replace=False)
    coords = np.array([(row, day * 24 + hour) for day in days for hour in range(24) for row in range(6)])
    coords = coords[rng.random(len(coords)) < 0.7]
    values = factors[0][coords[:, 0], 0] * factors[1][coords[:, 1] % 24, 0]
    data = Observations(coords, values, (6, steps))
    fit = tensorfill.complete(data, fold={1: 24}, method=Grow(rank=1, form="cp"), rng=0)
    assert fit.shape == (6, steps)
    assert rmse(fit.predict(coords), values) < 1e-3


def test_a_fit_starts_from_an_earlier_one():
    whole, data = low_rank_once_folded()
    how = {"fold": {1: PERIOD}, "method": GROW, "rng": 0}
    first = tensorfill.complete(data, **how)
    later = tensorfill.complete(data, start=first, **how)
    assert error(later, whole) < 1e-4
    assert len(later.history) <= len(first.history)
    other = tensorfill.complete(data, start=first, **{**how, "fold": {1: 7}})
    np.testing.assert_array_equal(other.to_dense(), tensorfill.complete(data, **{**how, "fold": {1: 7}}).to_dense())


@pytest.mark.parametrize("known", [(SERIES - 1, STEPS), (SERIES, STEPS - 20)])
def test_more_entries_and_more_indices(known):
    whole, data = low_rank_once_folded()
    old = tuple(slice(size) for size in known)
    fit = tensorfill.complete(data[old], fold={1: PERIOD}, method=GROW, rng=0)
    new = data.copy()
    new[old] = np.nan
    more = fit.update(Observations.from_dense(new), rng=0)
    assert more.shape == whole.shape
    assert error(more, whole) < 0.01


def test_a_callback_gets_a_model_of_the_whole():
    _, data = low_rank_once_folded()
    found = set()
    tensorfill.complete(
        data, fold={1: PERIOD}, method=GROW, rng=0, callback=lambda record, model: found.add(model.shape)
    )
    assert found == {(SERIES, STEPS)}


def test_intervals_and_words_of_a_fit_that_was_chosen(tmp_path):
    whole, data = low_rank_once_folded(share=0.6, noise=0.05)
    fit = tensorfill.complete(data, fold={1: PERIOD}, method=["grow", "nort"], rng=0)
    places = np.argwhere(np.isnan(data))
    _, low, high = fit.predict(places, interval=0.9)
    truth = whole[tuple(places.T)]
    assert 0.8 < np.mean((low <= truth) & (truth <= high)) <= 1.0
    assert len(fit.held_out.coords.T) == 2
    fit.report(tmp_path / "report.html")
    assert f"the mode 1 was folded into rows of {PERIOD}" in (tmp_path / "report.html").read_text("utf-8")
    assert str(fit)


def test_merged_and_folded_are_different_stages():
    with pytest.raises(TypeError, match="fold must be a Fold"):
        tensorfill.complete(np.ones((3, 4, 5)), fold=Merge(((0, 1),)))
