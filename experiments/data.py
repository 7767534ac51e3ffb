"""The shared research data that experiments read: never part of the repository, found where it lies.

The folder is the one that `TENSORFILL_DATA` names, else `../shared/data` beside the project or beside the current
folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TRAFFIC = {"birmingham": "birmingham_30x77x18.mat", "nyc": "nyc_30x30x1464.mat"}
"""Traffic records by name."""

CLIMATE = {"ccds": "ccds_125x156x17.npz", "ushcn": "ushcn_108x1032x3.npz"}
"""Climate records by name."""

IMAGES = {
    "tree": "tree_300x300.jpg",
    "rice": "rice_300x300.jpg",
    "windows": "windows_300x300.jpg",
    "windows-wide": "windows_278x410.jpg",
    "crater": "crater_300x300.jpg",
    "facade": "facade_256x256.bmp",
}
"""Colour pictures by name."""

VIDEOS = {"hall": "hall_240x352x3x50.npz", "carphone": "carphone_144x176x3x120.npz"}
"""Colour videos by name."""


HYPERSPECTRAL = {"cave": "cave_scene_256x256x31.npz", "indian-pines": "indian_pines_145x145x200.npz"}
"""Hyper-spectral images by name."""


NETWORK = "youtube_subset_2000x2000x5.npz"
"""A sample of the YouTube network."""


class DataMissing(FileNotFoundError):
    """The shared data is not on this machine; the message says what was looked for and what to do."""


def shared_folder() -> Path:
    """Return the folder of the shared data, or raise `DataMissing`."""
    named = os.environ.get("TENSORFILL_DATA")
    if named:
        places = [Path(named)]
    else:
        places = [Path(__file__).resolve().parents[2] / "shared" / "data", Path.cwd().parent / "shared" / "data"]
    for place in places:
        if place.is_dir():
            return place
    looked = " nor ".join(dict.fromkeys(str(place) for place in places))
    raise DataMissing(
        f"The shared data is not in {looked}; set TENSORFILL_DATA to the folder with traffic/, images/ and video/."
    )


def traffic(name: str) -> NDArray[np.float64]:
    """Return traffic records, with NaN where no record was made.

    Parameters
    ----------
    name
        ``"birmingham"``: occupied places by car park, day and time of day (30 x 77 x 18), where a 0 is a missing
        record; or ``"nyc"``: taxi trips by zone of departure, zone of arrival and hour (30 x 30 x 1464), where a 0
        is a true count.
    """
    from scipy.io import loadmat

    records: NDArray[np.float64] = loadmat(shared_file("traffic", TRAFFIC[name]))["tensor"].astype(np.float64)
    if name == "birmingham":
        records[records == 0] = np.nan
    return records


def climate(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return normalised records by station, month and variable, and the latitude and longitude of each station.

    Parameters
    ----------
    name
        ``"ccds"`` (125 x 156 x 17) or ``"ushcn"`` (108 x 1032 x 3).
    """
    with np.load(shared_file("climate", CLIMATE[name])) as file:
        places = file["locations"] if name == "ccds" else file["stations_id_lat_lon"][:, 1:]
        return file["X"].astype(np.float64), places.astype(np.float64)


def image(name: str) -> NDArray[np.float64]:
    """Return a picture of `IMAGES` as rows x columns x 3 colours, from 0 to 255."""
    from skimage.io import imread

    colours: NDArray[np.float64] = np.asarray(imread(shared_file("images", IMAGES[name])), dtype=np.float64)
    return colours[:, :, :3]


def video(name: str) -> NDArray[np.uint8]:
    """Return a video of `VIDEOS` as rows x columns x 3 colours x frames, from 0 to 255."""
    with np.load(shared_file("video", VIDEOS[name])) as stored:
        frames: NDArray[np.uint8] = stored["V"]
    return frames


def hyperspectral(name: str) -> NDArray[np.float64]:
    """Return a hyper-spectral image by row, column and band: ``"cave"`` or ``"indian-pines"``."""
    with np.load(shared_file("hyperspectral", HYPERSPECTRAL[name])) as file:
        return np.asarray(file["X"], dtype=np.float64)


Entries = tuple[NDArray[np.int64], NDArray[np.float64], tuple[int, ...]]
"""Coordinates, values and the shape of a tensor."""


def network() -> tuple[Entries, Entries]:
    """Return some entries to fit and others to test with, of a network by user, user and relation (2000 x 2000 x 5).

    A value is 1 for a link and 0 for none.
    """
    with np.load(shared_file("network", NETWORK)) as file:
        shape = tuple(int(size) for size in file["shape"])
        fitted, tested = (file[name].astype(np.int64) for name in ("valid", "test"))
    return (fitted[:, :3], fitted[:, 3].astype(np.float64), shape), (
        tested[:, :3],
        tested[:, 3].astype(np.float64),
        shape,
    )


def shared_file(folder: str, name: str) -> Path:
    """Return the path of a file of the shared data, or raise `DataMissing`."""
    path = shared_folder() / folder / name
    if not path.exists():
        raise DataMissing(f"{path} does not exist; see README.md of the shared data for where to get it.")
    return path
