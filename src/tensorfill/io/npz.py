"""Fits as npz files: arrays and one text of JSON, never a pickle."""

from __future__ import annotations

import json
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fit import Fit
from ..methods.base import History, Record, Status
from ..models import MODELS
from ..selection import Path as LambdaPath
from ..selection import PathPoint
from .atomic import written_beside

FORMAT = "tensorfill-fit"
VERSION = 1


def save_fit(fit: Fit, path: str | PathLike[str]) -> None:
    """Write a fit, without its data, to an npz file."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": fit.model.kind,
        "shape": fit.shape,
        "status": fit.status.name,
        "settings": dict(fit.settings),
        "bounds": fit.bounds,
        "history": fit.history.to_dicts(),
        "path": None if fit.path is None else fit.path.to_dicts(),
    }
    arrays = {f"model.{name}": array for name, array in fit.model.to_arrays().items()}
    if fit.residuals is not None:
        arrays["residuals"] = fit.residuals
    with written_beside(path) as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]


def load(path: str | PathLike[str]) -> Fit:
    """Read a fit that `Fit.save` wrote.

    Parameters
    ----------
    path
        The file.
    """
    header, arrays = _read(Path(path))
    residuals = arrays.pop("residuals", None)
    model = MODELS[header["kind"]].from_arrays(tuple(header["shape"]), arrays)
    points = header["path"]
    return Fit(
        model=model,
        status=Status[header["status"]],
        history=History(Record(**_tuples(record)) for record in header["history"]),
        settings=_tuples(header["settings"]),
        path=None if points is None else LambdaPath(PathPoint(**_tuples(point)) for point in points),
        residuals=residuals,
        bounds=None if header["bounds"] is None else tuple(header["bounds"]),
    )


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}; give the path that Fit.save wrote to.")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            arrays = {name.removeprefix("model."): file[name] for name in file.files if name != "header"}
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a file that Fit.save wrote, or it is damaged.") from error
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} is not a file that Fit.save wrote.")
    if header["version"] > VERSION:
        raise ValueError(
            f"{path} has version {header['version']} of the format, but this tensorfill reads up to {VERSION}; "
            "install a newer tensorfill."
        )
    return header, arrays


def _tuples(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the lists that JSON made of tuples as tuples again."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}
