"""When a path of NORT's search ends."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tensorfill import Nort
from tensorfill.choosing.search.base import PathPoint, Trial
from tensorfill.choosing.search.candidates import LESS_PATIENCE, PATIENCE, Candidate, cannot_pass, is_past
from tensorfill.choosing.search.nort_paths import PathFollower

NOISE = np.random.default_rng(0).chisquare(1, 4_000)


def trial(error, spread=1e-3, rank=1):
    """Return a trial with an error, whose losses differ from those of others by a little noise."""
    rng = np.random.default_rng(int(1e6 * error))
    losses = 0.5 * error**2 * NOISE + spread * rng.standard_normal(len(NOISE))
    point = PathPoint(None, {}, (rank, 70), error, error, 0.01, 5, 0.1)
    return Trial(None, point, (), losses, Candidate(1.0, 1.0, (1.0,)))


def test_a_path_goes_on_while_it_gains():
    assert not is_past([trial(1.0)], under_way=True)


def test_a_path_ends_after_one_point_that_is_beyond_doubt_but_not_at_its_beginning():
    since_best = [trial(1.0), trial(1.02)]
    assert is_past(since_best, under_way=True)
    assert not is_past(since_best, under_way=False)
    assert is_past([*since_best, trial(1.03)], under_way=False)
    assert is_past([trial(1.0), trial(1.2)], under_way=False)


def test_a_point_that_hardly_differs_does_not_end_a_path():
    # The losses of the second are all a little larger, which is beyond chance.
    assert not is_past([trial(1.0, spread=0.0), trial(1.0005, spread=0.0)], under_way=True)
    assert is_past([trial(1.0, spread=0.0), trial(1.002, spread=0.0)], under_way=True)


def test_patience_is_less_where_ranks_are_many():
    # Points with the same losses, so that only their number counts.
    for rank, patience in ((10, PATIENCE), (60, LESS_PATIENCE)):
        path = [trial(1.0, rank=rank)] * (patience + 1)
        assert not is_past(path[:-1], under_way=True)
        assert is_past(path, under_way=True)


@pytest.mark.parametrize(
    ("errors", "cannot"),
    [
        ((1.6, 1.4, 1.3), True),  # gains 0.2, 0.1: they add up to 1.2 at best
        ((1.6, 1.4, 1.22), False),  # gains 0.2, 0.18: they lead far below
        ((1.6, 1.4, 1.1), False),  # gains that grow
        ((1.3, 1.31, 1.32), True),
        ((1.3, 1.2, 1.25), False),  # one point that is worse may be chance
        ((1.2, 1.1), False),
        ((1.2, 1.1, 0.9), False),
    ],
)
def test_a_path_whose_gains_do_not_lead_past_the_rival_is_left(errors, cannot):
    trials = [trial(error) for error in errors]
    assert cannot_pass(trials, 1.0) is cannot


def test_two_steps_lower_the_cut_twice():
    one = Candidate(1.0, 1.0, (1.0,))
    assert math.isclose(one.lower(2).cut, one.lower(1).lower(1).cut)


class Scripted(PathFollower):
    """A follower whose trials have given errors."""

    def __init__(self, errors):
        super().__init__(Nort())
        self.modes, self._most_ranks = (0, 1), (100, 100)
        self._errors = list(errors)
        self._trials = SimpleNamespace(may_matter=lambda trial: True, leader=None, rival=math.inf)
        self.tried = []

    def _first(self, candidate):
        return self._try(candidate, None)

    def _try(self, candidate, start, room=None, **rules):
        own = trial(self._errors[len(self.tried)])
        point = replace(own.point, tried={"cut": candidate.cut})
        self.tried.append(replace(own, point=point, candidate=candidate))
        return self.tried[-1]

    def _freed(self, candidate, start):
        return candidate

    def _is_full(self, last, start):
        return False


FALLING = [1.0 * 0.97**step for step in range(12)]


def followed(errors, *, beside=()):
    follower = Scripted(errors)
    points = [
        replace(trial(error).point, tried={"cut": cut})
        for error, cut in zip(beside, 0.75 ** np.arange(1.0, 99.0), strict=False)
    ]
    with suppress(IndexError):
        follower._follow(Candidate(1.0, 1.0, (0.5, 0.5)), None, beside=points)
    return len(follower.tried)


def test_a_path_that_is_clearly_behind_another_at_the_same_cuts_ends():
    assert followed(FALLING) == len(FALLING)
    assert followed(FALLING, beside=[0.8 * error for error in FALLING]) == PATIENCE
    assert followed(FALLING, beside=[0.95 * error for error in FALLING]) == len(FALLING)
    # The other one had come there in larger steps.
    assert followed(FALLING, beside=[0.8]) == PATIENCE
    # It is behind at the first two cuts only.
    assert followed(FALLING, beside=[0.88, 0.88, 0.88]) == len(FALLING)
