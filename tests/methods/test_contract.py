"""What every registered method must do, on a zoo of small problems."""

from __future__ import annotations

import dataclasses
import functools
import tracemalloc
import warnings

import numpy as np
import pytest

import tensorfill
from tensorfill import Choice, Clock, Grow, Method, Observations, Problem, Status, complete
from tensorfill.losses import Square, make_loss, prepare
from tensorfill.losses.robust import make_robust
from tensorfill.methods.base import STAGES, Unsuited
from tensorfill.methods.registry import AUTOMATIC, METHODS, make_method, setting_names
from tensorfill.metrics import rmse
from tests.refusal import refuses
from tests.slow import OURS, slow_except

from .zoo import RANK, ZOO

SETTINGS = {
    "nort": {"lam": 0.1},
    "grow": {"rank": 2, "form": "tucker"},
    "cp": {"rank": 2, "ridge": 1e-3},
    "cp_means": {"rank": 2, "ridge": 1e-3, "width": 0.03},
    "calibrated": {"method": Grow(rank=2, form="tucker")},
    "softimpute": {"lam": 0.5},
    "tucker_als": {"rank": 2},
    "tucker": {"rank": 2, "ridge": 1e-3},
    "tmac": {"rank": 2},
    "tmac_tt": {"rank": 2},
    "trlrf": {"rank": 2, "lam": 1.0},
    "pa_apg": {"lam": 0.2},
    "gdpan": {"lam": 0.1},
    "admm": {"lam": 0.2},
    "lrtc": {"lam": 0.1},
    "halrtc": {"weights": 1.0},
    "falrtc": {"weights": 1.0},
    "rtdgc": {"lam": 1.0},
    "tennn": {"along": 2},
    "latc": {"rank": 2, "lam": 0.001, "lags": (1, 2)},
    "trmf": {"rank": 2, "lam": 0.1, "lam_time": 0.5, "lags": (1, 2)},
    "seasonal_ar": {"periods": (12,), "level": "wandering"},
    "rp": {"rank": 2},
    "ffw": {"lam": 5.0},
    "greedy": {"rank": 6},
    "trmm": {"lam": 0.01, "rank": 3},
    "rescal": {"rank": 4, "ridge": 0.1},
    "smoothed_nort": {"lam": 2.0, "penalty": "nuclear"},
}
"""Settings that leave nothing open; a method that is not listed has values from the middle of its axes."""


def animal_for(name, kind):
    """Return a problem whose truth a method can hold."""
    return ZOO[kind](rank=min(RANK, METHODS[name].largest_rank or RANK))


def _from_the_axes(name):
    """Return a value that a method would try, for each of its open settings."""
    problem = Problem(animal_for(name, "order_three").data, Square())
    axes = METHODS[name]().axes(problem, np.random.default_rng(0))
    return {axis.setting: axis.values[len(axis.values) // 2] for axis in axes}


GIVEN = {name: SETTINGS.get(name) or _from_the_axes(name) for name in METHODS}
"""Settings of every method that leave nothing open."""

UNFOLDED = {
    "nort": {"max_rank": 1},
    "smoothed_nort": {"max_rank": 1},
    "softimpute": {"max_rank": 1},
    "tmac": {"rank": 1},
    "ffw": {"max_iter": 1},
    "greedy": {"rank": 1},
    "trmm": {"rank": 1},
}
"""Methods whose components have a number for each pair of indices of the other modes, with settings for rank one: only
a smaller tensor leaves room for them below the size of all entries. Factors have a number for each index."""

ALONE = {"smooth": None, "centre": False}
"""Options that leave out the stages around a method, which have tests of their own."""

FARTHER = {"greedy": 1.1}
"""How much farther from the truth than others a method may end on small tensors. A greedy term is never taken back, and
its right vector is as noisy as the few entries of each column."""

IN_TIME = {"seasonal_ar"}
"""Methods for series in time, which these problems are not; what they reach is in their own tests."""

TYPICAL = {"rescal": "same_entities", "seasonal_ar": "in_time"}
"""The problem of a method that does not take ``"order_three"``."""

LOSS = {"smoothed_nort": "l1"}
"""The loss of a method that does not take the square loss."""

every_method = pytest.mark.parametrize("name", sorted(METHODS))
every_searched = pytest.mark.parametrize("name", sorted(METHODS.keys() - {"smoothed_nort"}))
"""Methods whose open settings held-out entries choose."""


def typical(name):
    """Return a problem of order three that a method takes, and its name in the zoo."""
    kind = TYPICAL.get(name, "order_three")
    return animal_for(name, kind), kind


def problem_for(name):
    """Return the same with the loss that the method takes."""
    data = typical(name)[0].data
    return Problem(data, make_robust(LOSS[name]) if name in LOSS else Square())


QUICK = ("matrix", "order_three", "counts")
"""The problems on which `make test` runs the systems that ours are compared with; `make test-all` runs them on all."""

others_slow = pytest.mark.parametrize("name", slow_except(sorted(METHODS), OURS))
searched_others_slow = pytest.mark.parametrize("name", slow_except(sorted(METHODS.keys() - {"smoothed_nort"}), OURS))


def on(kinds):
    """Return a mark that runs a test for every method on these problems."""
    cases = [(kind, name) for kind in kinds for name in sorted(METHODS)]
    return pytest.mark.parametrize(
        ("kind", "name"), slow_except(cases, [(kind, name) for kind, name in cases if name in OURS or kind in QUICK])
    )


def takes(name, animal):
    """Return whether a method takes a problem."""
    loss, values = prepare(make_loss(animal.loss), animal.data.values)
    try:
        METHODS[name]().check(Problem(animal.data.with_values(values), loss))
    except ValueError:
        return False
    return True


@functools.cache
def fitted(name, kind):
    """Return a problem and its fit, made once."""
    animal = animal_for(name, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = complete(animal.data, method=name, loss=animal.loss, dtype=animal.data.dtype, rng=0, **ALONE)
    return animal, fit


# What it says of itself


@every_method
def test_its_name_is_that_of_the_registry_and_it_is_documented(name):
    kind = METHODS[name]
    assert kind.name == name
    assert dataclasses.is_dataclass(kind)
    assert kind.stages <= set(STAGES)
    for setting in setting_names(kind):
        assert setting in (kind.__doc__ or ""), f"{setting} is not in the docstring of {kind.__name__}"
    assert getattr(tensorfill, kind.__name__) is kind


@every_method
def test_what_is_open_is_auto_and_alone_it_refuses_to_run(name):
    method = METHODS[name]()
    assert method.open_settings
    for setting in method.open_settings:
        assert getattr(method, setting) == "auto"
    problem = problem_for(name)
    refuses(ValueError, [f"method '{name}'", "'auto'"], lambda: method.solve(problem))
    given = make_method(name, GIVEN[name])
    assert given.open_settings == ()
    assert not given.axes(problem, np.random.default_rng(0))


@every_method
def test_the_axes_are_those_of_the_open_settings(name):
    method = METHODS[name]()
    problem = problem_for(name)
    axes = method.axes(problem, np.random.default_rng(0))
    if method.searched_by == "walk":
        assert {axis.setting for axis in axes} == set(method.open_settings)
        assert all(len(axis.values) for axis in axes)


@every_method
def test_bad_settings_get_one_sentence(name):
    refuses(ValueError, [f"method '{name}'", "no setting 'magic'"], lambda: make_method(name, {"magic": 1}))
    refuses(ValueError, ["max_iter", "at least 1"], lambda: make_method(name, {"max_iter": 0}))
    refuses(ValueError, ["tol", "at least 0"], lambda: make_method(name, {"tol": -1.0}))
    for setting in METHODS[name]().open_settings:
        refuses(ValueError, [setting, "'auto'", "'best'"], lambda setting=setting: make_method(name, {setting: "best"}))
        refuses(ValueError, [setting, "-1"], lambda setting=setting: _solved(name, {**GIVEN[name], setting: -1}))


def _solved(name, settings):
    return make_method(name, settings).solve(problem_for(name), rng=0)


# What it answers


@on(sorted(ZOO))
def test_it_answers_every_problem_or_refuses_it_in_one_sentence(name, kind):
    animal = animal_for(name, kind)
    if not takes(name, animal):
        refuses(
            ValueError,
            [f"method '{name}'", "'nort'", "can take it"],
            lambda: complete(animal.data, method=name, loss=animal.loss, rng=0),
        )
        return
    animal, fit = fitted(name, kind)
    assert fit.method.name == name
    assert fit.shape == animal.data.shape
    assert max(fit.ranks) <= (METHODS[name].largest_rank or max(fit.ranks))
    dense = fit.to_dense()
    assert dense.dtype == animal.data.dtype
    assert np.isfinite(dense).all()
    if animal.within is not None and name not in IN_TIME:
        missing = animal.missing
        assert rmse(dense[missing], animal.truth[missing]) < animal.within * FARTHER.get(name, 1.0) * animal.truth.std()
    np.testing.assert_allclose(fit.predict(np.argwhere(np.ones(fit.shape))), dense.ravel(), rtol=1e-4, atol=1e-5)


@others_slow
def test_yes_or_no_and_counts_come_back_on_their_scale(name):
    for kind, low, high in (("yes_or_no", 0.0, 1.0), ("counts", 0.0, np.inf)):
        animal = animal_for(name, kind)
        if not takes(name, animal):
            continue
        _, fit = fitted(name, kind)
        filled, missing = fit.filled(), animal.missing
        np.testing.assert_array_equal(filled[~missing], animal.data.to_dense()[~missing])
        assert (filled[missing] >= low).all()
        assert (filled[missing] <= high).all()
        if kind == "yes_or_no":
            assert np.mean((filled > 0.5)[missing] == (animal.truth > 0.5)[missing]) > 0.7


@on(["matrix", "order_three", "same_entities", "noisy", "sparse"])
def test_the_function_that_falls_falls_at_every_step(name, kind):
    animal = animal_for(name, kind)
    if not takes(name, animal):
        return
    method = make_method(name, {**GIVEN[name], "max_iter": 60, "tol": 0.0})
    history = method.solve(Problem(animal.data, Square()), rng=0).history
    merit = history["f_tau"]
    if not METHODS[name].descends:
        # As with a ridge that follows the noise, or with multipliers; the fit gets no worse all the same.
        assert np.isnan(merit).all()
        assert history["objective"][-1] <= history["objective"][0] * (1 + 1e-3)
        return
    assert np.isfinite(merit).all()
    assert (np.diff(merit) <= 1e-9 * np.abs(merit[:-1]).max()).all()
    assert merit[-1] < merit[0]


# When it stops


@every_method
def test_it_stops_by_each_rule(name):
    problem = problem_for(name)
    method = make_method(name, GIVEN[name])
    forever = dataclasses.replace(method, tol=0.0, max_iter=10_000)
    assert dataclasses.replace(method, tol=0.5).solve(problem, rng=0).status is Status.CONVERGED
    short = dataclasses.replace(forever, max_iter=2).solve(problem, rng=0)
    assert (short.status, short.history[-1].iteration) == (Status.MAX_ITER, 2)
    assert forever.solve(problem, rng=0, clock=Clock(1e-9)).status is Status.TIME_LIMIT
    stopped = forever.solve(problem, rng=0, callback=lambda record, model: record.iteration == 3)
    assert (stopped.status, stopped.history[-1].iteration) == (Status.CALLBACK, 3)

    def interrupt(record, model):
        if record.iteration == 3:
            raise KeyboardInterrupt

    interrupted = forever.solve(problem, rng=0, callback=interrupt)
    assert interrupted.status is Status.INTERRUPTED
    np.testing.assert_array_equal(interrupted.model.to_dense(), stopped.model.to_dense())


@every_searched
def test_a_search_that_is_stopped_answers_with_the_best_so_far(name):
    animal, _ = typical(name)
    limited = complete(animal.data, method=name, time_limit=1e-6, rng=0, **ALONE)
    assert limited.status is Status.TIME_LIMIT
    calls = []

    def interrupt(record, model):
        calls.append(record)
        if len(calls) == 25:
            raise KeyboardInterrupt

    fit = complete(animal.data, method=name, callback=interrupt, rng=0, **ALONE)
    assert fit.status is Status.INTERRUPTED
    assert len(calls) == 25
    for each in (limited, fit):
        # Until a trial is better than a simple answer, that is the best.
        assert each.method.name in (name, "mean", "effects", "interpolation")
        assert np.isfinite(each.to_dense()).all()
        assert each.residuals is not None


@every_method
def test_it_goes_on_from_its_own_answer(name):
    problem = problem_for(name)
    method = make_method(name, GIVEN[name])
    first = dataclasses.replace(method, tol=0.0, max_iter=5).solve(problem, rng=0)
    if METHODS[name].can_start_from is Method.can_start_from:
        pytest.skip("it says nothing of starting points")
    assert method.can_start_from(first.model, problem)
    again = method.solve(problem, start=first.model, rng=0)
    # A model may be stored in a form that costs the regularisation less.
    assert 0.99 < again.history[0].objective / first.history[-1].objective < 1 + 1e-6
    other = Problem(animal_for(name, "matrix").data, Square())
    assert not method.can_start_from(first.model, other)


# The same answer, everywhere


@searched_others_slow
def test_the_same_seed_gives_the_same_bits(name):
    animal, fit = fitted(name, typical(name)[1])
    again = complete(animal.data, method=name, rng=0, **ALONE)
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    given = complete(animal.data, **fit.recipe.arguments())
    assert given.method == fit.method
    assert given.path is None
    # The fit after a search may have started from its answer.
    assert rmse(given.to_dense(), fit.to_dense()) < 0.1 * animal.truth.std()


@searched_others_slow
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_units_of_the_data_do_not_matter(name, scale):
    animal, fit = fitted(name, typical(name)[1])
    scaled = complete(animal.data.with_values(animal.data.values * scale), method=name, rng=0, **ALONE)
    # Rounding may lead to another answer that is as good.
    assert rmse(scaled.to_dense() / scale, fit.to_dense()) < 0.05 * animal.truth.std()


@every_searched
def test_the_answer_has_everything_that_nort_has(name, tmp_path):
    animal, fit = fitted(name, typical(name)[1])
    # Data without a season leaves one thing to try.
    assert len(fit.path) >= (1 if name in IN_TIME else 2)
    assert all(point.tried and point.method.name == name for point in fit.path)
    assert fit.path.best.held_out == fit.path["held_out"].min()
    assert (fit.path["standard_error"] > 0).all()
    assert fit.recipe.seed == 0
    assert fit.recipe.holdout is not None
    noisy = animal.truth + 0.01 * np.random.default_rng(1).standard_normal(animal.truth.shape)
    coords = np.argwhere(animal.missing)
    _, low, high = fit.predict(coords, interval=0.9)
    assert 0.75 < np.mean((low <= noisy[animal.missing]) & (noisy[animal.missing] <= high)) <= 1
    fit.save(tmp_path / "fit.npz")
    again = tensorfill.load(tmp_path / "fit.npz")
    assert again.recipe == fit.recipe
    assert list(again.path) == list(fit.path)
    np.testing.assert_array_equal(again.predict(coords), fit.predict(coords))


def test_a_method_other_than_nort_has_a_report(tmp_path):
    pytest.importorskip("jinja2")
    _, fit = fitted("tucker_als", "order_three")
    fit.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


@every_method
def test_labels_come_back(name):
    xarray = pytest.importorskip("xarray")
    whole = typical(name)[0].data.to_dense()
    array = xarray.DataArray(whole, dims=("station", "day", "hour"), coords={"hour": range(whole.shape[2])})
    method = make_method(name, GIVEN[name])
    filled = complete(array, method=method, loss=LOSS.get(name, "square"), rng=0, **ALONE).filled()
    assert filled.dims == array.dims
    assert not filled.isnull().any()


@others_slow
def test_stages_stand_around_it_or_are_refused_by_its_name(name):
    animal, _ = typical(name)
    for stage, given in (("centre", True), ("smooth", [0]), ("refine", "tucker")):
        if stage in METHODS[name].stages:
            fit = complete(animal.data, method=name, rng=0, **{**ALONE, stage: given})
            assert np.isfinite(fit.to_dense()).all()
            assert stage == "refine" or stage in [each.name for each in fit.recipe.stages]
        else:
            refuses(
                ValueError,
                [stage, f"method '{name}'"],
                lambda stage=stage, given=given: complete(animal.data, method=name, rng=0, **{stage: given}),
            )


@searched_others_slow
def test_several_splits_choose_together(name):
    animal, _ = typical(name)
    fit = complete(animal.data, method=name, choose=Choice(splits=2), rng=0, **ALONE)
    assert len(fit.residuals) == pytest.approx(0.2 * len(animal.data), abs=3)


@every_method
def test_what_it_says_of_itself_is_checked_before_any_work(name):
    kind = METHODS[name]
    huge = Observations(np.array([[0, 0, 0], [9, 8, 7]]), np.ones(2), (2**21, 2**20, 2**19))
    if kind.whole_tensors:
        words = [f"method '{name}'", "the whole tensor", "'grow'", "can take it"]
        refuses(Unsuited, words, lambda: complete(huge, method=name, rng=0))
    if kind.square_only:
        words = [f"method '{name}'", "'square' only", "'nort'", "can take it"]
        yes_or_no = ZOO["yes_or_no"]().data
        refuses(Unsuited, words, lambda: complete(yes_or_no, method=name, loss="logistic", rng=0))


@pytest.mark.parametrize("name", sorted(name for name, kind in METHODS.items() if not kind.whole_tensors))
def test_nothing_of_the_size_of_the_tensor_is_allocated(name):
    rng = np.random.default_rng(0)
    shape, most = ((300, 200, 100), 0.7 * 8 * 300 * 200 * 100) if name in UNFOLDED else ((3000, 2000, 1000), 50e6)
    shape = (2000, 2000, 1000) if name == "rescal" else shape
    coords = np.stack([rng.integers(size, size=3000) for size in shape], axis=1)
    data = Observations(coords, rng.standard_normal(3000), shape, duplicates="last")
    method = make_method(name, {**GIVEN[name], "max_iter": 2} | UNFOLDED.get(name, {}))
    tracemalloc.start()
    try:
        method.solve(dataclasses.replace(problem_for(name), observations=data), rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most


# The registry


def test_auto_tries_methods_of_the_registry():
    assert set(AUTOMATIC) <= set(METHODS)


def test_settings_are_listed_for_methods_that_there_are():
    assert set(SETTINGS) <= set(METHODS)


@every_method
def test_it_is_a_method_and_these_tests_have_settings_for_it(name):
    assert issubclass(METHODS[name], Method)
    assert GIVEN[name], "its axes name no setting, so add some to SETTINGS"
