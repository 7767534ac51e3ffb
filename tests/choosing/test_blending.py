"""Blends: their weights, and the answers that are made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorfill
from tensorfill import Centre, Nort
from tensorfill.choosing.blending import LEAST, _on_the_simplex, blend_weights
from tensorfill.choosing.contest import Contest
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.splits import Choice, losses_of, make_splits
from tensorfill.choosing.recipe import Portion, Recipe
from tensorfill.choosing.run import run
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tensorfill.methods.simple import Interpolation, Mean
from tensorfill.models import Blend, Dense
from tensorfill.observations import Observations
from tests.refusal import refuses
from tests.strategies import generators


class TestWeights:
    @settings(max_examples=40, deadline=None)
    @given(generators, st.integers(2, 6))
    def test_they_minimise_the_squared_error_on_the_simplex(self, rng, count):
        errors = rng.standard_normal((count, 30)) * rng.uniform(0.5, 3, (count, 1)) + rng.standard_normal(30)
        weights = _on_the_simplex(errors @ errors.T)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1)
        found = scipy.optimize.minimize(
            lambda w: np.sum((w @ errors) ** 2),
            np.full(count, 1 / count),
            bounds=[(0, 1)] * count,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            tol=1e-12,
        )
        assert np.sum((weights @ errors) ** 2) <= found.fun * (1 + 1e-6)

    def test_answers_that_err_in_other_ways_are_averaged(self):
        errors = np.random.default_rng(0).standard_normal((3, 3000))
        np.testing.assert_allclose(blend_weights(errors, 1), np.full(3, 1 / 3), atol=0.05)

    def test_one_that_is_far_better_stays_alone(self):
        errors = np.random.default_rng(0).standard_normal((3, 500)) * [[10.0], [1.0], [10.0]]
        assert blend_weights(errors, 1) is None

    @pytest.mark.parametrize("seed", range(20))
    def test_noise_about_the_same_errors_is_no_reason_to_blend(self, seed):
        random = np.random.default_rng(seed)
        same = random.standard_normal(60)
        assert blend_weights(same + 1e-3 * random.standard_normal((4, 60)), 0) is None

    def test_small_parts_are_left_out(self):
        random = np.random.default_rng(0)
        errors = random.standard_normal((3, 20000)) * [[1.0], [1.0], [6.0]]
        weights = blend_weights(errors, 0)
        assert weights[2] == 0
        assert weights.sum() == pytest.approx(1)
        assert weights[weights > 0].min() >= LEAST

    def test_few_entries_do_not_choose_weights(self):
        assert blend_weights(np.random.default_rng(0).standard_normal((2, 19)), 0) is None

    @pytest.mark.parametrize("seed", [1, 10, 11])
    def test_few_entries_go_only_part_of_the_way(self, seed):
        errors = np.random.default_rng(seed).standard_normal((6, 40))
        errors[0] *= 0.8
        weights, whole = blend_weights(errors, 0), _on_the_simplex(errors @ errors.T)
        assert whole[0] + 0.05 < weights[0] < 1


def problem_of(array):
    return Problem(Observations.from_dense(array), Square())


@pytest.fixture(scope="module")
def table():
    rows, columns = np.arange(1.0, 13.0), np.arange(1.0, 11.0)
    array = np.outer(rows, columns) + np.random.default_rng(0).standard_normal((12, 10))
    array[[2, 5, 7], [3, 4, 8]] = np.nan
    return array


class TestRecipe:
    def test_it_runs_as_its_parts_do(self, table):
        problem = problem_of(table)
        parts = [Recipe(method=Interpolation(along=1)), Recipe(method=Mean())]
        blended = run(Recipe(method=Interpolation(along=1), beside=(Portion(0.25, parts[1]),)), problem)
        each = [run(part, problem).model.to_dense() for part in parts]
        assert isinstance(blended.model, Blend)
        np.testing.assert_allclose(blended.model.to_dense(), 0.75 * each[0] + 0.25 * each[1])

    def test_weights_that_sum_to_one_or_more_are_refused(self):
        half = Portion(0.5, Recipe(method=Mean()))
        refuses(ValueError, ["sum to less than 1"], lambda: Recipe(method=Mean(), beside=(half, half)))
        refuses(ValueError, ["weight", "above 0", "1.5"], lambda: Portion(1.5, Recipe(method=Mean())))

    def test_a_part_is_no_blend(self):
        inner = Recipe(method=Mean(), beside=(Portion(0.5, Recipe(method=Mean())),))
        refuses(ValueError, ["must not be a blend"], lambda: Portion(0.5, inner))

    def test_its_text_has_the_weights(self):
        recipe = Recipe((Centre(),), method=Mean(), beside=(Portion(0.25, Recipe(method=Interpolation(along=1))),))
        assert str(recipe).startswith("0.75 of Centre(")
        assert "; 0.25 of Interpolation(" in str(recipe)


@pytest.mark.parametrize(("size", "parts"), [(0.9, 2), (1.5, 1)])
def test_an_answer_that_is_no_better_than_the_mean_has_no_part(size, parts):
    """Two answers err in opposite directions: together they are right, but one of them may be worse than the mean."""
    truth = np.random.default_rng(0).standard_normal((20, 30))
    data = Observations.from_dense(truth)
    splits, holdout = make_splits(data, Square(), Choice(splits=1), np.random.default_rng(0))
    contest = Contest(Problem(data, Square()), splits, holdout, {}, {}, Context(np.random.default_rng(0)))

    def answer(share):
        models = [Dense((1 + share) * truth, (0, 0))]
        return replace(contest.quick[0], models=models, losses=losses_of(splits, models))

    contest.finalists = [best, _] = [answer(0.5), answer(-size)]
    assert len(contest.blended(best, simple=False).beside) + 1 == parts


@pytest.fixture(scope="module")
def wandering():
    """Return patterns of slowly falling rank with wandering series on top, which no one method has, and the truth."""
    random = np.random.default_rng(2)
    factors = [random.standard_normal((size, 29)) for size in (30, 20, 8)]
    truth = np.einsum("ir,jr,kr,r->ijk", *factors, 1 / np.arange(1.0, 30))
    truth += 0.4 * np.cumsum(random.standard_normal(truth.shape), axis=0)
    return np.where(random.random(truth.shape) < 0.4, np.nan, truth), truth


@pytest.fixture(scope="module")
def blended(wandering):
    fit = tensorfill.complete(wandering[0], rng=0)
    assert fit.recipe.beside, "this data is meant to be blended"
    return fit


class TestComplete:
    def test_it_is_no_worse_than_the_best_alone_at_held_out_entries(self, wandering, blended):
        single = tensorfill.complete(wandering[0], rng=0, blend=False)
        assert not single.recipe.beside
        assert blended.held_out_error < single.held_out_error

    def test_print_and_the_report_show_the_weights(self, blended, tmp_path):
        first = f"a blend of {blended.recipe.weights[0]:.2f} "
        assert first in str(blended)
        blended.report(tmp_path / "report.html")
        assert first in (tmp_path / "report.html").read_text()

    def test_weights_sum_to_one_and_the_first_is_the_largest(self, blended):
        assert sum(blended.recipe.weights) == pytest.approx(1)
        assert max(blended.recipe.weights) == blended.recipe.weights[0]

    def test_it_is_saved_and_read(self, blended, tmp_path):
        blended.save(tmp_path / "fit.npz")
        again = tensorfill.load(tmp_path / "fit.npz")
        assert again.recipe == blended.recipe
        np.testing.assert_array_equal(again.to_dense(), blended.to_dense())

    def test_its_recipe_repeats_it(self, wandering, blended):
        again = tensorfill.complete(wandering[0], **blended.recipe.arguments())
        assert again.recipe.weights == pytest.approx(blended.recipe.weights)
        spread = np.nanstd(wandering[0])
        assert np.sqrt(np.mean((again.to_dense() - blended.to_dense()) ** 2)) < 0.2 * spread

    def test_it_is_updated(self, wandering, blended):
        new = Observations([[0, 0, 0], [3, 4, 5]], wandering[1][[0, 3], [0, 4], [0, 5]], wandering[1].shape)
        updated = blended.update(new)
        assert updated.recipe.weights == pytest.approx(blended.recipe.weights)
        assert isinstance(updated.model, Blend)

    def test_it_has_no_factors_and_says_so(self, blended):
        refuses(ValueError, ["no factors", "blend", "blend=False"], blended.factors)

    def test_it_has_the_unit_of_the_data(self, wandering):
        large, small = (tensorfill.complete(2.0**power * wandering[0], rng=0) for power in (70, -70))
        assert large.recipe.beside
        # A search takes other turns after a difference of rounding, which depends on where arrays lie in memory. So a
        # part of a few per cent may be in one blend and not in the other.
        assert large.recipe.weights[0] == pytest.approx(small.recipe.weights[0], abs=0.1)
        apart = large.to_dense() / 2.0**70 - small.to_dense() * 2.0**70
        assert np.sqrt(np.mean(apart**2)) < 0.2 * np.nanstd(wandering[0])
        again = tensorfill.complete(2.0**70 * wandering[0], **large.recipe.arguments())
        assert again.to_dense().std() == pytest.approx(large.to_dense().std(), rel=0.1)

    def test_a_given_method_is_not_blended(self, wandering):
        fit = tensorfill.complete(wandering[0], method="nort", rng=0)
        assert isinstance(fit.method, Nort)
        assert not fit.recipe.beside

    def test_other_words_are_refused(self, wandering):
        refuses(TypeError, ["blend", "True, False", "'yes'"], lambda: tensorfill.complete(wandering[0], blend="yes"))
