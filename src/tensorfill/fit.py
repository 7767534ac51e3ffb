"""The completed tensor, with how it was made, why it stopped, and every iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._support.checks import coordinates, real_number
from ._support.html import card
from ._support.timing import Timing
from ._support.types import Booleans, Floats, Integers
from ._support.words import sizes
from .adapters.registry import answered_table, is_table
from .choosing.baselines import Baseline
from .choosing.error_bars import ErrorBars
from .choosing.held_out import HeldOut
from .choosing.outliers import outliers, predicted_at
from .choosing.recipe import Recipe
from .io.fits import read_fit, save_fit
from .labels import Labels
from .losses import Logistic, expected, is_score
from .methods.base import History, Status
from .methods.search import Path
from .models import Model
from .models.base import DENSE_LIMIT
from .observations import Observations
from .results.factors import Factors, factors_of
from .results.selecting import entries_at
from .results.summary import Summary
from .results.words import doubts_of, facts_of, text_of

_NO_LABELS = Labels((), ())
"""The default labels, replaced by plain ones when the order of the tensor is known."""


@dataclass(frozen=True, eq=False)
class Fit(Summary):
    """A completed tensor.

    Everything it returns is on the scale of the data: with ``loss="poisson"`` expected counts, and with
    ``loss="logistic"`` numbers between the two values, which for 0 and 1 are probabilities. Only `scores` and `model`
    are on the scale on which such a loss is fitted.

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
    baselines
        Simple answers at the same held-out entries: the mean, the effects of each index, and interpolation along modes
        with an order. None of them if nothing was held out.
    timing
        What the time of the run went into; ``timing.total`` has the seconds.
    bounds
        Predictions are clipped to these, which may be infinite.
    observations
        The data as it was given; a fit that was read from a file has none.
    held_out
        The held-out entries beside the predictions of a fit without them; a fit that was read from a file has none.
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
    baselines: tuple[Baseline, ...] = field(default=(), repr=False)
    timing: Timing | None = field(default=None, repr=False)
    bounds: tuple[float, float] | None = None
    observations: Observations | None = field(default=None, repr=False)
    held_out: HeldOut | None = field(default=None, repr=False)
    corrupt: Booleans | None = field(default=None, repr=False)
    labels: Labels = field(default=_NO_LABELS, repr=False)
    restore: Callable[[Floats], Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.labels is _NO_LABELS:
            object.__setattr__(self, "labels", Labels.plain(len(self.shape)))

    def norm(self) -> float:
        """Return the Frobenius norm of the model, of scores if it predicts these; nothing dense is built."""
        return self.model.norm()

    def inner(self, other: Fit) -> float:
        """Return the inner product with another fit of the same shape and kind; nothing dense is built."""
        return self.model.inner(other.model)

    @overload
    def predict(self, coords: ArrayLike) -> Floats: ...
    @overload
    def predict(self, coords: ArrayLike, *, interval: float) -> tuple[Floats, Floats, Floats]: ...
    @overload
    def predict(self, coords: Any, *, interval: float | None = None) -> Any: ...
    def predict(self, coords: Any, *, interval: float | None = None) -> Any:
        """Return the expected value of entries, on the scale of the data; nothing dense is built.

        For ``loss="poisson"`` it is the expected count. For ``loss="logistic"`` it lies between the two values: data of
        0 and 1, or of booleans, gets the probability of 1.

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
            if too few could be. A loss that is fitted by scores, such as the logistic loss, has no intervals.

        Returns
        -------
        values, or (values, low, high)
            For a table, that table with these as further columns: ``y``, ``y_low`` and ``y_high`` if ``y`` was the
            column of values, and ``value``, ... if it had no name.
        """
        if is_table(coords):
            return answered_table(coords, self.labels, lambda numbers: self.predict(numbers, interval=interval))
        values = self.expected(self.model.predict(coords))
        if interval is None:
            return values
        share = real_number(interval, "interval", above=0, below=1)
        half = self._bars().half_widths(coordinates(coords, self.shape), share)
        return values, self.bounded(values - half), self.bounded(values + half)

    def predict_proba(self, coords: Any) -> Any:
        """Return the probability of the upper value (1 or True) at `coords`, for a fit with ``loss="logistic"``.

        For data of 0 and 1 this is what `predict` returns. If negatives were sampled, it is the probability among
        entries that are sampled in the same way, not among all entries.

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
        loss = self.loss
        if not isinstance(loss, Logistic):
            raise ValueError(
                f"predict_proba is for loss='logistic', but the loss of this fit is {loss!r}; use predict."
            )
        if is_table(coords):
            return answered_table(coords, self.labels, self.predict_proba)
        return (self.predict(coords) - loss.low) / (1.0 - loss.low)

    def scores(self, coords: Any) -> Any:
        """Return what the model itself says at `coords`, before it is turned into an expected value.

        For ``loss="logistic"`` it is the logarithm of the odds of the upper value, for ``loss="poisson"`` the logarithm
        of the expected count. For other losses it is the prediction, not clipped to bounds. Scores put entries in the
        same order as predictions do, without ties where predictions reach their bounds.

        Parameters
        ----------
        coords
            As in `predict`.
        """
        if is_table(coords):
            return answered_table(coords, self.labels, self.scores)
        return self.model.predict(coords)

    def expected(self, scores: Floats) -> Floats:
        """Return the expected values of entries with these scores: on the scale of the data, and within the bounds."""
        return self.bounded(expected(self.loss, scores))

    def half_width(self, share: float) -> float:
        """Return half the width of prediction intervals with this coverage, for entries outside of empty slices."""
        return self._bars().half_width(real_number(share, "share", above=0, below=1))

    def _bars(self) -> ErrorBars:
        if is_score(self.loss):
            raise ValueError(
                f"interval must be left out for loss {self.loss!r}, which is fitted by scores; predict(coords) returns "
                "the expected values without one."
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
        predicted = self.expected(predicted_at(self.observations, self.model))
        return outliers(self.observations, predicted, beyond=beyond, corrupt=self.corrupt)

    def __getitem__(self, key: Any) -> Floats:
        """Return a slice, fibre or sub-tensor as a dense array, with the indexing of an array."""
        return self.expected(self.model[key])

    def at(self, **labels: Any) -> Any:
        """Return the entry with these labels, or all entries that have them.

        Parameters
        ----------
        **labels
            A label or a list of labels for each of some modes, by name. Of a mode that is not named, all indices are
            returned.

        Returns
        -------
        float, or an array with the labels
            A number if every mode has one label. Otherwise a `DataArray` if the data was of xarray, a long table if it
            was a table, and else an array.

        Examples
        --------
        >>> import numpy as np, tensorfill, xarray
        >>> table = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
        >>> table[0, 0] = np.nan
        >>> rain = xarray.DataArray(table, {"station": list("ABCDEFGH"), "month": np.arange(1, 7)})
        >>> fit = tensorfill.complete(rain, rng=0)
        >>> round(fit.at(station="C", month=4))
        12
        >>> fit.at(station="C", month=[4, 6]).round().to_series().to_dict()
        {4: 12.0, 6: 18.0}
        """
        return entries_at(self, labels)

    def factors(self) -> Factors:
        """Return the factors of the model by mode, with the labels of their indices, for interpretation.

        A CP model has one column for each term in every mode. For a Tucker model the columns are the singular vectors
        of each unfolding, and ``factors.core`` says how they combine. NORT has them for the modes that it regularises.
        Effects that were fitted first are in ``factors.effects``. All of them are on the scale of `scores`.

        Examples
        --------
        >>> import numpy as np, tensorfill, xarray
        >>> table = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
        >>> table[0, 0] = np.nan
        >>> rain = xarray.DataArray(table, {"station": list("ABCDEFGH"), "month": np.arange(1, 7)})
        >>> fit = tensorfill.complete(rain, method="cp", rank=1, smooth=None, centre=False, rng=0)
        >>> [label for label, _ in fit.factors()["station"].largest(0, 2)]
        ['H', 'G']
        """
        return factors_of(self.model, self.labels)

    def to_dense(self, *, max_bytes: float = DENSE_LIMIT) -> Any:
        """Return the expected value of every entry, observed or not, as the kind of object that the data was.

        Data of xarray comes back with its dimensions and coordinates, and a table with all combinations of its keys.
        Everything else comes back as an array, and ``fit[...]`` always is one. More than `max_bytes` is refused.
        """
        return self._restored(self.expected(self.model.to_dense(max_bytes=max_bytes)))

    def filled(self, *, max_bytes: float = DENSE_LIMIT) -> Any:
        """Return the data with only the missing entries filled in, as the kind of object that it was.

        With a robust loss, such as ``loss="l1"``, the entries of `outliers` are replaced too. All others are kept as
        they are. What is filled in is what `predict` returns.
        """
        return self._restored(self._filled(max_bytes))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the data with its missing entries filled in; the values of the model if the data is not there."""
        if copy is False:
            raise ValueError("A fit makes a new array; leave copy=False out.")
        return np.asarray(self[...] if self.observations is None else self._filled(DENSE_LIMIT), dtype=dtype)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the modes, which ``xarray.DataArray(fit)`` takes over."""
        return self.labels.names

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

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return card(f"Fit of a {sizes(self.shape, times='×')} tensor", facts_of(self), doubts=doubts_of(self))

    def _filled(self, max_bytes: float) -> Floats:
        if self.observations is None:
            raise ValueError("A fit that was read from a file does not hold the data; use to_dense() instead.")
        filled = self.expected(self.model.to_dense(max_bytes=max_bytes))
        keep = slice(None) if self.corrupt is None else ~self.corrupt
        filled.reshape(-1)[self.observations.positions[keep]] = self.observations.values[keep]
        return filled

    def _restored(self, dense: Floats) -> Any:
        return dense if self.restore is None else self.restore(dense)

    def bounded(self, values: Floats) -> Floats:
        """Return values on the scale of the data, clipped to the bounds."""
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
