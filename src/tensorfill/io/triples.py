"""Facts in text files with one `head<TAB>relation<TAB>tail` on each line, plain, gzipped or in an archive."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._support.checks import choice
from .._support.types import Integers
from ..labels import Labelled, Labels
from ..observations import Observations
from .atomic import written_beside
from .source import Source

if TYPE_CHECKING:
    from .common import Content

__all__ = ["SPLITS", "NumberedFacts", "read", "read_file", "read_parts", "write"]

_File = TypeVar("_File")

SPLITS = ("train", "valid", "test")
"""The parts of a published knowledge graph."""

LABEL_BYTES = 200
"""The approximate memory of a short label: the text, its number, and its slots in a dict and in an array."""

FACTS_AT_ONCE = 2**14
"""The memory is checked after this many facts."""


@dataclass(frozen=True, eq=False)
class NumberedFacts:
    """The facts of several files, in a common numbering.

    Parameters
    ----------
    parts : tuple of array
        The facts of each file as an (n, 3) array of numbers: head, tail, relation.
    entities, relations : tuple of str
        The label of each number, in the order in which they first appear.
    """

    parts: tuple[Integers, ...]
    entities: tuple[str, ...]
    relations: tuple[str, ...]


def read_file(given: Source | str | os.PathLike[str] | IO[bytes] | IO[str]) -> NumberedFacts:
    """Return the facts of one file, plain or gzipped, given by its path or open for reading."""
    if isinstance(given, str | os.PathLike):
        given = Source(given)
    if isinstance(given, Source):
        name, numbering = repr(str(given.path)), _Numbering(given)
        with given.opened() as file:
            coords = numbering.read(given.lines(file), name)
    else:
        name, numbering = repr(str(getattr(given, "name", "the file"))), _Numbering()
        coords = numbering.read(_unzipped(given), name)
    if len(coords) == 0:
        raise ValueError(f"a file of triples must have at least one line, but {name} is empty.")
    return numbering.numbered([coords])


def read_parts(path: str | os.PathLike[str]) -> NumberedFacts:
    """Return the facts of the files of a graph, in the order of `SPLITS`, from a tar archive or a folder."""
    where = Path(path)
    source = Source(where)
    numbering = _Numbering(source)
    parts: list[Integers] = []
    if where.is_dir():
        files = [(file.name, file) for file in sorted(where.rglob("*")) if file.is_file()]
        for each in _parts_of(files, str(where)):
            inside = Source(each)
            with inside.opened() as opened:
                parts.append(numbering.read(inside.lines(opened), repr(str(each))))
        return numbering.numbered(parts)
    try:
        with tarfile.open(where) as archive:
            members = [(PurePosixPath(member.name).name, member) for member in archive if member.isfile()]
            for member in _parts_of(members, str(where)):
                source.spend(member.size)
                content = archive.extractfile(member)
                if content is not None:
                    parts.append(numbering.read(_unzipped(content), f"{member.name!r} of {str(where)!r}"))
    except (tarfile.TarError, EOFError, zlib.error):
        raise ValueError(
            f"path must be a tar archive, such as a .tar.gz, or a folder, but {str(where)!r} cannot be read as one."
        ) from None
    return numbering.numbered(parts)


class _Numbering:
    """Numbers for labels, in the order in which they first appear, within the limit of the source."""

    def __init__(self, source: Source | None = None) -> None:
        self._source = source
        self._entities: dict[str, int] = {}
        self._relations: dict[str, int] = {}

    def numbered(self, parts: Iterable[Integers]) -> NumberedFacts:
        """Return the facts read so far, with their labels."""
        return NumberedFacts(tuple(parts), tuple(self._entities), tuple(self._relations))

    def read(self, lines: Iterable[str | bytes], name: str) -> Integers:
        """Return the coordinates of the facts in the lines of a file, named `name` in messages."""
        numbers = array("q")
        entities, relations = self._entities, self._relations
        for count, (head, relation, tail) in enumerate(_facts(lines, name)):
            if self._source is not None and count % FACTS_AT_ONCE == 0:
                self._source.need(LABEL_BYTES * (len(entities) + len(relations)) + numbers.itemsize * len(numbers))
            numbers.append(entities.setdefault(head, len(entities)))
            numbers.append(entities.setdefault(tail, len(entities)))
            numbers.append(relations.setdefault(relation, len(relations)))
        return np.array(numbers, dtype=np.int64).reshape(-1, 3)


def _unzipped(file: IO[Any]) -> Iterable[str | bytes]:
    """Return the lines of a file, gzipped or not."""
    if file.seekable():
        start = file.tell()
        first = file.read(2)
        file.seek(start)
    else:
        rest = file.read()
        first, file = rest[:2], io.StringIO(rest) if isinstance(rest, str) else io.BytesIO(rest)
    return gzip.GzipFile(fileobj=file) if first == b"\x1f\x8b" else file


def _facts(lines: Iterable[str | bytes], name: str) -> Iterator[Sequence[str]]:
    """Yield (head, relation, tail) of each line that is not blank."""
    number = 0
    try:
        for number, given in enumerate(lines, start=1):
            line = (given.decode("utf-8") if isinstance(given, bytes) else given).rstrip("\r\n")
            if number == 1:
                line = line.removeprefix("\ufeff")
            if not line.strip():
                continue
            fields = line.split("\t")
            if len(fields) != 3 or not all(field.strip() for field in fields):
                shown = repr(line if len(line) <= 60 else line[:60] + "...")
                raise ValueError(
                    f"each line must be head, relation and tail with a tab between them, but line {number} of {name} "
                    f"is {shown}; correct or remove it."
                )
            yield fields
    except UnicodeDecodeError:
        raise ValueError(f"triples must be UTF-8 text, but line {number} of {name} is not; convert it first.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ValueError(f"{name} is gzipped but damaged after line {number}; get the file again.") from None


def _parts_of(files: Iterable[tuple[str, _File]], where: str) -> list[_File]:
    """Return the file of each part, in the order of `SPLITS`, from all files with their names."""
    found: dict[str, _File] = {}
    for name, file in files:
        part = PurePosixPath(name)
        if part.stem in SPLITS and part.suffix in ("", ".txt", ".tsv"):
            if part.stem in found:
                raise ValueError(f"{where!r} must hold one {part.stem} file, but it holds several; remove the others.")
            found[part.stem] = file
    missing = [part for part in SPLITS if part not in found]
    if missing:
        raise ValueError(
            f"{where!r} must hold train, valid and test files, ending in .txt, .tsv or nothing, "
            f"but {' and '.join(missing)} is missing; rename its files, or read them with Triples.read."
        )
    return [found[part] for part in SPLITS]


def read(source: Source, *, missing: str | None = None) -> Labelled:
    """Read facts as the ones in a tensor head x tail x relation, with labels; all other entries are missing.

    Parameters
    ----------
    source
        The file, plain or gzipped.
    missing
        ``"absent"``, the default and the only choice: facts that are not listed are unknown.
    """
    choice("absent" if missing is None else missing, "missing for a file of triples", ("absent",))
    facts = read_file(source)
    coords = np.unique(facts.parts[0], axis=0)
    # In an array of texts, a single long label would widen all of them.
    entities, relations = (np.array(each, dtype=object) for each in (facts.entities, facts.relations))
    shape = len(entities), len(entities), len(relations)
    labels = Labels(("head", "tail", "relation"), (entities, entities, relations))
    return Labelled(Observations(coords, np.ones(len(coords)), shape), labels)


def check(path: Path, content: Content) -> None:
    """Raise an error if triples cannot hold such a tensor."""
    if len(content.shape) != 3:
        raise ValueError(
            f"triples must be a tensor head x tail x relation, but the shape is {content.shape}; write .csv or .npz."
        )
    for keys, size in zip(content.labels.keys, content.shape, strict=True):
        _texts(keys, size)


def write(path: Path, content: Content) -> None:
    """Write the facts of a tensor head x tail x relation: its ones, as labels.

    Parameters
    ----------
    path
        The file.
    content
        What to write; every value that is not missing must be 1.
    """
    coords, values = content.entries()
    if not np.all(values == 1):
        raise ValueError(
            f"triples must be ones of a tensor head x tail x relation, but values are from {values.min():g} to "
            f"{values.max():g}; write .csv or .npz."
        )
    texts = [_texts(keys, size) for keys, size in zip(content.labels.keys, content.shape, strict=True)]
    with written_beside(path) as file:
        for head, tail, relation in coords.tolist():
            file.write(f"{texts[0][head]}\t{texts[2][relation]}\t{texts[1][tail]}\n".encode())


def _texts(keys: Any, size: int) -> list[str]:
    """Return labels as texts that are valid in a line."""
    texts = [str(key) for key in (range(size) if keys is None else keys)]
    for text in texts:
        if not text.strip() or set(text) & set("\t\r\n"):
            raise ValueError(f"labels of triples must not be blank or contain tabs or line ends, but one is {text!r}.")
    return texts
