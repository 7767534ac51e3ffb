"""What the front door returns: the answer, what was chosen, why it stopped, and every iteration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ._checks import real_number
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
    residuals
        How far the held-out entries were from a fit without them; intervals rest on these.
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
    residuals: Floats | None = field(default=None, repr=False)
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
    def nbytes(self) -> int:
        """Bytes held by the model."""
        return self.model.nbytes

    def norm(self) -> float:
        """Return the Frobenius norm of the model; nothing dense is built."""
        return self.model.norm()

    def inner(self, other: Fit) -> float:
        """Return the inner product with another fit of the same shape and kind; nothing dense is built."""
        return self.model.inner(other.model)

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
        """Root mean square error on the held-out entries of the fit without them; NaN where there were none."""
        return float("nan") if self.residuals is None else float(np.sqrt(np.mean(self.residuals**2)))

    @overload
    def predict(self, coords: ArrayLike) -> Floats: ...
    @overload
    def predict(self, coords: ArrayLike, *, interval: float) -> tuple[Floats, Floats, Floats]: ...
    def predict(self, coords: ArrayLike, *, interval: float | None = None) -> Floats | tuple[Floats, Floats, Floats]:
        """Return the entries at `coords`; nothing dense is built.

        Parameters
        ----------
        coords
            Whole numbers of shape (n, ndim).
        interval
            Also return the ends of intervals that hold this share of the true entries, observed as the data was.
            They are split-conformal: their half width is that quantile of the held-out residuals. The share
            is kept on average over entries that go missing as the held-out ones did, whatever the noise; it says
            nothing of a single entry, nor of slices without any observation.

        Returns
        -------
        values, or (values, low, high)
        """
        values = self.model.predict(coords)
        if interval is None:
            return self._bounded(values)
        half = self._half_width(real_number(interval, "interval", above=0, below=1))
        return self._bounded(values), self._bounded(values - half), self._bounded(values + half)

    def _half_width(self, share: float) -> float:
        if self.residuals is None:
            raise ValueError("Intervals rest on held-out entries, and this fit had none; fit with lam='auto'.")
        count = len(self.residuals)
        place = math.ceil((count + 1) * share)
        if place > count:
            raise ValueError(
                f"interval must be at most {count / (count + 1):.3f} with {count} held-out entries, "
                f"but {share} was given; hold out more by raising validation."
            )
        return float(np.partition(self.residuals, place - 1)[place - 1])

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
