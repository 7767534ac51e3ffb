"""The contract of every stage: it is a value, it is saved, and it does to a problem or an answer what it promises."""

from __future__ import annotations

import dataclasses
import json
from typing import ClassVar

import numpy as np
import pytest

import tensorfill
from tensorfill import Centre, Choice, Clock, Graphs, Nort, Observations, Polish, Problem, SmoothField, Whiten
from tensorfill.choosing.context import Context
from tensorfill.choosing.recipe import Recipe
from tensorfill.choosing.run import run
from tensorfill.choosing.stages.base import After, Before, Lift, Reduced
from tensorfill.choosing.stages.table import STAGES
from tensorfill.graphs import chain
from tensorfill.io.typed import decoded, encoded
from tensorfill.labels import Labels
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.models.folded import nothing
from tests.refusal import refuses

SETTINGS = {
    "scale": {"exponent": 5},
    "laplacian": {"laplacians": {0: chain(12)}, "mu": 0.3},
    "whiten": {"exponent": 0.5, "spreads": (tuple(np.linspace(-1.0, 1.0, 12)), (), (0.0, 0.7) * 4)},
    "merge": {"groups": ((1, 2),)},
    "fold": {"mode": 1, "period": 4},
    "smooth": {"weights": {0: 1.0, 1: 0.5}, "stiffness": 0.1, "low_rank": True},
}
"""Settings of the stages that need some."""

every_stage = pytest.mark.parametrize("name", list(STAGES))
METHOD = Nort(lam=0.3, max_iter=30, max_rank=3)


def of_kind(kind):
    return pytest.mark.parametrize("name", [name for name, stage in STAGES.items() if issubclass(stage, kind)])


def made(name):
    return STAGES[name](**SETTINGS.get(name, {}))


def problem(empty=(3,)):
    """Return a low-rank tensor with effects, holes, and empty slices."""
    rng = np.random.default_rng(0)
    whole = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in (12, 10, 8)))
    whole += 5 + rng.standard_normal((12, 1, 1))
    seen = rng.random(whole.shape) < 0.6
    seen[list(empty)] = False
    return Problem(Observations.from_dense(whole, seen), Square())


def ran(stages, of=None):
    before = tuple(each for each in stages if isinstance(each, Before))
    after = tuple(each for each in stages if isinstance(each, After))
    return run(Recipe(before, method=METHOD, after=after), of or problem(), None, Context(np.random.default_rng(0)))


@every_stage
def test_it_is_a_value_with_a_name_and_words(name):
    stage = made(name)
    assert stage.name == name
    assert stage == made(name)
    assert dataclasses.replace(stage) == stage
    assert stage.title
    assert isinstance(stage.in_words(Labels.plain(3)), str)
    assert all(0 <= mode < 3 for mode in stage.modes)
    with pytest.raises(dataclasses.FrozenInstanceError):
        stage.anything = 1


@every_stage
def test_a_file_keeps_it(name):
    stage = made(name)
    again = decoded(json.loads(json.dumps(encoded(stage))))
    assert type(again) is type(stage)
    if name != "laplacian":  # a file does not hold graphs
        assert again == stage


@every_stage
def test_a_recipe_with_it_runs_and_repeats_its_bits(name):
    first, again = (ran([made(name)]) for _ in range(2))
    assert first.model.shape == problem().observations.shape
    whole = first.model.to_dense()
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(again.model.to_dense(), whole)
    # A later run can start from the core.
    later = run(Recipe(method=METHOD), problem(), first.core or first.model, Context(np.random.default_rng(0)))
    assert np.isfinite(later.model.to_dense()).all()


@of_kind(Before)
def test_what_is_reduced_comes_back(name):
    whole = problem()
    part = Reduced(whole).by([made(name)], Clock())
    zero = nothing(part.problem.observations.shape)
    assert part.whole(zero).shape == whole.observations.shape
    assert len(part.problem.observations) == len(whole.observations)
    model = METHOD.solve(part.problem, rng=0).model
    core = part.core(model)
    assert core.shape == whole.observations.shape
    np.testing.assert_allclose(
        part.start(core).to_dense(), model.to_dense(), atol=1e-8 * np.abs(model.to_dense()).max()
    )
    entries = part.lifts[0].entries(whole.observations)
    if entries is not None:
        # The entries that are fitted are in the terms of the problem.
        np.testing.assert_allclose(entries.values, part.problem.observations.values)
        np.testing.assert_array_equal(entries.coords, part.problem.observations.coords)


@of_kind(Before)
def test_residuals_are_those_of_the_whole(name):
    """What the reduced problem says of an entry and leaves of it is what the whole does, back in the terms of that."""
    whole = problem(empty=())
    part = Reduced(whole).by([made(name)], Clock())
    model = METHOD.solve(part.problem, rng=0).model
    [lift] = part.lifts
    inside, outside = part.problem.observations, whole.observations
    found = lift.back(inside.with_values(model.predict(inside.coords)))
    np.testing.assert_array_equal(lift.places(inside.coords), outside.coords)
    np.testing.assert_allclose(lift.back(inside).values, outside.values, atol=1e-9)
    np.testing.assert_allclose(found.values, part.whole(model).predict(outside.coords), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "unit"),
    [("scale", lambda coords: 2.0**5), ("whiten", lambda coords: np.exp(0.5 * log_sizes(coords)))],
)
def test_the_unit_of_residuals_is_what_the_stage_says(name, unit):
    whole = problem(empty=())
    part = Reduced(whole).by([made(name)], Clock())
    model = METHOD.solve(part.problem, rng=0).model
    inside, outside = part.problem.observations, whole.observations
    left = unit(outside.coords) * (inside.values - model.predict(inside.coords))
    np.testing.assert_allclose(left, outside.values - part.whole(model).predict(outside.coords), atol=1e-9)


def log_sizes(coords):
    """Return the summed log spreads of `SETTINGS`, by hand."""
    return -1.0 + 2.0 * coords[:, 0] / 11 + 0.7 * (coords[:, 2] % 2)


@of_kind(After)
def test_an_improved_answer_is_of_the_same_tensor(name):
    whole = problem()
    model = METHOD.solve(whole, rng=0).model
    better = made(name).improve(whole, model, Clock())
    assert better.shape == model.shape
    near = made(name).improve(whole, model, Clock(), better)
    np.testing.assert_allclose(near.to_dense(), better.to_dense(), atol=1e-2)


@pytest.mark.parametrize("name", [name for name, stage in STAGES.items() if stage.chosen])
def test_a_fit_repeats_from_it_without_holding_entries_out(name):
    data = problem(empty=()).observations
    fit = tensorfill.complete(data, method=METHOD, rng=0, **{name: made(name)})
    assert fit.path is None
    assert fit.recipe.stages == (made(name),)
    again = tensorfill.complete(data, **fit.recipe.arguments())
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    assert again.recipe == fit.recipe


def test_a_stage_of_another_kind_is_refused():
    data = problem().observations
    for name, given in (("centre", 3), ("refine", "cp"), ("smooth", 1.5), ("whiten", True), ("whiten", "yes")):
        with pytest.raises((ValueError, TypeError), match=name):
            tensorfill.complete(data, method=METHOD, rng=0, **{name: given})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Centre(rounds=-1), ["rounds", "-1"]),
        (lambda: Polish(sweeps=0), ["sweeps", "0"]),
        (lambda: SmoothField({0: 1.0}, -0.1, True), ["stiffness", "-0.1"]),
        (lambda: SmoothField({1: 0.0}, 0.1, True), ["weight of mode 1", "0.0"]),
        (lambda: Graphs({}, mu=float("nan")), ["mu", "nan"]),
        (lambda: tensorfill.complete(problem().observations, centre=Polish(), rng=0), ["centre", "Centre", "Polish"]),
        (lambda: tensorfill.complete(problem().observations, whiten=Polish(), rng=0), ["whiten", "Whiten", "Polish"]),
        (lambda: tensorfill.complete(problem().observations, whiten=0.5, rng=0), ["whiten", "'auto', None", "0.5"]),
        (lambda: Whiten(1.5, ()), ["exponent", "1.5"]),
        (lambda: Whiten(float("nan"), ()), ["exponent", "nan"]),
        (lambda: Whiten(1.0, ((0.0, float("inf")),)), ["spreads[0]", "finite"]),
        (lambda: Whiten(1.0, ((), np.zeros((2, 2)))), ["spreads[1]", "(2, 2)"]),
        (lambda: Whiten(1.0, (np.zeros(10_001),)), ["spreads[0]", "10,000"]),
    ],
)
def test_bad_settings_get_one_sentence(make, words):
    refuses((ValueError, TypeError), words, make)


def test_the_graphs_of_a_file_are_asked_for_again(tmp_path):
    data = problem().observations
    fit = tensorfill.complete(data, method=METHOD, laplacian=made("laplacian"), rng=0)
    fit.save(tmp_path / "fit.npz")
    loaded = tensorfill.load(tmp_path / "fit.npz")
    arguments = loaded.recipe.arguments()
    refuses(ValueError, ["graph of mode 0", "file"], lambda: tensorfill.complete(data, **arguments))
    again = tensorfill.complete(data, **arguments | {"laplacian": made("laplacian")})
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())


@pytest.mark.parametrize("method", [METHOD, "nort"], ids=["given", "chosen"])
def test_a_stage_before_the_method_that_was_added_is_done(method, monkeypatch):
    """Also where settings are chosen; then the held-out entries are predicted through it."""
    reduced = []

    @dataclasses.dataclass(frozen=True)
    class Doubled(Before):
        name: ClassVar[str] = "double"
        title: ClassVar[str] = "Doubled"

        def reduce(self, problem, clock, beside=None):
            reduced.append(len(problem.observations))
            seen = problem.observations
            return Problem(seen.with_values(2 * seen.values), problem.loss), Halving()

    class Halving(Lift):
        def model(self, model):
            return model.scaled(0.5)

        def start(self, core):
            return core.scaled(2.0)

        def entries(self, entries):
            return entries.with_values(2 * entries.values)

    monkeypatch.setitem(STAGES, "double", Doubled)
    data = problem(empty=()).observations
    options = {"centre": False, "smooth": None, "rng": 0}
    fit = tensorfill.complete(data, method=method, double=Doubled(), **options)
    plain = tensorfill.complete(data, method=method, **options)
    assert Doubled() in fit.recipe.before
    assert len(data) in reduced
    assert rmse(fit.to_dense(), plain.to_dense()) < 0.2 * data.values.std()
    assert (min(reduced) < len(data)) is (method == "nort")


def test_the_given_weight_of_graphs_is_kept_where_entries_are_held_out():
    data = problem().observations
    for method in (METHOD, "nort"):
        fit = tensorfill.complete(
            data, method=method, laplacian=made("laplacian"), choose=Choice(), centre=False, smooth=None, rng=0
        )
        assert fit.recipe.stage(Graphs).mu == 0.3
        assert fit.residuals is not None


@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
@pytest.mark.parametrize("rounds", [0, 1])
def test_the_given_number_of_rounds_is_kept_where_entries_are_held_out(rounds):
    random = np.random.default_rng(0)
    yes = (random.random((12, 10, 8)) < 0.2 + 0.6 * random.random((12, 1, 1))).astype(float)
    data = np.where(random.random(yes.shape) < 0.7, yes, np.nan)
    fit = tensorfill.complete(
        data, method=Nort(lam=1.0), loss="logistic", centre=Centre(rounds), choose=Choice(), rng=0
    )
    assert fit.recipe.stage(Centre) == Centre(rounds)
