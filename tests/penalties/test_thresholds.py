"""Cuts and weights: where the proximal operator leaves zero, and error messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorfill.penalties import LSP, MCP, TNN, CappedL1, Nuclear, cut, weight_for_cut
from tests.naming import named

from ..refusal import refuses
from .examples import NAMED, Rank, TwiceNuclear, singular

ALL = [*NAMED, TwiceNuclear(), Rank()]


@pytest.mark.parametrize("penalty", ALL, ids=named)
@pytest.mark.parametrize("weight", [1e-3, 0.4, 3.0])
def test_cut_is_where_the_prox_leaves_zero(penalty, weight):
    edge = cut(penalty, weight, largest=100.0)
    assert 0 < edge < 100
    assert penalty.prox(singular(penalty, edge * (1 - 1e-6)), weight)[-1] == 0
    assert penalty.prox(singular(penalty, edge * (1 + 1e-6)), weight)[-1] > 0


@pytest.mark.parametrize("penalty", ALL, ids=named)
def test_cut_at_the_ends_of_its_range(penalty):
    assert cut(penalty, 0.0, largest=10.0) == 0
    assert cut(penalty, 1e9, largest=0.01) == 0.01
    assert cut(penalty, 1.0, largest=0.0) == 0


@pytest.mark.parametrize(
    ("penalty", "weight", "expected"),
    [
        (Nuclear(), 0.3, 0.3),
        (TNN(2), 0.3, 0.3),
        (LSP(2), 1.0, 0.5),
        (LSP(1), 1.0, 1.0),
        (MCP(1), 4.0, 2.0),
        (CappedL1(1), 8.0, 4.0),
        (Rank(), 2.0, 2.0),
    ],
    ids=named,
)
def test_cuts_by_hand(penalty, weight, expected):
    assert cut(penalty, weight, largest=1e3) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("penalty", ALL, ids=named)
@pytest.mark.parametrize("size", [1e-6, 0.3, 40.0])
def test_the_weight_for_a_cut_is_the_smallest_that_sets_it_to_zero(penalty, size):
    weight = weight_for_cut(penalty, size)
    assert penalty.prox(singular(penalty, size), weight)[-1] == 0
    assert penalty.prox(singular(penalty, size), weight * (1 - 1e-9))[-1] > 0


@pytest.mark.parametrize("penalty", ALL, ids=named)
def test_weight_for_cut_is_the_inverse_of_cut(penalty):
    weight = weight_for_cut(penalty, 2.5)
    assert cut(penalty, weight, largest=100.0) == pytest.approx(2.5, rel=1e-6)


def test_a_penalty_that_never_reaches_zero_has_no_weight_for_a_cut():
    class Shrink:
        def value(self, s):
            return float(np.sum(s**2) / 2)

        def prox(self, s, weight):
            return s / (1 + weight)

        def __repr__(self):
            return "Shrink()"

    # The shrunk value underflows only for weights beyond the largest number.
    refuses(ValueError, ["Shrink()", "keeps 1e+20"], lambda: weight_for_cut(Shrink(), 1e20))


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_weight_out_of_range(weight):
    refuses(ValueError, ["weight must be", "at least 0"], lambda: cut(TwiceNuclear(), weight, largest=1.0))


def test_sizes_out_of_range():
    refuses(ValueError, ["largest must be", "at least 0", "-1.0"], lambda: cut(Nuclear(), 1.0, largest=-1.0))
    refuses(ValueError, ["cut must be", "above 0", "0.0"], lambda: weight_for_cut(Nuclear(), 0.0))
