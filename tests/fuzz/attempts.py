"""What a mutant may do: be refused in one sentence, or be read as sound data. Anything else is a find."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tensorfill
from tensorfill.io import read
from tensorfill.io.source import TooLarge

from .samples import FIT

REFUSALS = (ValueError, TypeError, OSError)
"""The errors that a reader may raise."""

LIMIT = 2**26
"""The bytes that the content of a mutant may take."""


def opened(path: Path, kind: str, **options: Any) -> Any:
    """Return what a file holds."""
    if kind == FIT:
        return tensorfill.load(path, max_bytes=LIMIT)
    return read(path, format=kind, max_bytes=LIMIT, **options)


def attempt(path: Path, kind: str, **options: Any) -> str | None:
    """Read a file, and return what is wrong with how that went; None if nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = opened(path, kind, **options)
        except REFUSALS as error:
            return _flaw_of_refusal(error, path)
        except Exception as error:
            return f"raised {_shown(error)}"
        try:
            return _flaw_of_fit(answer) if kind == FIT else _flaw_of_data(answer)
        except Exception as error:
            return f"was read, but then {_shown(error)}"


def _flaw_of_refusal(error: Exception, path: Path) -> str | None:
    sentence = str(error)
    if type(error) not in (ValueError, TooLarge, TypeError, OSError, FileNotFoundError, PermissionError):
        return f"raised {_shown(error)}"
    if str(path) not in sentence or not sentence.endswith(".") or "\n" in sentence:
        return f"was refused without a sentence that names it: {_shown(error)}"
    if len(sentence) > 1000:
        return f"was refused at length: {_shown(error)}"
    return None


def _flaw_of_data(data: Any) -> str | None:
    seen = data.observations
    if len(seen) == 0 or not np.isfinite(seen.values).all():
        return "was read, but not all values are finite"
    if any(keys is not None and len(keys) != size for keys, size in zip(data.labels.keys, seen.shape, strict=True)):
        return "was read, but labels do not fit the shape"
    return None


def _flaw_of_fit(fit: Any) -> str | None:
    corners = [np.zeros(len(fit.shape), dtype=int), np.array(fit.shape) - 1]
    with np.errstate(all="ignore"):
        predicted = fit.predict(corners)
    # Products of very large numbers may be infinite, which is no fault of the reader.
    numbers = [each for each in fit.model.to_arrays().values() if each.dtype.kind == "f" and each.size]
    if not np.isfinite(predicted).all() and max(np.abs(each).max() for each in numbers) < 1e50:
        return "was loaded, but predicts something infinite"
    repr(fit), str(fit), fit._repr_html_(), fit.recipe.arguments()
    if np.prod([float(size) for size in fit.shape]) < 10_000:
        fit.to_dense()
    return None


def _shown(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(last))
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]} ({places})"
