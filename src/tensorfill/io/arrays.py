"""numpy's files, without pickle: .npy for one array, .npz for several or for a sparse tensor with its labels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import choice, listed
from ..labels import Labelled, Labels
from ..observations import Observations
from .archive import Archive, opened_archive, read_array
from .atomic import written_beside
from .common import Content, Mask, chosen_array, dense_labelled, warn_of_lost_labels
from .source import Source

LISTED = {"coords", "values", "shape"}
"""The arrays of a sparse tensor."""

AS_FLOAT = 8
"""The bytes of a number in memory, which may be more than in the file."""

_NAMES, _KEYS = "mode_names", "mode_keys_"


def read_npy(source: Source, *, missing: str | None = None, mask: Mask | None = None) -> Labelled:
    """Read an array; NaN is missing.

    Parameters
    ----------
    source
        The file.
    missing
        ``"nan"``, the default; ``"zero"`` if zeros are missing too.
    mask
        An array that is nonzero where entries were observed.
    """
    array = npy_array(source)
    source.need(AS_FLOAT * array.size)
    return dense_labelled(array, missing=missing, mask=mask)


def npy_array(source: Source) -> NDArray[Any]:
    """Return the array of an .npy file."""
    with source.read_as("an array"), source.path.open("rb") as file:
        source.need(source.size)
        return read_array(file, source.size)


def write_npy(path: Path, content: Content) -> None:
    """Write an array with NaN for missing entries.

    Parameters
    ----------
    path
        The file.
    content
        What to write.
    """
    warn_of_lost_labels(content.labels, "an .npy file")
    with written_beside(path) as file:
        np.save(file, content.dense(), allow_pickle=False)


def read_npz(
    source: Source, *, missing: str | None = None, name: str | None = None, mask: Mask | None = None
) -> Labelled:
    """Read one array of an .npz file, or a sparse tensor: `coords`, `values` and `shape`.

    Parameters
    ----------
    source
        The file.
    missing
        ``"zero"`` if zeros are missing too; by default NaN in an array, and absent entries of a sparse tensor.
    name
        The array to read, if several have two modes or more.
    mask
        An array that is nonzero where entries were observed.
    """
    path = source.path
    with opened_archive(source) as file:
        if "header" in file and any(each.startswith("model.") for each in file.headers):
            raise ValueError(
                f"{path} is a model, not data; read it with tensorfill.load, or give it to `tensorfill predict`."
            )
        if name is None and file.headers.keys() >= LISTED:
            if mask is not None:
                raise ValueError(
                    f"mask is for arrays that hold every entry, but {path} lists its entries; leave mask out."
                )
            return _sparse(file, missing)
        sizes = {
            each: header.shape
            for each, header in file.headers.items()
            if header.dtype.kind in "biuf" and not _is_label(each)
        }
        chosen = chosen_array(path, sizes, name, [each for each, shape in sizes.items() if len(shape) > 1])
        if name is None and chosen == "coords":
            raise ValueError(
                f"{path} lists entries in 'coords', but lacks {listed(sorted(LISTED - file.headers.keys()))}, so it is "
                "damaged or incomplete; write it again, or give name='coords' if these numbers are the tensor."
            )
        source.need(AS_FLOAT * math.prod(sizes[chosen]))
        array, labels = file.read(chosen), _labels(file)
    fitting = labels if labels is not None and len(labels.names) == array.ndim else None
    return dense_labelled(array, fitting, missing=missing, mask=mask)


def _sparse(file: Archive, missing: str | None) -> Labelled:
    kind = choice("absent" if missing is None else missing, "missing for a sparse tensor", ("absent", "zero"))
    shape = file.read("shape")
    if shape.ndim != 1:
        raise ValueError(f"'shape' must be a row of sizes, but its own shape is {shape.shape}.")
    observations = Observations(file.read("coords"), file.read("values"), shape.tolist())
    if kind == "zero":
        observations = observations.select(observations.values != 0)
    return Labelled(observations, _labels(file) or Labels.plain(observations.ndim))


def _is_label(name: str) -> bool:
    return name == _NAMES or name.startswith(_KEYS)


def _labels(file: Archive) -> Labels | None:
    if _NAMES not in file:
        return None
    names = file.read(_NAMES)
    if names.ndim != 1:
        raise ValueError(f"{_NAMES!r} must be a row of texts, but its shape is {names.shape}.")
    keys = (f"{_KEYS}{mode}" for mode in range(len(names)))
    return Labels(tuple(map(str, names)), tuple(file.read(each) if each in file else None for each in keys))


def write_npz(path: Path, content: Content) -> None:
    """Write the coordinates, values and shape of sparse observations, or an array; and the labels.

    Parameters
    ----------
    path
        The file.
    content
        What to write.
    """
    arrays: dict[str, NDArray[Any]] = {_NAMES: np.array(content.labels.names)}
    for mode, keys in enumerate(content.labels.keys):
        if keys is not None:
            arrays[f"{_KEYS}{mode}"] = plain_keys(keys, content.labels.names[mode])
    if content.is_sparse:
        coords, values = content.entries()
        arrays |= {"coords": coords, "values": values, "shape": np.array(content.shape)}
    else:
        arrays["array"] = content.dense()
    with written_beside(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def check_npz(path: Path, content: Content) -> None:
    """Raise an error if an .npz file cannot hold such a tensor."""
    for name, keys in zip(content.labels.names, content.labels.keys, strict=True):
        if keys is not None:
            plain_keys(keys, name)


def plain_keys(keys: NDArray[Any], name: str) -> NDArray[Any]:
    """Return labels as an array of numbers, texts or dates, which a file can hold without a pickle."""
    array = np.asarray(keys)
    if array.dtype.kind in "OT":
        if not all(isinstance(key, str) for key in array.tolist()):
            raise TypeError(
                f"the labels of {name!r} must be all numbers, all texts or all dates to be written as .npz."
            )
        array = array.astype(np.str_)
    return array
