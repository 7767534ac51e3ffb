"""Checkpoints: the journal of a run as an npz file, from which a killed run is resumed.

The file holds every finished piece of work, by the fingerprint of its inputs, and the draft of a long one. It is
written under a temporary name and renamed when it is complete, so a killed run leaves the last complete file. Each
write copies the previous content, which takes time, so writes are spaced such that their cost stays small.
"""

from __future__ import annotations

import json
import math
import shutil
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from .._support.conforming import misfit
from .._support.fingerprints import fingerprint
from .._support.journal import NO_JOURNAL, Draft, Journal
from .._version import __version__
from .atomic import written_beside
from .source import Source
from .storing import Entry, read_array, read_entry, write_array

FORMAT = "tensorfill-checkpoint"
VERSION = 2
"""The version of the format that is written and read."""

EVERY = 60.0
"""Seconds after which the draft of a long piece of work is written."""

SHARE = 0.015
"""Writing may take at most this share of the time since the last write."""

FIRST_COST, BYTES_A_SECOND = 0.01, 2e8
"""The assumed cost of writing until it has been measured: seconds, and bytes per second."""

MOST_BYTES = 2**32
"""If the file would be larger, pieces of work are left out, starting with those that took the least time per byte. A
resumed run repeats them."""

HEADER = "header.npy"
DRAFT = "draft-"
"""The member of the file that holds the header, and the prefix of drafts."""

ASKED = {"data", "settings", "seed"}
"""The inputs of a run."""

INSTEAD = "give another path, or start over with resume=False (--start-over)"

T = TypeVar("T")


@dataclass(frozen=True)
class Header:
    """The header of a checkpoint, checked before it is used.

    Parameters
    ----------
    asked
        The inputs of the run by name.
    seconds, bytes, digests
        The time that each entry took, its size, and its digest, by the name of the entry.
    version, tensorfill
        The versions of the format and of the package.
    """

    asked: dict[str, str]
    seconds: dict[str, float]
    bytes: dict[str, int]
    digests: dict[str, str]
    version: int = VERSION
    tensorfill: str = __version__

    def __post_init__(self) -> None:
        if not self.seconds.keys() == self.bytes.keys() == self.digests.keys():
            raise ValueError("its entries are not those that it lists")
        if not all(0 <= each < math.inf for each in self.seconds.values()) or min(self.bytes.values(), default=1) < 1:
            raise ValueError("an entry has no size or time")
        if not self.asked.keys() >= ASKED or not self.asked["seed"].isdecimal():
            raise ValueError("it does not say what was asked")


class Checkpoint(Journal):
    """A journal stored in a file; new results are written at the latest at the end of the context.

    Parameters
    ----------
    path
        The file. It is written at once, so that an unwritable path is refused before the work starts.
    asked
        The inputs of the run by name: ``"data"``, ``"settings"`` and ``"seed"``. The file of another run is refused.
    fresh
        Whether to start over if the file exists.
    """

    def __init__(self, path: str | PathLike[str], asked: Mapping[str, str], *, fresh: bool = False) -> None:
        self.path = Path(path)
        self._asked = dict(asked)
        self._lock = threading.RLock()
        self._new: dict[str, Entry] = {}
        self._seconds: dict[str, float] = {}
        self._bytes: dict[str, int] = {}
        self._digests: dict[str, str] = {}
        self._cost, self._speed = FIRST_COST, BYTES_A_SECOND
        self._last: zipfile.ZipFile | None = None
        if self.path.exists():
            if fresh:
                words_of_header(self.path)
            else:
                header = header_of(self.path)
                refuse_another_run(self.path, header, asked)
                self._seconds, self._bytes, self._digests = header.seconds, header.bytes, header.digests
                self._written_at = time.monotonic()
                return
        self._write()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._new:
                self._try_to_write()
            self._close()

    def recall(
        self,
        asked: Sequence[Any],
        compute: Callable[[Draft], T],
        *,
        rng: np.random.Generator | None = None,
        is_finished: Callable[[T], bool] = lambda answer: True,
    ) -> T:
        """Return the stored result for these inputs, or compute and store it; see `Journal.recall`."""
        key = fingerprint(asked, rng)
        found = self._found(key, rng)
        if found is not None:
            with self._blaming_the_file():
                if not is_finished(found["answer"]):
                    raise ValueError("an answer is not finished")
            return found["answer"]  # type: ignore[no-any-return]
        began = time.monotonic()
        answer = compute(_FileDraft(self, DRAFT + key))
        if is_finished(answer):
            state = None if rng is None else rng.bit_generator.state
            with self._lock:
                self._forget(DRAFT + key)
                self._keep(key, {"answer": answer, "rng": state}, time.monotonic() - began)
                self.write_if_due(0.0)
        return answer

    def write_if_due(self, least: float) -> None:
        """Write new results if the last write is `least` seconds ago and the cost is small in comparison."""
        with self._lock:
            if self.is_due(least):
                self._try_to_write()

    def is_due(self, least: float) -> bool:
        """Return whether the last write is `least` seconds ago and the cost of writing is small in comparison."""
        expected = max(self._cost, FIRST_COST + sum(self._bytes.values()) / self._speed)
        return time.monotonic() - self._written_at >= max(least, expected / SHARE)

    def _found(self, name: str, rng: np.random.Generator | None = None) -> Any:
        """Return the entry with this name, None if there is none, and give the generator the state that it has."""
        with self._lock:
            if name not in self._bytes:
                return None
            try:
                with self._blaming_the_file():
                    content = self._new[name].content() if name in self._new else self._read(name)
                    if rng is not None:
                        rng.bit_generator.state = content["rng"]
                    return content
            except FileNotFoundError:
                # The file was removed, so the work is repeated.
                self._forget(name)
                return None

    @contextmanager
    def _blaming_the_file(self) -> Iterator[None]:
        """Turn errors into one sentence: damaged bytes raise errors of many kinds in the readers of files."""
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:
            raise ValueError(f"{self.path} is damaged; {INSTEAD}.") from error

    def _read(self, name: str) -> Any:
        """Return an entry of the file."""
        content = read_entry(name, self._opened(), self._digests[name], Source(self.path))
        if not isinstance(content, dict) or not (name.startswith(DRAFT) or content.keys() >= {"answer", "rng"}):
            raise ValueError("an entry has no answer")
        return content

    def _opened(self) -> zipfile.ZipFile:
        """Return the last file that was written, open for reading."""
        if self._last is None:
            self._last = zipfile.ZipFile(self.path)
        return self._last

    def _close(self) -> None:
        if self._last is not None:
            self._last.close()
            self._last = None

    def _keep(self, name: str, content: Mapping[str, Any], seconds: float) -> None:
        entry = Entry.of(name, content)
        self._new[name], self._bytes[name], self._seconds[name] = entry, entry.nbytes, seconds
        self._digests[name] = entry.digest

    def _forget(self, name: str) -> None:
        for each in (self._new, self._bytes, self._seconds, self._digests):
            each.pop(name, None)

    def _try_to_write(self) -> None:
        """Write the file, or warn on failure; the run continues."""
        try:
            self._write()
        except OSError as error:
            self._written_at = time.monotonic()
            warnings.warn(f"The checkpoint {error}; the run goes on without it.", stacklevel=2)

    def _write(self) -> None:
        """Rewrite the file with the kept and the new entries."""
        began = time.monotonic()
        if self._last is None and not self.path.exists():
            for name in self._bytes.keys() - self._new.keys():
                self._forget(name)
        self._leave_out()
        header = {"format": FORMAT} | asdict(Header(self._asked, self._seconds, self._bytes, self._digests))
        with written_beside(self.path) as stream, zipfile.ZipFile(stream, "w") as file:
            write_array(file, HEADER, np.array(json.dumps(header)))
            if self._bytes.keys() - self._new.keys():
                self._copy(file)
            for name, entry in self._new.items():
                entry.write(name, file)
            # Some systems cannot replace an open file.
            self._close()
        self._new.clear()
        self._written_at = time.monotonic()
        self._cost = self._written_at - began
        if (total := sum(self._bytes.values())) > BYTES_A_SECOND * FIRST_COST:
            self._speed = total / self._cost

    def _copy(self, file: zipfile.ZipFile) -> None:
        """Copy the kept entries of the last file."""
        kept = self._bytes.keys() - self._new.keys()
        try:
            last = self._opened()
            for member in last.infolist():
                if member.filename.partition(".")[0] in kept:
                    with last.open(member) as source, file.open(member.filename, "w", force_zip64=True) as target:
                        shutil.copyfileobj(source, target, 2**20)
        except (ValueError, RuntimeError, zipfile.BadZipFile) as error:
            raise OSError(f"{self.path} is damaged and cannot be written anew") from error

    def _leave_out(self) -> None:
        """Drop entries until the file is small enough."""
        while len(self._bytes) > 1 and sum(self._bytes.values()) > MOST_BYTES:
            self._forget(min(self._bytes, key=lambda name: self._seconds[name] / self._bytes[name]))


class _FileDraft(Draft):
    """The draft of a piece of work in the file."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self._checkpoint, self._name = checkpoint, name
        self._began = time.monotonic()
        self.state = checkpoint._found(name)

    def offer(self, state: Callable[[], Mapping[str, Any]], *, last: bool = False) -> None:
        """Keep a state, if it is due or the last one of this run."""
        checkpoint = self._checkpoint
        if last or checkpoint.is_due(EVERY):
            with checkpoint._lock:
                checkpoint._keep(self._name, state(), time.monotonic() - self._began)
                checkpoint.write_if_due(EVERY)


def words_of_header(path: Path) -> dict[str, Any]:
    """Return the fields in the header of a checkpoint of any version; refuse other files."""
    try:
        with zipfile.ZipFile(path) as file:
            words = json.loads(str(read_array(file, HEADER, Source(path))))
        is_one = isinstance(words, dict) and words.pop("format", None) == FORMAT
    except Exception:  # damaged bytes raise errors of many kinds
        is_one = False
    if not is_one:
        raise ValueError(f"{path} is there but is not a checkpoint, or it is damaged; give another path.")
    return words  # type: ignore[no-any-return]


def header_of(path: Path) -> Header:
    """Return the header of a checkpoint; refuse other files, other versions, and headers with anything wrong."""
    words = words_of_header(path)
    versions = words.get("version"), words.get("tensorfill")
    if versions != (VERSION, __version__) and all(isinstance(each, int | str) for each in versions):
        raise ValueError(
            f"{path} is a checkpoint of tensorfill {str(versions[1])[:40]} in format {str(versions[0])[:40]}, but this "
            f"is {__version__} with format {VERSION}; go on with that version, {INSTEAD}."
        )
    wrong = misfit(Header, words)
    try:
        if wrong is not None:
            raise ValueError(wrong)
        return Header(**words)
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); {INSTEAD}.") from None


def refuse_another_run(path: Path, header: Header, asked: Mapping[str, str]) -> None:
    """Raise an error if the checkpoint belongs to other data, other settings or another seed."""
    words = {"data": "other data", "settings": "the same data and other settings", "seed": "another seed"}
    for name, what in words.items():
        if header.asked[name] != asked[name]:
            raise ValueError(f"{path} is a checkpoint of a run with {what}; {INSTEAD}.")


def kept_seed(path: str | PathLike[str] | None, resume: bool | str) -> int | None:
    """Return the seed of the run to resume, None if there is none; raise an error if it must resume but cannot."""
    if not isinstance(resume, bool) and resume != "auto":
        raise ValueError(f"resume must be True, False or 'auto', but {resume!r} was given.")
    if path is None and resume is True:
        raise ValueError("resume=True needs a file to go on from; give it as checkpoint='run.npz'.")
    if path is None or resume is False:
        return None
    if not Path(path).exists():
        if resume is True:
            raise FileNotFoundError(f"There is no checkpoint {path}; leave resume='auto' to begin one.")
        return None
    return int(header_of(Path(path)).asked["seed"])


def opened(
    path: str | PathLike[str] | None, asked: Callable[[], Mapping[str, str]], *, fresh: bool
) -> AbstractContextManager[Journal]:
    """Return the journal of a run: a checkpoint, or one that keeps nothing."""
    return nullcontext(NO_JOURNAL) if path is None else Checkpoint(path, asked(), fresh=fresh)
