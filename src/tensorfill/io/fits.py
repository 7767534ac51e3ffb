"""Fits as npz files: arrays and one text of JSON, never a pickle."""

from __future__ import annotations

import datetime
import json
import zipfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..adapters.registry import rebuilt
from ..adapters.restoring import Restorer
from ..choosing.error_bars import ErrorBars, SliceErrors
from ..choosing.held_out import HeldOut
from ..labels import Labels
from ..methods.base import History
from ..methods.search import Path as SearchPath
from ..models import MODELS, Model
from ..observations import Observations
from .atomic import written_beside
from .typed import decoded, encoded

if TYPE_CHECKING:
    from ..fit import Fit

FORMAT = "tensorfill-fit"
VERSION = 5
"""The version of the format that is written and read."""

HELD_OUT = ("coords", "observed", "predicted")
"""What is kept of the held-out entries."""


def save_fit(fit: Fit, path: str | PathLike[str], *, data: bool = False) -> None:
    """Write a fit to an npz file, with its data only if asked to.

    It holds the labels: numbers and dates as arrays of these, and texts as arrays of unicode. Labels that combine
    several of these are stored as JSON, and other objects by their text.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": fit.model.kind,
        "shape": list(fit.shape),
        "status": encoded(fit.status),
        "recipe": encoded(fit.recipe),
        "bounds": encoded(fit.bounds),
        "history": encoded(list(fit.history)),
        "path": None if fit.path is None else encoded(list(fit.path)),
        "baselines": encoded(fit.baselines),
        "timing": encoded(fit.timing),
    }
    arrays = {f"model.{name}": array for name, array in fit.model.to_arrays().items()}
    if fit.core is not None:
        header["core"] = fit.core.kind
        arrays |= {f"core.{name}": array for name, array in fit.core.to_arrays().items()}
    if data and fit.observations is not None:
        arrays |= {"data.positions": fit.observations.positions, "data.values": fit.observations.values}
    header["slices"] = _slices_for_file(fit.error_bars)
    arrays |= _errors_for_file(fit.error_bars)
    header["labels"], keys = _labels_for_file(fit.labels)
    header["restore"], parts = _restorer_for_file(fit.restore)
    arrays |= keys | parts
    with written_beside(path) as file:
        np.savez(file, header=np.array(json.dumps(header, default=_plain)), **arrays)  # type: ignore[arg-type]


def read_fit(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the parts of a fit that `save_fit` wrote, by name."""
    header, arrays = _read(Path(path))
    labels = _read_labels(header, arrays)
    points = header["path"]
    return {
        "model": MODELS[header["kind"]].from_arrays(tuple(header["shape"]), _named(arrays, "model.")),
        "status": decoded(header["status"]),
        "history": History(decoded(header["history"])),
        "recipe": decoded(header["recipe"]),
        "path": None if points is None else SearchPath(decoded(points)),
        "error_bars": _read_errors(header, _named(arrays, "errors.")),
        "baselines": decoded(header["baselines"]),
        "timing": decoded(header["timing"]),
        "bounds": decoded(header["bounds"]),
        "core": _read_core(header, arrays),
        "observations": _read_data(header, _named(arrays, "data.")),
        "labels": labels,
        "restore": _read_restorer(header, arrays, labels),
    }


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}; give the path that Fit.save wrote to.")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            arrays = _all_stored({name: file[name] for name in file.files if name != "header"})
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a file that Fit.save wrote, or it is damaged.") from error
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} is not a file that Fit.save wrote.")
    if header["version"] != VERSION:
        instead = "install a newer tensorfill" if header["version"] > VERSION else "fit the data again"
        raise ValueError(
            f"{path} has version {header['version']} of the format, but this tensorfill reads version {VERSION}; "
            f"{instead}."
        )
    return header, arrays


def _named(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _read_core(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model | None:
    if "core" not in header:
        return None
    return MODELS[header["core"]].from_arrays(tuple(header["shape"]), _named(arrays, "core."))


def _read_data(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Observations | None:
    if "positions" not in arrays:
        return None
    shape = tuple(header["shape"])
    coords = np.stack(np.unravel_index(arrays["positions"], shape), axis=1)
    return Observations(coords, arrays["values"], shape)


def _errors_for_file(bars: ErrorBars | None) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    if bars is not None:
        arrays["errors.residuals"] = bars.residuals
        if bars.weights is not None:
            arrays["errors.weights"] = bars.weights
        if bars.held_out is not None:
            held = bars.held_out
            arrays |= {f"errors.held_out.{each}": getattr(held, each) for each in HELD_OUT}
            if held.distances is not None:
                arrays["errors.held_out.distances"] = held.distances
            if any(name.startswith("distance") for name in bars.depends_on):
                arrays["errors.around"] = held.around.positions
        for number, each in enumerate(bars.slices):
            arrays[f"errors.{number}.empty"] = each.empty
            arrays[f"errors.{number}.residuals"] = each.residuals
    return arrays


def _slices_for_file(bars: ErrorBars | None) -> list[list[int]]:
    return [] if bars is None else [[each.mode, each.slices] for each in bars.slices]


def _read_errors(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ErrorBars | None:
    if "residuals" not in arrays:
        return None
    slices = [
        SliceErrors(mode, arrays[f"{number}.empty"], arrays[f"{number}.residuals"], count)
        for number, (mode, count) in enumerate(header["slices"])
    ]
    return ErrorBars(arrays["residuals"], arrays.get("weights"), slices, _read_held_out(header, arrays))


def _read_held_out(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> HeldOut | None:
    if "held_out.coords" not in arrays:
        return None
    shape = tuple(header["shape"])
    positions = arrays.get("around", np.zeros(1, dtype=np.int64))
    # Without any distance that counts, only the shape matters.
    around = Observations(np.stack(np.unravel_index(positions, shape), axis=1), np.ones(len(positions)), shape)
    coords, observed, predicted = (arrays[f"held_out.{each}"] for each in HELD_OUT)
    return HeldOut(coords, observed, predicted, arrays.get("held_out.distances"), around)


def _labels_for_file(labels: Labels) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = {f"labels.{mode}": keys for mode, keys in enumerate(labels.keys) if keys is not None}
    return {"names": labels.names, "value": labels.value}, _all_storable(arrays)


def _read_labels(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Labels:
    names = tuple(header["labels"]["names"])
    keys = _named(arrays, "labels.")
    return Labels(names, tuple(keys.get(str(mode)) for mode in range(len(names))), header["labels"]["value"])


def _restorer_for_file(restore: Any) -> tuple[dict[str, Any] | None, dict[str, NDArray[Any]]]:
    """Return what a file holds of a restorer; a function of somebody's own cannot be written."""
    if not isinstance(restore, Restorer):
        return None, {}
    words, arrays = restore.described()
    named = {f"restore.{name}": array for name, array in arrays.items()}
    return {"kind": restore.kind, "library": restore.library} | words, _all_storable(named)


def _read_restorer(header: dict[str, Any], arrays: dict[str, NDArray[Any]], labels: Labels) -> Restorer | None:
    words = header.get("restore")
    return None if words is None else rebuilt(labels, words, _named(arrays, "restore."))


JSON, TIME = "json.", "time."
"""Begin the names of arrays of objects, and of times of day, which are there as text."""


def _all_storable(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays that need no pickle."""
    storable: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if array.dtype.kind in "biufmMU":
            storable[name] = array
            continue
        entries = array.tolist()
        if array.size and all(isinstance(entry, datetime.time) and entry.tzinfo is None for entry in entries):
            storable[TIME + name] = np.array([entry.isoformat() for entry in entries])
            continue
        texts = np.array(entries, dtype=np.str_) if _are_texts(array) else None
        # Unicode arrays drop what is zero at the end of a text.
        if texts is not None and texts.tolist() == entries:
            storable[name] = texts
        else:
            storable[JSON + name] = np.array(json.dumps(entries, default=_plain))
    return storable


def _are_texts(array: NDArray[Any]) -> bool:
    return array.size > 0 and all(isinstance(entry, str) for entry in array.ravel())


def _all_stored(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays as they were before `_all_storable`, but for the objects of which only the text is there."""
    stored: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if name.startswith(TIME):
            times = [datetime.time.fromisoformat(text) for text in array.tolist()]
            stored[name.removeprefix(TIME)] = np.array(times, dtype=object)
        elif name.startswith(JSON):
            entries = json.loads(str(array))
            objects = np.empty(len(entries), dtype=object)
            objects[:] = [tuple(entry) if isinstance(entry, list) else entry for entry in entries]
            stored[name.removeprefix(JSON)] = objects
        else:
            stored[name] = array
    return stored


def _plain(thing: Any) -> Any:
    """Return what JSON can hold: numbers of numpy as Python's, and anything else by its text."""
    return thing.tolist() if isinstance(thing, np.ndarray | np.number | np.bool_) else str(thing)
