"""The stages behind the front door: one clock, one guard, the best answer so far, and a recipe that repeats."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Centre, Choice, Clock, Nort, Observations, Polish, Status, complete, graphs
from tensorfill.choosing import choose, completing, finishing
from tensorfill.choosing import run as program
from tensorfill.choosing.completing import Work
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.splits import Split
from tensorfill.choosing.search.grow import GrowSearch
from tensorfill.choosing.stages.smooth_field import SmoothField
from tensorfill.choosing.task import Task
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tensorfill.methods.tucker_als import TuckerAls
from tensorfill.metrics import rmse
from tensorfill.penalties import PENALTIES
from tests.slow import slow_except

DATA = synthetic((20, 18, 16), rank=2, rng=0)


def error(fit):
    return rmse(fit.predict(DATA.test.coords), DATA.test.values)


def wavy(seed=0, keep=0.5):
    """Return a picture with smooth neighbours, and the same with holes."""
    rng = np.random.default_rng(seed)
    rows, columns = np.meshgrid(np.linspace(0, 3, 40), np.linspace(0, 2, 30), indexing="ij")
    truth = np.sin(rows * columns) + np.cos(3 * rows) * columns
    return truth, np.where(rng.random(truth.shape) < keep, truth, np.nan)


# Repeating


@pytest.mark.parametrize("penalty", slow_except(sorted(PENALTIES), ["lsp", "tnn"]))
def test_repeating_from_what_a_fit_says_gives_the_same_answer(penalty):
    # To the end: two runs that stop at a loose tolerance differ by about that.
    fit = complete(DATA.observations, penalty=penalty, tol=1e-7, max_iter=1000, rng=3)
    same = complete(DATA.observations, rng=fit.seed, **fit.recipe.asked)
    np.testing.assert_array_equal(same.to_dense(), fit.to_dense())
    again = complete(DATA.observations, **fit.recipe.arguments())
    assert again.path is None
    assert again.method == fit.method
    assert rmse(again.to_dense(), fit.to_dense()) < 0.01 * fit.to_dense().std()


def test_the_seed_is_kept_even_if_nobody_gave_one():
    fit = complete(DATA.observations, max_iter=20, smooth=None, centre=False)
    again = complete(DATA.observations, max_iter=20, smooth=None, centre=False, rng=fit.seed)
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    drawn = complete(DATA.observations, lam=0.1, rng=np.random.default_rng(0))
    again = complete(DATA.observations, lam=0.1, rng=drawn.seed)
    np.testing.assert_array_equal(again.to_dense(), drawn.to_dense())


def test_a_recipe_holds_typed_objects():
    fit = complete(DATA.observations, loss="huber", max_iter=20, rng=0)
    assert isinstance(fit.recipe.method, Nort)
    assert fit.recipe.loss.delta > 0
    assert fit.recipe.asked == {"loss": "huber", "max_iter": 20}
    assert fit.recipe.holdout.block == (1, 1, 1)


def test_a_recipe_with_every_stage_repeats():
    truth, holes = wavy()
    fit = complete(holes, smooth=[0, 1], centre=True, rng=0)
    assert fit.recipe.stage(SmoothField) is not None
    again = complete(holes, **fit.recipe.arguments())
    assert again.recipe.stage(SmoothField) is not None
    assert again.method == fit.method
    assert again.recipe.before == fit.recipe.before
    assert again.recipe.after == fit.recipe.after
    assert again.residuals is None
    # Without noise the best lambda is tiny, and both stop on the way, from different starts.
    assert rmse(again.to_dense(), truth) < 1.5 * rmse(fit.to_dense(), truth)


# Stages around a method that has nothing left to choose


def test_entries_are_held_out_for_a_given_lambda_if_that_is_asked_for():
    plain = complete(DATA.observations, lam=0.05, rng=0)
    assert plain.residuals is None
    fit = complete(DATA.observations, lam=0.05, choose=Choice(splits=2), rng=0)
    assert len(fit.path) == 1
    _, low, high = fit.predict(DATA.test.coords, interval=0.9)
    noisy = DATA.test.values + DATA.noise * np.random.default_rng(0).standard_normal(len(DATA.test))
    assert 0.8 < np.mean((low <= noisy) & (noisy <= high)) < 0.97
    polished = complete(DATA.observations, lam=0.05, refine="tucker", rng=0)
    assert polished.recipe.stage(Polish) is not None
    assert error(polished) < error(plain)


def test_a_graph_fills_empty_slices_for_any_method():
    rng = np.random.default_rng(0)
    rows = np.sin(np.linspace(0, 3, 30))[:, None] * [1.0, 2.0]
    truth = np.einsum("ir,jr,kr->ijk", rows, rng.standard_normal((12, 2)), rng.standard_normal((10, 2)))
    holes = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
    empty = [5, 14, 22]
    holes[empty] = np.nan
    for method in ({"lam": 0.05}, {"method": "tucker_als"}, {}):
        fit = complete(holes, laplacian={0: graphs.chain(30)}, rng=0, **method)
        assert rmse(fit.to_dense()[empty], truth[empty]) < 0.1 * truth.std(), method


# One clock and one guard


@pytest.mark.parametrize("stage", [Polish, SmoothField])
def test_ctrl_c_in_a_late_stage_keeps_the_answer(monkeypatch, stage):
    truth, holes = wavy()

    def interrupt(contest, scored, kind, clock, *, alone):
        if kind is stage:
            raise KeyboardInterrupt
        return scored

    monkeypatch.setattr(finishing, "improved", interrupt)
    fit = complete(holes, refine="tucker", smooth=[0, 1], rng=0)
    assert fit.status is Status.INTERRUPTED
    assert fit.path is not None
    assert fit.residuals is not None
    assert rmse(fit.to_dense(), truth) < 0.5 * truth.std()


def test_ctrl_c_while_the_answer_is_smoothed_at_the_end_keeps_the_smoothed_split(monkeypatch):
    truth, holes = wavy()
    run = completing.run

    def interrupt(*given, **more):
        monkeypatch.setattr(SmoothField, "improve", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        return run(*given, **more)

    monkeypatch.setattr(completing, "run", interrupt)
    fit = complete(holes, smooth=[0, 1], rng=0)
    assert fit.status is Status.INTERRUPTED
    assert fit.recipe.stage(SmoothField) is not None
    assert rmse(fit.to_dense(), truth) < 0.3 * truth.std()


@pytest.mark.parametrize("stage", [Polish, SmoothField])
def test_the_last_polish_and_smoothing_obey_the_clock(monkeypatch, stage):
    """The limit is reached after the fit of all entries; the finished answer without the held-out ones is returned."""
    truth, holes = wavy()
    asked = {"refine": "tucker", "smooth": None} if stage is Polish else {"smooth": [0, 1]}
    context = Context(np.random.default_rng(0), clock=Clock(1000.0))
    task = Task(Observations.from_dense(holes), Square(), asked={"centre": False, **asked})
    work, methods = Work.of(task, [Nort(max_iter=30)], context)
    solved = program._solved

    def late(*given, **more):
        result = solved(*given, **more)
        if len(given[1].observations) == len(task.observations):
            context.clock.limit = 1e-9
        return result

    monkeypatch.setattr(program, "_solved", late)
    answer = work.best_of(methods, every=True)
    assert answer.recipe.stage(stage) is not None
    assert answer.result.status is Status.TIME_LIMIT
    assert rmse(answer.result.model.to_dense(), truth) < 0.5 * truth.std()


@pytest.mark.parametrize("options", [{}, {"lam": 0.3}], ids=["chosen", "given"])
def test_a_robust_loss_obeys_the_clock_the_callback_and_the_keyboard_from_its_first_fit(options):
    limited = complete(DATA.observations, loss="l1", time_limit=1e-6, rng=0, **options)
    assert limited.status is Status.TIME_LIMIT
    assert limited.history[-1].iteration == 1
    records = []
    stopped = complete(
        DATA.observations, loss="l1", rng=0, callback=lambda record, model: records.append(record) or True, **options
    )
    assert stopped.status is Status.CALLBACK
    assert len(records) == 1

    def interrupt(record, model):
        records.append(record)
        if len(records) == 40:
            raise KeyboardInterrupt

    fit = complete(DATA.observations, loss="l1", rng=0, callback=interrupt, **options)
    assert fit.status is Status.INTERRUPTED
    assert len(records) == 40
    assert np.isfinite(fit.to_dense()).all()


@pytest.mark.parametrize("options", [{}, {"lam": 0.3}], ids=["chosen", "given"])
def test_a_robust_fit_that_is_stopped_before_all_entries_are_judged_gives_no_gross_error_back(options):
    table = np.outer(np.linspace(1.0, 2.0, 30), np.linspace(1.0, 3.0, 20))
    table[3, 4] = 1e3
    fit = complete(table, loss="l1", time_limit=1e-6, smooth=None, rng=0, **options)
    assert fit.status is Status.TIME_LIMIT
    assert [3, 4] in fit.outliers()[0].tolist()
    assert fit.filled().max() < 10


def test_a_robust_first_fit_shows_its_progress(capsys):
    complete(DATA.observations, loss="l1", time_limit=1e-6, progress=True, rng=0)
    assert "looking for corrupt entries" not in capsys.readouterr().out
    shown = []

    class Spy:
        def __getattr__(self, name):
            return lambda *given: shown.append((name, *given))

    task = Task(DATA.observations, "l1", asked={"smooth": None})
    work, methods = Work.of(task, [Nort()], Context(np.random.default_rng(0), display=Spy()))
    work.best_of(methods, every=True)
    begun = [each[1] for each in shown if each[0] == "begin"]
    assert begun[0] == "looking for corrupt entries"
    assert "fitting all entries" in begun


def test_the_time_of_several_methods_is_shared():
    fit = complete(DATA.observations, method=["nort", "tucker_als"], time_limit=1e-6, rng=0)
    assert fit.status is Status.TIME_LIMIT
    tried = {point.method.name for point in fit.path}
    assert tried == {"nort", "tucker_als"}


# Several methods


def test_the_best_of_several_methods_is_kept_and_named():
    fit = complete(DATA.observations, method=["nort", "tucker_als"], rng=0)
    alone = complete(DATA.observations, method="tucker_als", rng=0)
    assert fit.method.name == "tucker_als"
    assert error(fit) == pytest.approx(error(alone), rel=0.05)
    assert {point.method.name for point in fit.path} == {"nort", "tucker_als"}


def test_auto_tries_no_other_method_if_the_first_leaves_nothing():
    fit = complete(DATA.observations, choose=Choice(splits=1), rng=0)
    assert fit.method.name == "grow"
    assert {point.method.name for point in fit.path} == {"grow"}
    assert error(fit) < 1.5 * DATA.limit


@pytest.mark.slow
def test_auto_tries_all_if_the_first_leaves_something():
    rng = np.random.default_rng(0)
    # A spectrum that falls slowly has something above the noise at any rank.
    rows, columns = (np.linalg.qr(rng.standard_normal((size, 30)))[0] for size in (60, 50))
    table = 100 * (rows / np.arange(1, 31)) @ columns.T + 0.01 * rng.standard_normal((60, 50))
    table[rng.random(table.shape) < 0.2] = np.nan
    fit = complete(table, smooth=None, blend=False, rng=0)
    names = {"grow", "nort", "cp", "lrtc"}
    assert {point.method.name for point in fit.path} == names
    each = [complete(table, method=name, smooth=None, rng=0) for name in names]
    best = min(each, key=lambda alone: alone.held_out_error)
    assert fit.method.name == best.method.name
    assert fit.held_out_error == pytest.approx(best.held_out_error, rel=0.05)


@pytest.mark.parametrize(
    ("of_a_field", "matters", "ended"), [(np.inf, True, [2, 1]), (np.inf, False, [2]), (1e-9, True, [2])], ids=str
)
def test_what_may_win_is_brought_to_the_end_and_the_best_in_any_case(monkeypatch, of_a_field, matters, ended):
    seen, bring = [], choose.bring_to_the_end

    def noted(contest, clock):
        seen.append(contest.best.current.trial.method.rank)
        bring(contest, clock)

    for each in (choose, finishing):
        monkeypatch.setattr(each, "bring_to_the_end", noted)
    monkeypatch.setattr(choose.Contest, "rival", of_a_field)
    monkeypatch.setattr(choose.Contest, "may_matter", lambda contest, scored: matters)
    task = Task(DATA.observations, Square(), asked={"smooth": None, "centre": False})
    work, methods = Work.of(task, [TuckerAls(rank=1), TuckerAls(rank=2)], Context(np.random.default_rng(0)))
    answer = work.best_of(methods, every=False)
    assert seen == ended
    assert answer.recipe.method.rank == 2


def test_method_objects_bring_their_settings_and_what_they_leave_open_is_chosen():
    open_one = complete(DATA.observations, method=Nort(penalty="mcp", max_iter=60), rng=0)
    assert type(open_one.method.penalty) is PENALTIES["mcp"]
    assert open_one.method.max_iter <= 60  # it may stop earlier, if that predicts better
    assert open_one.path is not None
    given = complete(DATA.observations, method=Nort(lam=0.05), rng=0)
    assert given.path is None


def test_entries_to_validate_with_are_taken_as_the_loss_takes_them():
    rng = np.random.default_rng(0)
    score = np.outer(rng.standard_normal(20), rng.standard_normal(15))
    yes = (score > 0).astype(float)
    seen = rng.random(yes.shape) < 0.5
    table = np.where(seen, yes, np.nan)
    held = np.argwhere(~seen)[:60]
    validation = Observations(held, yes[tuple(held.T)], yes.shape)
    fit = complete(table, loss="logistic", choose=Choice(validation=validation), rng=0)
    assert fit.path.best.held_out < np.sqrt(2 * np.log(2))


def test_a_split_predicts_for_the_whole_tensor():
    split = Split(Problem(DATA.observations, Square()), held_out=DATA.test)
    model = Nort(lam=0.1, max_rank=2).solve(split.problem, rng=0).model
    np.testing.assert_array_equal(split.predict(model), model.predict(DATA.test.coords))


def test_only_the_better_of_plain_and_centred_data_is_finished(monkeypatch):
    rng = np.random.default_rng(0)
    effects = rng.standard_normal((30, 1, 1)) + rng.standard_normal((1, 28, 1)) + rng.standard_normal((1, 1, 4))
    noisy = effects + 0.5 * rng.standard_normal((30, 28, 4))
    holes = np.where(rng.random(noisy.shape) < 0.5, noisy, np.nan)
    finished = []
    monkeypatch.setattr(GrowSearch, "finish", lambda self, trials: finished.append(trials.before))
    fit = complete(holes, method="grow", smooth=None, rng=0)
    assert {point.before for point in fit.path} == {(), ("centred",)}
    assert finished == [("centred",) if fit.recipe.stage(Centre) else ()]


def test_data_is_centred_for_every_method_if_that_was_better_for_the_one_before():
    rng = np.random.default_rng(0)
    factors = [np.linalg.qr(rng.standard_normal((size, 24)))[0] for size in (30, 28)]
    falling_slowly = (factors[0] / np.arange(1, 25)) @ factors[1].T
    effects = np.add.outer(np.add.outer(rng.standard_normal(30), rng.standard_normal(28)), rng.standard_normal(3))
    values = effects + 6 * np.multiply.outer(falling_slowly, rng.uniform(0.5, 1, 3))
    holes = np.where(rng.random(values.shape) < 0.2, values + 0.3 * rng.standard_normal(values.shape), np.nan)
    path = complete(holes, smooth=None, rng=0).path
    grown = [
        [p.held_out for p in path if p.method.name == "grow" and p.before == before] for before in ((), ("centred",))
    ]
    assert min(grown[1]) < min(grown[0])
    assert {point.before for point in path if point.method.name == "nort"} == {("centred",)}
