"""An untrusted input file: limits on its size in memory, and errors of one sentence."""

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
"""The default limit on the content of a file, as a share of the machine's memory; the rest is for the fit."""

LONGEST_LINE = 2**20
"""The largest length of a line in a text of short lines, in bytes."""

LONGEST_REASON = 200
"""The largest length of a quoted library message."""

BLOCK = 2**20
"""The number of bytes that are unpacked at a time."""

OF_COMPILED_CODE = (ValueError, ArithmeticError, MemoryError, OSError)
"""The errors that compiled library functions raise, whose traceback ends in the caller."""

Progress = Callable[[float], None]
"""A function that receives the share of a file that has been read."""


class TooLarge(ValueError):
    """A valid file with more content than the reader may allocate."""


class Source:
    """An input file, which is not trusted.

    A small file may claim to hold more than the memory of the machine. Every reader declares what it is going to
    allocate, with `need` or `spend`, before it does.

    Parameters
    ----------
    path
        The file.
    max_bytes
        The largest size of its unpacked content, in bytes; by default half of the machine's memory.
    progress
        Called with the share of the file that has been read, by readers that read in parts.

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
        # `max_bytes` may be infinite: no limit.
        self.max_bytes = max_bytes if max_bytes == math.inf else real_number(max_bytes, "max_bytes", above=0)
        self._progress = progress
        self._spent = 0.0

    @property
    def size(self) -> int:
        """The number of bytes of the file."""
        return self.path.stat().st_size

    def check_it_is_there(self, instead: str = "check the path") -> None:
        """Raise an error if there is no file at the path."""
        if not self.path.exists():
            raise FileNotFoundError(f"There is no file {self.path}; {instead}.")
        if self.path.is_dir():
            raise IsADirectoryError(f"{self.path} is a folder; give the path of a file in it.")

    # Limits

    def need(self, count: float) -> None:
        """Raise an error if `count` bytes exceed the limit."""
        if count > self.max_bytes:
            raise TooLarge(
                f"{self.path} holds at least {bytes_in_words(count)}, above max_bytes={self.max_bytes:,.0f}; if you "
                "trust the file, and memory suffices, raise max_bytes."
            )

    def spend(self, count: float) -> None:
        """Add to the bytes in use, and raise an error if they exceed the limit."""
        self._spent += count
        self.need(self._spent)

    # Reading

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file for reading, unpacked if it is gzipped; exceeding the limit raises an error while reading."""
        with self.path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            content: IO[bytes] = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
            with io.BufferedReader(_Counted(content, self._counted(file)), BLOCK) as stream:
                yield stream

    def _counted(self, file: IO[bytes]) -> Callable[[int], None]:
        """Return the function to call with the size of each block that is read."""
        total, unpacked = max(self.size, 1), 0

        def counted(count: int) -> None:
            nonlocal unpacked
            unpacked += count
            self.need(unpacked)
            if self._progress is not None:
                self._progress(min(file.tell() / total, 1.0))

        return counted

    def lines(self, stream: IO[bytes], longest: int = LONGEST_LINE) -> Iterator[bytes]:
        """Yield the lines of a stream, and raise an error for a line longer than `longest`."""
        number = 0
        while line := stream.readline(longest):
            number += 1
            if len(line) == longest:
                raise ValueError(
                    f"{self.path} must be a text of lines, but line {number} has {longest:,} letters or more; "
                    "check its format."
                )
            yield line

    # Errors

    @contextmanager
    def read_as(self, what: str) -> Iterator[None]:
        """Turn any error of a library within the context into a sentence; only library calls belong inside."""
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
        """Name the file in every error message, and turn library errors into sentences.

        An internal error of tensorfill is raised unchanged.
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
            # The traceback of an error in compiled numpy code ends in the caller, but only for these kinds.
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
    """A stream that reports how many bytes are read from it."""

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
    """Return whether an error is a message of tensorfill."""
    return (
        type(error) in (ValueError, TooLarge, TypeError, FileNotFoundError, IsADirectoryError, OSError)
        and _raised_by_tensorfill(error)
        and str(error).endswith(".")
    )


def _raised_by_tensorfill(error: BaseException) -> bool:
    frames = list(traceback.walk_tb(error.__traceback__))
    module = str(frames[-1][0].f_globals.get("__name__", ""))
    return module.partition(".")[0] == "tensorfill"
