"""Tensors with very long modes: nothing of the length of a mode is made, from the fit to its files and updates."""

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import tensorfill
from tensorfill import Choice, Observations
from tensorfill.models import Placed
from tests.slow import slow_except

pytestmark = pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")

MOST = 60e6
"""The largest number of bytes; an array of truth values for the shortest of the long modes takes 50 million."""

LONG = {
    "long and short": ((10**8, 200), 2000),
    "three long": ((5 * 10**7,) * 3, 500),
    "beyond 2**63": ((2**33, 2**33), 500),
}


def observed(shape, count, seed=0):
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(size, size=count) for size in shape], axis=1)
    return Observations(coords, 3 + rng.standard_normal(count), shape)


@contextmanager
def little_memory():
    """Fail if the peak of what is allocated within is above the limit."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST


@pytest.mark.parametrize("kind", slow_except(LONG, ["beyond 2**63"]))
def test_a_fit_of_long_modes_takes_memory_for_the_slices_with_entries_only(kind, tmp_path):
    shape, count = LONG[kind]
    data = observed(shape, count)
    between = data.coords[:100] // 2
    with little_memory():
        fit = tensorfill.complete(data, method="cp", rank=1, ridge=0.1, smooth=None, choose=Choice(), rng=0)
        assert " x ".join(f"{size:,}" for size in shape) in str(fit)
        fit._repr_html_()
        values, low, high = fit.predict(np.concatenate([data.coords[:5], between]), interval=0.8)
        assert np.isfinite(values).all()
        assert (low[:5] < high[:5]).all()
        assert fit.norm() > 0
        assert len(fit.factors()) == len(shape)
        fit.save(tmp_path / "fit.npz", data=True)
        again = tensorfill.load(tmp_path / "fit.npz")
        np.testing.assert_array_equal(again.predict(between), fit.predict(between))
        later = again.update(observed(shape, 300, seed=1), rng=0)
    assert later.shape == shape
    assert len(later.observations) > count
    assert isinstance(later.model, Placed)


def test_neighbours_of_a_long_mode_are_weighed_when_they_are_asked_for():
    rng = np.random.default_rng(0)
    shape, count = (10**8, 10), 3000
    coords = np.stack(
        [np.sort(rng.choice(10**8, count // 10, replace=False)).repeat(10), np.tile(np.arange(10), count // 10)], 1
    )
    wave = 5 * np.sin(coords[:, 0] / 1e7) * (1 + coords[:, 1] / 10)
    data = Observations(coords, wave + 0.01 * rng.standard_normal(count), shape)
    asked = np.stack([rng.integers(10**6, 99 * 10**6, size=50), rng.integers(10, size=50)], axis=1)
    with little_memory():
        fit = tensorfill.complete(
            data, method="cp", rank=1, ridge=0.01, centre=False, smooth=None, choose=Choice(), rng=0
        )
        found = fit.predict(asked)
    expected = 5 * np.sin(asked[:, 0] / 1e7) * (1 + asked[:, 1] / 10)
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.3
    assert fit.model.slices[0].between is not None


def test_a_start_with_long_modes_is_taken_up():
    data = observed((10**8, 30), 1000)
    settings = {"method": "cp", "rank": 2, "ridge": 0.1, "smooth": None, "centre": False, "rng": 0}
    fit = tensorfill.complete(data, **settings)
    with little_memory():
        again = tensorfill.complete(data, start=fit, **settings)
    assert len(again.history) < len(fit.history)
