"""The completed tensor, with its recipe, its status and the history of its iterations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._support.checks import choice, coordinates, path_of, real_number, whole_number
from ._support.html import card
from ._support.timing import Timing
from ._support.types import Booleans, Floats, Integers
from ._support.words import sizes
from .adapters.registry import answered_table, is_table
from .adapters.restoring import Restorer
from .choosing.baselines import Baseline
from .choosing.error_bars import ErrorBars
from .choosing.holdout.held_out import HeldOut
from .choosing.intervals import interval_at
from .choosing.outliers import outliers, predicted_at
from .choosing.recipe import Recipe
from .choosing.search.base import Path
from .forecasting import Forecast, forecast_of, given_back, paths_of, restored
from .io.fit_folders import FitFolder
from .io.fits import read_fit, save_fit
from .labels import Labels
from .losses import Logistic, expected
from .methods.base import Callback, History, Status
from .models import Model
from .models.base import DENSE_LIMIT
from .observations import Observations
from .results.factors import Factors, factors_of
from .results.selecting import entries_at
from .results.summary import Summary
from .results.words import doubts_of, facts_of, text_of
from .sampling import drawn_sets, with_observed
from .updating import changes_by

UNKNOWN_LABELS = ("error", "nan")
"""What `Fit.predict` does with labels that it does not know."""

_NO_LABELS = Labels((), ())
"""The default, replaced by plain labels when the order of the tensor is known."""


@dataclass(frozen=True, eq=False)
class Fit(Summary):
    """A completed tensor.

    Everything it returns is on the scale of the data: with ``loss="poisson"`` expected counts, and with
    ``loss="logistic"`` numbers between the two values, which for 0 and 1 are probabilities. Only `scores` and `model`
    are on the scale on which such a loss is fitted.

    Parameters
    ----------
    model
        The tensor, in a form that predicts any entry without storing all entries.
    status
        Why the method stopped, as a sentence.
    history
        Every iteration of the final run.
    recipe
        How the answer was made: the method with all its settings, the loss, and every stage around it.
    path
        The trials on held-out entries, if settings were chosen.
    error_bars
        The errors at held-out entries and slices, on which intervals are based; None if nothing was held out.
    baselines
        Simple answers at the same held-out entries: the mean, the effects of each index, and interpolation along modes
        with an order. Empty if nothing was held out.
    timing
        The time spent in each phase of the run; ``timing.total`` is the total in seconds.
    bounds
        Predictions are clipped to these, which may be infinite.
    core
        The answer of the method without a smooth field, for a warm start; None if it is the model itself.
    observations
        The data as given; a fit that was loaded from a file has none, unless it was saved with the data.
    corrupt
        Which observed entries were judged corrupt, for a robust loss; otherwise None.
    labels
        The names of the modes and of their indices; plain ones for data without names.
    added
        How many indices of each mode the last `update` added; None for a fit without an update.
    restore
        Converts an array of the tensor's shape to the type of the data; None leaves it unchanged.
    ahead
        The forecast that was asked for with `horizon`; None if none was.
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
    core: Model | None = field(default=None, repr=False)
    observations: Observations | None = field(default=None, repr=False)
    corrupt: Booleans | None = field(default=None, repr=False)
    labels: Labels = field(default=_NO_LABELS, repr=False)
    added: tuple[int, ...] | None = field(default=None, repr=False)
    restore: Callable[[Floats], Any] | None = field(default=None, repr=False)
    ahead: Forecast | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.labels is _NO_LABELS:
            object.__setattr__(self, "labels", Labels.plain(len(self.shape)))

    @property
    def held_out(self) -> HeldOut | None:
        """The held-out entries with the predictions of a fit without them; None if nothing was held out."""
        return None if self.error_bars is None else self.error_bars.held_out

    def norm(self) -> float:
        """Return the Frobenius norm of the model, on the scale of `scores`; no dense array is built."""
        return self.model.norm()

    def inner(self, other: Fit) -> float:
        """Return the inner product with another fit of the same shape and kind; no dense array is built."""
        return self.model.inner(other.model)

    @overload
    def predict(self, coords: ArrayLike) -> Floats: ...
    @overload
    def predict(self, coords: ArrayLike, *, interval: float) -> tuple[Floats, Floats, Floats]: ...
    @overload
    def predict(self, coords: Any, *, interval: float | None = None, unknown: str = "error") -> Any: ...
    def predict(self, coords: Any, *, interval: float | None = None, unknown: str = "error") -> Any:
        """Return the expected value of entries, on the scale of the data; no dense array is built.

        For ``loss="poisson"`` it is the expected count. For ``loss="logistic"`` it lies between the two values: for
        data of 0 and 1, or of booleans, it is the probability of 1.

        Parameters
        ----------
        coords
            Integers of shape (n, ndim), counted from 0; or a table of pandas or polars with a column of labels for
            each mode, named after the mode.
        interval
            Also return the ends of prediction intervals with this coverage. They are split-conformal: a quantile of
            the held-out errors, scaled by how large errors are at such an entry, as far as held-out entries show that
            it depends on the size of the prediction, on the index of a mode or on the distance from observed entries.
            The coverage holds on average over entries that go missing as the held-out ones did, whatever the noise. It
            does not hold for each single entry. Slices without any observed entry have wider intervals, which are
            based on held-out slices, and are infinite if there are too few of these. Ends lie within `bounds`, and
            those of counts are not negative. With ``loss="poisson"`` they are whole numbers. With ``loss="logistic"``
            both are the same value if the other can be ruled out, and the two values if not.
        unknown
            What to do with the rows of a table that have a label which the fit does not know: ``"error"`` refuses the
            table, and ``"nan"`` gives NaN in these rows, with a warning that says how many there are.

        Returns
        -------
        values, or (values, low, high)
            For a table, the same table with these as additional columns: ``y``, ``y_low`` and ``y_high`` if ``y`` was
            the column of values, and ``value``, ... if it had no name.
        """
        choice(unknown, "unknown", UNKNOWN_LABELS)
        if is_table(coords):
            within = self.shape if unknown == "nan" else None
            return answered_table(coords, self.labels, lambda numbers: self.predict(numbers, interval=interval), within)
        if unknown == "nan":
            raise ValueError("unknown='nan' is for a table of labels, but coordinates were given; leave it out.")
        values = self.expected(self.model.predict(coords))
        if interval is None:
            return values
        return self._with_interval(coordinates(coords, self.shape), values, interval)

    def _with_interval(self, coords: Integers, values: Floats, interval: float) -> tuple[Floats, Floats, Floats]:
        """Return predictions with the ends of their intervals."""
        share = real_number(interval, "interval", above=0, below=1)
        low, high = interval_at(self._bars(), self.loss, coords, values, share)
        return values, self.bounded(low), self.bounded(high)

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
        """Return the output of the model at `coords`, before it is converted to an expected value.

        For ``loss="logistic"`` it is the logarithm of the odds of the upper value, for ``loss="poisson"`` the logarithm
        of the expected count. For other losses it is the prediction, not clipped to bounds. Scores rank entries as
        predictions do, without ties where predictions reach their bounds.

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
        """Return half the width of prediction intervals with this coverage and the same width for all entries.

        The intervals of `predict` differ between entries, and are wider in empty slices.
        """
        return self._bars().half_width(real_number(share, "share", above=0, below=1))

    def _bars(self) -> ErrorBars:
        if self.error_bars is None:
            raise ValueError("Intervals rest on held-out entries, and this fit had none; fit with choose=Choice().")
        return self.error_bars

    def outliers(self, *, beyond: float | None = None) -> tuple[Integers, Floats]:
        """Return the coordinates of the observed entries that are judged corrupt, and the error of each.

        Fit with a robust loss, such as ``loss="l1"``, so that the answer does not follow them. If settings are chosen,
        every entry is judged by predictions made without it, and by the typical size of errors around it. If all
        settings are given, or with another loss, entries are corrupt if they differ from the answer by more than noise
        explains.

        Parameters
        ----------
        beyond
            If given, return the entries that differ from the answer by more than this instead.

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
        """Return a slice, fibre or sub-tensor as a dense array, with NumPy indexing."""
        return self.expected(self.model[key])

    def at(self, **labels: Any) -> Any:
        """Return the entry with these labels, or all entries that have them.

        Parameters
        ----------
        **labels
            A label or a list of labels for some of the modes, by name. All indices of the other modes are returned.

        Returns
        -------
        float, or an array with the labels
            A number if every mode has one label. Otherwise a `DataArray` for xarray data, a long table for a table, and
            an array for other data.

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
        of each unfolding, and ``factors.core`` says how they combine. NORT has factors for the regularised modes.
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
        """Return the expected value of every entry, observed or not, in the type of the data.

        For xarray data the result has the same dimensions and coordinates, and for a table all combinations of its
        keys. For other data it is an array, as ``fit[...]`` always is. More than `max_bytes` raises an error.
        """
        return self._restored(self.expected(self.model.to_dense(max_bytes=max_bytes)))

    def filled(self, *, interval: float | None = None, max_bytes: float = DENSE_LIMIT) -> Any:
        """Return the data with only the missing entries filled in, in the same type.

        With a robust loss, such as ``loss="l1"``, the entries of `outliers` are replaced too. All others are
        unchanged. The new values are those of `predict`.

        Parameters
        ----------
        interval
            Also return the ends of prediction intervals with this coverage, as in `predict`; at unchanged entries,
            both are the entry itself. The result is a Dataset with ``x``, ``x_low`` and ``x_high`` for xarray data, a
            table with such columns for a table, and three arrays for an array.
        max_bytes
            A larger result raises an error.
        """
        dense = self.expected(self.model.to_dense(max_bytes=max_bytes))
        if interval is None:
            return self._restored(with_observed(self, dense))
        coords = np.stack(np.unravel_index(np.arange(dense.size), self.shape), axis=1)
        parts = self._with_interval(coords, dense.ravel(), interval)
        filled, low, high = (with_observed(self, part.reshape(self.shape)) for part in parts)
        if isinstance(self.restore, Restorer):
            return self.restore.with_ends(filled, low, high)
        return self._restored(filled), self._restored(low), self._restored(high)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the data with its missing entries filled in, or the values of the model if there is no data."""
        if copy is False:
            raise ValueError("A fit makes a new array; leave copy=False out.")
        dense = self[...]
        return np.asarray(dense if self.observations is None else with_observed(self, dense), dtype=dtype)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the modes, which ``xarray.DataArray(fit)`` uses."""
        return self.labels.names

    def forecast(
        self,
        horizon: int | None = None,
        *,
        interval: float | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> Any:
        """Return values beyond the last time, in the type of the data; labels of time go on.

        It is a blend of forecasts, weighted by their errors at earlier ends of the data: a joint seasonal
        autoregression of all series (see `SeasonalAR`), the last value of each series, and its value one period before.
        Gaps are no hindrance, and a series that ends earlier is forecast from there.

        Parameters
        ----------
        horizon
            The number of times, by default that of `tensorfill.complete`. Of two modes of time it counts steps of
            the fast one, and what is beyond in the last row is NaN.
        interval
            Also return the ends of bands with this coverage. They are quantiles of the errors of forecasts from earlier
            ends of the data, as many steps ahead, and thus wider with the horizon.
        rng
            A seed or generator; by default the seed of the fit.

        Returns
        -------
        values, or (values, low, high)
            The values and the ends of the bands.

        Examples
        --------
        >>> import numpy as np, tensorfill
        >>> hours = np.arange(240)
        >>> waves = np.outer([1.0, 2.0], np.sin(hours * 2 * np.pi / 24))
        >>> waves[0, 50:60] = np.nan
        >>> fit = tensorfill.complete(waves, time=1, rng=0)
        >>> fit.forecast(48).shape, bool(abs(fit.forecast(6)[1, 5] - 2 * np.sin(245 * 2 * np.pi / 24)) < 0.2)
        ((2, 48), True)
        """
        asked = self.recipe.asked.get("horizon") if horizon is None else horizon
        if asked is None:
            raise ValueError("horizon must be the number of times to forecast, as in forecast(24), but none was given.")
        count = whole_number(asked, "horizon", at_least=1)
        return given_back(self, self._ahead(count, rng), count, interval)

    def sample(
        self,
        n: int,
        *,
        horizon: int | None = None,
        rng: int | np.random.Generator | None = None,
        max_bytes: float = DENSE_LIMIT,
    ) -> Any:
        """Return `n` completed data sets for multiple imputation, each in the type of the data.

        Observed entries are the same in all. A missing entry is its prediction plus an error drawn from the errors at
        held-out entries, scaled as for intervals; with ``loss="logistic"`` it is one of the two values. Draws
        of different entries are independent. Fit a model to each data set, and pool the answers by Rubin's rules.

        Parameters
        ----------
        n
            The number of data sets.
        horizon
            If given, return `n` paths of this many times beyond the last one instead. The values of a path belong
            together: a series that is high stays high for a while, as do those that move with it.
        rng
            A seed or generator for the draws.
        max_bytes
            A larger data set raises an error.

        Examples
        --------
        >>> import numpy as np, tensorfill
        >>> table = np.outer(np.arange(1.0, 21.0), np.arange(1.0, 11.0))
        >>> table[3, 4] = np.nan
        >>> sets = tensorfill.complete(table, rng=0).sample(5, rng=0)
        >>> len(sets), [round(float(each[3, 4])) for each in sets]
        (5, [20, 20, 20, 20, 20])
        """
        if horizon is not None:
            count, random = whole_number(n, "n", at_least=1), np.random.default_rng(rng)
            found = self._ahead(whole_number(horizon, "horizon", at_least=1), None)
            return restored(self, found, horizon, paths_of(self, found, count, random))
        return [self._restored(each) for each in drawn_sets(self, n, rng, max_bytes)]

    def _ahead(self, horizon: int, rng: int | np.random.Generator | None) -> Forecast:
        """Return the forecast that was made with the fit if it goes far enough, or make one."""
        if self.ahead is not None and self.ahead.horizon >= horizon and rng is None:
            return self.ahead
        return forecast_of(self, horizon, np.random.default_rng(self.seed if rng is None else rng))

    def update(
        self,
        new: Any,
        *,
        missing: str | None = None,
        value: str | None = None,
        layout: str | None = None,
        laplacian: Mapping[Any, Any] | None = None,
        time_limit: float | None = None,
        rng: int | np.random.Generator | None = None,
        progress: bool = False,
        callback: Callback | None = None,
        n_jobs: int | None = None,
    ) -> Fit:
        """Return a fit of the old and new data together, at a fraction of the cost of a new search.

        The recipe does not change: the method and its settings, the stages around it, and the loss. The method has a
        warm start from its answer. Intervals are based on the earlier held-out errors and, with 200 new entries or
        more, on a tenth of these, which another fit leaves out. New entries replace old ones at the same place. With a
        robust loss, old entries that were judged corrupt are still left out, and all new ones are used. Ctrl-C before
        the new fit has started raises KeyboardInterrupt, since the old fit is then the best answer.

        Parameters
        ----------
        new
            New entries, in any form that `tensorfill.complete` takes. Modes must have the names that they have in the
            fit, in any order, and labels of the same kinds; a table has the same columns. An unknown label, such as a
            new day, user or station, becomes a new index of its mode; ``print(fit)`` says how many there are. If
            neither the fit nor the new data has labels, indices are counted from 0.
        laplacian
            The graphs of all indices, old and new, by mode; only for modes with a graph that have new indices.
        missing, value, layout, time_limit, rng, progress, callback, n_jobs
            As in `tensorfill.complete`.

        Examples
        --------
        >>> import numpy as np, tensorfill
        >>> whole = np.outer(np.arange(1.0, 31.0), np.arange(1.0, 21.0))
        >>> fit = tensorfill.complete(whole[:25], rng=0)
        >>> new = np.full_like(whole, np.nan)
        >>> new[25:, ::3] = whole[25:, ::3]
        >>> later = fit.update(new)
        >>> later.shape, bool(abs(later[29, 1] - 60) < 1)
        ((30, 20), True)
        """
        how = {"missing": missing, "value": value, "layout": layout}
        run = {"time_limit": time_limit, "rng": rng, "progress": progress, "callback": callback, "n_jobs": n_jobs}
        # A forecast from the old end is none from the new one.
        return replace(self, ahead=None, **changes_by(self, new, how, run, laplacian))

    def save(self, path: str | PathLike[str], *, data: bool = False) -> None:
        """Write the fit to a file that `tensorfill.load` reads.

        Parameters
        ----------
        path
            The file.
        data
            Whether to write the observed entries too, which `update` and `filled` need.
        """
        save_fit(self, path, data=data)

    def report(self, path: str | PathLike[str], *, original: Any = None, title: str | None = None) -> None:
        """Write an HTML report of the fit: the data, the chosen settings, the held-out error, and how to repeat it.

        The page is self-contained and loads nothing from the network. For a fit that was loaded from a file, it omits
        what needs the data. It needs matplotlib, jinja2 and pillow.

        Parameters
        ----------
        path
            Where to write the page; after an error, an existing file is unchanged.
        original
            The true tensor as an array, if it is known; slices show it next to the completed one.
        title
            The heading of the page; by default the shape of the tensor.
        """
        from .report import write_report

        write_report(self, path, original=original, title=title)

    def __repr__(self) -> str:
        lam = f"lam=({', '.join(f'{value:.3g}' for value in self.lam)}), " if self.lam else ""
        return (
            f"{type(self).__name__}(shape={self.shape}, method={self.method.name!r}, ranks={self.ranks}, {lam}"
            f"{self.history[-1].iteration} iterations: {self.status})"
        )

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return card(f"Fit of a {sizes(self.shape, times='×')} tensor", facts_of(self), doubts=doubts_of(self))

    def _restored(self, dense: Floats) -> Any:
        return dense if self.restore is None else self.restore(dense)

    def bounded(self, values: Floats) -> Floats:
        """Return values on the scale of the data, clipped to the bounds."""
        return values if self.bounds is None else np.clip(values, *self.bounds)


def load(path: str | PathLike[str], *, max_bytes: float | None = None) -> Fit:
    """Load a fit that `Fit.save` wrote, or the folder of a fit on a cluster if it fits in the memory of this machine.

    An untrusted file cannot run code, and inconsistent content raises an error.

    Parameters
    ----------
    path
        The file or folder.
    max_bytes
        The largest size of its content in bytes; by default half of the machine's memory.

    Returns
    -------
    Fit
        The fit, with the labels of the data. `Fit.to_dense` returns xarray data or a table if the data was one and the
        library is installed; otherwise it returns an array.
    """
    path_of(path, "path")
    parts = FitFolder(path, max_bytes).fit() if os.path.isdir(path) else read_fit(path, max_bytes)
    return Fit(**parts)
