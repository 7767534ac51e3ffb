"""What the front door returns: the answer, what was chosen, why it stopped, and every iteration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ._support.checks import real_number
from ._support.types import Floats, Integers
from .adapters.registry import answered_table, is_table
from .labels import Labels
from .losses import LOSSES, Logistic
from .losses.robust import outliers
from .methods.base import History, Status
from .models import Model
from .models.base import DENSE_LIMIT
from .observations import Observations
from .selection import Path

_NO_LABELS = Labels((), ())
"""Stands for the plain labels of a tensor whose order is not known yet."""


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
    labels
        The names of the modes and of their indices; those of data without any are plain.
    restore
        Turns an array of the tensor's shape into the kind of object that the data was; None leaves it as it is.
    """

    model: Model
    status: Status
    history: History
    settings: Mapping[str, Any]
    path: Path | None = None
    residuals: Floats | None = field(default=None, repr=False)
    bounds: tuple[float, float] | None = None
    observations: Observations | None = field(default=None, repr=False)
    labels: Labels = field(default=_NO_LABELS, repr=False)
    restore: Callable[[Floats], Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.labels is _NO_LABELS:
            object.__setattr__(self, "labels", Labels.plain(len(self.shape)))

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
    @overload
    def predict(self, coords: Any, *, interval: float | None = None) -> Any: ...
    def predict(self, coords: Any, *, interval: float | None = None) -> Any:
        """Return the entries at `coords`; nothing dense is built.

        Parameters
        ----------
        coords
            Whole numbers of shape (n, ndim); or a table of pandas or polars with a column of labels for each mode,
            named as the mode is, in any order.
        interval
            Also return the ends of intervals that hold this share of the true entries, observed as the data was.
            They are split-conformal: their half width is that quantile of the held-out residuals. The share
            is kept on average over entries that go missing as the held-out ones did, whatever the noise; it says
            nothing of a single entry, nor of slices without any observation. There are none for a loss whose
            prediction is a score, such as the logistic one: see `predict_proba` and `predict_mean`.

        Returns
        -------
        values, or (values, low, high)
            For a table, that table with these as further columns, which are named ``y``, ``y_low`` and ``y_high``
            where ``y`` was the column of values, and ``value`` where it had no name.
        """
        if is_table(coords):
            return answered_table(coords, self.labels, lambda numbers: self.predict(numbers, interval=interval))
        values = self.model.predict(coords)
        if interval is None:
            return self._bounded(values)
        self._refuse_intervals_of_scores()
        half = self._half_width(real_number(interval, "interval", above=0, below=1))
        return self._bounded(values), self._bounded(values - half), self._bounded(values + half)

    def predict_proba(self, coords: Any) -> Any:
        """Return the probability of +1 (or 1, or True) at `coords`, for a fit with ``loss="logistic"``.

        It is 1 / (1 + exp(-x)) of the score x that `predict` returns. Where negatives were sampled it is the
        probability among entries sampled as these were, which is not that among all entries.

        Parameters
        ----------
        coords
            What `predict` takes.

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

    def predict_mean(self, coords: Any) -> Any:
        """Return the observation to be expected at `coords`: what `predict` returns, on the scale of the data.

        For ``loss="logistic"`` it is the probability of +1, for ``loss="poisson"`` the expected count, and for losses
        whose prediction is on the scale of the data the prediction itself. So it is for a loss object of your own: if
        that has a `mean`, apply it to what `predict` returns.

        Parameters
        ----------
        coords
            What `predict` takes.
        """
        if is_table(coords):
            return answered_table(coords, self.labels, self.predict_mean)
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
        >>> noise = np.random.default_rng(0).normal(0, 1, (30, 20))
        >>> table = np.outer(np.arange(1.0, 31.0), np.arange(1.0, 21.0)) + noise
        >>> table[2, 3] = 500.0
        >>> coords, amounts = tensorfill.complete(table, loss="l1", rng=0).outliers()
        >>> coords[amounts > 100].tolist(), amounts[amounts > 100].round().tolist()
        ([[2, 3]], [488.0])
        """
        if self.observations is None:
            raise ValueError("A fit that was read from a file does not hold the data; use robust.outliers instead.")
        return outliers(self.observations, self.model, beyond=beyond)

    def __getitem__(self, key: Any) -> Floats:
        """Return a slice, fibre or sub-tensor as a dense array; indexed as an array is."""
        return self._bounded(self.model[key])

    def at(self, **labels: Any) -> Any:
        """Return the entry with these labels, one for each mode by its name, or the array of all that have them.

        Examples
        --------
        >>> import numpy as np, tensorfill
        >>> from tensorfill.labels import Labelled, Labels
        >>> table = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
        >>> labels = Labels(("station", "month"), (np.array(list("ABCDEFGH")), np.arange(1, 7)))
        >>> fit = tensorfill.complete(Labelled(tensorfill.Observations.from_dense(table), labels), rng=0)
        >>> round(float(fit.at(station="C", month=4))), fit.at(station="C").shape
        (12, (6,))
        """
        key: list[Any] = [slice(None)] * len(self.shape)
        for name, label in labels.items():
            key[self.labels.mode(name)] = int(self.labels.positions(name, [label])[0])
        return self[tuple(key)]

    def to_dense(self, *, max_bytes: float = DENSE_LIMIT) -> Any:
        """Return the model's value of every entry, observed or not, as the kind of object that the data was.

        Data of xarray comes back with its dimensions and coordinates, and a table as one with all combinations of its
        keys; everything else comes back as an array, which ``fit[...]`` is in any case. More than `max_bytes` for the
        numbers alone is refused.
        """
        return self._restored(self._dense(max_bytes))

    def filled(self, *, max_bytes: float = DENSE_LIMIT) -> Any:
        """Return the data with only the missing entries filled in, as the kind of object that it was."""
        if self.observations is None:
            raise ValueError("A fit that was read from a file does not hold the data; use to_dense() instead.")
        dense = self._dense(max_bytes)
        dense.reshape(-1)[self.observations.positions] = self.observations.values
        return self._restored(dense)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit to a file that `tensorfill.load` reads; the data itself is not in it."""
        from .io.fits import save_fit

        save_fit(self, path)

    def report(self, path: str | PathLike[str], *, original: Any = None, title: str | None = None) -> None:
        """Write one page, as HTML, that tells what went in, what was chosen, how good it is and how to do it again.

        It holds all it needs and asks nothing of the network. Of a fit that was read from a file it leaves out what
        needs the data, and says so. It needs ``pip install "tensorfill[report]"``.

        Parameters
        ----------
        path
            Where to write the page; an error leaves what stood there as it was.
        original
            The whole tensor as it truly is, where it is known, as an array; slices show it beside what was filled.
        title
            The heading of the page; by default the shape of the tensor.
        """
        from .report import write_report

        write_report(self, path, original=original, title=title)

    def __repr__(self) -> str:
        chosen = ", ".join(f"{value:.3g}" for value in self.lam)
        return (
            f"Fit(shape={self.shape}, ranks={self.ranks}, lam=({chosen}), "
            f"{self.history[-1].iteration} iterations: {self.status})"
        )

    def _dense(self, max_bytes: float) -> Floats:
        return self._bounded(self.model.to_dense(max_bytes=max_bytes))

    def _restored(self, dense: Floats) -> Any:
        return dense if self.restore is None else self.restore(dense)

    def _bounded(self, values: Floats) -> Floats:
        return values if self.bounds is None else np.clip(values, *self.bounds)
