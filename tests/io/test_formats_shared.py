"""Published files, if they are there; see `tests/test_shared_data.py`."""

from __future__ import annotations

import pytest

from tensorfill.io import read
from tests.test_shared_data import shared


@pytest.mark.parametrize(
    ("name", "options", "shape", "observed"),
    [
        ("sparse/splatt_med.tns", {}, (2425, 10816, 29567), 100_000),
        ("sparse/nycflights_365x24x105x16.tns", {}, (365, 24, 105, 16), 294_734),
        ("traffic/birmingham_30x77x18.mat", {}, (30, 77, 18), 41_580),
        ("traffic/birmingham_30x77x18.mat", {"missing": "zero"}, (30, 77, 18), 35_389),
        ("climate/colorado_monthly_376x1236x3.npz", {"name": "X"}, (376, 1236, 3), 548_924),
    ],
)
def test_published_files(name, options, shape, observed):
    seen = read(shared(name), **options).observations
    assert seen.shape == shape
    assert len(seen) == observed


def test_a_published_movie():
    pytest.importorskip("av")
    data = read(shared("video/carphone.mp4"))
    assert data.observations.shape == (120, 144, 176, 3)
    # 29.97 frames a second.
    assert data.labels.keys[0][1] == pytest.approx(1001 / 30000)
