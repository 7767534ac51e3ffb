"""Fits as folders: what is written comes back, and nothing in a folder is trusted."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import tensorfill
from tensorfill.io.fit_folders import FitFolder, Manifest, finish, write_part, write_rest, write_shared

MODE, BOUNDS = 1, [0, 3, 4, 9]


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    array = rng.normal(size=(8, 2)) @ rng.normal(size=(2, 90))
    array[rng.random(array.shape) < 0.3] = np.nan
    made = tensorfill.complete(
        array.reshape(8, 9, 10), method="nort", lam=0.1, penalty="nuclear", smooth=None, centre=False, rng=0
    )
    assert made.model.kind == "folded"
    return replace(made, observations=None)


def parts_of(fit):
    for first, last in itertools.pairwise(BOUNDS):
        yield fit.model.restrict([np.arange(8), np.arange(first, last), np.arange(10)])


def write(fit, folder, run="0123abcd"):
    folder.mkdir(exist_ok=True)
    parts = [write_part(part, folder, run, number, MODE) for number, part in enumerate(parts_of(fit))]
    shared = write_shared(next(parts_of(fit)), folder, run, MODE)
    finish(folder, Manifest(MODE, BOUNDS, write_rest(folder, run, fit), shared, parts))


@pytest.fixture(scope="module")
def sound(fit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folders") / "fit"
    write(fit, folder)
    return folder


@pytest.fixture
def folder(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "fit")


def test_the_whole_comes_back(fit, folder):
    again = tensorfill.load(folder)
    for name, array in fit.model.to_arrays().items():
        assert np.array_equal(again.model.to_arrays()[name], array)
    assert (again.status, again.recipe.method, again.shape) == (fit.status, fit.recipe.method, fit.shape)


def test_a_part_has_only_its_own_rows(folder):
    with np.load(folder / "part-00001-0123abcd.npz") as part:
        assert sorted(part.files) == ["u1", "v0", "v2"]
        assert part["u1"].shape[0] == 1
        assert part["v0"].shape[0] == 1 * 10


def test_an_unfinished_run_leaves_the_fit_as_it_was(fit, folder):
    before = tensorfill.load(folder).model.to_dense()
    other = replace(fit, model=fit.model.scaled(2.0))
    write_part(next(parts_of(other)), folder, "ffff0000", 0, MODE)
    assert np.array_equal(tensorfill.load(folder).model.to_dense(), before)
    write(other, folder, "ffff0001")
    assert np.array_equal(tensorfill.load(folder).model.to_dense(), 2 * before)
    assert all("ffff0001" in path.name for path in folder.glob("*.npz"))


def test_a_worker_that_writes_elsewhere_is_noticed(fit, folder):
    manifest = FitFolder(folder).manifest
    (folder / manifest.parts[1].name).unlink()
    with pytest.raises(OSError, match="was written by a worker but is not there; give a folder on a disk that all"):
        finish(folder, manifest)


def forge(folder, **changes):
    said = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(said | changes))


FORGED = {
    "another format": {"format": "tensorfill-fit"},
    "another version": {"version": 99},
    "bounds of texts": {"bounds": ["0", "3", "4", "9"]},
    "too few bounds": {"bounds": [0, 4, 9]},
    "bounds that fall": {"bounds": [0, 5, 4, 9]},
    "bounds of another size": {"bounds": [0, 3, 4, 8]},
    "bounds of other parts": {"bounds": [0, 3, 5, 9]},
    "no such mode": {"mode": 7},
    "a negative mode": {"mode": -1},
    "another mode": {"mode": 0},
    "no parts": {"parts": []},
    "parts that are no list": {"parts": 5},
    "no shared file": {"shared": None},
    "a file elsewhere": {"fit": {"name": "../fit-0123abcd.npz", "bytes": 1, "checksum": "0"}},
    "a file of another kind": {"fit": {"name": "/etc/passwd", "bytes": 1, "checksum": "0"}},
    "an unknown field": {"run": "os.system"},
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_manifest_is_refused(folder, what):
    forge(folder, **FORGED[what])
    with pytest.raises(ValueError, match=r"is not a file that Fit.save wrote, or it is damaged \("):
        tensorfill.load(folder)


@pytest.mark.parametrize("text", ["", "[", "[]", "3", "[" * 100_000, "\udcff"])
def test_a_manifest_of_another_kind_is_refused(folder, text):
    (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"manifest.json is not a file that Fit.save wrote, or it is damaged"):
        tensorfill.load(folder)


@pytest.mark.parametrize("name", ["part-00002-0123abcd.npz", "shared-0123abcd.npz", "fit-0123abcd.npz"])
def test_a_damaged_file_is_named(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} is not a file .* damaged .its checksum is not that of the manifest"):
        tensorfill.load(folder)


def test_a_missing_file_is_named(folder):
    (folder / "part-00002-0123abcd.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"part-00002-0123abcd.npz; the folder is not complete"):
        tensorfill.load(folder)


def test_parts_do_not_change_what_all_share(fit, folder):
    part = list(parts_of(fit))[1]
    manifest = FitFolder(folder).manifest
    with (folder / "part-00001-0123abcd.npz").open("wb") as file:
        np.savez(file, **part.to_arrays())
    from tensorfill.io.fit_folders import Written, _checksum

    path = folder / "part-00001-0123abcd.npz"
    manifest.parts[1] = Written(path.name, path.stat().st_size, _checksum(path))
    finish(folder, manifest)
    with pytest.raises(ValueError, match="it has arrays that all parts share"):
        tensorfill.load(folder)


def test_a_folder_that_is_too_large_is_refused_before_it_is_read(folder):
    with pytest.raises(ValueError, match=r"fit holds at least .*, above max_bytes=5,000; if you trust"):
        tensorfill.load(folder, max_bytes=5000)


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is a folder without manifest.json; give the path that a fit"):
        tensorfill.load(tmp_path)
