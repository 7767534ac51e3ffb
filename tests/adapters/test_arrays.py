"""Arrays, and what is found missing in them."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given

from tensorfill import Observations
from tensorfill._support.optional import need
from tensorfill.adapters import ADAPTERS, Adapter, take_in
from tensorfill.labels import Labelled, Labels

from ..refusal import refuses
from .examples import labelled_arrays, same_observations


@given(labelled_arrays())
def test_every_way_to_hold_an_array_means_the_same(drawn):
    array, _ = drawn
    plain = Observations.from_dense(array)
    for held in (array, array.tolist(), np.ma.masked_invalid(array), plain, array.astype(np.float32)):
        taken = take_in(held)
        same_observations(taken.observations, plain)
        assert taken.labels.are_plain
        assert taken.restore is None
    same_observations(take_in(array, missing="nan").observations, plain)


@given(labelled_arrays())
def test_zeros_are_missing_only_where_that_is_said(drawn):
    array, _ = drawn
    zero = Observations.from_dense(np.where(array == 0, np.nan, array))
    same_observations(take_in(array, missing="zero").observations, zero)
    same_observations(take_in(np.ma.masked_invalid(array), missing="zero").observations, zero)
    whole = np.nan_to_num(array).astype(int)
    assert len(take_in(whole).observations) == array.size
    same_observations(take_in(whole, missing="zero").observations, zero)


def test_what_has_been_taken_in_is_left_as_it_is():
    labelled = Labelled(Observations.from_dense(np.ones((2, 3))), Labels.plain(2))
    assert take_in(labelled) is labelled
    assert take_in(labelled.observations).observations is labelled.observations


@pytest.mark.parametrize(
    ("kind", "words", "action"),
    [
        (ValueError, ["'absent'", "sparse arrays", "missing='zero'"], lambda: take_in(np.eye(3), missing="absent")),
        (ValueError, ["'zero', 'nan', 'absent'", "'none'"], lambda: take_in(np.eye(3), missing="none")),
        (ValueError, ["value", "table", "ndarray"], lambda: take_in(np.eye(3), value="rain")),
        (ValueError, ["left out", "missing='nan'"],
         lambda: take_in(Observations.from_dense(np.eye(3)), missing="nan")),
        (TypeError, ["real numbers", "convert"], lambda: take_in(np.array([["a", "b"]]))),
        (ValueError, ["two modes"], lambda: take_in([1.0, 2.0])),
        (ValueError, ["at least one entry"], lambda: take_in(np.zeros((2, 2)), missing="zero")),
    ],
)  # fmt: skip
def test_bad_arrays_get_one_sentence(kind, words, action):
    refuses(kind, words, action)


def test_a_kind_of_ones_own_can_be_taken_in(monkeypatch):
    class Mine:
        array = np.ones((2, 3))

    own = Adapter(lambda data: isinstance(data, Mine), lambda data, missing, value: take_in(data.array))
    monkeypatch.setattr("tensorfill.adapters.registry.ADAPTERS", [own, *ADAPTERS])
    assert take_in(Mine()).observations.shape == (2, 3)


def test_a_missing_package_is_named_with_the_command_that_brings_it():
    with pytest.raises(ImportError, match=r"package not_there,.*pip install pandas polars pyarrow\.$"):
        need("not_there.inside", "tables")


def test_a_package_that_lacks_something_of_its_own_says_so_itself(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import something_else_entirely")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_else_entirely"):
        need("half_there", "tables")


def test_nothing_optional_is_imported_before_it_is_needed():
    code = (
        "import sys, tensorfill.adapters; sys.exit(bool({'pandas', 'polars', 'xarray', 'sparse'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
