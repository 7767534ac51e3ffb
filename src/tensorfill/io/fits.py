"""Fits as npz files: arrays and one JSON text, never a pickle."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import coordinates
from ..adapters.registry import rebuilt
from ..adapters.restoring import Restorer
from ..choosing.error_bars import ErrorBars, SliceErrors
from ..choosing.holdout.held_out import HeldOut
from ..choosing.recipe import Omitted, Recipe
from ..choosing.search.base import Path as SearchPath
from ..labels import Labels
from ..methods.base import History
from ..models import MODELS, Model
from ..models.placed import stored_kept
from ..models.slices import Empty
from ..observations import Observations
from .archive import Archive, opened_archive
from .atomic import written_beside
from .fit_header import FORMAT, VERSION, FitHeader, OtherVersion
from .source import Source, TooLarge, in_brackets
from .typed import encoded

if TYPE_CHECKING:
    from ..fit import Fit

WHOLE = ("modes", "ranks", "columns", "kept", "places", "grid", "starts")
"""The arrays of models that hold whole numbers."""

HELD_OUT = ("coords", "observed", "predicted")
"""The arrays of the held-out entries."""


def save_fit(fit: Fit, path: str | PathLike[str], *, data: bool = False) -> None:
    """Write a fit to an npz file, with its data only if asked to.

    Labels are stored too: numbers and dates as arrays of their type, and texts as Unicode arrays. Labels that combine
    several of these are stored as JSON, and other objects by their text.
    """
    header, arrays = described_fit(fit)
    header["kind"] = fit.model.kind
    starts = [part.start.model for part in fit.recipe.parts]
    header["core"] = None if fit.core is None else fit.core.kind
    header["starts"] = [None if start is None else start.kind for start in starts]
    models = {"model": fit.model, "core": fit.core} | {f"start{number}": start for number, start in enumerate(starts)}
    for name, model in models.items():
        arrays |= {} if model is None else {f"{name}.{each}": array for each, array in model.to_arrays().items()}
    if data and fit.observations is not None:
        arrays |= {"data.coords": fit.observations.coords, "data.values": fit.observations.values}
    with written_beside(path) as file:
        np.savez(file, header=written_header(header), **arrays)  # type: ignore[arg-type]


def described_fit(fit: Fit) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header of a fit, and the arrays of everything but its models and its data."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "shape": list(fit.shape),
        "status": encoded(fit.status),
        "recipe": encoded(fit.recipe.anew),
        "bounds": encoded(fit.bounds),
        "history": encoded(list(fit.history)),
        "path": None if fit.path is None else encoded(list(fit.path)),
        "baselines": encoded(fit.baselines),
        "timing": encoded(fit.timing),
    }
    header["slices"] = _slices_for_file(fit.error_bars)
    header["labels"], keys = _labels_for_file(fit.labels)
    header["restore"], parts = _restorer_for_file(fit.restore)
    left_out = fit.recipe.start.left_out
    if left_out is not None:
        header["left_out"], parts["left_out"] = left_out.of, left_out.entries
    return header, _errors_for_file(fit.error_bars) | keys | parts


def written_header(header: dict[str, Any]) -> NDArray[np.str_]:
    """Return a header as JSON text, as an array."""
    return np.array(json.dumps(header, default=_plain))


def read_fit(path: str | PathLike[str], max_bytes: float | None = None) -> dict[str, Any]:
    """Return the parts of a fit that `save_fit` wrote, by name."""
    source = Source(path, max_bytes)
    source.check_it_is_there("give the path that Fit.save wrote to")
    with read_as_fit(source), opened_archive(source) as file:
        header, arrays = header_and_arrays(file)
        return parts_of_fit(header, arrays)


@contextmanager
def read_as_fit(source: Source) -> Iterator[None]:
    """Turn any error in reading a fit into a sentence that names the file."""
    with source.named("a fit"):
        try:
            yield
        except OtherVersion as other:
            raise ValueError(other.sentence(source.path)) from None
        except TooLarge:
            raise
        except (ValueError, TypeError) as error:
            # The message of a library follows the name of the file, which must not appear twice.
            reason = in_brackets(error if not isinstance(error.__cause__, Exception) else error.__cause__)
            raise ValueError(
                f"{source.path} is not a file that Fit.save wrote, or it is damaged ({reason})."
            ) from error


def header_and_arrays(file: Archive) -> tuple[FitHeader, dict[str, NDArray[Any]]]:
    """Return the header of a fit, checked, and all arrays of its file."""
    if "header" not in file:
        raise ValueError("it has no header")
    header = FitHeader.of(str(file.read("header")))
    return header, _all_stored({name: file.read(name) for name in file.headers if name != "header"})


def parts_of_fit(header: FitHeader, arrays: dict[str, NDArray[Any]], model: Model | None = None) -> dict[str, Any]:
    """Return the parts of a fit by name.

    Parameters
    ----------
    header, arrays
        The contents of its file.
    model
        The model, if it is not among the arrays.
    """
    shape = tuple(header.shape)
    labels = _read_labels(header, arrays)
    return {
        "model": model or read_model(header.kind, shape, _named(arrays, "model.")),
        "status": header.status,
        "history": History(header.history),
        "recipe": _with_starts(header, arrays),
        "path": None if header.path is None else SearchPath(header.path),
        "error_bars": _read_errors(header, _named(arrays, "errors.")),
        "baselines": header.baselines,
        "timing": header.timing,
        "bounds": header.bounds,
        "core": None if header.core is None else read_model(header.core, shape, _named(arrays, "core.")),
        "observations": _read_data(shape, _named(arrays, "data.")),
        "labels": labels,
        "restore": _read_restorer(header, arrays, labels),
    }


def _with_starts(header: FitHeader, arrays: dict[str, NDArray[Any]]) -> Recipe:
    """Return the recipe with the models that its methods started from, and the entries that were left out."""
    starts = [
        None if kind is None else read_model(kind, tuple(header.shape), _named(arrays, f"start{number}."))
        for number, kind in enumerate(header.starts)
    ]
    recipe = header.recipe.starting_from(starts) if starts else header.recipe
    if header.left_out is None:
        return recipe
    entries = arrays.get("left_out", np.zeros(0))
    if entries.ndim != 1 or entries.dtype != np.bool_:
        raise ValueError("the entries that it left out must be a row of yes or no")
    return replace(recipe, start=replace(recipe.start, left_out=Omitted(entries.astype(np.bool_), header.left_out)))


class Arrays(dict[str, NDArray[Any]]):
    """Arrays by name; a missing one is reported as a damaged file."""

    def __missing__(self, name: str) -> NDArray[Any]:
        raise ValueError(f"it has no array {name!r}")


def _named(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, without it."""
    return Arrays({name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)})


def read_model(kind: str, shape: tuple[int, ...], arrays: dict[str, NDArray[Any]]) -> Model:
    """Return a model, after checking that it is finite and has the shape in the header."""
    for name, array in arrays.items():
        # Indices are whole numbers, and the kind of an inner model is a text.
        role = name.rpartition(".")[2].rstrip("0123456789")
        kinds = "iu" if role in WHOLE else "U" if role == "inner" else "f"
        if array.dtype.kind not in kinds or (kinds != "U" and not np.isfinite(array).all()):
            raise ValueError(f"{name!r} of its model must hold finite numbers")
    try:
        model = MODELS[kind].from_arrays(shape, arrays)
    except KeyError as error:
        raise ValueError(f"its model has no array {error}") from None
    if model.shape != shape or model.dtype not in (np.float32, np.float64):
        raise ValueError(f"its model has shape {model.shape} and numbers of {model.dtype}, but its shape is {shape}")
    return model


def _read_data(shape: tuple[int, ...], arrays: dict[str, NDArray[Any]]) -> Observations | None:
    return None if "coords" not in arrays else Observations(arrays["coords"], arrays["values"], shape)


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
                arrays["errors.around"] = held.around.coords
        for number, each in enumerate(bars.slices):
            arrays[f"errors.{number}.kept"] = each.empty.kept
            arrays[f"errors.{number}.residuals"] = each.residuals
    return arrays


def _slices_for_file(bars: ErrorBars | None) -> list[list[int]]:
    return [] if bars is None else [[each.mode, each.slices, int(each.empty.between)] for each in bars.slices]


def _read_errors(header: FitHeader, arrays: dict[str, NDArray[Any]]) -> ErrorBars | None:
    if "residuals" not in arrays:
        return None
    residuals = _row(arrays["residuals"])
    weights = _row(arrays["weights"], len(residuals)) if "weights" in arrays else None
    if weights is not None and not weights.min(initial=1.0) > 0:
        raise ValueError("the weights of its errors must be above zero")
    slices = [
        SliceErrors(
            mode,
            _empty(arrays[f"{number}.kept"], header.shape[mode], between),
            _row(arrays[f"{number}.residuals"]),
            count,
        )
        for number, (mode, count, between) in enumerate(header.slices)
    ]
    return ErrorBars(residuals, weights, slices, _read_held_out(tuple(header.shape), arrays, len(residuals)))


def _row(array: NDArray[Any], length: int | None = None) -> NDArray[Any]:
    """Return a one-dimensional array of finite numbers, of the given length if any."""
    if array.ndim != 1 or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError("its errors must be rows of finite numbers")
    if len(array) != (length or len(array)):
        raise ValueError(f"there must be {length:,} errors, but there are {len(array):,}")
    return array


def _empty(kept: NDArray[Any], size: int, between: int) -> Empty:
    return Empty(size, stored_kept(kept, size), between=bool(between))


def _read_held_out(shape: tuple[int, ...], arrays: dict[str, NDArray[Any]], count: int) -> HeldOut | None:
    if "held_out.coords" not in arrays:
        return None
    # If no distance is used, only the shape matters.
    places = arrays.get("around", np.zeros((1, len(shape)), dtype=np.int64))
    around = Observations(places, np.ones(len(np.atleast_1d(places))), shape)
    coords = coordinates(arrays["held_out.coords"], shape)
    observed, predicted = (_row(arrays[f"held_out.{each}"], count) for each in HELD_OUT[1:])
    distances = arrays.get("held_out.distances")
    if len(coords) != count or (
        distances is not None and (distances.shape != coords.shape or distances.dtype.kind not in "iuf")
    ):
        raise ValueError("its held-out entries do not have one error each")
    return HeldOut(coords, observed, predicted, distances, around)


def _labels_for_file(labels: Labels) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = {f"labels.{mode}": keys for mode, keys in enumerate(labels.keys) if keys is not None}
    return {"names": labels.names, "value": labels.value}, _all_storable(arrays)


def _read_labels(header: FitHeader, arrays: dict[str, NDArray[Any]]) -> Labels:
    names, keys = header.labels["names"], dict(_named(arrays, "labels."))
    labels = Labels(tuple(names), tuple(keys.get(str(mode)) for mode in range(len(names))), header.labels["value"])
    for name, own, size in zip(names, labels.keys, header.shape, strict=True):
        if own is not None and len(own) != size:
            raise ValueError(f"{name[:40]!r} has {len(own):,} labels, but {size:,} indices")
    return labels


def _restorer_for_file(restore: Any) -> tuple[dict[str, Any] | None, dict[str, NDArray[Any]]]:
    """Return what a file stores of a restorer; a user-defined function cannot be stored."""
    if not isinstance(restore, Restorer):
        return None, {}
    words, arrays = restore.described()
    named = {f"restore.{name}": array for name, array in arrays.items()}
    return {"kind": restore.kind, "library": restore.library} | words, _all_storable(named)


def _read_restorer(header: FitHeader, arrays: dict[str, NDArray[Any]], labels: Labels) -> Restorer | None:
    return None if header.restore is None else rebuilt(labels, header.restore, _named(arrays, "restore."))


JSON, TIME = "json.", "time."
"""Prefixes of the names of arrays of objects, and of times of day, which are stored as text."""


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
        # Unicode arrays drop null characters at the end of a text.
        if texts is not None and texts.tolist() == entries:
            storable[name] = texts
        else:
            storable[JSON + name] = np.array(json.dumps(entries, default=_plain))
    return storable


def _are_texts(array: NDArray[Any]) -> bool:
    return array.size > 0 and all(isinstance(entry, str) for entry in array.ravel())


def _all_stored(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays before `_all_storable`, except objects of which only the text was stored."""
    stored: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if name.startswith(TIME):
            stored[name.removeprefix(TIME)] = _times(array)
        elif name.startswith(JSON):
            stored[name.removeprefix(JSON)] = _objects(array)
        else:
            stored[name] = array
    return stored


def _times(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim != 1 or array.dtype.kind != "U":
        raise ValueError("times of day must be a row of texts")
    return np.array([datetime.time.fromisoformat(text) for text in array.tolist()], dtype=object)


def _objects(array: NDArray[Any]) -> NDArray[Any]:
    """Return labels that are numbers, texts, or tuples of these."""
    try:
        entries = json.loads(str(array))
    except RecursionError:
        entries = None
    if not isinstance(entries, list):
        raise ValueError("labels must be a list")
    objects = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        objects[place] = tuple(entry) if isinstance(entry, list) else entry
    return objects


def _plain(thing: Any) -> Any:
    """Return a value that JSON can hold: NumPy numbers as Python numbers, and anything else as text."""
    return thing.tolist() if isinstance(thing, np.ndarray | np.number | np.bool_) else str(thing)
