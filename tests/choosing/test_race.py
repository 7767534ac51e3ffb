"""Searches of one method behind several stages, side by side."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tensorfill import Centre, Grow
from tensorfill.choosing import race as racing
from tensorfill.choosing.contest import Contest
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.splits import Choice, make_splits
from tensorfill.choosing.race import race
from tensorfill.choosing.search.base import Trial
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem

DATA = synthetic((20, 18, 16), rank=2, rng=0).observations


def contest():
    context = Context(np.random.default_rng(0))
    splits, holdout = make_splits(DATA, Square(), Choice(splits=1), context.rng)
    return Contest(Problem(DATA, Square()), splits, holdout, {}, {}, context)


class Scripted:
    """A search whose trials have given errors, with a pause after every one."""

    conclusive = False

    def __init__(self, name, errors, log):
        self.name, self.errors, self.log = name, errors, log

    def run(self, trials):
        for error in self.errors:
            self.log.append(self.name)
            losses = error**2 / 2 * np.linspace(0.9, 1.1, len(trials.held_out_values))
            trial = Trial(Grow(rank=1), SimpleNamespace(held_out=error), (), losses)
            trials.points.append(trial.point)
            if trial.beats(trials.best):
                trials.best = trial
            trials.tried(trial)
            yield


def ran(monkeypatch, plain, centred):
    """Return in which order two searches make their trials, and what they did it for."""
    log, found = [], contest()
    scripts = iter([Scripted("plain", plain, log), Scripted("centred", centred, log)])
    monkeypatch.setattr(racing, "search_for", lambda method: next(scripts))
    race(found, Grow(), found.context.clock, [(), (Centre(),)])
    return log, found


@pytest.mark.parametrize(("plain", "centred", "order"), [
    ([1.0, 0.9, 0.8], [0.5, 0.4], ["plain", "centred", "centred"]),
    ([0.5, 0.4], [1.0, 0.9], ["plain", "centred", "plain"]),
    ([1.0, 0.9], [1.0, 0.9], ["plain", "centred", "plain", "centred"]),
])  # fmt: skip
def test_a_search_that_is_worse_beyond_doubt_at_a_pause_stops(plain, centred, order, monkeypatch):
    log, found = ran(monkeypatch, plain, centred)
    assert log == order
    assert found.best.working.trial.point.held_out == min(plain[: log.count("plain")] + centred[: log.count("centred")])


def test_a_search_stops_where_it_cannot_matter_beside_other_methods(monkeypatch):
    log, found = [], contest()
    monkeypatch.setattr(racing, "search_for", lambda method: Scripted("only", [1.0, 0.9], log))
    monkeypatch.setattr(racing.Trials, "may_matter", lambda self, trial: False)
    race(found, Grow(), found.context.clock, [()])
    assert log == ["only"]


def test_the_next_form_is_asked_for_after_the_first_look(monkeypatch):
    log = []
    monkeypatch.setattr(racing, "search_for", lambda method: Scripted("plain", [1.0, 0.9], log))
    found = contest()

    def forms():
        yield ()
        assert log == ["plain"]
        assert found.best.working.trial.point.held_out == 1.0

    race(found, Grow(), found.context.clock, forms())
    assert log == ["plain", "plain"]
