"""Modes that are treated as one: the merged problem, and `complete` with merge=."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorfill
from tensorfill import Centre, Choice, Clock, Graphs, Grow, Merge, Nort, Observations, Problem, SmoothField
from tensorfill.choosing.stages.base import Reduced
from tensorfill.choosing.stages.merge import merge_of
from tensorfill.graphs import chain
from tensorfill.labels import Labels
from tensorfill.losses import Logistic, Square
from tensorfill.methods.effects.scores import fit_score_effects
from tensorfill.metrics import rmse
from tensorfill.models import CPModel, Dense, Merged, Placed
from tensorfill.models.folded import nothing
from tests.models.test_merged import groupings, merged_by_hand
from tests.refusal import refuses
from tests.strategies import generators

SHAPE = (12, 6, 8, 7)
GROW = Grow(rank=2, form="cp")


def low_rank_once_merged(group=(1, 2), seed=0, share=0.4):
    """Return an array that is of rank 2 with two modes merged and of high rank as it is, and one with holes."""
    rng = np.random.default_rng(seed)
    parts = [group if mode == group[0] else (mode,) for mode in range(4) if mode != group[1]]
    factors = [rng.standard_normal((int(np.prod([SHAPE[mode] for mode in part])), 2)) for part in parts]
    order = [mode for part in parts for mode in part]
    whole = np.einsum("ir,jr,kr->ijk", *factors).reshape([SHAPE[mode] for mode in order]).transpose(np.argsort(order))
    return whole, np.where(rng.random(SHAPE) < share, whole, np.nan)


def error(fit, whole):
    return rmse(fit.to_dense(), whole) / whole.std()


# The stage


@settings(max_examples=60, deadline=None)
@given(drawn=groupings(min_order=3), rng=generators, is_dense=st.booleans())
def test_the_merged_problem_has_the_same_entries(drawn, rng, is_dense):
    shape, groups = drawn
    if not groups or len(shape) - sum(len(group) - 1 for group in groups) < 2:
        return
    whole = rng.standard_normal(shape)
    seen = rng.random(shape) < 0.6
    seen.flat[0] = True
    entries = Observations.from_dense(whole, seen)
    if not is_dense:
        entries = Observations(entries.coords, entries.values, shape)
    part = Reduced(Problem(entries, Square())).by([Merge(tuple(groups))], Clock())
    merged, lift = part.problem.observations, part.lifts[0]
    assert merged.is_dense is is_dense
    np.testing.assert_array_equal(merged.to_dense(), merged_by_hand(np.where(seen, whole, np.nan), groups))
    np.testing.assert_array_equal(lift.places(merged.coords)[:, 0].shape, (len(entries),))
    assert part.placed.fingerprint == Observations(entries.coords, entries.values, shape).fingerprint
    assert lift.entries(entries.astype(np.float32)).dtype == lift.back(merged.astype(np.float32)).dtype == np.float32
    # Any answer is the same numbers elsewhere, but for slices without an entry.
    answer = Dense(rng.standard_normal(merged.shape))
    lifted = part.whole(answer)
    np.testing.assert_array_equal(lifted.predict(lift.places(merged.coords)), answer.predict(merged.coords))
    np.testing.assert_array_equal(part.start(part.core(answer)).to_dense(), answer.to_dense())


def test_an_offset_stays_with_its_entry():
    rng = np.random.default_rng(0)
    yes = np.where(rng.random((5, 4, 3)) < 0.5, 1.0, -1.0)
    problem = Problem(Observations.from_dense(yes, rng.random(yes.shape) < 0.7), Logistic())
    known = fit_score_effects(problem)
    beyond = problem.beyond(known.predict(problem.observations.coords))
    part = Reduced(beyond).by([Merge(((0, 2),))], Clock())
    places = part.lifts[0].places(part.problem.observations.coords)
    np.testing.assert_array_equal(part.problem.offset, known.predict(places))


def test_merged_slices_without_an_entry_are_the_mean_of_the_others():
    whole, _ = low_rank_once_merged()
    seen = np.ones(SHAPE, dtype=bool)
    seen[:, 2, 3] = seen[:, 0, 0] = False
    part = Reduced(Problem(Observations.from_dense(whole, seen), Square())).by([Merge(((1, 2),))], Clock())
    answer = CPModel((12, 48, 7), [1.0], [np.ones((12, 1)), np.arange(48.0)[:, None], np.ones((7, 1))])
    lifted = part.whole(answer)
    others = np.delete(np.arange(48.0), [0, 2 * 8 + 3])
    assert lifted.predict([[0, 2, 3, 0], [5, 0, 0, 1]]) == pytest.approx(others.mean())
    assert lifted.predict([[0, 2, 4, 0]]) == 2 * 8 + 4
    assert isinstance(lifted.model, Placed)
    # A later run starts from it too.
    assert part.start(lifted).shape == part.problem.observations.shape


def test_a_start_with_other_modes_merged_is_not_one():
    part = Reduced(Problem(Observations.from_dense(np.ones((2, 3, 4))), Square())).by([Merge(((0, 1),))], Clock())
    other = Merged(nothing((2, 12)), (2, 3, 4), [(1, 2)])
    assert part.start(other) is other


def test_words_labels_and_numbers():
    labels = Labels(("station", "day", "hour", "kind"), (np.array(["a", "b"]), None, None, None))
    merge = Merge(((2, 1), (3, 0)))
    assert merge.groups == ((0, 3), (1, 2))
    assert merge.in_words(labels) == (
        "the modes 'station' and 'kind' were treated as one; the modes 'day' and 'hour' were treated as one"
    )
    assert Merge(((0, 1, 2),)).in_words(Labels.plain(4)) == "the modes 0, 1 and 2 were treated as one"
    assert merge.labels(labels).names == ("station × kind", "day × hour")
    assert Merge(((1, 2),)).labels(labels).keys[0] is labels.keys[0]
    assert merge.numbers([3], 4) == {0}
    assert Merge(((1, 2),)).numbers([2, 3], 4) == {1, 2}


def test_bad_groups_get_one_sentence():
    labels = Labels(("station", "day", "hour"), (None,) * 3)
    for groups in [((0,),), ((0, 0),), ((0, 1), (1, 2)), ((0, -1),), (("a", "b"),), 3]:
        refuses(ValueError, ["two or more different modes", repr(groups)], lambda groups=groups: Merge(groups))
    refuses(ValueError, ["one or more groups"], lambda: Merge(()))
    for given_ in ["day", ("day", "hour"), [1, 2], 3, True]:
        refuses(ValueError, ["merge must be", repr(given_)], lambda given_=given_: merge_of(given_, labels, (2, 3, 4)))
    for given_, words in [
        ([("day", "week")], ["'week'"]),
        ([(1, 3)], ["merge", "from -3 to 2", "3 was given"]),
        ([(0, 1, 2)], ["2 or more modes", "leaves 1 of the 3"]),
        (Merge(((0, 5),)), ["from 0 to 2"]),
    ]:
        with pytest.raises(ValueError) as caught:
            merge_of(given_, labels, (2, 3, 4))
        assert all(word in str(caught.value) for word in words), caught.value
    large = Labels.plain(3)
    refuses(ValueError, ["2,147,483,648", "10,000,000,000"], lambda: merge_of([(0, 1)], large, (10**5, 10**5, 3)))
    assert merge_of([("hour", -2)], labels, (2, 3, 4)) == Merge(((1, 2),))


# The front door


@pytest.mark.parametrize("group", [(1, 2), (0, 2), (1, 3)])
def test_what_is_of_low_rank_once_merged_is_found(group, tmp_path):
    whole, data = low_rank_once_merged(group)
    fit = tensorfill.complete(data, merge=[group], method="grow", rng=0)
    plain = tensorfill.complete(data, method=GROW, rng=0)
    assert fit.shape == SHAPE
    assert error(fit, whole) < 1e-4 < 0.1 < error(plain, whole)
    assert fit.recipe.stage(Merge) == Merge((group,))
    assert plain.recipe.stage(Merge) is None
    fit.save(tmp_path / "fit.npz")
    loaded = tensorfill.load(tmp_path / "fit.npz")
    assert loaded.recipe == fit.recipe
    assert isinstance(loaded.model, Merged)
    np.testing.assert_array_equal(loaded.to_dense(), fit.to_dense())
    assert "treated as one" in loaded.recipe.stage(Merge).in_words(loaded.labels)


@pytest.mark.parametrize("method", [GROW, Nort(lam=0.3, max_iter=30), "tucker_als"])
def test_it_repeats_to_the_bit_and_is_that_of_the_array_merged_by_hand(method):
    _, data = low_rank_once_merged()
    settings = {"rank": 2} if method == "tucker_als" else {}
    fit = tensorfill.complete(data, merge=[(1, 2)], method=method, rng=3, **settings)
    again = tensorfill.complete(data, **fit.recipe.arguments())
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    assert again.recipe == fit.recipe
    by_hand = tensorfill.complete(data.reshape(12, 48, 7), method=method, rng=3, **settings)
    np.testing.assert_array_equal(by_hand.to_dense().reshape(SHAPE), fit.to_dense())
    assert fit.path is None


def test_modes_and_entries_by_label():
    whole, data = low_rank_once_merged()
    names = ["station", "day", "hour", "kind"]
    index = pd.MultiIndex.from_product([[f"{name}{place}" for place in range(size)] for name, size in zip(
        names, SHAPE, strict=True)], names=names)  # fmt: skip
    table = pd.Series(data.ravel(), index, name="flow").dropna().reset_index()
    fit = tensorfill.complete(table, merge=[("hour", "day")], method=GROW, rng=0)
    assert fit.recipe.stage(Merge) == Merge(((1, 2),))
    places = np.argwhere(np.isnan(data))[:5]
    asked = pd.DataFrame([[f"{name}{at}" for name, at in zip(names, place, strict=True)] for place in places],
                         columns=names)  # fmt: skip
    np.testing.assert_allclose(fit.predict(asked)["flow"], whole[tuple(places.T)], atol=1e-3)
    assert "the modes 'day' and 'hour' were treated as one" in fit.recipe.stage(Merge).in_words(fit.labels)
    assert set(fit.factors()) == {"station", "day × hour", "kind"}
    # Settings that name modes speak of the merged tensor.
    along = tensorfill.complete(table, merge=[("day", "hour")], method="nort", lam=0.3, modes=["day × hour"], rng=0)
    assert along.method.modes == (1,)
    how = {"merge": [("day", "hour")], "method": "nort", "lam": 0.3, "modes": ["day"]}
    with pytest.raises(ValueError, match=r"no mode 'day'; .*'day × hour'"):
        tensorfill.complete(table, **how)


def test_auto_and_none_merge_nothing():
    _, data = low_rank_once_merged()
    fits = [tensorfill.complete(data, method=GROW, rng=0, **how) for how in ({}, {"merge": None}, {"merge": "auto"})]
    assert all(fit.recipe.before == () for fit in fits)
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.to_dense(), fits[0].to_dense())


def test_what_does_not_go_with_it_is_refused():
    _, data = low_rank_once_merged()
    for how, words in [
        ({"smooth": [0]}, ["smooth=[0]"]),
        ({"smooth": SmoothField({0: 1.0}, 0.1, True)}, ["smooth=SmoothField"]),
        ({"laplacian": {0: chain(12)}}, ["laplacian"]),
        ({"laplacian": Graphs({0: chain(12)}, 0.1)}, ["laplacian"]),
    ]:
        refuses(ValueError, [*words, "does not go with merge", "leave one of them out"],
                lambda how=how: tensorfill.complete(data, merge=[(1, 2)], **how))  # fmt: skip
    refuses(TypeError, ["merge", "Merge", "Centre"], lambda: tensorfill.complete(data, merge=Centre()))


def test_no_smooth_field_is_tried_beside_it():
    waves = np.sin(np.arange(24.0) / 4)[:, None, None] + np.cos(np.arange(10.0) / 2)[:, None] + np.zeros(6)
    data = np.where(np.random.default_rng(0).random(waves.shape) < 0.5, waves, np.nan)
    fit = tensorfill.complete(data, merge=[(1, 2)], rng=0)
    assert fit.recipe.stage(SmoothField) is None
    assert "smooth" not in {baseline.kind for baseline in fit.baselines}


def test_a_method_is_checked_against_the_merged_order():
    _, data = low_rank_once_merged()
    method = Grow(rank=(2, 3, 2), form="tucker")
    assert len(tensorfill.complete(data, merge=[(1, 2)], method=method, rng=0).ranks) == 3
    refuses(ValueError, ["4 modes", "(2, 3, 2)"], lambda: tensorfill.complete(data, method=method))
    refuses(ValueError, ["2 modes", "(2, 3, 2)"], lambda: tensorfill.complete(
        data, merge=[(0, 1), (2, 3)], method=method))  # fmt: skip


def test_a_fit_starts_from_an_earlier_one():
    whole, data = low_rank_once_merged()
    how = {"merge": [(1, 2)], "method": GROW, "rng": 0}
    first = tensorfill.complete(data, **how)
    later = tensorfill.complete(data, start=first, **how)
    assert error(later, whole) < 1e-4
    assert len(later.history) <= len(first.history)
    other = tensorfill.complete(data, start=first, **{**how, "merge": [(0, 1)]})
    np.testing.assert_array_equal(other.to_dense(), tensorfill.complete(data, **{**how, "merge": [(0, 1)]}).to_dense())


def test_more_entries_and_more_indices():
    whole, data = low_rank_once_merged()
    earlier = data[:, :5, :, :]
    fit = tensorfill.complete(earlier, merge=[(1, 2)], method=GROW, rng=0)
    new = data.copy()
    new[:, :5] = np.nan
    more = fit.update(Observations.from_dense(new), rng=0)
    assert more.shape == SHAPE
    assert error(more, whole) < 0.01


def test_a_callback_gets_a_model_of_the_whole():
    _, data = low_rank_once_merged()
    shapes = set()
    tensorfill.complete(
        data, merge=[(0, 2)], method=GROW, rng=0, callback=lambda record, model: shapes.add(model.shape)
    )
    assert shapes == {SHAPE}


@pytest.mark.parametrize("group", [(1, 2), (0, 2)])
def test_corrupt_entries_are_judged_by_the_merged_tensor(group):
    _, data = low_rank_once_merged(group, share=0.7)
    rng = np.random.default_rng(1)
    wrong = (rng.random(SHAPE) < 0.03) & ~np.isnan(data)
    data[wrong] += 30.0
    fit = tensorfill.complete(data, merge=[group], loss="l1", method="grow", rng=0)
    order = [0, 1, 2, 3] if group == (1, 2) else [0, 2, 1, 3]
    shape = (12, 48, 7) if group == (1, 2) else (96, 6, 7)
    by_hand = tensorfill.complete(data.transpose(order).reshape(shape), loss="l1", method="grow", smooth=None, rng=0)
    found = np.zeros(SHAPE, dtype=bool)
    found[tuple(fit.outliers()[0].T)] = True
    expected = np.zeros(shape, dtype=bool)
    expected[tuple(by_hand.outliers()[0].T)] = True
    np.testing.assert_array_equal(found.transpose(order).reshape(shape), expected)
    assert 30 < np.count_nonzero(found) <= np.count_nonzero(found & wrong) + 1


def test_intervals_and_words_of_a_fit_that_was_chosen(tmp_path):
    whole, data = low_rank_once_merged(share=0.6)
    data = data + 0.05 * np.random.default_rng(2).standard_normal(SHAPE)
    fit = tensorfill.complete(data, merge=[(1, 2)], method=["grow", "nort"], rng=0)
    places = np.argwhere(np.isnan(data))
    _, low, high = fit.predict(places, interval=0.9)
    truth = whole[tuple(places.T)]
    assert 0.8 < np.mean((low <= truth) & (truth <= high)) <= 1.0
    assert fit.held_out.distances is None or fit.held_out.distances.shape == fit.held_out.coords.shape
    assert len(fit.held_out.coords.T) == 4
    fit.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "the modes 1 and 2 were treated as one" in page
    assert str(fit)
    again = tensorfill.complete(data, **fit.recipe.arguments() | {"choose": Choice()})
    assert again.recipe.stage(Merge) == Merge(((1, 2),))


def test_centring_is_of_the_merged_tensor():
    rng = np.random.default_rng(0)
    whole = 5 + rng.standard_normal((6, 8)).reshape(1, 6, 8, 1) + rng.standard_normal((12, 1, 1, 1)) + np.zeros(SHAPE)
    data = np.where(rng.random(SHAPE) < 0.4, whole, np.nan)
    fit = tensorfill.complete(data, merge=[(1, 2)], centre=Centre(), method=Nort(lam=1e3, max_iter=3), rng=0)
    assert [type(stage) for stage in fit.recipe.before] == [Merge, Centre]
    assert error(fit, whole) < 1e-6


def test_a_run_that_is_stopped_says_what_was_merged():
    _, data = low_rank_once_merged()
    trials = []

    def enough(record, model):
        trials.append(record)
        return len(trials) > 20

    fit = tensorfill.complete(data, merge=[(1, 2)], method="nort", callback=enough, rng=0)
    if isinstance(fit.model, Merged):
        assert fit.recipe.stage(Merge) == Merge(((1, 2),))
    assert fit.shape == SHAPE


@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
def test_long_modes_that_are_mostly_empty():
    rng = np.random.default_rng(0)
    size = 70_000
    rows, others = rng.choice(size, 40, replace=False), (5, 6)
    factors = [rng.standard_normal((40 * 5, 1)), rng.standard_normal((6, 1))]
    whole = (factors[0] @ factors[1].T).reshape(40, 5, 6)
    inside = np.argwhere(rng.random(whole.shape) < 0.8)
    coords = inside.copy()
    coords[:, 0] = rows[inside[:, 0]]
    entries = Observations(coords, whole[tuple(inside.T)], (size, *others))
    shapes = set()
    fit = tensorfill.complete(
        entries, merge=[(0, 1)], method=Grow(rank=1, form="cp"), rng=0, smooth=None,
        callback=lambda record, model: shapes.add(model.shape),
    )  # fmt: skip
    places = np.argwhere(np.ones(whole.shape))
    places[:, 0] = rows[places[:, 0]]
    assert fit.shape == (size, *others)
    assert shapes == {fit.shape}
    assert fit.nbytes < 1e6
    assert rmse(fit.predict(places), whole.ravel()) < 0.3 * whole.std()
