"""Wrong calls get one sentence, not an error from within."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorfill
from tensorfill import compare, complete
from tensorfill.choosing.error_bars import check_share

from .refusal import refuses

DATA = np.outer(np.arange(1.0, 11.0), np.arange(1.0, 9.0))
DATA[2, 3] = np.nan


@pytest.mark.parametrize(("kind", "words", "action"), [
    (TypeError, ["path must be", "5 (int)"], lambda: tensorfill.load(5)),
    (TypeError, ["path must be", "None"], lambda: tensorfill.load(None)),
    (TypeError, ["methods must be", "'auto'", "5 (int)"], lambda: compare(DATA, 5)),
    (TypeError, ["methods must be", "None"], lambda: compare(DATA, None)),
    (TypeError, ["callback must be", "5 (int)"], lambda: complete(DATA, callback=5)),
    (TypeError, ["callback must be", "5 (int)"],
     lambda: complete(DATA, method="cp", rank=1, rng=0).update(DATA, callback=5)),
    (TypeError, ["float32 or float64", "'x'"], lambda: complete(DATA, dtype="x")),
    (TypeError, ["float32 or float64", "5"], lambda: complete(DATA, dtype=5)),
    (TypeError, ["data must be", "None (NoneType)"], lambda: complete(None)),
    (TypeError, ["data must be", "(dict)"], lambda: complete({"a": 1})),
    (TypeError, ["data must be", "None (NoneType)"], lambda: compare(None)),
    (ValueError, ["bounds", "(inf, inf)"], lambda: complete(DATA, bounds=(math.inf, math.inf))),
    (ValueError, ["bounds", "(-inf, -inf)"], lambda: complete(DATA, bounds=(-math.inf, -math.inf))),
    (TypeError, ["'smoth'", "you may mean 'smooth'"], lambda: complete(DATA, smoth=[0])),
    (TypeError, ["'smoth'", "you may mean 'smooth'"], lambda: complete(DATA, method="cp", smoth=[0])),
    (TypeError, ["'time_limits'", "you may mean 'time_limit'"], lambda: complete(DATA, time_limits=3)),
    (ValueError, ["no setting 'rnk'", "'rank'"], lambda: complete(DATA, rnk=3)),
])  # fmt: skip
def test_wrong_calls_get_one_sentence(kind, words, action):
    refuses(kind, words, action)


def test_a_single_method_object_can_be_compared():
    assert compare(DATA, tensorfill.CP(rank=1), rng=0)["name"].tolist() == ["cp"]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95])
def test_the_largest_share_in_the_sentence_is_below_the_one_that_was_given(share):
    for count in np.arange(0.25, 60, 0.25):
        try:
            check_share(share, count, "held-out entries")
        except ValueError as error:
            most = float(str(error).partition("at most ")[2].split()[0])
        else:
            most = math.inf
            assert count / (count + 1) >= share * (1 - 1e-9)
        assert (most < share) == (count / (count + 1) < share * (1 - 1e-12))
