"""Entries by their labels: one, a list, or all of a mode; the result has the labels too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.types import Floats, Integers
from ..adapters.restoring import Restorer

if TYPE_CHECKING:
    from ..fit import Fit


def entries_at(fit: Fit, wanted: Mapping[str, Any]) -> Any:
    """Return the entries with these labels, as described in `Fit.at`.

    Parameters
    ----------
    fit
        The fit.
    wanted
        A label, or a list of labels, for some of the modes by name.
    """
    labels = fit.labels
    places: list[Integers] = [np.arange(size) for size in fit.shape]
    single: set[int] = set()
    for name, given in wanted.items():
        mode = labels.mode(name)
        places[mode] = labels.positions(mode, given if _several(given) else [given])
        if not _several(given):
            single.add(mode)
    block: Floats = fit.expected(fit.model.restrict(places).to_dense())
    kept = [mode for mode in range(len(places)) if mode not in single]
    if not kept:
        return float(block.reshape(()))
    if isinstance(fit.restore, Restorer):
        return fit.restore.part(block, places, kept, labels)
    return block.reshape([len(places[mode]) for mode in kept])


def _several(given: Any) -> bool:
    """Return whether these are several labels; a text or a tuple is a single label."""
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | tuple) and np.ndim(given) > 0  # type: ignore[arg-type]
