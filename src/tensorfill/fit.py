"""What the front door returns: the answer, what was chosen, why it stopped, and every iteration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ._checks import real_number
from ._types import Floats, Integers
from .losses import LOSSES, Logistic
from .methods.base import History, Status
from .models import Model
from .models.base import DENSE_LIMIT
from .observations import Observations
from .robust import outliers
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
            nothing of a single entry, nor of slices without any observation. There are none for a loss whose
            prediction is a score, such as the logistic one: see `predict_proba` and `predict_mean`.

        Returns
        -------
        values, or (values, low, high)
        """
        values = self.model.predict(coords)
        if interval is None:
            return self._bounded(values)
        self._refuse_intervals_of_scores()
        half = self._half_width(real_number(interval, "interval", above=0, below=1))
        return self._bounded(values), self._bounded(values - half), self._bounded(values + half)

    def predict_proba(self, coords: ArrayLike) -> Floats:
        """Return the probability of +1 (or 1, or True) at `coords`, for a fit with ``loss="logistic"``.

        It is 1 / (1 + exp(-x)) of the score x that `predict` returns. Where negatives were sampled it is the
        probability among entries sampled as these were, which is not that among all entries.

        Parameters
        ----------
        coords
            Whole numbers of shape (n, ndim).

        Examples
        --------
        >>> import numpy as np, tensorfill
        >>> likes = np.outer([1, 1, 1, -1, -1, -1], [1, -1, 1, -1, 1, -1.0])
        >>> likes[0, 0] = np.nan
        >>> fit = tensorfill.complete(likes, loss="logistic", lam=0.5, rng=0)
        >>> bool(fit.predict_proba([[0, 0]])[0] > 0.9)
        True
        """
        if self._loss_class is not Logistic:
            raise ValueError(
                f"predict_proba is for loss='logistic', but this fit has loss={self.settings['loss']!r}; "
                "use predict or predict_mean."
            )
        return self.predict_mean(coords)

    def predict_mean(self, coords: ArrayLike) -> Floats:
        """Return the observation to be expected at `coords`: what `predict` returns, on the scale of the data.

        For ``loss="logistic"`` it is the probability of +1, for ``loss="poisson"`` the expected count, and for losses
        whose prediction is on the scale of the data the prediction itself. So it is for a loss object of your own: if
        that has a `mean`, apply it to what `predict` returns.

        Parameters
        ----------
        coords
            Whole numbers of shape (n, ndim).
        """
        mean = self._mean
        values = self.predict(coords)
        return values if mean is None else mean(values)

    @property
    def _loss_class(self) -> type[Any] | None:
        """The class of the loss, if it is one that goes by a name, whether it was given by that name or as an object.

        What is known of the loss, after a file too, is its name or how it is written.
        """
        written = str(self.settings["loss"])
        for name, kind in LOSSES.items():
            if written == name or written.startswith(f"{kind.__name__}("):
                return kind
        return None

    @property
    def _mean(self) -> Callable[[Floats], Floats] | None:
        """What turns a prediction into the observation to be expected, where these differ."""
        kind = self._loss_class
        return None if kind is None else getattr(kind(), "mean", None)

    def _refuse_intervals_of_scores(self) -> None:
        if self._mean is not None:
            instead = "predict_proba" if self._loss_class is Logistic else "predict_mean"
            raise ValueError(
                f"interval must be left out for loss={self.settings['loss']!r}, whose prediction is a score and not an "
                f"observation; use {instead}(coords)."
            )

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

    def outliers(self, *, beyond: float | None = None) -> tuple[Integers, Floats]:
        """Return the observed entries that are judged corrupt, as coordinates, and by how much each is off.

        Fit with a robust loss, such as ``loss="l1"``, so that the answer does not follow them.

        Parameters
        ----------
        beyond
            The difference from which on an entry counts as corrupt; by default one that noise hardly ever reaches.

        Examples
        --------
        >>> import numpy as np, tensorfill
        >>> noise = np.random.default_rng(0).normal(0, 0.1, (12, 10))
        >>> table = np.outer(np.arange(1.0, 13.0), np.arange(1.0, 11.0)) + noise
        >>> table[2, 3] = 500.0
        >>> coords, amounts = tensorfill.complete(table, loss="l1", rng=0).outliers()
        >>> coords.tolist(), amounts.round().tolist()
        ([[2, 3]], [488.0])
        """
        if self.observations is None:
            raise ValueError("A fit that was read from a file does not hold the data; use robust.outliers instead.")
        return outliers(self.observations, self.model, beyond=beyond)

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
