"""Sound files of every format, from which mutants are made."""

from __future__ import annotations

import functools
import tempfile
import warnings
from pathlib import Path

import numpy as np

import tensorfill
from tensorfill.io import write
from tensorfill.io.formats import format_of
from tensorfill.labels import Labelled, Labels
from tensorfill.observations import Observations

FIT = "fit"
"""The kind of a saved fit, beside the names of the formats."""

SEVERAL = [{"name": "tensor"}, {"name": "small"}, {"name": "thin", "missing": "absent"}, {}]
OPTIONS = {"plain.mat": SEVERAL, "packed.mat": SEVERAL, "old.mat": SEVERAL[1:]}
"""How files that hold several arrays are read."""


def options_for(name: str, seed: int) -> dict[str, str]:
    """Return how a mutant of a sample is read."""
    choices = OPTIONS.get(name, [{}])
    return choices[seed % len(choices)]


@functools.cache
def samples() -> dict[str, tuple[str, bytes]]:
    """Return the kind and the bytes of each sample, by the name of its file; the kind is a format or `FIT`."""
    made: dict[str, tuple[str, bytes]] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        where = Path(folder)
        for kind, name in [*_written(where), *_matlab(where), *_netcdf(where), *_pictures(where), *_fits(where)]:
            made[name] = (kind, (where / name).read_bytes())
    return made


def _tensor():
    rng = np.random.default_rng(0)
    array = np.round(rng.normal(size=(4, 5, 3)), 3)
    array[rng.random(array.shape) < 0.2] = np.nan
    keys = (np.array(["Aspen", "Vail", "01", "ä"]), np.datetime64("2024-02-27") + np.arange(5), None)
    return Labelled(Observations.from_dense(array), Labels(("place", "day", "kind"), keys))


def _written(where):
    """Write what tensorfill itself writes, and other tables."""
    import pandas

    dense = _tensor()
    seen = dense.observations
    sparse = Labelled(Observations(seen.coords, seen.values, seen.shape), dense.labels)
    names = {
        "tns": ["a.tns", "a.tns.gz"],
        "npz": ["sparse.npz"],
        "csv": ["long.csv", "long.csv.gz"],
        "tsv": ["long.tsv"],
        "parquet": ["long.parquet"],
    }
    for kind, endings in names.items():
        for name in endings:
            write(where / name, sparse)
            yield kind, name
    for kind, name in [("npz", "dense.npz"), ("npy", "a.npy"), ("mat", "a.mat"), ("netcdf", "a.nc")]:
        write(where / name, dense)
        yield kind, name
    table = pandas.DataFrame(
        {"a": pandas.Categorical(["x", "y", "x", "z"]), "b": [1, 1, 2, 2], "v": [0.5, None, 2.0, 1.5]}
    )
    table["t"] = pandas.date_range("2024-01-01", periods=4, tz="Europe/Paris")
    table.set_index("b")[["a", "t", "v"]].to_parquet(where / "indexed.parquet", compression="gzip")
    yield "parquet", "indexed.parquet"
    (where / "wide.csv").write_text("day,a,b,c\n" + "".join(f"2024-01-0{d},{d}.5,,{d * 2}.25\n" for d in range(1, 9)))
    yield "csv", "wide.csv"
    (where / "facts.txt").write_text("Ann\tknows\tBob\nBob\tlikes\tÄnne\nÄnne\tknows\tAnn\n", encoding="utf-8")
    yield "triples", "facts.txt"


def _matlab(where):
    from scipy import io as scipy_io
    from scipy import sparse

    held = {
        "tensor": np.arange(24.0).reshape(2, 3, 4),
        "small": np.arange(6, dtype=np.int8).reshape(2, 3),
        "text": "words",
        "cell": np.array([[1, "two"]], dtype=object),
        "record": {"a": 1.0, "b": np.ones((2, 2))},
        "thin": sparse.csc_matrix(np.eye(3)),
        "complex": np.ones((2, 2)) * 1j,
    }
    for name, options in {
        "plain.mat": {"do_compression": False},
        "packed.mat": {"do_compression": True},
        "old.mat": {"format": "4"},
    }.items():
        simple = {each: held[each] for each in ("small", "text", "thin")} if "format" in options else held
        scipy_io.savemat(where / name, simple, **options)
        yield "mat", name


def _netcdf(where):
    import xarray

    array = xarray.DataArray(
        np.arange(24.0).reshape(4, 6),
        dims=("station", "time"),
        coords={"station": ["a", "b", "c", "d"], "time": np.datetime64("2024-01-01", "ns") + np.arange(6)},
        name="rain",
    )
    for name, form in [("classic.nc", "NETCDF3_CLASSIC"), ("wide.nc", "NETCDF3_64BIT"), ("four.nc", "NETCDF4")]:
        array.to_netcdf(where / name, format=form, engine="netcdf4")
        yield "netcdf", name
    packing = {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -9, "zlib": True, "chunksizes": (2, 3)}
    array.to_netcdf(where / "packed.nc", engine="netcdf4", encoding={"rain": packing}, unlimited_dims=["time"])
    yield "netcdf", "packed.nc"


def _pictures(where):
    from PIL import Image

    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (12, 10, 3)).astype(np.uint8)
    for name in ("a.png", "a.jpg", "a.bmp", "a.tif"):
        write(where / name, pixels.astype(float))
        yield "picture", name
    for name, how in [("packed.tif", "tiff_lzw"), ("deflated.tif", "tiff_deflate"), ("jpeg.tif", "jpeg")]:
        Image.fromarray(pixels).save(where / name, compression=how)
        yield "picture", name
    write(where / "deep.png", rng.integers(0, 2**16, (6, 5)).astype(np.uint16))
    yield "picture", "deep.png"
    Image.fromarray(pixels).quantize(8).save(where / "palette.png")
    yield "picture", "palette.png"
    movie = np.broadcast_to(np.arange(5.0).reshape(5, 1, 1, 1) * 40, (5, 16, 16, 3))
    for name in ("a.mp4", "a.avi", "a.gif"):
        write(where / name, movie)
        yield format_of(Path(name)), name


def _fits(where):
    import pandas
    import polars
    import xarray

    rng = np.random.default_rng(2)
    array = np.outer(rng.uniform(1, 2, 6), rng.uniform(1, 2, 5))[:, :, None] * rng.uniform(1, 2, 4)
    array[rng.random(array.shape) < 0.3] = np.nan
    table = pandas.DataFrame(array[:, :, 0], index=[f"s{row}" for row in range(6)], columns=list("abcde"))
    long = table.rename_axis("site").reset_index().melt("site").dropna()
    gridded = xarray.DataArray(array, dims=("x", "y", "z"), coords={"x": np.arange(6), "y": list("abcde")}, name="v")
    given = {
        "nort.npz": (array, {"lam": 0.1, "bounds": (0, 9)}),
        "chosen.npz": (array, {"method": "nort", "max_iter": 20}),
        "cp.npz": (array, {"method": tensorfill.CP(rank=2, ridge=0.1)}),
        "wide.npz": (table, {"lam": 0.1}),
        "long.npz": (long, {"method": tensorfill.TuckerAls(rank=1), "layout": "long"}),
        "grid.npz": (gridded, {"lam": 0.1, "centre": True}),
        "smooth.npz": (array, {"lam": 0.1, "smooth": [0]}),
        "ring.npz": (array, {"method": tensorfill.Trlrf(rank=2, lam=1.0, max_iter=5)}),
        "train.npz": (array, {"method": tensorfill.TmacTT(rank=2, max_iter=5)}),
        "poles.npz": (polars.from_pandas(long), {"method": tensorfill.CP(rank=1, ridge=0.1), "layout": "long"}),
        "counts.npz": (
            np.round(array),
            {"lam": 0.1, "loss": "poisson", "penalty": tensorfill.penalties.MCP(2.0)},
        ),
    }
    for name, (data, options) in given.items():
        tensorfill.complete(data, rng=0, **options).save(where / name, data=name == "nort.npz")
        yield FIT, name
