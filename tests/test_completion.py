"""The front door."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import tensorfill
from tensorfill import Choice, Fit, Grow, Nort, Observations, Status, complete
from tensorfill.choosing.doubts import NothingMissingWarning
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tensorfill.metrics import rmse
from tensorfill.penalties import LSP, PENALTIES
from tests.slow import slow_except


def incomplete(shape=(14, 12, 10), missing=0.5, seed=0, noise=0.01):
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((size, 2)) for size in shape]
    truth = np.einsum("ir,jr,kr->ijk", *factors)
    seen = truth + noise * rng.standard_normal(shape)
    return truth, np.where(rng.random(shape) < missing, np.nan, seen)


class Doubled:
    """A loss of the user's own."""

    curvature = 2.0

    def value(self, prediction, observed):
        return (prediction - observed) ** 2

    def derivative(self, prediction, observed):
        return 2 * (prediction - observed)


@pytest.fixture(scope="module")
def fitted():
    truth, holes = incomplete()
    return truth, holes, complete(holes, rng=0)


def test_one_call_fills_an_array(fitted):
    truth, holes, fit = fitted
    missing = np.isnan(holes)
    filled = fit.filled()
    assert rmse(filled[missing], truth[missing]) < 0.02 * truth.std()
    np.testing.assert_array_equal(filled[~missing], holes[~missing])
    assert np.isnan(holes).sum() == missing.sum()


def test_the_fit_says_what_was_chosen(fitted):
    _, holes, fit = fitted
    assert fit.status is Status.CONVERGED
    assert str(fit.status).endswith(".")
    assert fit.method == Grow(rank=2, form="cp")
    assert fit.ranks == (2,)
    assert fit.held_out_error == pytest.approx(fit.path.best.held_out, rel=0.05)
    assert fit.history[0].iteration == 0
    assert fit.shape == holes.shape
    assert "ranks=(2,)" in repr(fit)


def test_a_fit_by_nort_says_what_was_chosen():
    _, holes = incomplete()
    fit = complete(holes, method="nort", rng=0)
    assert fit.status is Status.CONVERGED
    assert fit.ranks == (2, 2, 2)
    assert len(fit.lam) == len(fit.theta) == 3
    assert fit.lam[0] > 0
    assert fit.modes == (0, 1, 2)
    assert isinstance(fit.method, Nort)
    assert isinstance(fit.method.penalty, LSP)
    assert fit.path.best.held_out == fit.path["held_out"].min()
    assert fit.held_out_error == pytest.approx(fit.path.best.held_out, rel=0.05)
    assert "ranks=(2, 2, 2)" in repr(fit)


def test_every_view_of_the_fit_agrees(fitted):
    _, _, fit = fitted
    dense = fit.to_dense()
    coords = np.argwhere(np.ones(fit.shape, dtype=bool))
    np.testing.assert_allclose(fit.predict(coords), dense.ravel(), atol=1e-12)
    np.testing.assert_allclose(fit[3], dense[3], atol=1e-12)
    np.testing.assert_allclose(fit[:, 2, 5], dense[:, 2, 5], atol=1e-12)
    np.testing.assert_allclose(fit[..., ::4], dense[..., ::4], atol=1e-12)
    assert fit.norm() == pytest.approx(np.linalg.norm(dense))
    assert fit.inner(fit) == pytest.approx(np.sum(dense**2))
    assert 0 < fit.nbytes == fit.model.nbytes < 10 * dense.nbytes


def test_every_kind_of_input_gives_the_same_answer():
    _, holes = incomplete()
    seen = ~np.isnan(holes)
    inputs = [
        holes,
        np.ma.masked_invalid(holes),
        Observations.from_dense(np.nan_to_num(holes), seen),
        Observations(np.argwhere(seen), holes[seen], holes.shape),
        holes.tolist(),
    ]
    answers = [complete(data, lam=0.5, rng=0, max_iter=30).to_dense() for data in inputs]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], atol=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_answer_scales_with_the_data(scale, fitted):
    _, holes, fit = fitted
    scaled = complete(holes * scale, rng=0)
    assert scaled.ranks == fit.ranks
    np.testing.assert_allclose(scaled.to_dense() / scale, fit.to_dense(), atol=1e-6)


@pytest.mark.parametrize("name", sorted(PENALTIES))
def test_every_penalty_by_name_with_lambda_chosen_and_given(name):
    truth, holes = incomplete((12, 10, 9), missing=0.3)
    missing = np.isnan(holes)
    given = {"lam": 1.0} | ({"theta": 2} if name == "tnn" else {})
    for options in ({}, given):
        fit = complete(holes, penalty=name, smooth=None, centre=False, rng=0, **options)
        # The mean is zero; the convex nuclear norm shrinks what it finds.
        assert rmse(fit.to_dense()[missing], truth[missing]) < 0.6 * truth.std(), (name, options)
        assert {type(penalty) for penalty in fit.penalties} == {PENALTIES[name]}


def test_an_own_penalty_loss_and_method():
    class Rank:
        def value(self, s):
            return float(np.count_nonzero(s))

        def prox(self, s, weight):
            return np.where(s**2 > 2 * weight, s, 0.0)

    truth, holes = incomplete()
    missing = np.isnan(holes)
    for options in ({"penalty": Rank()}, {"loss": Doubled()}, {"method": Nort(lam=0.5, penalty=LSP(0.5))}):
        fit = complete(holes, smooth=None, rng=0, **options)
        assert rmse(fit.to_dense()[missing], truth[missing]) < 0.1 * truth.std()


def test_the_same_seed_gives_the_same_bits_and_nothing_global_is_touched(fitted):
    _, holes, fit = fitted
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.testing.assert_array_equal(complete(holes, rng=0).to_dense(), fit.to_dense())
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_bounds_clip_predictions():
    _, holes = incomplete()
    fit = complete(holes, lam=0.5, bounds=(-0.5, 1.0), rng=0)
    assert fit.to_dense().min() == -0.5
    assert fit.to_dense().max() == 1.0
    assert fit.predict(np.argwhere(fit.model.to_dense() > 1)).max() == 1.0
    assert fit[0].max() <= 1.0


def test_start_from_an_earlier_fit_and_go_on():
    _, holes = incomplete()
    first = complete(holes, lam=0.5, rng=0, max_iter=5, tol=0)
    longer = complete(holes, lam=0.5, rng=0, start=first, tol=1e-8)
    assert first.status is Status.MAX_ITER
    assert longer.history["f_tau"][0] == pytest.approx(first.history["f_tau"][-1])
    assert longer.history["f_tau"][-1] < first.history["f_tau"][-1]


def test_validation_entries_can_be_given():
    data = synthetic((14, 14, 14), rank=2, rng=0)
    fit = complete(data.observations, choose=Choice(validation=data.test), rng=0)
    assert fit.held_out_error < 5 * data.limit


def test_interrupt_and_limits_keep_the_best_answer_so_far():
    _, holes = incomplete()
    calls = []

    def interrupt(record, model):
        calls.append(record)
        if len(calls) == 12:
            raise KeyboardInterrupt

    fit = complete(holes, rng=0, callback=interrupt)
    assert fit.status is Status.INTERRUPTED
    assert np.isfinite(fit.to_dense()).all()
    assert len(calls) == 12
    stopped = complete(holes, rng=0, callback=lambda record, model: record.iteration == 2)
    assert stopped.status is Status.CALLBACK
    limited = complete(holes, rng=0, time_limit=1e-6)
    assert limited.status is Status.TIME_LIMIT
    assert limited.path is not None


def test_one_interrupt_is_enough_whatever_runs():
    truth, holes = incomplete()
    missing = np.isnan(holes)
    iterations = []
    complete(holes, rng=0, callback=lambda record, model: iterations.append(record))
    # Shortly before the end the choice is over, and one of the two fits that follow it is running.
    for last in (len(iterations) - 1, len(iterations) - 5):
        calls = []

        def interrupt(record, model, calls=calls, last=last):
            calls.append(record)
            if len(calls) == last:
                raise KeyboardInterrupt

        fit = complete(holes, rng=0, callback=interrupt)
        assert fit.status is Status.INTERRUPTED
        assert len(calls) == last
        assert rmse(fit.to_dense()[missing], truth[missing]) < 0.05 * truth.std()


def test_progress_is_shown_on_standard_error_only(capsys):
    _, holes = incomplete((10, 10, 10))
    complete(holes, smooth=None, centre=False, rng=0, progress=True)
    assert capsys.readouterr().out == ""


def test_float32_on_request():
    _, holes = incomplete()
    assert complete(holes, lam=0.5, rng=0).to_dense().dtype == np.float64
    assert complete(holes, lam=0.5, rng=0, dtype="float32").to_dense().dtype == np.float32


def test_complete_data_and_constant_data_are_no_trouble():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NothingMissingWarning)
        for array in (np.ones((5, 4, 3)), np.zeros((5, 4, 3)), np.arange(60).reshape(5, 4, 3)):
            fit = complete(array, rng=0)
            np.testing.assert_allclose(fit.filled(), array)
            assert np.isfinite(fit.to_dense()).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lam": "best"}, ["lam", "'auto'", "'best'"]),
        ({"theta": "best"}, ["theta", "'auto'"]),
        ({"lam": -1}, ["lam", "at least 0"]),
        ({"penalty": "lps"}, ["penalty", "'lsp'", "'lps'"]),
        ({"penalty": "tnn", "lam": 1.0}, ["theta", "'tnn'"]),
        ({"penalty": "nuclear", "theta": 2.0}, ["theta", "left out"]),
        ({"loss": "cubic"}, ["loss", "'square'"]),
        ({"method": "magic"}, ["method", "'nort'", "'magic'"]),
        ({"method": Nort(lam=1.0), "lam": 2.0}, ["method object", "'lam'"]),
        ({"choose": Choice(validation=Observations([[0, 0]], [1.0], (2, 2)))}, ["validation", "shape"]),
        ({"validation": 0.2}, ["'validation'", "choose=Choice(validation=...)"]),
        ({"method": "nort", "rank": 3}, ["method 'nort'", "no setting 'rank'", "'lam'"]),
        ({"ridge": 3}, ["method 'auto'", "'grow', 'nort'", "no setting 'ridge'", "'lam'", "'rank'"]),
        (
            {"rank": 3, "lam": 1.0},
            ["'rank', 'lam'", "'grow' has 'rank'; 'nort' has 'lam'", "leave out those of one method"],
        ),
        ({"method": ["nort", "tucker_als"], "lam": 1.0}, ["'lam'", "several methods"]),
        ({"method": []}, ["method", "empty"]),
        ({"method": "tucker_als", "refine": "tucker"}, ["refine", "method 'tucker_als'"]),
        ({"method": "tucker_als", "loss": "huber"}, ["method 'tucker_als'", "loss 'square'"]),
        ({"loss": Doubled(), "centre": True}, ["centre", "loss 'square' or 'huber'", "whose prediction is a score"]),
        ({"loss": Doubled(), "smooth": [0]}, ["smooth", "loss 'square' or 'huber'"]),
        ({"loss": "huber", "refine": "tucker"}, ["refine='tucker'", "loss 'square'"]),
        ({"bounds": (1, 0)}, ["bounds", "low"]),
        ({"max_iter": 0}, ["max_iter", "at least 1"]),
        ({"rng": -1}, ["rng", "at least 0"]),
        ({"theta": [1.0, 2.0, 3.0]}, ["theta", "one number"]),
        ({"start": complete(np.ones((10, 9, 8)), lam=1.0)}, ["start", "method=fit.method"]),
    ],
)
def test_bad_arguments_get_one_sentence(options, words):
    with pytest.raises(ValueError) as caught:
        complete(incomplete((10, 9, 8))[1], **options)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bounds": 3}, ["bounds", "two numbers"]),
        ({"penalty": 3}, ["penalty", "value(s)", "prox(s, weight)"]),
        ({"penalty": [3, "mcp", "mcp"], "lam": 1.0}, ["penalty", "'lsp'", "prox(s, weight)"]),
        ({"choose": 0.2}, ["choose", "Choice", "0.2"]),
        ({"method": 3}, ["method", "'nort'", "3"]),
        ({"modes": 1}, ["modes", "list of whole numbers", "1 was given"]),
        ({"modes": "all"}, ["modes", "list of whole numbers", "'all'"]),
        ({"loss": Square}, ["loss", "derivative"]),
        ({"dtype": "int32"}, ["float32 or float64"]),
        ({"max_iter": 2.5}, ["max_iter", "whole number"]),
    ],
)
def test_wrong_types_get_one_sentence(options, words):
    with pytest.raises(TypeError) as caught:
        complete(incomplete((10, 9, 8))[1], **options)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert message.endswith(".")


def test_too_few_entries_to_choose_with():
    with pytest.raises(ValueError, match=r"At least 10 observed entries are needed.*such as lam\."):
        complete(np.array([[1.0, np.nan], [2.0, 3.0]]))


def test_the_package_offers_what_it_names():
    for name in tensorfill.__all__:
        assert getattr(tensorfill, name) is not None
    assert tensorfill.penalties.LSP is LSP
    assert tensorfill.Fit is Fit
    with pytest.raises(AttributeError, match="nothing"):
        tensorfill.nothing  # noqa: B018
    assert "complete" in dir(tensorfill)


def test_a_small_lambda_is_reached_without_losing_the_way():
    truth, holes = incomplete((24, 24, 24), missing=0.85, noise=0.1)
    missing = np.isnan(holes)
    lam, theta = 0.3, 0.3
    above = complete(holes, lam=lam, theta=theta, rng=0)
    problem = Problem(Observations.from_dense(holes), Square())
    zero = Nort(lam=lam, penalty=LSP(theta)).solve(problem, rng=0).model
    errors = [rmse(fit.to_dense()[missing], truth[missing]) for fit in (above, zero)]
    assert errors[0] < 0.1
    assert errors[0] <= 1.05 * errors[1]
    limited = complete(holes, lam=lam, theta=theta, time_limit=1e-6)
    assert limited.status is Status.TIME_LIMIT


@pytest.mark.parametrize(
    ("shape", "seed"),
    slow_except(
        [((12, 10), 0), ((12, 10), 1), ((12, 10), 2), ((20, 15), 0), ((20, 15), 1), ((40, 30), 0)],
        [((12, 10), 0), ((20, 15), 1)],
    ),
)
def test_an_outlier_larger_than_all_the_rest_takes_no_row_with_it(shape, seed):
    truth = np.outer(np.arange(1.0, shape[0] + 1), np.arange(1.0, shape[1] + 1))
    table = truth + np.random.default_rng(seed).normal(0, 0.1, shape)
    table[2, 3], table[5, 1] = 500.0, -300.0
    fit = complete(table, loss="l1", rng=seed)
    assert rmse(fit.to_dense(), truth) < 0.1
    found = set(map(tuple, fit.outliers()[0].tolist()))
    assert {(2, 3), (5, 1)} <= found
    assert len(found) <= 6


def test_many_outliers_among_few_entries_are_not_followed():
    rng, shape = np.random.default_rng(1), (24, 22, 20)
    truth = np.einsum("ir,jr,kr->ijk", *(rng.normal(size=(size, 3)) for size in shape))
    data = truth + rng.normal(0, 0.1, shape)
    bad = rng.random(shape) < 0.05
    data[bad] += rng.choice([-1, 1], bad.sum()) * rng.uniform(5, 20, bad.sum())
    data[rng.random(shape) < 0.5] = np.nan
    fit = complete(data, loss="l1", rng=0)
    assert rmse(fit.to_dense(), truth) < 0.03


@pytest.mark.parametrize("loss", slow_except(["l1", "capped_l1", "lsp", "mcp", "scad"], ["l1"]))
def test_corrupt_entries_are_found_and_not_followed(loss):
    truth, holes = incomplete((16, 15, 14), missing=0.4)
    missing = np.isnan(holes)
    rng = np.random.default_rng(5)
    corrupt = ~missing & (rng.random(holes.shape) < 0.05)
    holes[corrupt] += rng.choice([-20.0, 20.0], corrupt.sum())
    for options in ({}, {"lam": 0.3, "max_rank": 4}):
        fit = complete(holes, loss=loss, rng=0, **options)
        most = 0.06 if options else 0.03
        assert rmse(fit.to_dense()[missing], truth[missing]) < most * truth.std(), (loss, options)
        coords, amounts = fit.outliers()
        found = np.zeros(holes.shape, dtype=bool)
        found[tuple(coords.T)] = True
        assert (found & corrupt).sum() > 0.95 * corrupt.sum()
        if not options:
            # A given lambda shrinks the answer as it likes, which puts more entries off.
            assert (found & ~corrupt).sum() < 0.05 * corrupt.sum()
        assert np.median(np.abs(amounts)) == pytest.approx(20, abs=0.1)
        assert fit.recipe.asked["loss"] == loss


@pytest.mark.parametrize(
    "data",
    [
        "np.where(np.eye(8, 6) > 0, np.nan, np.add.outer(np.arange(8.0), np.arange(6.0)))",
        "tensorfill.datasets.synthetic((60, 60, 60), rank=2, observed=10_800, rng=0).observations",
    ],
    ids=["a table", "sparse"],
)
def test_few_entries_are_completed_without_waiting_for_the_compiler(data):
    code = (
        "import sys, numpy as np, tensorfill, tensorfill.datasets\n"
        f"tensorfill.complete({data}, rng=0)\n"
        "late = ('numba', 'llvmlite', 'rich', 'scipy.spatial', 'matplotlib')\n"
        "print([name for name in late if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_auto_leaves_growing_out_of_small_data_where_held_out_entries_show_little():
    rng = np.random.default_rng(0)
    table = np.outer(rng.standard_normal(12), rng.standard_normal(11))
    table[rng.random(table.shape) < 0.3] = np.nan
    fit = complete(table, rng=0)
    assert {point.method.name for point in fit.path} == {"nort", "cp", "lrtc"}
    assert complete(table, method="grow", rng=0).method.name == "grow"


@pytest.mark.parametrize(("scale", "dtype"), [(1e200, "float64"), (1e-200, "float64"), (1e30, "float32")])
def test_values_near_the_ends_of_floats_are_refused(scale, dtype):
    data = scale * np.random.default_rng(0).standard_normal((6, 5, 4))
    data[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=rf"largest value is .* for {dtype}; divide the values by a constant first"):
        complete(data, dtype=dtype, rng=0)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-35, 1e35])
def test_the_scale_of_the_data_does_not_matter(scale):
    data = synthetic((12, 11, 10), rank=1, noise=0, rng=0)
    plain = complete(data.observations, rng=0).predict(data.test.coords)
    scaled = complete(data.observations.with_values(scale * data.observations.values), rng=0)
    np.testing.assert_allclose(scaled.predict(data.test.coords) / scale, plain, rtol=1e-4, atol=1e-6)
