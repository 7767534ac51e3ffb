"""The completed tensor, with how it was made, why it stopped, and every iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ._support.checks import coordinates, real_number
from ._support.types import Booleans, Floats, Integers
from .adapters.registry import answered_table, is_table
from .choosing.error_bars import ErrorBars
from .choosing.outliers import outliers
from .choosing.recipe import Recipe
from .io.fits import read_fit, save_fit
from .labels import Labels
from .losses import Logistic
from .methods.base import History, Method, Status
from .methods.search import Path
from .models import Model
from .models.base import DENSE_LIMIT
from .observations import Observations

_NO_LABELS = Labels((), ())
"""The default labels, replaced by plain ones when the order of the tensor is known."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A completed tensor.

    Parameters
    ----------
    model
        The tensor, in a form that predicts any entry without storing all of them.
    status
        Why the method stopped, as a sentence.
    history
        Every iteration of the final run.
    recipe
        How the answer was made: the method with all its settings, the loss, and every stage around it.
    path
        The trials on held-out entries, if settings were chosen.
    error_bars
        The errors at held-out entries and slices, which intervals rest on; None if nothing was held out.
    bounds
        Predictions are clipped to these.
    observations
        The data as it was given; a fit that was read from a file has none.
    corrupt
        Which observed entries were judged corrupt, for a robust loss; otherwise None.
    labels
        The names of the modes and of their indices; plain ones for data without names.
    restore
        Turns an array of the tensor's shape into the kind of object that the data was; None leaves it as it is.
    """

    model: Model
    status: Status
    history: History
    recipe: Recipe
    path: Path | None = None
    error_bars: ErrorBars | None = field(default=None, repr=False)
    bounds: tuple[float, float] | None = None
    observations: Observations | None = field(default=None, repr=False)
    corrupt: Booleans | None = field(default=None, repr=False)
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
        """The rank of each regularised mode, or of every mode, or the number of terms, as the model has them."""
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
    def method(self) -> Method:
        """The method with all its settings, given or chosen."""
        return self.recipe.method

    @property
    def loss(self) -> Any:
        """The loss that the entries were fitted with."""
        return self.recipe.loss

    @property
    def seed(self) -> int | None:
        """The seed of everything that was random; None if the caller gave a generator."""
        return self.recipe.seed

    @property
    def modes(self) -> tuple[int, ...]:
        """The regularised modes, for a method that has them."""
        return tuple(getattr(self.method, "modes", None) or ())

    @property
    def lam(self) -> tuple[float, ...]:
        """The lambda of each regularised mode, for a method that has them."""
        return tuple(np.atleast_1d(getattr(self.method, "lam", ())).tolist())

    @property
    def penalties(self) -> tuple[Any, ...]:
        """The penalty of each regularised mode, for a method that has them."""
        penalty = getattr(self.method, "penalty", ())
        return tuple(penalty) if isinstance(penalty, list | tuple) else (penalty,) * len(self.lam)

    @property
    def theta(self) -> tuple[float | None, ...]:
        """The theta of each regularised mode; None for a penalty without one."""
        return tuple(getattr(penalty, "theta", None) for penalty in self.penalties)

    @property
    def residuals(self) -> Floats | None:
        """The absolute error at the held-out entries of a fit without them; None if nothing was held out."""
        return None if self.error_bars is None else self.error_bars.residuals

    @property
    def held_out_error(self) -> float:
        """Root mean square error on the held-out entries of a fit without them; NaN if nothing was held out."""
        return float("nan") if self.error_bars is None else self.error_bars.rmse

    @overload
    def predict(self, coords: ArrayLike) -> Floats: ...
    @overload
    def predict(self, coords: ArrayLike, *, interval: float) -> tuple[Floats, Floats, Floats]: ...
    @overload
    def predict(self, coords: Any, *, interval: float | None = None) -> Any: ...
    def predict(self, coords: Any, *, interval: float | None = None) -> Any:
        """Return predictions at `coords`; nothing dense is built.

        Parameters
        ----------
        coords
            Integers of shape (n, ndim), counted from 0; or a table of pandas or polars with a column of labels for
            each mode, which has the name of the mode.
        interval
            Also return the ends of prediction intervals with this coverage. They are split-conformal: their half
            width is that quantile of the held-out residuals. The coverage holds on average over entries that go
            missing as the held-out ones did, whatever the noise. It does not hold for each single entry. Slices
            without any observed entry have wider intervals, which rest on slices that were held out, and are infinite
            if too few could be. A loss whose prediction is a score, such as the logistic loss, has no
            intervals: see `predict_proba` and `predict_mean`.

        Returns
        -------
        values, or (values, low, high)
            For a table, that table with these as further columns: ``y``, ``y_low`` and ``y_high`` if ``y`` was the
            column of values, and ``value``, ... if it had no name.
        """
        if is_table(coords):
            return answered_table(coords, self.labels, lambda numbers: self.predict(numbers, interval=interval))
        values = self.model.predict(coords)
        if interval is None:
            # Bounds are on the scale of the data, which a score is not.
            return self._bounded(values) if self._mean is None else values
        share = real_number(interval, "interval", above=0, below=1)
        half = self._bars().half_widths(coordinates(coords, self.shape), share)
        return self._bounded(values), self._bounded(values - half), self._bounded(values + half)

    def predict_proba(self, coords: Any) -> Any:
        """Return the probability of the upper value (1 or True) at `coords`, for a fit with ``loss="logistic"``.

        It is 1 / (1 + exp(-x)) of the score x that `predict` returns. If negatives were sampled, it is the
        probability among entries that are sampled in the same way, not among all entries.

        Parameters
        ----------
        coords
            As in `predict`.

        Examples
        --------
        >>> import numpy as np, tensorfill
        >>> likes = np.outer([1, 1, 1, -1, -1, -1], [1, -1, 1, -1, 1, -1.0])
        >>> likes[0, 0] = np.nan
        >>> fit = tensorfill.complete(likes, loss="logistic", lam=0.5, rng=0)
        >>> bool(fit.predict_proba([[0, 0]])[0] > 0.9)
        True
        """
        if not isinstance(self.loss, Logistic):
            raise ValueError(
                f"predict_proba is for loss='logistic', but the loss of this fit is {self.loss!r}; "
                "use predict or predict_mean."
            )
        return self.predict_mean(coords)

    def predict_mean(self, coords: Any) -> Any:
        """Return the mean of the loss's distribution at `coords`.

        For ``loss="logistic"`` it is the probability of the upper value, for ``loss="poisson"`` the expected count, for
        a loss object of your own its `mean` of the prediction, and for all others the prediction itself.

        Parameters
        ----------
        coords
            As in `predict`.
        """
        if is_table(coords):
            return answered_table(coords, self.labels, self.predict_mean)
        return self._expected(self.model.predict(coords))

    @property
    def _mean(self) -> Callable[[Floats], Floats] | None:
        """The function from a prediction to its mean on the scale of the data; None if it is on that scale already."""
        return getattr(self.loss, "mean", None)

    def _expected(self, values: Floats) -> Floats:
        """Return the mean of predictions, within the bounds."""
        return self._bounded(values if self._mean is None else self._mean(values))

    def half_width(self, share: float) -> float:
        """Return half the width of prediction intervals with this coverage, for entries outside of empty slices."""
        return self._bars().half_width(real_number(share, "share", above=0, below=1))

    def _bars(self) -> ErrorBars:
        if self._mean is not None:
            instead = "predict_proba" if isinstance(self.loss, Logistic) else "predict_mean"
            raise ValueError(
                f"interval must be left out for loss {self.loss!r}, whose prediction is a score and not an "
                f"observation; use {instead}(coords)."
            )
        if self.error_bars is None:
            raise ValueError("Intervals rest on held-out entries, and this fit had none; fit with choose=Choice().")
        return self.error_bars

    def outliers(self, *, beyond: float | None = None) -> tuple[Integers, Floats]:
        """Return the coordinates of the observed entries that are judged corrupt, and how far each is off.

        Fit with a robust loss, such as ``loss="l1"``, so that the answer does not follow them. If settings are chosen,
        every entry is judged by predictions that did not see it, and by how large errors usually are around it. If all
        settings are given, or with another loss, entries are corrupt if they differ from the answer by more than noise
        explains.

        Parameters
        ----------
        beyond
            Take the entries that differ from the answer by more than this instead.

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
            raise ValueError(
                "A fit that was read from a file does not hold the data; call outliers() before saving it."
            )
        return outliers(self.observations, self.model, beyond=beyond, corrupt=self.corrupt)

    def __getitem__(self, key: Any) -> Floats:
        """Return a slice, fibre or sub-tensor as a dense array, with the indexing of an array."""
        part = self.model[key]
        return self._bounded(part) if self._mean is None else part

    def at(self, **labels: Any) -> Any:
        """Return the entry with these labels, or the array of all entries that have them.

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
        """Return the prediction of every entry, observed or not, as the kind of object that the data was.

        Data of xarray comes back with its dimensions and coordinates, and a table with all combinations of its keys.
        Everything else comes back as an array, and ``fit[...]`` always is one. More than `max_bytes` is refused.
        """
        return self._restored(self._dense(max_bytes))

    def filled(self, *, max_bytes: float = DENSE_LIMIT) -> Any:
        """Return the data with only the missing entries filled in, as the kind of object that it was.

        With a robust loss, such as ``loss="l1"``, the entries of `outliers` are replaced too. All others are kept as
        they are. What is filled in is the expected observation, on the scale of the data. For ``loss="logistic"`` it
        lies between the two values: data of 0 and 1 gets the probability of 1. For ``loss="poisson"`` it is the
        expected count.
        """
        if self.observations is None:
            raise ValueError("A fit that was read from a file does not hold the data; use to_dense() instead.")
        filled = self._expected(self.model.to_dense(max_bytes=max_bytes))
        if isinstance(self.loss, Logistic):
            filled = self.loss.low + (1 - self.loss.low) * filled
        keep = slice(None) if self.corrupt is None else ~self.corrupt
        filled.reshape(-1)[self.observations.positions[keep]] = self.observations.values[keep]
        return self._restored(filled)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit, without the data, to a file that `tensorfill.load` reads."""
        save_fit(self, path)

    def report(self, path: str | PathLike[str], *, original: Any = None, title: str | None = None) -> None:
        """Write an HTML page about the fit: the data, what was chosen, how good it is, and how to repeat it.

        The page is self-contained and loads nothing from the network. For a fit that was read from a file, it leaves
        out what needs the data. It needs ``pip install "tensorfill[report]"``.

        Parameters
        ----------
        path
            Where to write the page; an error leaves an existing file as it was.
        original
            The true tensor as an array, if it is known; slices show it beside the filled one.
        title
            The heading of the page; by default the shape of the tensor.
        """
        from .report import write_report

        write_report(self, path, original=original, title=title)

    def __repr__(self) -> str:
        lam = f"lam=({', '.join(f'{value:.3g}' for value in self.lam)}), " if self.lam else ""
        return (
            f"Fit(shape={self.shape}, method={self.method.name!r}, ranks={self.ranks}, {lam}"
            f"{self.history[-1].iteration} iterations: {self.status})"
        )

    def _dense(self, max_bytes: float) -> Floats:
        dense = self.model.to_dense(max_bytes=max_bytes)
        return self._bounded(dense) if self._mean is None else dense

    def _restored(self, dense: Floats) -> Any:
        return dense if self.restore is None else self.restore(dense)

    def _bounded(self, values: Floats) -> Floats:
        return values if self.bounds is None else np.clip(values, *self.bounds)


def load(path: str | PathLike[str]) -> Fit:
    """Read a fit that `Fit.save` wrote.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Fit
        With the labels of the data. If that was of xarray or a table, so is what `Fit.to_dense` returns, provided the
        library is installed; otherwise it is an array.
    """
    return Fit(**read_fit(path))
