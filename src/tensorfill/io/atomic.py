"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

PREFIX = ".tensorfill-unfinished-"
"""The prefix of the temporary folder of a file that is being written."""

_UNFINISHED = re.compile(re.escape(PREFIX) + r"\w{8}")


@contextmanager
def written_beside(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes the name `path` only when everything is written.

    An error or an interrupt leaves an existing file unchanged.
    """
    with named_beside(path) as name, name.open("wb") as file:
        yield file


@contextmanager
def named_beside(path: str | PathLike[str]) -> Iterator[Path]:
    """Yield the name of an empty file that becomes `path` at the end, for writers that open files themselves.

    An error or an interrupt leaves an existing file unchanged. A link is followed, an existing file keeps its
    permissions, and a new one gets those of any new file. All data is on the disk before the file gets its name.
    Leftovers of killed runs are removed from the folder.
    """
    target = _target(path)
    with _in_words(path), _own_folder(target.parent) as folder:
        beside = folder / target.name
        mode = _create(beside, target)
        yield beside
        with beside.open("r+b") as file:
            beside.chmod(mode)
            os.fsync(file.fileno())
        os.replace(beside, target)
        _flush_folder(target.parent)


def check_writable(path: str | PathLike[str]) -> None:
    """Raise an error if a file could not be written to this path, without leaving anything behind."""
    target = _target(path)
    with _in_words(path), _own_folder(target.parent) as folder:
        _create(folder / target.name, target)


def _target(path: str | PathLike[str]) -> Path:
    """Return the file to be replaced, with all links resolved."""
    with _in_words(path):
        target = Path(os.path.realpath(path))
        is_there, is_file, is_folder = target.exists(), target.is_file(), target.is_dir()
    if is_folder:
        raise OSError(f"{path} cannot be written: it is a folder; add the name of a file.")
    if is_there and not is_file:
        raise OSError(f"{path} cannot be written: it is a device or a pipe; choose another path.")
    if is_there and not os.access(target, os.W_OK):
        raise OSError(f"{path} cannot be written: the file is write-protected; choose another path.")
    return target


@contextmanager
def _in_words(path: str | PathLike[str]) -> Iterator[None]:
    """Turn an error of the operating system into a sentence."""
    try:
        yield
    except OSError as error:
        # Libraries add their text to that of the system.
        said = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        reason = said.partition(". ")[0].rstrip(".")
        raise OSError(f"{path} cannot be written: {reason}; choose another path.") from error


def _create(beside: Path, target: Path) -> int:
    """Create an empty file, and return its final permissions: those of `target`, or the default for new files."""
    # The system applies the umask. Reading the umask would set it, also for other threads.
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    mode = stat.S_IMODE(beside.stat().st_mode)
    if target.exists():
        old = target.stat()
        mode = old.st_mode & 0o777
        if hasattr(os, "chown"):
            # Only root may preserve the owner of a file that belongs to another user.
            with suppress(OSError):
                os.chown(beside, old.st_uid, old.st_gid)
    beside.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)
    return mode


# A folder for each unfinished file: only its owner can read it, and a lock on it shows that its run is alive.
# The lock is on the folder, because HDF5 locks the file itself.


@contextmanager
def _own_folder(parent: Path) -> Iterator[Path]:
    """Create a hidden folder that no other run removes while this one is alive, and remove it at the end."""
    _remove_strays(parent)
    folder, lock = _locked_folder(parent)
    try:
        yield folder
    finally:
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()
        if lock is not None:
            os.close(lock)


def _locked_folder(parent: Path) -> tuple[Path, int | None]:
    """Return a new folder, and the handle that holds its lock, where the system has locks."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        if sys.platform == "win32":
            return folder, None
        # Another run may remove it as a leftover before it is locked; then a new one is created.
        with suppress(FileNotFoundError):
            # The umask may forbid writing in it.
            folder.chmod(0o700)
            lock = os.open(folder, os.O_RDONLY)
            # Without locks on this disk the file is still written; leftovers are then not removed.
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_SH)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_strays(parent: Path) -> None:
    """Remove the folders of runs that were killed."""
    if sys.platform == "win32":
        return
    with os.scandir(parent) as found:
        strays = [each.path for each in found if _UNFINISHED.fullmatch(each.name)]
    for stray in strays:
        # Not readable, locked by a live run, or removed by another run at the same time: left alone.
        with suppress(OSError):
            lock = os.open(stray, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for name in os.listdir(lock):
                    os.unlink(name, dir_fd=lock)
                os.rmdir(stray)
            finally:
                os.close(lock)


def _flush_folder(folder: Path) -> None:
    """Flush the new name of a file to the disk."""
    if sys.platform == "win32":
        return
    # Some network disks do not support this; the file itself is complete.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
