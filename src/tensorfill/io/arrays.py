"""numpy's own files, without pickle: .npy for one array, .npz for several or for a sparse tensor with its labels."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import choice
from ..labels import Labelled, Labels
from ..observations import Observations
from .atomic import written_beside
from .common import Content, Mask, chosen_array, dense_labelled, read_as, warn_of_lost_labels

LISTED = {"coords", "values", "shape"}
"""The arrays of a sparse tensor."""

_NAMES, _KEYS = "mode_names", "mode_keys_"


def read_npy(path: Path, *, missing: str | None = None, mask: Mask | None = None) -> Labelled:
    """Read an array; NaN is missing.

    Parameters
    ----------
    path
        The file.
    missing
        ``"nan"``, the default; ``"zero"`` if zeros are missing too.
    mask
        An array that is not zero where entries were observed.
    """
    with read_as(path, "an array", ValueError, EOFError, OSError), path.open("rb") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    return dense_labelled(array, missing=missing, mask=mask)


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


def read_npz(path: Path, *, missing: str | None = None, name: str | None = None, mask: Mask | None = None) -> Labelled:
    """Read one array of an .npz file, or a sparse tensor: `coords`, `values` and `shape`.

    Parameters
    ----------
    path
        The file.
    missing
        ``"zero"`` if zeros are missing too; by default NaN in an array, and absent entries of a sparse tensor.
    name
        The array to read, if several have two modes or more.
    mask
        An array that is not zero where entries were observed.
    """
    arrays = _arrays(path)
    if "header" in arrays and any(each.startswith("model.") for each in arrays):
        raise ValueError(
            f"{path} is a model, not data; read it with tensorfill.load, or give it to `tensorfill predict`."
        )
    if name is None and arrays.keys() >= LISTED:
        if mask is not None:
            raise ValueError(f"mask is for arrays that hold every entry, but {path} lists its entries; leave mask out.")
        return _sparse(arrays, missing)
    labels = _labels(arrays)
    numbers = {each: array for each, array in arrays.items() if array.dtype.kind in "biuf" and not _is_label(each)}
    sizes = {each: array.shape for each, array in numbers.items()}
    chosen = chosen_array(path, sizes, name, [each for each, shape in sizes.items() if len(shape) > 1])
    array = numbers[chosen]
    fitting = labels if labels is not None and len(labels.names) == array.ndim else None
    return dense_labelled(array, fitting, missing=missing, mask=mask)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that can be read without a pickle."""
    errors = (ValueError, OSError, EOFError, zipfile.BadZipFile)
    found: dict[str, NDArray[Any]] = {}
    with read_as(path, "an .npz file", *errors), path.open("rb") as stream:
        held = np.load(stream, allow_pickle=False)
        if not isinstance(held, np.lib.npyio.NpzFile):
            raise ValueError("it holds a single array, as .npy files do")
        for name in held.files:
            try:
                found[name] = held[name]
            except ValueError as error:
                # An array of objects beside those of numbers is no reason to refuse the file.
                if "pickle" not in str(error):
                    raise
    return found


def _sparse(arrays: dict[str, NDArray[Any]], missing: str | None) -> Labelled:
    kind = choice("absent" if missing is None else missing, "missing for a sparse tensor", ("absent", "zero"))
    observations = Observations(arrays["coords"], arrays["values"], arrays["shape"].tolist())
    if kind == "zero":
        observations = observations.select(observations.values != 0)
    return Labelled(observations, _labels(arrays) or Labels.plain(observations.ndim))


def _is_label(name: str) -> bool:
    return name == _NAMES or name.startswith(_KEYS)


def _labels(arrays: dict[str, NDArray[Any]]) -> Labels | None:
    if _NAMES not in arrays:
        return None
    names = tuple(str(name) for name in arrays[_NAMES])
    return Labels(names, tuple(arrays.get(f"{_KEYS}{mode}") for mode in range(len(names))))


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
