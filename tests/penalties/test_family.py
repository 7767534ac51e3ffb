"""The penalties of a family: by cut and q, or one for all."""

from __future__ import annotations

import pytest

from tensorfill.penalties import LSP, MCP, PENALTIES, SCAD, TNN, CappedL1, Nuclear, PenaltyFamily, make_family
from tensorfill.penalties.family import SCAD_THETA, SCALED_BY_CUT
from tests.naming import named

from ..refusal import refuses
from .examples import Rank


@pytest.mark.parametrize(
    ("name", "made"),
    [("lsp", LSP(0.5)), ("capped_l1", CappedL1(0.5)), ("mcp", MCP(0.5)), ("scad", SCAD(SCAD_THETA, 0.5))],
)
def test_q_times_the_cut_is_where_the_penalty_bends(name, made):
    assert make_family(name, "auto").make(2.0, 0.25) == made
    assert name in SCALED_BY_CUT


def test_the_q_of_the_truncated_nuclear_norm_is_the_number_of_free_singular_values():
    family = make_family("tnn", "auto")
    assert family.make(2.0, 3) == family.make(5.0, 3) == TNN(3)


def test_a_path_frees_the_singular_values_that_passed_before():
    assert make_family("tnn", "auto").freed(1.0, (2, 5, 3)) == 5.0
    assert make_family("tnn", "auto").freed(4.0, (0, 0, 0)) == 1.0
    assert make_family("lsp", "auto").freed(0.3, (2, 5, 3)) == make_family("tnn", 2).freed(0.3, (2, 5, 3)) == 0.3


@pytest.mark.parametrize("name", PENALTIES)
def test_every_q_of_an_automatic_family_gives_a_penalty(name):
    family = make_family(name, "auto")
    kinds = {type(family.make(1.5, q)) for q in [family.first, *(q for row in family.others for q in row)]}
    assert kinds == {PENALTIES[name]}


def test_there_is_nothing_to_try_without_a_q():
    assert make_family("nuclear", "auto").others == make_family("lsp", 3.0).others == ()


@pytest.mark.parametrize(("name", "theta", "made"), [("lsp", 3.0, LSP(3.0)), ("tnn", 2, TNN(2))])
def test_a_given_theta_is_used_for_every_cut_and_q(name, theta, made):
    family = make_family(name, theta)
    assert isinstance(family, PenaltyFamily)
    assert family.make(1.0, 0.1) == family.make(7.0, 3.0) == made


@pytest.mark.parametrize("own", [Rank(), LSP(2.0), Nuclear()], ids=named)
def test_an_object_is_used_unchanged(own):
    assert make_family(own, "auto").make(1.0, 0.1) is own


def test_what_is_refused():
    refuses(ValueError, ["theta must be one number", "[1.0, 2.0]", "give lam"], lambda: make_family("lsp", [1.0, 2.0]))
    refuses(ValueError, ["theta must be", "'auto'", "'none'"], lambda: make_family("lsp", "none"))
    refuses(ValueError, ["theta must be left out", "2.0"], lambda: make_family(LSP(1.0), 2.0))
    refuses(ValueError, ["penalty must be one of", "'lps'"], lambda: make_family("lps", "auto"))


def test_scad_has_the_theta_that_fan_and_li_recommend():
    assert make_family("scad", "auto").make(2.0, 0.5) == SCAD(theta=3.7, unit=1.0)
