"""Typed objects in files: what comes back, and what only its text is known of."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tensorfill import CP, Choice, Nort, Observations, SoftImpute, Status, TuckerAls, complete, load
from tensorfill.choosing.stages.polish import Polish
from tensorfill.choosing.stages.smooth_field import SmoothField
from tensorfill.io.typed import Unsaved, decoded, encoded
from tensorfill.losses import Huber, Logistic, Poisson, Robust
from tensorfill.penalties import LSP, MCP, SCAD, TNN, CappedL1, Elementwise, Nuclear


@pytest.mark.parametrize(
    "thing",
    [
        None,
        (1, 2.5, "text", True, [1, (2,)]),
        {0: 1.0, "mode": (1, 2)},
        float("inf"),
        Nort(lam=(0.1, 0.2), penalty=(LSP(0.5), MCP(2.0)), modes=(0, 2)),
        Nort(penalty=SCAD(3.7, 0.25), lam=0.5),
        CP(rank=3, ridge=0.1),
        SoftImpute(lam=2.0, mode=1),
        TuckerAls(rank=(2, 3, 1)),
        Huber(0.3),
        Logistic(low=0.0),
        Poisson(limit=2.0),
        Robust(CappedL1(2.0)),
        TNN(3),
        Choice(holdout=("fibre", 1), splits=2),
        Polish(to_the_gap=True),
        SmoothField({0: 1.0, 1: 0.5}, 0.1, True),
        Status.CONVERGED,
    ],
    ids=repr,
)
def test_what_goes_in_comes_back_through_json(thing):
    assert decoded(json.loads(json.dumps(encoded(thing)))) == thing


class Own(Elementwise):
    """A penalty of the user's own."""

    slope_at_zero = 1.0

    def kappa(self, s):
        return s

    def candidates(self, s, weight):
        return [s - weight]


def test_an_object_of_the_users_own_comes_back_by_its_text():
    back = decoded(encoded(Nort(lam=0.1, penalty=Own())))
    assert isinstance(back.penalty, Unsaved)
    assert "Own" in repr(back.penalty)
    assert back.lam == 0.1


def test_a_class_that_checks_its_fields_does_not_stand_in_the_way(tmp_path):
    back = decoded(encoded(Robust(Own())))
    assert isinstance(back, Unsaved)
    assert back.name == "Robust"
    rng = np.random.default_rng(0)
    table = np.outer(rng.uniform(1, 2, 12), rng.uniform(1, 2, 10))
    entries = Observations([[0, 0], [3, 4]], [table[0, 0], table[3, 4]], table.shape)
    fit = complete(table, lam=0.01, choose=Choice(validation=entries), rng=0)
    fit.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz")
    assert isinstance(again.recipe.asked["choose"], Unsaved)
    np.testing.assert_array_equal(again[...], fit[...])


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"class": "Nonsense"}, "no class 'Nonsense'"),
        ({"class": ["LSP"]}, "no class"),
        ({"class": "LSP", "nonsense": 1}, "LSP has no 'nonsense'"),
        ({"class": "LSP", "theta": "os"}, "theta of LSP is 'os'"),
        ({"class": "LSP", "theta": -1.0}, "LSP cannot be made"),
        ({"class": "Record", "iteration": 1}, "Record has no seconds"),
        ({"status": "NONSENSE"}, "status"),
        ({"tuple": 5}, "'tuple'"),
        ({"mapping": [[[], 1]]}, "pairs"),
        ({"a": 1, "b": 2}, "no class"),
    ],
)
def test_what_a_file_must_not_say_is_refused(said, words):
    with pytest.raises(ValueError, match=words):
        decoded(said)


def test_numbers_of_numpy_are_plain():
    assert encoded((np.float64(0.5), np.int64(3), np.array([1.0, 2.0]))) == {"tuple": [0.5, 3, [1.0, 2.0]]}
    assert decoded(encoded(Nuclear())) == Nuclear()
