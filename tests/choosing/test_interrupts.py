"""Ctrl-C and the time limit at any moment of a run give the best answer so far."""

from __future__ import annotations

import signal
import sys
import warnings

import numpy as np
import pytest

import tensorfill
from tensorfill import Centre, Choice, Clock, Observations, Status, complete
from tensorfill._support.clock import TimeUp
from tensorfill._support.interrupts import Interrupts
from tensorfill.choosing import completing, race
from tensorfill.graphs import haversine
from tensorfill.metrics import rmse


def sums(seed=0, shape=(9, 8, 7)):
    """Return data that the effects explain, with holes, an empty slice, and a low rank beside the effects."""
    rng = np.random.default_rng(seed)
    truth = 20 + sum(np.ix_(*(5 * rng.standard_normal(size) for size in shape)))
    truth = truth + np.einsum("i,j,k", *(rng.standard_normal(size) for size in shape))
    return truth, np.where(rng.random(truth.shape) < 0.6, truth, np.nan)


class CtrlC:
    """Presses Ctrl-C at a call of a function of tensorfill, counted from where the guard stands to where it goes."""

    def __init__(self, at=None):
        self.at, self.calls, self.guarded = at, 0, False

    def __call__(self, frame, event, given):
        code = frame.f_code
        if code.co_filename.endswith("interrupts.py") and event == "return":
            self.guarded = self.guarded or code.co_name == "__enter__"
        if code.co_name == "__exit__" and "interrupts.py" in code.co_filename:
            self.guarded = False
        if event == "call" and self.guarded and "tensorfill" in code.co_filename:
            self.calls += 1
            if self.calls == self.at:
                signal.raise_signal(signal.SIGINT)

    def run(self, data, **options):
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            return complete(data, rng=0, **options)
        finally:
            sys.setprofile(before)


TRUTH, HOLES = sums()
COUNTS = np.random.default_rng(0).poisson(np.exp(np.clip(TRUTH / 10, None, 4))).astype(float)
CORRUPT = HOLES.copy()
CORRUPT[tuple(np.argwhere(~np.isnan(HOLES))[20])] = 1e4
PICTURE = np.where(np.isnan(HOLES.reshape(9, 56)), np.nan, np.sin(np.add.outer(np.arange(9), np.arange(56)) / 5))

EMPTY = np.where(np.arange(9)[:, None, None] == 4, np.nan, HOLES)

RUNS = {
    "auto": (HOLES, {}),
    "given": (HOLES, {"lam": 0.3}),
    "counts": (np.where(np.isnan(HOLES), np.nan, COUNTS), {"loss": "poisson"}),
    "corrupt": (CORRUPT, {"loss": "l1"}),
    "corrupt, given": (CORRUPT, {"loss": "l1", "lam": 0.3}),
    "splits": (HOLES, {"choose": Choice(splits=2), "lam": 0.3, "refine": "tucker"}),
    "smooth": (PICTURE, {"smooth": [0, 1]}),
    "graph": (EMPTY, {"laplacian": {0: haversine(np.random.default_rng(0).uniform(0, 20, (9, 2)))}, "lam": 0.3}),
}


@pytest.mark.parametrize("moment", [1, 40, 400, 1500])
@pytest.mark.parametrize("kind", RUNS)
def test_ctrl_c_at_any_moment_gives_a_fit(kind, moment):
    data, options = RUNS[kind]
    ctrl_c = CtrlC(moment)
    # A fit that was cut short may be doubtful, and says so.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = ctrl_c.run(data, **options)
    assert (fit.status is Status.INTERRUPTED) == (ctrl_c.calls >= moment)
    assert ctrl_c.calls >= min(moment, 400)
    assert np.isfinite(fit.to_dense()).all()
    assert np.isfinite(fit.filled()).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_the_answer_is_put_together_loses_nothing(monkeypatch):
    """The finished fit of all entries is the answer, whatever is pressed after it."""
    whole = complete(HOLES, method="tucker_als", rank=1, centre=True, rng=0)
    filling = completing.fill_empty_slices

    def pressed(*given, **more):
        signal.raise_signal(signal.SIGINT)
        return filling(*given, **more)

    monkeypatch.setattr(completing, "fill_empty_slices", pressed)
    fit = complete(HOLES, method="tucker_als", rank=1, centre=True, rng=0)
    assert fit.status is Status.INTERRUPTED
    np.testing.assert_array_equal(fit.to_dense(), whole.to_dense())


def test_the_first_answer_is_the_mean_and_the_effects():
    fit = CtrlC(1).run(HOLES)
    missing = np.isnan(HOLES)
    mean = rmse(np.full(missing.sum(), np.nanmean(HOLES)), TRUTH[missing])
    assert rmse(fit.to_dense()[missing], TRUTH[missing]) < 0.5 * mean
    assert fit.method.name == "effects"
    assert fit.recipe.stage(Centre)
    assert "effects" in repr(fit)


def test_a_corrupt_entry_does_not_move_the_first_answer():
    fit = CtrlC(1).run(CORRUPT, loss="l1")
    missing = np.isnan(HOLES)
    assert rmse(fit.to_dense()[missing], TRUTH[missing]) < TRUTH.std()


def test_an_early_trial_is_kept_only_if_it_beats_the_mean_and_the_effects():
    """The first trials of a path are nearly zero, which is no answer for data far from zero."""
    fit = complete(HOLES, method="nort", centre=False, rng=0, callback=lambda record, model: True)
    assert fit.status is Status.CALLBACK
    missing = np.isnan(HOLES)
    assert rmse(fit.to_dense()[missing], TRUTH[missing]) < 0.5 * TRUTH.std()
    assert fit.residuals is not None


def test_a_fit_that_was_stopped_at_once_can_be_saved_and_read(tmp_path):
    fit = CtrlC(1).run(HOLES)
    fit.save(tmp_path / "fit.npz")
    again = tensorfill.load(tmp_path / "fit.npz")
    assert again.method == fit.method
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())


@pytest.mark.parametrize("name", ["fitted_and_held_out", "search_for", "run", "corrupt_entries", "with_widths"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, TimeUp])
def test_a_stop_in_any_stage_gives_a_fit(monkeypatch, name, stop):
    def stopping(*given, **more):
        raise stop

    monkeypatch.setattr(race if name == "search_for" else completing, name, stopping)
    data, options = RUNS["corrupt" if name == "corrupt_entries" else "auto"]
    fit = complete(data, rng=0, **options)
    assert fit.status is (Status.INTERRUPTED if stop is KeyboardInterrupt else Status.TIME_LIMIT)
    assert np.isfinite(fit.to_dense()).all()


@pytest.mark.parametrize("kind", RUNS)
def test_a_time_limit_of_nothing_gives_a_fit(kind):
    data, options = RUNS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = complete(data, rng=0, time_limit=1e-9, **options)
    assert fit.status is Status.TIME_LIMIT
    assert np.isfinite(fit.to_dense()).all()


# The guard itself


def test_the_first_ctrl_c_is_noted_outside_of_the_work_and_the_second_is_raised():
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert interrupts.noted
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_within_the_work_is_raised_and_ends_the_clock():
    clock = Clock(1000.0)
    part = clock.part(0.5)
    with Interrupts(clock) as interrupts, pytest.raises(KeyboardInterrupt), interrupts.welcome():
        signal.raise_signal(signal.SIGINT)
    assert clock.expired
    assert part.expired


def test_a_module_is_imported_to_its_end(tmp_path, monkeypatch):
    """One that was left half done would break whatever imports it next."""
    (tmp_path / "pressed_within.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\ndone = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    clock = Clock(1000.0)
    with Interrupts(clock) as interrupts, interrupts.welcome():
        import pressed_within
    assert pressed_within.done
    assert interrupts.noted
    assert clock.expired


def test_a_guard_within_a_guard_tells_it():
    with Interrupts() as outer:
        with Interrupts() as inner:
            signal.raise_signal(signal.SIGINT)
        assert inner.noted
        assert outer.noted


def test_a_handler_of_the_callers_own_stays():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
        assert seen == [signal.SIGINT]
        assert not interrupts.noted
    finally:
        signal.signal(signal.SIGINT, before)


def test_entries_too_few_to_choose_by_are_refused_before_the_work():
    with pytest.raises(ValueError, match="At least 10"):
        complete(Observations([[0, 0], [1, 1]], [1.0, 2.0], (3, 3)), rng=0)


def test_sigterm_counts_as_ctrl_c_only_where_a_program_asks_for_it():
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) is before
    with Interrupts(terminated=True) as outer:
        with Interrupts() as inner, pytest.raises(KeyboardInterrupt), inner.welcome():
            signal.raise_signal(signal.SIGTERM)
        assert outer.noted
        assert outer.number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_sigterm_handler_of_the_callers_own_stays():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with Interrupts(terminated=True) as interrupts:
            signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM]
        assert not interrupts.noted
    finally:
        signal.signal(signal.SIGTERM, before)
