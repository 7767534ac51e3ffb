"""Fits as folders: the model of each range of slices is a separate file, written by the machine that holds it.

A folder has a manifest, which lists all other files with their sizes and checksums. It is written last and replaces an
earlier one atomically, so a killed run leaves the earlier fit intact. Files are ``fit-*.npz`` with everything but the
model, ``shared-*.npz`` with what all parts of the model share, and ``part-00000-*.npz`` and so on with the rest.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .._support.conforming import misfit
from ..algebra.unfolding import columns
from ..models import FoldedLowRank, Model
from .archive import Archive, opened_archive
from .atomic import PREFIX, written_beside
from .fit_header import FitHeader
from .fits import Arrays, described_fit, header_and_arrays, parts_of_fit, read_as_fit, read_model, written_header
from .source import Source

if TYPE_CHECKING:
    from ..fit import Fit

T = TypeVar("T")

FORMAT, VERSION = "tensorfill-fit-folder", 1
"""The format and version in a manifest."""

MANIFEST = "manifest.json"
"""The file that lists all others."""

LONGEST_MANIFEST = 2**26
"""The largest size of a manifest, in bytes."""

_FILE = re.compile(r"(fit|shared|part-\d{5})-[0-9a-f]{8}\.npz")


@dataclass(frozen=True)
class Written:
    """A file of a folder.

    Parameters
    ----------
    name
        Its name in the folder.
    bytes, checksum
        Its size, and the BLAKE2b of its content.
    """

    name: str
    bytes: int
    checksum: str

    def __post_init__(self) -> None:
        if not _FILE.fullmatch(self.name):
            raise ValueError(f"there is no file {self.name[:40]!r} in such a folder")


@dataclass(frozen=True)
class Manifest:
    """The contents of a folder.

    Parameters
    ----------
    mode, bounds
        Part k of the model has the slices ``bounds[k]`` to ``bounds[k + 1] - 1`` along this mode.
    fit, shared
        The files with everything but the model, and with what all parts of the model share.
    parts
        The files of the parts.
    """

    mode: int
    bounds: list[int]
    fit: Written
    shared: Written
    parts: list[Written]

    def __post_init__(self) -> None:
        if self.mode < 0 or len(self.bounds) != len(self.parts) + 1 or not self.parts or self.bounds[0] != 0:
            raise ValueError("its parts are not those of a tensor")
        if any(first >= last for first, last in itertools.pairwise(self.bounds)):
            raise ValueError("one of its parts is empty")

    @property
    def files(self) -> list[Written]:
        """All files that it lists."""
        return [self.fit, self.shared, *self.parts]

    def shape_of(self, part: int, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of a part of a tensor."""
        size = self.bounds[part + 1] - self.bounds[part]
        return tuple(size if axis == self.mode else each for axis, each in enumerate(shape))


# Writing


def check_folder(folder: Path) -> None:
    """Raise an error unless a folder is new or empty, or holds a fit already."""
    if not folder.parent.is_dir() or (folder.exists() and not folder.is_dir()):
        raise OSError(f"a fit on a cluster is saved to a folder within one that exists, but {folder} was given.")
    if folder.is_dir() and not (folder / MANIFEST).exists() and any(_strangers(folder)):
        raise OSError(f"{folder} must be a new folder or hold a fit, but it has other files; choose another name.")


def _strangers(folder: Path) -> Iterator[Path]:
    """Return the files in a folder that do not belong to a fit."""
    return (path for path in folder.iterdir() if not _FILE.fullmatch(path.name) and not path.name.startswith(PREFIX))


def write_shared(part: FoldedLowRank, folder: Path, run: str, mode: int) -> Written:
    """Write the arrays that all parts of the model share, on the machine of one part."""
    return _write(folder / f"shared-{run}.npz", _split(part, mode)[0])


def write_part(part: FoldedLowRank, folder: Path, run: str, number: int, mode: int) -> Written:
    """Write the arrays that only this part of the model has, on its machine."""
    return _write(folder / f"part-{number:05d}-{run}.npz", _split(part, mode)[1])


@contextmanager
def abandoned_if_it_fails(folder: Path, run: str) -> Iterator[None]:
    """Context that removes the files of a run if they cannot all be written."""
    try:
        yield
    except BaseException:
        for stray in folder.glob(f"*-{run}.npz"):
            stray.unlink(missing_ok=True)
        raise


def write_rest(folder: Path, run: str, fit: Fit) -> Written:
    """Write everything but the model."""
    header, arrays = described_fit(fit)
    header["kind"] = FoldedLowRank.kind
    return _write(folder / f"fit-{run}.npz", {"header": written_header(header), **arrays})


def finish(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, after all other files, and remove the files of earlier fits."""
    for each in manifest.files:
        path = folder / each.name
        if not path.exists() or path.stat().st_size != each.bytes:
            raise OSError(
                f"{path} was written by a worker but is not there; give a folder on a disk that all machines share."
            )
    content = {"format": FORMAT, "version": VERSION} | asdict(manifest)
    with written_beside(folder / MANIFEST) as file:
        file.write(json.dumps(content, indent=1).encode())
    # Files that no manifest lists; a folder is for one run at a time.
    named = {each.name for each in manifest.files}
    for path in folder.iterdir():
        if _FILE.fullmatch(path.name) and path.name not in named:
            path.unlink(missing_ok=True)


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> Written:
    with written_beside(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return Written(path.name, path.stat().st_size, _checksum(path))


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _split(part: FoldedLowRank, mode: int) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the arrays that all parts of a model share, and those that belong to the slices of this part."""
    own = {f"{'u' if each == mode else 'v'}{each}" for each in part.modes}
    arrays = part.to_arrays()
    return (
        {name: array for name, array in arrays.items() if name not in own},
        {name: array for name, array in arrays.items() if name in own},
    )


# Reading


class FitFolder:
    """A fit in a folder, which is not trusted.

    Parameters
    ----------
    path
        The folder.
    max_bytes
        The largest size of the content in memory, in bytes; by default half of the machine's memory.
    """

    def __init__(self, path: str | PathLike[str], max_bytes: float | None = None) -> None:
        self.path, self._max_bytes = Path(path).absolute(), max_bytes
        if not (self.path / MANIFEST).is_file():
            raise FileNotFoundError(f"{path} is a folder without {MANIFEST}; give the path that a fit was saved to.")
        source = Source(self.path / MANIFEST, LONGEST_MANIFEST)
        with read_as_fit(source):
            source.need(source.size)
            self.manifest = _manifest(source.path.read_text("utf-8"))

    @property
    def nbytes(self) -> int:
        """The total size of all files in bytes."""
        return sum(each.bytes for each in self.manifest.files)

    def header(self) -> tuple[FitHeader, dict[str, NDArray[Any]]]:
        """Return the header of the fit, and the arrays of everything but the model."""
        header, arrays = self._read(self.manifest.fit, header_and_arrays)
        with read_as_fit(Source(self.path / MANIFEST)):
            if header.kind != FoldedLowRank.kind or header.core is not None:
                raise ValueError("its model has no parts")
            if self.manifest.mode >= len(header.shape) or self.manifest.bounds[-1] != header.shape[self.manifest.mode]:
                raise ValueError(f"its parts are not those of a tensor of shape {header.shape}")
        return header, arrays

    def shared(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that all parts of the model share."""
        return self._read(self.manifest.shared, _all_arrays)

    def part(self, number: int, shape: Sequence[int], shared: Mapping[str, NDArray[Any]]) -> FoldedLowRank:
        """Return the model of a part.

        Parameters
        ----------
        number
            The number of the part.
        shape
            The shape of the whole tensor.
        shared
            The result of `shared`.
        """
        own = self._read(self.manifest.parts[number], _all_arrays)
        with read_as_fit(Source(self.path / self.manifest.parts[number].name)):
            if not own.keys().isdisjoint(shared):
                raise ValueError("it has arrays that all parts share")
            model = read_model(FoldedLowRank.kind, self.manifest.shape_of(number, shape), Arrays({**shared, **own}))
            return cast(FoldedLowRank, model)

    def fit(self) -> dict[str, Any]:
        """Return the parts of a fit by name, with the whole model in the memory of this machine."""
        source = Source(self.path, self._max_bytes)
        source.need(self.nbytes)
        header, arrays = self.header()
        shape, shared = tuple(header.shape), self.shared()
        first = self.part(0, shape, shared)
        sizes = [(shape[each.mode] + columns(shape, each.mode)) * each.rank for each in first.components]
        source.need(sum(sizes) * first.dtype.itemsize)
        others = (self.part(number, shape, shared) for number in range(1, len(self.manifest.parts)))
        model = FoldedLowRank.joined(itertools.chain([first], others), self.manifest.mode, shape)
        return self.with_model(header, arrays, model)

    def with_model(self, header: FitHeader, arrays: dict[str, NDArray[Any]], model: Model) -> dict[str, Any]:
        """Return the parts of a fit by name, from the result of `header` and a model."""
        with read_as_fit(Source(self.path / self.manifest.fit.name)):
            return parts_of_fit(header, arrays, model)

    def _read(self, file: Written, reader: Callable[[Archive], T]) -> T:
        source = Source(self.path / file.name, self._max_bytes)
        source.check_it_is_there("the folder is not complete")
        with read_as_fit(source):
            if source.size != file.bytes or _checksum(source.path) != file.checksum:
                raise ValueError("its checksum is not that of the manifest")
            with opened_archive(source) as archive:
                return reader(archive)


def _all_arrays(archive: Archive) -> dict[str, NDArray[Any]]:
    return {name: archive.read(name) for name in archive.headers}


def _manifest(text: str) -> Manifest:
    """Return the manifest from JSON text, or raise a ValueError that says what is wrong with it."""
    try:
        said = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(said, dict) or said.pop("format", None) != FORMAT:
        raise ValueError("it is not that of a fit")
    version = said.pop("version", None)
    if version != VERSION:
        raise ValueError(f"it has version {str(version)[:10]} of the format, and version {VERSION} is read here")
    for name in ("fit", "shared"):
        said[name] = _written(said.get(name))
    said["parts"] = [_written(each) for each in said.get("parts") or []]
    if wrong := misfit(Manifest, said):
        raise ValueError(wrong)
    return Manifest(**said)


def _written(said: Any) -> Written:
    if not isinstance(said, dict):
        raise ValueError("it does not name all its files")
    if wrong := misfit(Written, said):
        raise ValueError(wrong)
    return Written(**said)
