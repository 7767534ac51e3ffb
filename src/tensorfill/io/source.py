"""A file that is read: what its content may take in memory, and how trouble with it becomes one sentence."""

from __future__ import annotations

import gzip
import io
import math
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any

from .._support.checks import real_number
from .._support.memory import physical_bytes
from .._support.words import bytes_in_words

SHARE_OF_MEMORY = 0.5
"""The content of a file may take this share of the machine's memory by default; the rest is for working on it."""

LONGEST_LINE = 2**20
"""Bytes in a line of a file whose lines are short."""

LONGEST_REASON = 200
"""Letters that are kept of what a library says."""

BLOCK = 2**20
"""Bytes that are unpacked at a time."""

OF_COMPILED_CODE = (ValueError, ArithmeticError, MemoryError, OSError)
"""What functions of libraries that are no Python code raise in the name of their caller."""

Progress = Callable[[float], None]
"""Is told which share of a file was read."""


class TooLarge(ValueError):
    """A sound file that holds more than the reader may allocate."""


class Source:
    """A file that is read, of which nothing is trusted.

    A small file may say that it holds more than the memory of the machine. Every reader states what it is going to
    allocate, with `need` or `spend`, before it does.

    Parameters
    ----------
    path
        The file.
    max_bytes
        The most bytes that its content may take, unpacked; by default half of the machine's memory.
    progress
        Is told which share of the file was read, by readers that read in parts.

    Examples
    --------
    >>> Source("small.npz", max_bytes=1000).need(5000)
    Traceback (most recent call last):
        ...
    tensorfill.io.source.TooLarge: small.npz holds at least 4.88 KiB, above max_bytes=1,000; if you trust the file,
    and memory suffices, raise max_bytes.
    """

    def __init__(
        self, path: str | PathLike[str], max_bytes: float | None = None, progress: Progress | None = None
    ) -> None:
        self.path = Path(path)
        if max_bytes is None:
            max_bytes = SHARE_OF_MEMORY * physical_bytes()
        # Infinity is a good answer here: no limit.
        self.max_bytes = max_bytes if max_bytes == math.inf else real_number(max_bytes, "max_bytes", above=0)
        self._progress = progress
        self._spent = 0.0

    @property
    def size(self) -> int:
        """The number of bytes of the file."""
        return self.path.stat().st_size

    def check_it_is_there(self, instead: str = "check the path") -> None:
        """Refuse a path without a file."""
        if not self.path.exists():
            raise FileNotFoundError(f"There is no file {self.path}; {instead}.")
        if self.path.is_dir():
            raise IsADirectoryError(f"{self.path} is a folder; give the path of a file in it.")

    # What it may take

    def need(self, count: float) -> None:
        """Refuse content of more bytes than it may take."""
        if count > self.max_bytes:
            raise TooLarge(
                f"{self.path} holds at least {bytes_in_words(count)}, above max_bytes={self.max_bytes:,.0f}; if you "
                "trust the file, and memory suffices, raise max_bytes."
            )

    def spend(self, count: float) -> None:
        """Add to the bytes that the content takes, and refuse more than it may."""
        self._spent += count
        self.need(self._spent)

    # Its bytes

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file for reading, unpacked if it is gzipped; more bytes than it may hold are refused on the way."""
        with self.path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            content: IO[bytes] = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
            with io.BufferedReader(_Counted(content, self._counted(file)), BLOCK) as stream:
                yield stream

    def _counted(self, file: IO[bytes]) -> Callable[[int], None]:
        """Return what is told of each block that was read."""
        total, unpacked = max(self.size, 1), 0

        def counted(count: int) -> None:
            nonlocal unpacked
            unpacked += count
            self.need(unpacked)
            if self._progress is not None:
                self._progress(min(file.tell() / total, 1.0))

        return counted

    def lines(self, stream: IO[bytes], longest: int = LONGEST_LINE) -> Iterator[bytes]:
        """Yield the lines of a stream, none of them longer than a line of such a text can be."""
        number = 0
        while line := stream.readline(longest):
            number += 1
            if len(line) == longest:
                raise ValueError(
                    f"{self.path} must be a text of lines, but line {number} has {longest:,} letters or more; "
                    "check its format."
                )
            yield line

    # Trouble

    @contextmanager
    def read_as(self, what: str) -> Iterator[None]:
        """Turn any error of a library that cannot read the file into a sentence; only its calls belong inside."""
        try:
            yield
        except ImportError:
            raise
        except Exception as error:
            if _is_a_refusal(error) and str(self.path) in str(error):
                raise
            raise self._unreadable(error, what) from error

    @contextmanager
    def named(self, what: str) -> Iterator[None]:
        """Name the file in every sentence that refuses it, and turn errors of libraries into sentences.

        An error of tensorfill itself that is no refusal stays as it is.
        """
        try:
            yield
        except ImportError:
            raise
        except Exception as error:
            if _is_a_refusal(error):
                if str(self.path) in str(error):
                    raise
                raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{self.path}: {error}") from error
            # numpy's functions raise errors in the name of their caller, but of these kinds only.
            if _raised_by_tensorfill(error) and not isinstance(
                error, ValueError | ArithmeticError | MemoryError | OSError
            ):
                raise
            raise self._unreadable(error, what) from error

    def _unreadable(self, error: Exception, what: str) -> Exception:
        if isinstance(error, MemoryError):
            return ValueError(
                f"{self.path} cannot be read as {what}, because memory does not suffice; get more, or read a part."
            )
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            return type(error)(f"{self.path} cannot be read: {error.strerror}.")
        return ValueError(
            f"{self.path} cannot be read as {what}, so it is damaged or of another format ({in_brackets(error)})."
        )


class _Counted(io.RawIOBase):
    """A stream that says how many bytes are read from it."""

    def __init__(self, stream: IO[bytes], counted: Callable[[int], None]) -> None:
        self._stream, self._counted = stream, counted

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._stream.read(len(buffer))
        buffer[: len(part)] = part
        self._counted(len(part))
        return len(part)


def in_brackets(error: Exception) -> str:
    """Return why a library refuses a file, without its advice for direct callers."""
    first = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
    letters = "".join(letter if letter.isprintable() else "?" for letter in first)
    return letters[:LONGEST_REASON] or type(error).__name__


def _is_a_refusal(error: Exception) -> bool:
    """Return whether this is a sentence of tensorfill."""
    return (
        type(error) in (ValueError, TooLarge, TypeError, FileNotFoundError, IsADirectoryError, OSError)
        and _raised_by_tensorfill(error)
        and str(error).endswith(".")
    )


def _raised_by_tensorfill(error: BaseException) -> bool:
    frames = list(traceback.walk_tb(error.__traceback__))
    module = str(frames[-1][0].f_globals.get("__name__", ""))
    return module.partition(".")[0] == "tensorfill"
