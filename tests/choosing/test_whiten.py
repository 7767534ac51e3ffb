"""Whitening: the spreads of slices, the way there and back for every kind of model, and what it is good for."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorfill
from tensorfill import Centre, Choice, Clock, Nort, Observations, Problem, TuckerAls, Whiten, graphs
from tensorfill.choosing.context import Context
from tensorfill.choosing.recipe import Recipe
from tensorfill.choosing.run import run
from tensorfill.choosing.stages.base import Reduced
from tensorfill.choosing.stages.whiten import LEAST_SPREAD, LONGEST, multiplied, spreads
from tensorfill.io.typed import decoded, encoded
from tensorfill.labels import Labels
from tensorfill.losses import Huber, Square
from tensorfill.models import Blend, Centred
from tensorfill.models.slices import Slices
from tests.models.test_models import FACTORIES, SHAPE, close, linked_cp, linked_tucker_float32, placed_cp
from tests.refusal import refuses

OPTIONS = {"centre": False, "smooth": None, "rng": 0}


def entries(shape, rng, count):
    """Return the coordinates of distinct entries."""
    chosen = rng.choice(int(np.prod(shape)), count, replace=False)
    return np.stack(np.unravel_index(chosen, shape), axis=1)


def planted(shape, rng, sd, modes):
    """Return log spreads of some modes, with a mean of zero, and zeros for the others."""
    found = [rng.normal(0, sd, size) if mode in modes else np.zeros(size) for mode, size in enumerate(shape)]
    return [each - each.mean() for each in found]


def summed(logs, coords):
    return sum(np.asarray(own)[coords[:, mode]] for mode, own in enumerate(logs) if len(own))


class TestSpreads:
    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 10**6), modes=st.sets(st.integers(0, 2), min_size=1))
    def test_planted_spreads_are_found_among_many_residuals(self, seed, modes):
        rng = np.random.default_rng(seed)
        shape = (12, 10, 25)
        logs = planted(shape, rng, 0.7, modes)
        coords = np.indices(shape).reshape(3, -1).T
        found = spreads(coords, np.exp(summed(logs, coords)) * rng.standard_normal(len(coords)), shape)
        for mode, own in enumerate(logs):
            estimate = np.array(found[mode] or np.zeros(shape[mode]))
            # A spread of n residuals has a standard error of 1 / sqrt(2 n), and n is 120 or more here.
            assert np.abs(estimate - own).max() < 0.5
            assert np.sqrt(np.mean((estimate - own) ** 2)) < 0.2

    def test_few_residuals_say_little(self):
        rng = np.random.default_rng(0)
        shape = (40, 30, 50)
        coords = entries(shape, rng, 60)
        found = spreads(coords, rng.standard_normal(60), shape)
        assert max(np.abs(own).max(initial=0.0) for own in found) < 0.35
        # One or two residuals of a true spread of e**2 move an estimate a little towards it.
        logs = planted(shape, rng, 2.0, {0})
        found = spreads(coords, np.exp(summed(logs, coords)) * rng.standard_normal(60), shape)
        assert np.std(found[0]) < 0.5 * np.std(logs[0])

    def test_equal_residuals_have_no_spread(self):
        coords = np.indices((5, 6)).reshape(2, -1).T
        assert spreads(coords, np.full(30, -0.3), (5, 6)) == ((), ())
        assert spreads(coords, np.zeros(30), (5, 6)) == ((), ())
        assert spreads(coords[:0], np.zeros(0), (5, 6)) == ((), ())

    @pytest.mark.parametrize("unit", [1e-150, 3.0, 1e150])
    def test_the_unit_does_not_matter(self, unit):
        rng = np.random.default_rng(0)
        shape = (6, 7, 8)
        coords = entries(shape, rng, 200)
        residuals = np.exp(summed(planted(shape, rng, 1.0, {0}), coords)) * rng.standard_normal(200)
        for one, two in zip(spreads(coords, residuals, shape), spreads(coords, unit * residuals, shape), strict=True):
            np.testing.assert_allclose(two, one, atol=1e-12)

    def test_the_mean_over_the_entries_is_zero(self):
        rng = np.random.default_rng(0)
        shape = (6, 7, 8)
        coords = entries(shape, rng, 200)
        found = spreads(coords, np.exp(coords[:, 0] / 2) * rng.standard_normal(200), shape)
        for mode, own in enumerate(found):
            np.testing.assert_allclose(np.array(own)[coords[:, mode]].mean(), 0, atol=1e-12)

    def test_one_huge_residual_moves_its_slice_a_little_and_no_other(self):
        rng = np.random.default_rng(0)
        shape = (20, 20)
        coords = np.indices(shape).reshape(2, -1).T
        residuals = rng.standard_normal(400)
        before = [np.array(own) for own in spreads(coords, residuals, shape)]
        residuals[0] = 1e6
        after = [np.array(own) for own in spreads(coords, residuals, shape)]
        for one, two in zip(before, after, strict=True):
            # Without a limit it would be 13.
            assert two[0] - one[0] < 0.4
            assert np.abs(two[1:] - one[1:]).max() < 0.1

    def test_a_slice_of_truly_large_residuals_is_not_cut_off(self):
        rng = np.random.default_rng(0)
        coords = np.indices((20, 200)).reshape(2, -1).T
        size = np.where(coords[:, 0] == 3, 20.0, 1.0)
        found = np.array(spreads(coords, size * rng.standard_normal(len(coords)), (20, 200))[0])
        others = np.delete(found, 3)
        assert abs(found[3] - others.mean() - np.log(20)) < 0.2

    def test_exact_entries_do_not_make_spreads_endless(self):
        coords = np.indices((20, 200)).reshape(2, -1).T
        residuals = np.where(coords[:, 0] == 3, 1.0, 0.0)
        found = spreads(coords, residuals, (20, 200))
        assert np.isfinite(found[0]).all()
        assert np.argmax(found[0]) == 3

    def test_long_modes_are_left_alone_and_cost_nothing(self):
        rng = np.random.default_rng(0)
        shape = (10**12, LONGEST, LONGEST + 1)
        coords = np.stack([rng.integers(0, size, 500) for size in shape], axis=1)
        residuals = np.exp(coords[:, 1] / LONGEST) * rng.standard_normal(500)
        tracemalloc.start()
        found = spreads(coords, residuals, shape)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (len(found[0]), len(found[1]), len(found[2])) == (0, LONGEST, 0)
        assert peak < 5e6

    def test_settings_are_proposed_if_there_is_something_to_gain(self):
        rng = np.random.default_rng(0)
        shape = (12, 10, 25)
        coords = np.indices(shape).reshape(3, -1).T
        noise = rng.standard_normal(len(coords))
        assert Whiten.proposed(coords, noise, shape) == ()
        assert Whiten.proposed(coords[:0], noise[:0], shape) == ()
        half, full = Whiten.proposed(coords, noise * np.exp(summed(planted(shape, rng, 0.5, {0}), coords)), shape)
        assert (half.exponent, full.exponent) == (0.5, 1.0)
        # They differ by the size of the whitened data only.
        np.testing.assert_allclose(np.ptp(np.subtract(half.spreads[0], full.spreads[0])), 0, atol=1e-12)
        assert np.std(summed(full.spreads, coords)) > LEAST_SPREAD

    @pytest.mark.parametrize(("count", "most"), [(30, 60), (300, 5), (3000, 0)])
    def test_even_residuals_are_seldom_taken_for_uneven(self, count, most):
        rng = np.random.default_rng(0)
        shape = (20, 18, 16)
        drawn = [Whiten.proposed(entries(shape, rng, count), rng.standard_normal(count), shape) for _ in range(200)]
        assert sum(map(bool, drawn)) <= most


class TestTheStage:
    def test_it_is_a_short_value(self):
        rng = np.random.default_rng(0)
        stage = Whiten(0.5, (rng.normal(size=5000), (), rng.normal(size=8)))
        assert len({stage, Whiten(0.5, tuple(stage.spreads)), Whiten(1.0, stage.spreads)}) == 2
        assert decoded(json.loads(json.dumps(encoded(stage)))) == stage
        assert repr(stage) == "Whiten(exponent=0.5, spreads of 5,000 indices of mode 0 and 8 indices of mode 2)"
        words = stage.in_words(Labels.plain(3))
        assert "power 0.5" in words
        assert "times the usual size" in words
        assert len(words) < 200
        assert Whiten(1.0, ((), ())).in_words(Labels.plain(2)) == "nothing was divided"

    @pytest.mark.parametrize(
        "stage", [Whiten(0.0, ((0.5, -0.5), ())), Whiten(1.0, ((), ())), Whiten(1.0, ((0, 0), ()))]
    )
    def test_nothing_to_divide_is_no_change(self, stage):
        problem = Problem(Observations.from_dense(np.ones((2, 3))), Square())
        part = Reduced(problem).by([stage], Clock())
        assert part.problem is problem

    def test_the_values_are_divided(self):
        values = np.arange(1.0, 7.0).reshape(2, 3)
        stage = Whiten(0.5, ((np.log(4.0), 0.0), (0.0, 0.0, np.log(9.0))))
        part = Reduced(Problem(Observations.from_dense(values), Square())).by([stage], Clock())
        np.testing.assert_allclose(
            part.problem.observations.values, (values / np.outer([2.0, 1.0], [1.0, 1.0, 3.0])).ravel()
        )

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_type_is_kept(self, dtype):
        seen = Observations.from_dense(np.ones((2, 3))).astype(dtype)
        part = Reduced(Problem(seen, Square())).by([Whiten(1.0, ((1.0, 0.0), ()))], Clock())
        [lift] = part.lifts
        assert part.problem.observations.dtype == dtype
        assert lift.back(part.problem.observations).dtype == dtype


SIZES = {0: np.exp(np.linspace(-1, 1, SHAPE[0])), 2: np.exp(np.linspace(0.5, -0.7, SHAPE[2]))}


class TestModels:
    @pytest.mark.parametrize("factory", FACTORIES, ids=lambda each: each.__name__)
    def test_every_kind_is_multiplied_and_divided_again(self, factory):
        model, dense = factory(SHAPE, np.random.default_rng(0))
        there = multiplied(model, SIZES)
        wanted = dense * SIZES[0][:, None, None] * SIZES[2]
        close(there.to_dense(), wanted, model)
        assert there.dtype == model.dtype
        assert there.shape == model.shape
        back = multiplied(there, {mode: 1 / own for mode, own in SIZES.items()})
        close(back.to_dense(), dense, model)
        if factory not in (linked_cp, linked_tucker_float32):  # a model of scores, which are not whitened
            assert there.ranks == model.ranks
        if not isinstance(model, Centred | Blend) and factory not in (linked_cp, linked_tucker_float32):
            assert type(there) is type(model)
            assert type(back) is type(model)

    def test_nothing_is_made_dense(self):
        from tensorfill.models import CPModel
        from tensorfill.models.additive import Additive

        shape = (3000, 2000, 1000)
        rng = np.random.default_rng(0)
        inner = CPModel(shape, np.ones(2), [rng.standard_normal((size, 2)) for size in shape])
        model = Centred(inner, Additive(1.0, tuple(rng.standard_normal(size) for size in shape)))
        sizes = {mode: np.exp(rng.standard_normal(size)) for mode, size in enumerate(shape)}
        coords = np.stack([rng.integers(0, size, 50) for size in shape], axis=1)
        by_hand = np.prod([own[coords[:, mode]] for mode, own in sizes.items()], axis=0)
        np.testing.assert_allclose(multiplied(model, sizes).predict(coords), by_hand * model.predict(coords))

    def test_slices_in_their_places(self):
        model, dense = placed_cp(SHAPE, np.random.default_rng(0))
        assert isinstance(model.slices[0], Slices)
        close(multiplied(model, {2: SIZES[2]}).to_dense(), dense * SIZES[2], model)
        assert multiplied(model, {2: SIZES[2]}).slices == model.slices

    def test_components_stay_singular_vectors(self):
        model = multiplied(FACTORIES[0](SHAPE, np.random.default_rng(0))[0], SIZES)
        for part in model.components:
            np.testing.assert_allclose(part.u.T @ part.u, np.eye(part.rank), atol=1e-12)
            np.testing.assert_allclose(part.v.T @ part.v, np.eye(part.rank), atol=1e-12)


def uneven(rng, shape=(20, 18, 16), sd=1.0, noise=0.3, observed=0.4):
    """Return a low-rank tensor, the log sizes of noise along the last mode, and noisy data with holes."""
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in shape))
    logs = rng.normal(0, sd, shape[2])
    logs -= logs.mean()
    noisy = truth + noise * np.exp(logs) * rng.standard_normal(shape)
    return truth, logs, np.where(rng.random(shape) < observed, noisy, np.nan)


STAGE = Whiten(1.0, ((), (), tuple(np.linspace(-0.8, 0.8, 16))))


class TestTheFrontDoor:
    @pytest.mark.parametrize("centre", [False, Centre()], ids=["plain", "centred"])
    @pytest.mark.parametrize("method", [Nort(lam=0.5, max_rank=3), TuckerAls(rank=2), tensorfill.CP(rank=2, ridge=0.1)])
    def test_a_file_keeps_it_and_a_fit_repeats_to_the_bit(self, method, centre, tmp_path):
        data = uneven(np.random.default_rng(0))[2]
        fit = tensorfill.complete(data, method=method, whiten=STAGE, **{**OPTIONS, "centre": centre})
        assert fit.recipe.stage(Whiten) == STAGE
        assert fit.path is None
        fit.save(tmp_path / "fit.npz", data=True)
        loaded = tensorfill.load(tmp_path / "fit.npz")
        assert loaded.recipe == fit.recipe
        np.testing.assert_array_equal(loaded.to_dense(), fit.to_dense())
        again = tensorfill.complete(data, **loaded.recipe.arguments(), smooth=None)
        np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
        assert again.recipe == fit.recipe
        # A warm start is at the answer.
        warm = tensorfill.complete(data, **{**fit.recipe.arguments(), "smooth": None, "start": fit})
        assert len(warm.history) < 0.6 * len(fit.history)
        assert np.sqrt(np.mean((warm.to_dense() - fit.to_dense()) ** 2)) < 0.01 * np.nanstd(data)

    @pytest.mark.parametrize("said", [None, "auto"])
    def test_nothing_is_done_unless_it_is_given(self, said):
        data = uneven(np.random.default_rng(0))[2]
        plain = tensorfill.complete(data, method=TuckerAls(rank=2), **OPTIONS)
        fit = tensorfill.complete(data, method=TuckerAls(rank=2), whiten=said, **OPTIONS)
        assert fit.recipe == plain.recipe
        np.testing.assert_array_equal(fit.to_dense(), plain.to_dense())

    def test_it_is_weighted_least_squares(self):
        """An answer of least squares is where the slope of the weighted squares along its own factors is zero."""
        data = uneven(np.random.default_rng(0))[2]
        fit = tensorfill.complete(data, method=TuckerAls(rank=2, tol=0, max_iter=300), whiten=STAGE, **OPTIONS)
        weighted = np.nan_to_num(data - fit.to_dense()) / np.exp(2 * np.array(STAGE.spreads[2]))
        _, second, third = fit.model.factors
        slope = np.einsum("ijk,jb,kc,abc->ia", weighted, second, third, fit.model.core)
        assert np.abs(slope).max() < 1e-4 * np.linalg.norm(weighted) * np.linalg.norm(fit.model.core)
        plain = np.nan_to_num(data - fit.to_dense())
        of_plain = np.einsum("ijk,jb,kc,abc->ia", plain, second, third, fit.model.core)
        assert np.abs(of_plain).max() > 1e-2 * np.linalg.norm(plain) * np.linalg.norm(fit.model.core)

    def test_held_out_errors_are_on_the_scale_of_the_data(self):
        _, logs, data = uneven(np.random.default_rng(0))
        own = {"whiten": Whiten(1.0, ((), (), tuple(logs))), "choose": Choice(holdout="entry"), **OPTIONS}
        fit = tensorfill.complete(data, method=TuckerAls(rank=2), **own)
        noise = 0.3 * np.sqrt(np.mean(np.exp(2 * logs)))
        assert 0.5 * noise < fit.held_out_error < 2 * noise
        observed = fit.error_bars.held_out.observed
        assert np.isin(observed, data[~np.isnan(data)]).all()

    @pytest.mark.parametrize("centre", [False, Centre()], ids=["plain", "centred"])
    def test_an_update_adds_indices_of_the_usual_size(self, centre):
        truth, _, data = uneven(np.random.default_rng(0), sd=0.0)
        whole = np.concatenate([data, data[:, :, :2]], axis=2)
        new = Observations.from_dense(whole, ~np.isnan(whole) & (np.arange(18) >= 16))
        stage = Whiten(1.0, ((), (), tuple(np.linspace(-0.8, 0.8, 16))))
        fit = tensorfill.complete(
            Observations.from_dense(data), method=TuckerAls(rank=2), whiten=stage, **{**OPTIONS, "centre": centre}
        )
        later = fit.update(new)
        assert later.recipe.stage(Whiten).spreads == ((), (), (*stage.spreads[2], 0.0, 0.0))
        error = later.to_dense()[:, :, 16:] - truth[:, :, :2]
        assert np.sqrt(np.mean(error**2)) < 0.5 * truth.std()

    def test_new_slices_start_on_the_scale_of_the_data(self, monkeypatch):
        """A new slice is fitted to whitened entries as a sum of old ones that are whitened too."""
        truth, _, data = uneven(np.random.default_rng(0), sd=0.0, noise=0.01)
        whole = np.concatenate([data, data[:2]])
        new = Observations.from_dense(whole, ~np.isnan(whole) & (np.arange(22) >= 20)[:, None, None])
        stage = Whiten(1.0, (tuple(np.linspace(-2, 2, 20)), (), STAGE.spreads[2]))
        fit = tensorfill.complete(Observations.from_dense(data), method=TuckerAls(rank=2), whiten=stage, **OPTIONS)
        starts = []

        def solve(recipe, problem, start, *args, **options):
            starts.append(start)
            return run(recipe, problem, start, *args, **options)

        monkeypatch.setattr("tensorfill.choosing.updating.run", solve)
        fit.update(new)
        error = starts[-1].to_dense()[20:] - truth[:2]
        assert np.sqrt(np.mean(error**2)) < 0.01 * truth.std()

    def test_new_labels_between_the_old_ones_keep_the_spreads_of_those(self):
        stage = Whiten(1.0, ((0.5, -0.5), ()))
        assert stage.renumbered((3, 4), [np.array([0, 2]), None]) == Whiten(1.0, ((0.5, 0.0, -0.5), ()))
        assert stage.renumbered((LONGEST + 1, 4), [None, None]) == Whiten(1.0, ((), ()))

    def test_a_blend_has_its_own_for_each_part(self):
        data = uneven(np.random.default_rng(0))[2]
        parts = [Recipe((STAGE,), method=TuckerAls(rank=2)), Recipe((STAGE, Centre()), method=TuckerAls(rank=1))]
        problem = Problem(Observations.from_dense(data), Square())
        models = [run(each, problem, None, Context(np.random.default_rng(0))).model for each in parts]
        both = Recipe((STAGE,), method=TuckerAls(rank=2), beside=(tensorfill.choosing.recipe.Portion(0.25, parts[1]),))
        blended = run(both, problem, None, Context(np.random.default_rng(0))).model
        np.testing.assert_allclose(
            blended.to_dense(), 0.75 * models[0].to_dense() + 0.25 * models[1].to_dense(), atol=1e-6
        )

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"loss": Huber(1.0)}, ["whiten needs loss 'square'", "Huber"]),
            ({"loss": "l1"}, ["whiten needs loss 'square'", "l1"]),
            ({"laplacian": {0: graphs.chain(20)}}, ["whiten", "graphs"]),
            ({"whiten": Whiten(1.0, ((), (), (0.0, 1.0)))}, ["whiten", "(20, 18, 16)", "(0, 0, 2)"]),
            ({"whiten": Whiten(1.0, ((), ()))}, ["whiten", "(20, 18, 16)"]),
            ({"whiten": True}, ["whiten", "'auto', None or a Whiten", "True"]),
        ],
    )
    def test_what_cannot_be_whitened_is_refused(self, options, words):
        data = uneven(np.random.default_rng(0))[2]
        arguments = {"method": Nort(lam=0.5), "whiten": STAGE, **OPTIONS, **options}
        refuses((ValueError, TypeError), words, lambda: tensorfill.complete(data, **arguments))

    def test_counts_are_refused(self):
        data = np.random.default_rng(0).poisson(2.0, (20, 18, 16)).astype(float)
        refuses(
            ValueError,
            ["whiten needs loss 'square'", "Poisson"],
            lambda: tensorfill.complete(data, loss="poisson", method=Nort(lam=0.5), whiten=STAGE, rng=0),
        )

    def test_the_call_in_a_report_does_not_have_thousands_of_numbers(self):
        from tensorfill.report.source import source_of

        made = source_of(Whiten(1.0, (tuple(np.linspace(-1, 1, 1000)), ())))
        assert made.text == "your_whiten"
        assert made.own
        assert eval(source_of(STAGE).text, {"Whiten": Whiten}) == STAGE


def ratios_with(method, seed, sd, noise):
    """Return squared errors with a stage whose spreads are estimated, relative to those without, and what was proposed.

    They are the errors of the truth, in the eight slices with the least noise and in all.
    """
    truth, logs, data = uneven(np.random.default_rng(seed), sd=sd, noise=noise)
    seen = Observations.from_dense(data)
    fitted, held_out = seen.split(0.2, rng=seed)
    first = tensorfill.complete(fitted, method=TuckerAls(rank=2), **OPTIONS)
    known = (held_out.coords, held_out.values - first.predict(held_out.coords), seen.shape)
    without, with_it = (
        tensorfill.complete(data, method=method, whiten=whiten, **OPTIONS).to_dense() - truth
        for whiten in (None, Whiten(1.0, spreads(*known)))
    )
    quiet = np.argsort(logs)[:8]
    ratio = np.sum(with_it[..., quiet] ** 2) / np.sum(without[..., quiet] ** 2)
    return ratio, np.sum(with_it**2) / np.sum(without**2), Whiten.proposed(*known)


@pytest.mark.slow
@pytest.mark.parametrize("method", [TuckerAls(rank=2), Nort(max_rank=4)], ids=lambda method: method.name)
def test_slices_of_uneven_noise_are_known_better(method):
    """Squared errors fall by half or more in the quiet slices, and clearly in all of them, on average of data sets."""
    quiet, every, proposed = zip(*(ratios_with(method, seed, sd=1.0, noise=0.4) for seed in range(6)), strict=True)
    assert all(proposed)
    assert np.exp(np.mean(np.log(quiet))) < 0.5
    assert np.exp(np.mean(np.log(every))) < 0.7


@pytest.mark.slow
def test_even_noise_loses_little_even_if_it_is_whitened():
    """What the estimate of spreads costs where there are none, which is what `proposed` saves."""
    _, every, proposed = zip(*(ratios_with(TuckerAls(rank=2), seed, 0.0, 0.4) for seed in range(12)), strict=True)
    assert np.exp(np.mean(np.log(every))) < 1.1
    assert not any(proposed)
