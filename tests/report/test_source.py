"""Objects as Python source."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tensorfill import Choice, Nort, SmoothedNort, TuckerAls, graphs
from tensorfill.choosing.holdout.kinds import Holdout
from tensorfill.io.typed import Unsaved
from tensorfill.losses import Huber, Logistic, Poisson, Square
from tensorfill.losses.robust import Envelope, Robust, SmoothedRobust
from tensorfill.penalties import LSP, MCP, SCAD, TNN, CappedL1, Nuclear
from tensorfill.report.source import source_of

THINGS = [
    None, True, 3, -0.1, 1e-300, math.inf, -math.inf, "plain", 'with "quotes"', "it's", "back\\slash\n", "",
    (), (1,), [], [1, (2.5,)], {0: "a", "b": [None]}, np.float64(0.1), np.int32(7), np.bool_(True),
    Nuclear(), CappedL1(0.3), LSP(1 / 3), TNN(4),
    SCAD(3.7), SCAD(theta=3.7, unit=0.83), MCP(2.0), Square(), Huber(), Huber(0.1), Logistic(low=0.0), Poisson(),
    Robust(MCP(2.0)), SmoothedRobust(LSP(1.0), 0.25), Envelope(CappedL1(2.0), weight=3.0), Nort(),
    Nort(lam=(0.1, 0.2), penalty=(LSP(1.0), Nuclear()), modes=(0, 1), tau=1.01, momentum=False, max_rank=(3, 4)),
    SmoothedNort(lam=1.0, shrink=0.5), TuckerAls(rank=(2, 3, 4), ridge=1e-6),
    Choice(holdout=("fibre", "day"), splits=3), [TuckerAls(), Nort(lam=2)], Holdout((1, 1, 3), (4, 5, 3)),
]  # fmt: skip


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
def test_the_source_makes_an_equal_object_in_one_line_and_in_several(thing):
    made = source_of(thing)
    assert made.own == ()
    for text in (made.text, made.lines(room=0)):
        names: dict[str, object] = {}
        exec("\n".join([*made.imports, f"thing = {text}"]), names)
        assert names["thing"] == thing
        if not isinstance(thing, np.generic):
            assert type(names["thing"]) is type(thing)


def test_what_is_not_a_number_is_one():
    made = source_of([math.nan])
    assert (made.text, made.imports) == ("[math.nan]", {"import math"})


def test_classes_are_imported_from_where_users_find_them():
    made = source_of([Nort(lam=1.0, penalty=LSP(1.0)), Choice(), Huber(), Robust(Nuclear())])
    assert made.imports == {
        "from tensorfill import Nort",
        "from tensorfill import Choice",
        "from tensorfill.losses import Huber",
        "from tensorfill.losses import Robust",
        "from tensorfill.penalties import LSP",
        "from tensorfill.penalties import Nuclear",
    }


def test_fields_with_their_default_value_are_left_out_and_others_are_not():
    assert source_of(Nort(lam=0.5, momentum=True)).text == "Nort(lam=0.5)"
    # 1 == True, but they are not the same setting to a reader.
    assert source_of(Nort(momentum="restart")).text == 'Nort(momentum="restart")'
    assert source_of(SCAD(3.7, unit=1.0)).text == "SCAD(theta=3.7)"


def test_short_arrays_are_lists_and_long_ones_are_names():
    assert source_of(np.array([1, 2])).text == "[1, 2]"
    assert source_of(np.arange(1000)).own == ("your_ndarray",)
    assert source_of(np.eye(2)).own == ("your_ndarray",)


def test_a_repr_is_never_taken_for_source():
    class Sly:
        def __repr__(self):
            return "__import__('os').abort()"

    assert source_of({"a": Sly()}).text == '{"a": your_sly}'
    assert source_of({"a": Sly()}).own == ("your_sly",)


@pytest.mark.parametrize(
    ("text", "name"),
    [("MyOwn(3)", "your_my_own"), ("<weird object at 0x7f>", "your_weird_object_at_0x7f"), ("(", "yours")],
)
def test_what_a_file_could_not_hold_is_a_name(text, name):
    made = source_of(Nort(lam=1.0, penalty=Unsaved(text)))
    assert made.text == f"Nort(lam=1.0, penalty={name})"
    assert made.own == (name,)
    assert name.isidentifier()


def test_dataclasses_of_others_and_those_that_hold_large_arrays_are_names():
    @dataclasses.dataclass(frozen=True)
    class Mine(LSP):
        pass

    assert source_of(Mine(1.0)).own == ("your_mine",)
    assert source_of(graphs.haversine([(0, 0), (0, 1), (0, 3)])).own == ("your_kernel_graph",)
