"""xarray objects: dimensions are modes, and their coordinates are labels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._support.conforming import conforms
from .._support.optional import need
from .._support.types import Floats, Integers
from ..labels import Labelled, Labels
from .kinds import Adapter, is_a
from .restoring import Restorer

VARIABLE = "variable"
"""The name of the last mode of a Dataset, whose labels are the names of its variables."""

TakeIn = Callable[[Any, str | None], Labelled]
"""A function that reads an array, given what counts as missing."""

COORDS = list[list[Any]]
"""The name, dimensions and attributes of each coordinate, or variable, as stored in a file."""


def is_data_array(data: Any) -> bool:
    """Return whether this is an xarray.DataArray."""
    return is_a(data, "xarray", "DataArray")


def is_dataset(data: Any) -> bool:
    """Return whether this is an xarray.Dataset."""
    return is_a(data, "xarray", "Dataset")


def take_in_data_array(data: Any, missing: str | None, inner: TakeIn) -> Labelled:
    """Return the observations of a DataArray, with its dimensions and their coordinates as labels.

    Parameters
    ----------
    data
        The DataArray.
    missing
        What counts as missing in its array.
    inner
        Reads that array, which may be dense or sparse.
    """
    seen = inner(data.data, missing).observations
    names = tuple(str(dim) for dim in data.dims)
    value = "value" if data.name is None or str(data.name) in names else str(data.name)
    labels = Labels(names, tuple(_keys(data, dim) for dim in data.dims), value)
    return Labelled(seen, labels, ToDataArray(data.coords.to_dataset(), data.dims, data.name, dict(data.attrs)))


def take_in_dataset(data: Any, missing: str | None, inner: TakeIn) -> Labelled:
    """Return the observations of a Dataset whose variables share their dimensions; the variables are the last mode.

    Variables keep their scale. If their units differ, scale them first, because otherwise the largest values dominate.
    """
    first = _first_of(data)
    dims = first.dims
    names = (*(str(dim) for dim in dims), VARIABLE)
    stacked = np.stack([_numbers(variable.transpose(*dims)) for variable in data.data_vars.values()], axis=-1)
    seen = inner(stacked, missing).observations
    variables = np.array([str(name) for name in data.data_vars], dtype=object)
    labels = Labels(names, (*(_keys(data, dim) for dim in dims), variables))
    forms = tuple(VariableForm(name, each.dims, dict(each.attrs)) for name, each in data.data_vars.items())
    return Labelled(seen, labels, ToDataset(data.coords.to_dataset(), dims, forms, dict(data.attrs)))


def _first_of(data: Any) -> Any:
    """Return the first variable of a Dataset, after checking that all variables share its dimensions."""
    variables = dict(data.data_vars)
    if not variables:
        raise ValueError("a Dataset must have at least one variable, but it has none; add one or give a DataArray.")
    if VARIABLE in {str(dim) for dim in data.dims}:
        raise ValueError(
            f"a Dataset must not have a dimension {VARIABLE!r}, the name of the mode that its variables become, but it "
            "has one; rename that dimension."
        )
    name, first = next(iter(variables.items()))
    for other_name, other in variables.items():
        if set(other.dims) != set(first.dims):
            raise ValueError(
                f"the variables of a Dataset must share all their dimensions, but {name!r} has {first.dims} and "
                f"{other_name!r} has {other.dims}; give one variable, as in data[{name!r}], or those with the same "
                f"dimensions, as in data[[{name!r}, ...]]."
            )
    return first


def _numbers(variable: Any) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(variable.values)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"the variables of a Dataset must hold real numbers, but {variable.name!r} holds {array.dtype}; drop it, "
            f"as in data.drop_vars({variable.name!r}), or convert it."
        )
    return array


def _keys(data: Any, dim: Hashable) -> NDArray[Any] | None:
    """Return the labels of a dimension, or None if it has none."""
    if dim not in data.coords or data.coords[dim].ndim != 1:
        return None
    keys: NDArray[Any] = data.coords[dim].values
    return keys


@dataclass(frozen=True, eq=False)
class ToDataArray(Restorer):
    """Turns an array into a DataArray.

    Parameters
    ----------
    coords
        A Dataset with the coordinates but not the data.
    dims, name, attrs
        Those of the original DataArray.
    """

    kind: ClassVar[str] = "xarray.DataArray"
    libraries: ClassVar[tuple[str, ...]] = ("xarray",)
    words: ClassVar[dict[str, Any]] = {
        "dims": list[str],
        "coords": COORDS,
        "name": str | None,
        "attrs": dict[str, Any],
    }
    coords: Any
    dims: tuple[Hashable, ...]
    name: Hashable | None
    attrs: Mapping[Any, Any]

    @property
    def library(self) -> str:
        """The package that the object belongs to."""
        return "xarray"

    def __call__(self, dense: Floats) -> Any:
        """Return the DataArray."""
        made = need("xarray", "xarray").DataArray
        return made(dense, coords=self.coords.coords, dims=self.dims, name=self.name, attrs=dict(self.attrs))

    def part(self, block: Floats, places: Sequence[Integers], kept: Sequence[int], labels: Labels) -> Any:
        """Return a part of the tensor as a DataArray, with the labels of single indices as scalar coordinates."""
        return _part(block, places, kept, labels, self.name)

    def with_ends(self, dense: Floats, low: Floats, high: Floats) -> Any:
        """Return a Dataset with the values and the ends of their intervals."""
        name = "value" if self.name is None else str(self.name)
        parts = {name: self(dense), f"{name}_low": self(low), f"{name}_high": self(high)}
        return need("xarray", "xarray").Dataset({each: part.rename(each) for each, part in parts.items()})

    def grown(self, labels: Labels, shape: tuple[int, ...]) -> Self:
        """Return the restorer of a larger tensor with these labels; other coordinates are left out."""
        return type(self).rebuilt(labels, self.described()[0], {})

    def described(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file must store; names of dimensions and variables become text."""
        words, arrays = _described_coords(self.coords, self.dims)
        name = None if self.name is None else str(self.name)
        return words | {"name": name, "attrs": _named(self.attrs)}, arrays

    @classmethod
    def rebuilt(cls, labels: Labels, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the restorer, from its labels and the result of `described`."""
        _check_dims(words["dims"], labels.names)
        coords = _rebuilt_coords(labels, words, arrays)
        return cls(coords, tuple(words["dims"]), words["name"], words["attrs"])


@dataclass(frozen=True, eq=False)
class VariableForm:
    """The name, dimensions and attributes of a variable of a Dataset.

    Parameters
    ----------
    name, dims, attrs
        As in xarray.
    """

    name: Hashable
    dims: tuple[Hashable, ...]
    attrs: Mapping[Any, Any]


@dataclass(frozen=True, eq=False)
class ToDataset(Restorer):
    """Turns an array whose last mode is the variables into a Dataset.

    Parameters
    ----------
    coords
        A Dataset with the coordinates but not the data.
    dims
        The dimensions of the array, except the last.
    variables
        The name, dimensions and attributes of each variable.
    attrs
        The attributes of the Dataset.
    """

    kind: ClassVar[str] = "xarray.Dataset"
    libraries: ClassVar[tuple[str, ...]] = ("xarray",)
    words: ClassVar[dict[str, Any]] = {
        "dims": list[str],
        "coords": COORDS,
        "variables": COORDS,
        "attrs": dict[str, Any],
    }
    coords: Any
    dims: tuple[Hashable, ...]
    variables: tuple[VariableForm, ...]
    attrs: Mapping[Any, Any]

    @property
    def library(self) -> str:
        """The package that the object belongs to."""
        return "xarray"

    def __call__(self, dense: Floats) -> Any:
        """Return the Dataset."""
        made = need("xarray", "xarray").Dataset(coords=self.coords.coords, attrs=dict(self.attrs))
        for place, each in enumerate(self.variables):
            axes = [self.dims.index(dim) for dim in each.dims]
            made[each.name] = (each.dims, dense[..., place].transpose(axes), dict(each.attrs))
        return made

    def part(self, block: Floats, places: Sequence[Integers], kept: Sequence[int], labels: Labels) -> Any:
        """Return a part of the tensor as a DataArray, with the variables as its last dimension."""
        return _part(block, places, kept, labels, None)

    def with_ends(self, dense: Floats, low: Floats, high: Floats) -> Any:
        """Return a Dataset with two more variables for each variable, for the ends of intervals."""
        made = self(dense)
        for ending, part in (("low", self(low)), ("high", self(high))):
            made = made.assign({f"{each.name}_{ending}": part[each.name] for each in self.variables})
        return made

    def grown(self, labels: Labels, shape: tuple[int, ...]) -> Self | None:
        """Return the restorer of a larger tensor with these labels; None if there are new variables."""
        if shape[-1] != len(self.variables):
            return None
        return type(self).rebuilt(labels, self.described()[0], {})

    def described(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file must store; names of dimensions and variables become text."""
        words, arrays = _described_coords(self.coords, self.dims)
        variables = [[str(each.name), [str(dim) for dim in each.dims], _named(each.attrs)] for each in self.variables]
        return words | {"variables": variables, "attrs": _named(self.attrs)}, arrays

    @classmethod
    def rebuilt(cls, labels: Labels, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the restorer, from its labels and the result of `described`."""
        _check_dims(words["dims"], labels.names[:-1])
        forms = tuple(VariableForm(name, tuple(dims), attrs) for name, dims, attrs in _forms(words["variables"]))
        last = labels.keys[-1]
        if last is None or [each.name for each in forms] != last.tolist():
            raise ValueError("the variables of a Dataset must be the labels of the last mode")
        if any(sorted(map(str, each.dims)) != sorted(words["dims"]) for each in forms):
            raise ValueError("the variables of a Dataset must share all its dimensions")
        return cls(_rebuilt_coords(labels, words, arrays), tuple(words["dims"]), forms, words["attrs"])


def _part(block: Floats, places: Sequence[Integers], kept: Sequence[int], labels: Labels, name: Hashable | None) -> Any:
    """Return a part of a tensor as a DataArray."""
    coords: dict[str, Any] = {}
    for mode, own in enumerate(labels.keys):
        if own is not None:
            keys = own[places[mode]]
            coords[labels.names[mode]] = (labels.names[mode], keys) if mode in kept else keys[0]
    sizes = [len(places[mode]) for mode in kept]
    dims = [labels.names[mode] for mode in kept]
    return need("xarray", "xarray").DataArray(block.reshape(sizes), coords, dims, name)


def _named(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in attrs.items()}


def _described_coords(coords: Any, dims: tuple[Hashable, ...]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the metadata of the coordinates that a file must store besides the labels of the dimensions.

    The levels of a dimension with several levels are left out, because its labels already combine them.
    """
    others = [name for name in coords.coords if name not in dims and name not in coords.indexes]
    listed = [
        [str(name), [str(dim) for dim in coords[name].dims], _named(coords[name].attrs)]
        for name in coords.coords
        if name in dims or name in others
    ]
    return {"dims": [str(dim) for dim in dims], "coords": listed}, {str(name): coords[name].values for name in others}


def _check_dims(dims: list[str], names: tuple[str, ...]) -> None:
    if tuple(dims) != names:
        raise ValueError(f"its dimensions are {str(dims)[:60]}, but its modes are {str(names)[:60]}")


def _forms(listed: list[list[Any]]) -> list[list[Any]]:
    """Validate names, dimensions and attributes from a file, and return them."""
    for each in listed:
        if not conforms(tuple(each), tuple[str, list[str], dict[str, Any]]):
            raise ValueError(f"a coordinate or variable is {str(each)[:60]}")
    return listed


def _rebuilt_coords(labels: Labels, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    keys = dict(zip(words["dims"], labels.keys, strict=False))
    held = {
        name: (dims, arrays[name] if name in arrays else keys[name], attrs)
        for name, dims, attrs in _forms(words["coords"])
        if name in arrays or keys.get(name) is not None
    }
    return need("xarray", "xarray").Dataset(coords=held)


DATA_ARRAY = Adapter(is_data_array, take_in_data_array, has_array=True)
DATASET = Adapter(is_dataset, take_in_dataset, has_array=True)
