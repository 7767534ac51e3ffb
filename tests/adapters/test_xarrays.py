"""xarray in, xarray out."""

import numpy as np
import pytest
import sparse
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations, load
from tensorfill.adapters import take_in

from ..refusal import refuses
from .examples import fit_of, labelled_arrays, names_of, same_observations


def data_array(array, keys, names, **more):
    coords = {name: own for name, own in zip(names, keys, strict=True) if own is not None}
    return xarray.DataArray(array, dims=names, coords=coords, **more)


@st.composite
def data_arrays(draw):
    """DataArrays, some of whose dimensions have no coordinate, with coordinates of no dimension and with attributes."""
    array, keys = draw(labelled_arrays())
    kept = [own if draw(st.booleans()) else None for own in keys]
    names = names_of(array)
    made = data_array(array, kept, names, name=draw(st.sampled_from([None, "rain"])), attrs={"units": "mm", "n": 3})
    return made.assign_coords(height=(names[0], np.arange(array.shape[0]) / 2, {"units": "m"}), run="first")


@given(data_arrays())
def test_a_data_array_is_read_as_its_array_and_comes_back_as_it_was(data):
    taken = take_in(data)
    same_observations(taken.observations, Observations.from_dense(data.values))
    assert taken.labels.names == data.dims
    assert taken.labels.value == (data.name or "value")
    for dim, keys in zip(data.dims, taken.labels.keys, strict=True):
        assert (keys is not None) == (dim in data.coords)
        if keys is not None:
            np.testing.assert_array_equal(keys, data[dim].values)
    again = taken.restore(data.values)
    xarray.testing.assert_identical(again, data)
    assert all(again[name].dtype == data[name].dtype for name in data.coords)


@settings(max_examples=30)
@given(data_arrays(), st.permutations(["a", "b", "c"]))
def test_a_dataset_has_its_variables_as_the_last_mode_and_comes_back_as_it_was(data, names):
    parts = {name: (data * factor).rename(None) for factor, name in enumerate(names, start=1)}
    parts["b"] = parts["b"].transpose(*reversed(data.dims)).assign_attrs(units="K")
    dataset = xarray.Dataset(parts, attrs={"title": "all"})
    taken = take_in(dataset)
    dims = dataset[names[0]].dims
    stacked = np.stack([dataset[name].transpose(*dims).values for name in names], axis=-1)
    same_observations(taken.observations, Observations.from_dense(stacked))
    assert taken.labels.names == (*dims, "variable")
    assert taken.labels.keys[-1].tolist() == list(names)
    xarray.testing.assert_identical(taken.restore(stacked), dataset)


def test_whole_numbers_have_nothing_missing_unless_zeros_are():
    counts = xarray.DataArray([[0, 1], [2, 3]], dims=["a", "b"])
    assert len(take_in(counts).observations) == 4
    assert len(take_in(counts, missing="zero").observations) == 3


def test_a_sparse_array_inside_is_asked_about_as_one_outside():
    inside = xarray.DataArray(sparse.COO(np.eye(3)), dims=["a", "b"], coords={"a": list("xyz")})
    assert len(take_in(inside, missing="absent").observations) == 3
    assert take_in(inside, missing="absent").labels.names == ("a", "b")
    refuses(ValueError, ["'absent'", "'zero'"], lambda: take_in(inside))


def test_the_answer_does_not_hold_the_data():
    data = xarray.DataArray(np.ones((3, 4)), dims=["a", "b"], coords={"a": list("xyz")})
    held = take_in(data).restore.coords
    assert list(held.variables) == ["a"]


def test_a_dimension_of_several_levels_comes_back():
    flat = data_array(np.arange(24.0).reshape(2, 3, 4), [[1, 2], list("abc"), None], ["x", "y", "z"])
    data = flat.stack(p=("x", "y"))
    taken = take_in(data)
    assert taken.labels.positions("p", [(1, "b"), (2, "a")]).tolist() == [1, 3]
    xarray.testing.assert_identical(taken.restore(data.values).unstack("p"), data.unstack("p"))


ONES = np.ones((2, 2))


@pytest.mark.parametrize(
    ("kind", "words", "make"),
    [
        (ValueError, ["share all their dimensions", "'t' has ('x', 'y')", "'q' has ('x',)", "data['t']"],
         lambda: xarray.Dataset({"t": (("x", "y"), ONES), "q": ("x", [1.0, 2.0])})),
        (ValueError, ["at least one variable"], xarray.Dataset),
        (ValueError, ["'variable'", "rename"], lambda: xarray.Dataset({"t": (("x", "variable"), ONES)})),
        (TypeError, ["'t' holds <U1", "drop_vars('t')"],
         lambda: xarray.Dataset({"t": (("x", "y"), np.full((2, 2), "a"))})),
        (ValueError, ["'x'", "1 is there more than once"], lambda: data_array(ONES, [[1, 1], None], ["x", "y"])),
        (ValueError, ["'x'", "missing"], lambda: data_array(ONES, [[1, np.nan], None], ["x", "y"])),
        (ValueError, ["two modes"], lambda: xarray.DataArray([1.0, 2.0])),
    ],
)  # fmt: skip
def test_what_cannot_be_read_gets_one_sentence(kind, words, make):
    data = make()
    refuses(kind, words, lambda: take_in(data))


def test_a_choice_that_does_not_fit_gets_one_sentence():
    refuses(ValueError, ["'absent'", "stores every entry"], lambda: take_in(xarray.DataArray(ONES), missing="absent"))
    refuses(ValueError, ["value", "DataArray"], lambda: take_in(xarray.DataArray(ONES), value="rain"))


def test_a_fit_gives_back_what_came_in():
    array = np.array([[1.0, np.nan], [3.0, 4.0]])
    data = data_array(array, [list("xy"), None], ["a", "b"], name="rain")
    fit = fit_of(take_in(data), [[10.0, 20.0], [30.0, 40.0]])
    xarray.testing.assert_identical(fit.to_dense(), data.copy(data=[[10.0, 20.0], [30.0, 40.0]]))
    xarray.testing.assert_identical(fit.filled(), data.copy(data=[[1.0, 20.0], [3.0, 4.0]]))
    assert isinstance(fit[...], np.ndarray)


@settings(max_examples=15)
@given(data=data_arrays())
def test_a_fit_in_a_file_gives_back_what_came_in(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fits") / "fit.npz"
    for each in (data, xarray.Dataset({"a": data, "b": data.transpose()}, attrs={"k": [1, 2]})):
        fit = fit_of(take_in(each))
        fit.save(path)
        xarray.testing.assert_identical(load(path).to_dense(), fit.to_dense())


def test_odd_coordinates_and_attributes_are_no_trouble_in_a_file(tmp_path):
    mixed = np.array([1, "x", None], dtype=object)
    mixed[2] = (2, 3)
    data = data_array(np.ones((2, 3)), [list("ab"), mixed], ["a", "b"], name=7)
    data.attrs = {"scale": np.float32(0.5), "range": np.array([1, 2]), 3: "three", "made": np.datetime64("2020-01-01")}
    data = data.assign_coords({"a.json": ("a", [1.5, 2.5]), "odd/name": ("b", np.array(["x", "", "zz"], dtype=object))})
    fit = fit_of(take_in(data))
    fit.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz").to_dense()
    assert again.attrs == {"scale": 0.5, "range": [1, 2], "3": "three", "made": "2020-01-01"}
    assert again.name == "7"
    np.testing.assert_array_equal(again["a.json"], [1.5, 2.5])
    assert again["odd/name"].values.tolist() == ["x", "", "zz"]
    assert load(tmp_path / "fit.npz").labels.positions("b", [(2, 3), "x", 1]).tolist() == [2, 1, 0]
