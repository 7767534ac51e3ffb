"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO


@contextmanager
def written_beside(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes the name `path` only when everything is written.

    An error or an interrupt leaves an existing file unchanged.
    """
    with named_beside(path) as name, name.open("wb") as file:
        yield file


@contextmanager
def named_beside(path: str | PathLike[str]) -> Iterator[Path]:
    """Give the name of an empty file that becomes `path` at the end, for writers that open files themselves.

    An error or an interrupt leaves an existing file unchanged.
    """
    target = Path(path)
    if target.is_dir():
        raise OSError(f"{target} cannot be written: it is a folder; add the name of a file.")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    except OSError as error:
        raise OSError(f"{target} cannot be written: {error.strerror}; choose another path.") from error
    try:
        os.close(handle)
        yield Path(name)
        # mkstemp makes files that only their owner can read; this one gets the permissions of any new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
