"""The calls that a report prints: they run, and they give the same answer."""

from __future__ import annotations

import ast
import dataclasses
import warnings

import numpy as np
import pytest

import tensorfill
from tensorfill import Centre, Choice, Nort, Observations, SmoothField, TuckerAls
from tensorfill.losses import Huber
from tensorfill.methods.registry import METHODS
from tensorfill.penalties import LSP, PENALTIES
from tensorfill.report.call import call_to_repeat, call_without_search
from tests import examples
from tests.slow import OURS, slow_except

NO_STAGES = {"smooth": None, "centre": False}


def run(text, data):
    """Return the fit that a call makes."""
    names = {"data": data}
    exec(text, names)
    return names["fit"]


def same(one, other):
    np.testing.assert_array_equal(one.to_dense(), other.to_dense())
    assert one.lam == other.lam


def nearly_same(one, other, within=0.01):
    # A few entries that the data hardly determines may differ by more.
    difference = np.sqrt(np.mean((one[...] - other[...]) ** 2))
    assert difference < within * one.observations.values.std()
    assert other.path is None


@pytest.fixture(scope="module")
def data():
    return tensorfill.datasets.synthetic((16, 14, 12), rank=2, rng=0).observations


@pytest.fixture(scope="module")
def table():
    """Return a matrix that is smooth, and whose rows have means of their own."""
    rows, columns = np.mgrid[0:3:14j, 0:2:12j]
    random = np.random.default_rng(0)
    whole = 100 + 10 * rows + 5 * np.sin(3 * rows) * np.cos(2 * columns) + random.normal(0, 0.5, rows.shape)
    whole[random.random(whole.shape) < 0.3] = np.nan
    return whole


class TestTheCallRepeatsTheFit:
    @pytest.mark.parametrize("penalty", slow_except(PENALTIES, ["capped_l1", "tnn"]))
    def test_with_every_penalty_with_a_search_and_without(self, penalty, data):
        # The nuclear norm is slow to converge, so its answer depends on the start at the usual tolerance.
        fewer = {} if penalty == "nuclear" else {"modes": [0, 2], "max_rank": 3}
        fit = tensorfill.complete(data, penalty=penalty, tol=1e-6, rng=3, **fewer, **NO_STAGES)
        same(run(call_to_repeat(fit), data), fit)
        # If the answer of the search is the better start, the fit is repeated from another one.
        nearly_same(fit, run(call_without_search(fit), data), within=0.2)

    @pytest.mark.parametrize("penalty", ["capped_l1", "mcp", "scad"])
    def test_with_penalties_that_reach_a_bad_answer_from_zero(self, penalty):
        clean = tensorfill.datasets.synthetic((16, 14, 12), rank=2, noise=0.001, rng=0).observations
        fit = tensorfill.complete(clean, penalty=penalty, tol=1e-6, rng=3, **NO_STAGES)
        nearly_same(fit, run(call_without_search(fit), clean))

    def test_a_seed_that_was_drawn_is_kept(self, data):
        fit = tensorfill.complete(data, smooth=None, centre=False)
        assert f"rng={fit.seed}," in call_to_repeat(fit)
        same(run(call_to_repeat(fit), data), fit)

    def test_given_settings(self):
        fit = examples.given()
        text = call_to_repeat(fit)
        assert 'penalty="capped_l1",' in text
        assert "theta=0.8," in text
        assert "import tensorfill\n\nfit = " in text
        same(run(text, fit.observations), fit)
        assert call_without_search(fit) is None

    def test_objects_with_their_imports(self, data):
        method = Nort(lam=0.01, penalty=LSP(0.1), tol=1e-6)
        fit = tensorfill.complete(data, method=method, loss=Huber(delta=2.0), bounds=(-1, 1), rng=np.int64(5))
        text = call_to_repeat(fit)
        for line in (
            "from tensorfill import Nort",
            "from tensorfill.losses import Huber",
            "from tensorfill.penalties import LSP",
            "    method=Nort(tol=1e-06, lam=0.01, penalty=LSP(theta=0.1)),",
            "    loss=Huber(delta=2.0),",
            "    bounds=(-1, 1),",
            "    rng=5,",
        ):
            assert line in text.splitlines()
        same(run(text, data), fit)

    def test_a_robust_loss_of_its_own_and_a_choice(self, data):
        from tensorfill.losses.robust import Robust
        from tensorfill.penalties import Nuclear

        options = {"lam": 0.05, "penalty": "nuclear", "choose": Choice(splits=2), **NO_STAGES}
        fit = tensorfill.complete(data, loss=Robust(Nuclear()), **options, rng=0)
        text = call_to_repeat(fit)
        assert "loss=Robust(penalty=Nuclear())," in text
        assert "choose=Choice(splits=2)," in text
        same(run(text, data), fit)

    @pytest.mark.parametrize("method", slow_except(sorted(METHODS.keys() - {"nort", "smoothed_nort", "rescal"}), OURS))
    def test_every_other_method(self, method, data):
        fit = tensorfill.complete(data, method=method, rng=0, **NO_STAGES)
        same(run(call_to_repeat(fit), data), fit)
        # Slow methods stop elsewhere if they do not start from the answer of a search.
        nearly_same(fit, run(call_without_search(fit), data), within=0.05)

    def test_the_rank_of_a_tucker_model(self):
        assert "method=TuckerAls(rank=2)," in call_without_search(examples.tucker())

    @pytest.mark.slow
    def test_several_methods(self, data):
        fit = examples.several()
        assert 'method=["nort", "tucker_als"],' in call_to_repeat(fit)
        same(run(call_to_repeat(fit), fit.observations), fit)
        own = tensorfill.complete(data, method=[TuckerAls(rank=2), Nort(lam=1.0)], smooth=None, centre=False, rng=0)
        assert "method=[TuckerAls(rank=2), Nort(lam=1.0)]," in call_to_repeat(own)
        same(run(call_to_repeat(own), data), own)

    @pytest.mark.parametrize("stages", [{"centre": True, "smooth": None, "refine": "tucker"}, {"smooth": [0, 1]}])
    def test_centred_smooth_and_polished(self, stages, table):
        fit = tensorfill.complete(table, rng=0, **stages)
        same(run(call_to_repeat(fit), table), fit)

    def test_a_stage_that_was_not_kept_is_not_tried_again(self, table):
        fit = tensorfill.complete(table, centre=True, smooth=None, rng=0)
        again = run(call_without_search(fit), table)
        assert again.recipe.stage(Centre) == fit.recipe.stage(Centre)
        assert again.recipe.stage(SmoothField) is None
        np.testing.assert_allclose(again[...], fit[...], atol=0.05 * np.nanstd(table))

    def test_a_fit_that_was_read_from_a_file(self, data, tmp_path):
        fit = tensorfill.complete(data, penalty="scad", modes=[0], **NO_STAGES, rng=3)
        fit.save(tmp_path / "fit.npz")
        loaded = tensorfill.load(tmp_path / "fit.npz")
        assert call_to_repeat(loaded) == call_to_repeat(fit)
        assert call_without_search(loaded) == call_without_search(fit)


def random_settings(number):
    """Return one of many combinations of settings."""
    rng = np.random.default_rng(number)

    def some(**each):
        return {name: values[rng.integers(len(values))] for name, values in each.items() if rng.random() < 0.6}

    loss = ["square", "square", "huber", "l1", "logistic", "poisson"][number % 6]
    settings = some(
        method=["nort", "cp", "softimpute", ["nort", "cp"]],
        centre=[True, False],
        smooth=[None, [0], ["mode_1"], [0, 1]] if loss in ("square", "l1") else [None],
        bounds=[(0, 2), (0, None), (None, 1.5)],
        dtype=["float32", np.float64],
        rng=[5, np.int64(6), np.random.default_rng(number)],
    )
    if loss == "l1":
        settings.pop("dtype", None)
    if settings.get("method", "nort") == "nort":
        settings |= some(max_rank=[1, 2, 3], penalty=["nuclear", "capped_l1"], modes=[[0, 1], (1,)], max_iter=[30])
        settings |= some(refine=["tucker"]) if loss == "square" else {}
    settings["method"] = settings.get("method", "nort")
    choice = some(holdout=["entry", ("fibre", 1), "auto"], splits=[2, 3], validation=[0.2, 0.3])
    if choice:
        settings["choose"] = Choice(**choice)
    return {"loss": loss, "tol": 1e-3} | settings if isinstance(settings["method"], str) else {"loss": loss} | settings


class TestRandomSettings:
    @pytest.mark.parametrize("number", slow_except(range(20), range(6)))
    def test_the_printed_call_gives_the_same_answer(self, number):
        random = np.random.default_rng(100)
        values = np.outer(random.uniform(0.2, 1.5, 12), random.uniform(0.2, 1.5, 10)) + random.normal(0, 0.05, (12, 10))
        settings = random_settings(number)
        if settings["loss"] in ("logistic", "poisson"):
            values = np.round(values).clip(0, 1 if settings["loss"] == "logistic" else None)
        values[random.random(values.shape) < 0.2] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = tensorfill.complete(values, **settings)
            again = run(call_to_repeat(fit), values)
        same(again, fit)
        assert again.seed == fit.seed
        assert again.recipe.holdout == fit.recipe.holdout
        np.testing.assert_array_equal(again.held_out.coords, fit.held_out.coords)
        asked = {name for name in settings if name != "rng"} - (
            {"dtype"} if settings.get("dtype") is np.float64 else set()
        )
        asked -= {"loss"} if settings["loss"] == "square" else set()
        for name in asked:
            assert f"    {name}=" in call_to_repeat(fit)


class TestWhatTheCallSays:
    def test_the_settings_that_were_chosen_are_taken_over(self):
        fit = examples.labelled()
        assert "lam" not in call_to_repeat(fit)
        given = call_without_search(fit)
        assert repr(fit.lam) in given
        assert f"penalty=LSP(theta={fit.theta[0]!r})," in given

    def test_modes_are_called_by_their_names(self):
        fit = examples.labelled()
        method = dataclasses.replace(fit.method, modes=(1,), lam=(1.0,), max_rank=None)
        text = call_without_search(
            dataclasses.replace(fit, recipe=dataclasses.replace(fit.recipe, method=method, after=()))
        )
        assert 'modes=("day",)' in text
        assert "max_rank" not in text
        ast.parse(text)

    def test_a_seed_is_drawn_from_a_generator_of_the_caller(self, data):
        fit = tensorfill.complete(data, lam=0.01, rng=np.random.default_rng(0))
        text = call_to_repeat(fit)
        assert f"    rng={fit.seed}," in text.splitlines()
        same(run(text, data), fit)

    def test_a_path_is_part_of_the_call(self, table, tmp_path):
        np.save(tmp_path / "table.npy", table)
        fit = tensorfill.complete(tmp_path / "table.npy", lam=1.0, rng=3)
        text = call_to_repeat(fit)
        assert f'    "{tmp_path / "table.npy"}",' in text.splitlines()
        same(run(text, None), fit)
        assert "data" not in fit.recipe.arguments()

    def test_objects_of_the_users_own_are_names(self):
        class MyOwn:
            pass

        graph = np.eye(20)
        recipe = dataclasses.replace(examples.given().recipe, asked={"loss": MyOwn(), "laplacian": {2: graph}})
        text = call_to_repeat(dataclasses.replace(examples.given(), recipe=recipe))
        assert "    loss=your_my_own,  # an object of your own" in text.splitlines()
        assert "    laplacian={2: your_ndarray},  # your_ndarray: an object of your own" in text.splitlines()
        ast.parse(text)

    def test_held_out_entries_of_the_users_own_are_a_name(self, data):
        held_out = Observations(data.coords[:50], data.values[:50], data.shape)
        fit = tensorfill.complete(data, choose=Choice(validation=held_out), lam=0.01, rng=0)
        assert "choose=Choice(validation=your_observations),  # your_observations: an" in call_to_repeat(fit)

    def test_a_long_line_is_broken(self):
        for text in (call_to_repeat(examples.labelled()), call_without_search(examples.labelled())):
            assert max(map(len, text.splitlines())) <= 88
