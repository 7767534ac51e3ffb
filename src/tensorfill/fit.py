"""What the front door returns: the answer, what was chosen, why it stopped, and every iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._types import Floats
from .methods.base import History, Status
from .models import Model
from .models.base import DENSE_LIMIT
from .observations import Observations
from .selection import Path


@dataclass(frozen=True, eq=False)
class Fit:
    """A completed tensor.

    Parameters
    ----------
    model
        The tensor, known without being stored entry by entry.
    status
        Why the method stopped, as a sentence.
    history
        Every iteration of the final run.
    settings
        What the method ran with, given or chosen, by name.
    path
        The regularisations that were tried on held-out entries, where one was chosen.
    bounds
        Predictions are clipped to these.
    observations
        The data, where it is at hand; a fit that was read from a file comes without.
    """

    model: Model
    status: Status
    history: History
    settings: Mapping[str, Any]
    path: Path | None = None
    bounds: tuple[float, float] | None = None
    observations: Observations | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.model.shape

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each regularised mode."""
        return self.model.ranks

    @property
    def lam(self) -> tuple[float, ...]:
        """The lambda of each regularised mode."""
        return tuple(self.settings["lam"])

    @property
    def theta(self) -> tuple[float | None, ...]:
        """The theta of each regularised mode; None for a penalty that has none."""
        return tuple(self.settings["theta"])

    @property
    def held_out_error(self) -> float:
        """Root mean square error on held-out entries at the regularisation that was chosen; NaN if none was."""
        return self.path.best.held_out if self.path else float("nan")

    def predict(self, coords: ArrayLike) -> Floats:
        """Return the entries at `coords`, an array of whole numbers of shape (n, ndim); nothing dense is built."""
        return self._bounded(self.model.predict(coords))

    def __getitem__(self, key: Any) -> Floats:
        """Return a slice, fibre or sub-tensor as a dense array; indexed as an array is."""
        return self._bounded(self.model[key])

    def to_dense(self, *, max_bytes: float = DENSE_LIMIT) -> Floats:
        """Return the model's value of every entry, observed or not.

        An array of more than `max_bytes` is refused.
        """
        return self._bounded(self.model.to_dense(max_bytes=max_bytes))

    def filled(self, *, max_bytes: float = DENSE_LIMIT) -> Floats:
        """Return the data as it was given, with only the missing entries filled in."""
        if self.observations is None:
            raise ValueError("A fit that was read from a file does not hold the data; use to_dense() instead.")
        dense = self.to_dense(max_bytes=max_bytes)
        dense.reshape(-1)[self.observations.positions] = self.observations.values
        return dense

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit to a file that `tensorfill.load` reads; the data itself is not in it."""
        from .io.npz import save_fit

        save_fit(self, path)

    def __repr__(self) -> str:
        chosen = ", ".join(f"{value:.3g}" for value in self.lam)
        return (
            f"Fit(shape={self.shape}, ranks={self.ranks}, lam=({chosen}), "
            f"{self.history[-1].iteration} iterations: {self.status})"
        )

    def _bounded(self, values: Floats) -> Floats:
        return values if self.bounds is None else np.clip(values, *self.bounds)
