"""The data of `waiting.py`: measured data where it is on this machine, and data made alike where it is not."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from measure import FOLDER, problem

sys.path.insert(0, str(FOLDER.parent))

from experiments import data as shared
from tensorfill import Observations
from tensorfill.datasets import synthetic

Array = NDArray[np.float64]
Split = tuple[Observations, Observations]
"""The entries to fit, and those to test with."""


def hidden(array: Array, share: float, *, fibres: bool = False) -> Split:
    """Hide a share of the known entries of an array, or of its fibres along the third mode."""
    drawn = np.random.default_rng(0).random(array.shape[:2] if fibres else array.shape)
    known = np.isfinite(array)
    left = np.broadcast_to((drawn[:, :, None] if fibres else drawn) >= share, array.shape)
    return Observations.from_dense(array, known & left), Observations.from_dense(array, known & ~left)


def divided(observations: Observations, share: float = 0.1) -> Split:
    """Take a share of sparse entries for the test."""
    test = np.random.default_rng(0).random(len(observations)) < share
    return observations.select(~test), observations.select(test)


def made(size: int, modes: int = 3) -> Split:
    """Return the problem of the design, or one with two more modes of five indices."""
    if modes == 3:
        data = problem(size)
    else:
        data = synthetic((size,) * 3 + (5,) * (modes - 3), rank=5, observed=400_000, rng=3)
    return data.observations, data.test


def text(picture: Array) -> Split:
    """Hide what letters would cover: strokes of three pixels, in lines."""
    rng, missing = np.random.default_rng(0), np.zeros(picture.shape[:2], dtype=bool)
    for top in range(6, picture.shape[0] - 20, 24):
        for left in range(6, picture.shape[1] - 14, 14):
            row, column = top + rng.integers(0, 4), left + rng.integers(0, 3)
            if rng.random() < 0.5:
                missing[row : row + 14, column : column + 3] = True
            else:
                missing[row : row + 3, column : column + 10] = True
            missing[row + 6 : row + 9, column : column + 8] = True
    everywhere = np.broadcast_to(missing[:, :, None], picture.shape)
    return Observations.from_dense(picture, ~everywhere), Observations.from_dense(picture, everywhere)


def wide_picture() -> Array:
    """Return a picture of 400 x 400 pixels."""
    from scipy.ndimage import zoom

    colours = shared.image("tree")
    return np.clip(zoom(colours, (400 / colours.shape[0], 400 / colours.shape[1], 1), order=3), 0, 255)


def flows(shape: tuple[int, int, int], share: float) -> Split:
    """Return traffic made alike: places x days x times, daily profiles, a slowly falling spectrum, and noise by size.

    Every further term is smoother in no mode and weaker by its number, as in counts of passengers.
    """
    rng = np.random.default_rng(7)
    places, days, times = shape
    hours = np.linspace(0, 1, times)
    total = np.zeros(shape)
    for term in range(1, 41):
        middle, width = rng.uniform(0.2, 0.9), rng.uniform(0.01, 0.15)
        profile = np.exp(-(((hours - middle) / width) ** 2))
        week = 1 + 0.5 * np.cos(2 * np.pi * (np.arange(days) + rng.uniform(0, 7)) / 7) + 0.2 * rng.normal(size=days)
        total += np.einsum("i,j,k->ijk", rng.lognormal(0, 1, places), week, profile) * 100 / term
    total += np.sqrt(np.abs(total)) * rng.normal(size=shape)
    return hidden(total, share)


def clip() -> Array:
    """Return thirty frames at half of their width and height."""
    return shared.video("carphone")[::2, ::2, :, :30].astype(float)


def damaged() -> Split:
    """Return the same of which 1% of the observed entries are gross errors."""
    fitted, test = hidden(clip(), 0.7)
    rng = np.random.default_rng(1)
    wrong = rng.random(len(fitted)) < 0.01
    return fitted.with_values(np.where(wrong, rng.uniform(0, 255, len(fitted)), fitted.values)), test


def ratings(users: int, items: int, entries: int) -> Split:
    """Return ratings from 0.5 to 5 of a taste of five dimensions, with popular items and busy users."""
    rng = np.random.default_rng(0)
    popularity = 1 / np.arange(1, items + 1) ** 0.8
    activity = rng.pareto(1.5, users) + 0.2
    drawn = [rng.choice(size, 2 * entries, p=p / p.sum()) for size, p in ((users, activity), (items, popularity))]
    pairs = np.stack(np.divmod(rng.permutation(np.unique(drawn[0] * items + drawn[1]))[:entries], items), axis=1)
    month = rng.integers(12, size=len(pairs))
    tastes, kinds = rng.standard_normal((users, 5)), rng.standard_normal((items, 5))
    score = 3.5 + 0.4 * rng.standard_normal(users)[pairs[:, 0]] + 0.5 * rng.standard_normal(items)[pairs[:, 1]]
    score += 0.25 * np.einsum("nr,nr->n", tastes[pairs[:, 0]], kinds[pairs[:, 1]])
    score += 0.1 * rng.standard_normal(12)[month] + 0.5 * rng.standard_normal(len(pairs))
    values = np.clip(np.round(2 * score) / 2, 0.5, 5)
    return divided(Observations(np.column_stack([pairs, month]), values, (users, items, 12)))


def listed(name: str) -> Observations:
    """Return a tensor that is a list of coordinates and values."""
    rows = np.loadtxt(shared.shared_file("sparse", name), comments="#")
    coords = rows[:, :-1].astype(np.int64) - 1
    return Observations(coords, rows[:, -1], tuple(int(size) for size in coords.max(axis=0) + 1))


def network() -> Split:
    """Return known and unknown links of the users of YouTube."""
    fitted, test = shared.network()
    return Observations(*fitted, duplicates="last"), Observations(*test, duplicates="last")


def samples() -> Split:
    """Return a table of 2,000 samples and 30 features, which hang together by groups and bend."""
    rng = np.random.default_rng(5)
    hidden_causes = rng.normal(size=(2_000, 6))
    table = np.tanh(hidden_causes @ rng.normal(size=(6, 30))) + 0.3 * rng.normal(size=(2_000, 30))
    return hidden(table, 0.2)


CASES: dict[str, tuple[str, Callable[[], Split]]] = {
    "100": ("synthetic, 100^3", lambda: made(100)),
    "200": ("synthetic, 200^3", lambda: made(200)),
    "400": ("synthetic, 400^3", lambda: made(400)),
    "order5": ("synthetic, 200^3 x 5 x 5", lambda: made(200, 5)),
    "facade50": ("facade, 256 x 256 x 3, 50% missing", lambda: hidden(shared.image("facade"), 0.5)),
    "facade5": ("facade, 5% missing", lambda: hidden(shared.image("facade"), 0.05)),
    "facade90": ("facade, 90% of the pixels missing", lambda: hidden(shared.image("facade"), 0.9, fibres=True)),
    "text": ("tree, 400 x 400 x 3, under text", lambda: text(wide_picture())),
    "metro": ("made like a metro, 80 x 25 x 108, 40% missing", lambda: flows((80, 25, 108), 0.4)),
    "highway": ("made like a highway, 115 x 180 x 23, 57% missing", lambda: flows((115, 180, 23), 0.57)),
    "taxis": ("taxis of New York, 30 x 30 x 1464, 70% missing", lambda: hidden(shared.traffic("nyc"), 0.7)),
    "parking": ("car parks, 30 x 77 x 18, 70% missing", lambda: hidden(shared.traffic("birmingham"), 0.7)),
    "video": ("carphone, 72 x 88 x 3 x 30, 70% missing", lambda: hidden(clip(), 0.7)),
    "damaged": ("the same with 1% gross errors", damaged),
    "ratings": ("ratings, 2,000 x 1,500 x 12", lambda: ratings(2_000, 1_500, 150_000)),
    "ratings-large": ("ratings, 8,000 x 6,000 x 12", lambda: ratings(8_000, 6_000, 3_100_000)),
    "splatt": ("splatt_med, 2,425 x 10,816 x 29,567", lambda: divided(listed("splatt_med.tns"))),
    "youtube": ("YouTube, 2,000 x 2,000 x 5", network),
    "flights": ("flights, 365 x 24 x 105 x 16", lambda: divided(listed("nycflights_365x24x105x16.tns"))),
    "table": ("table, 2,000 x 30, 20% missing", samples),
}
"""What each case is, and where it comes from."""
