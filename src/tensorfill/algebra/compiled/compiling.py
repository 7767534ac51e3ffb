"""The decorator that compiles loops."""

from __future__ import annotations

import functools
import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a loop and releases the interpreter lock.

    The machine code is cached for the next process, in the package or in the home folder. If neither is writable, as in
    some containers, it is cached in the folder for temporary files.

    Parameters
    ----------
    **options
        Options of `numba.njit`, such as ``fastmath=True``.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError as error:
            # numba raises no more specific error.
            if "no locator available" not in str(error):
                raise
        folder, config = _private_folder(), vars(numba.config)
        if folder is None:
            _warn_of_no_cache()
            return numba.njit(nogil=True, **options)(function)
        # The user's own functions keep their folder.
        before, config["CACHE_DIR"] = config["CACHE_DIR"], folder
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        finally:
            config["CACHE_DIR"] = before

    return decorate


@functools.cache
def _private_folder() -> str | None:
    """Return a folder for temporary files that no other user can write to, because what is in it will be run."""
    try:
        folder = Path(tempfile.gettempdir()) / f"tensorfill-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except (AttributeError, OSError):  # Windows has no user numbers, but a home folder
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return str(folder) if private else None


@functools.cache
def _warn_of_no_cache() -> None:
    """Warn once per process that there is no cache."""
    warnings.warn(
        "Compiled code cannot be kept, since neither the folder of tensorfill nor the home folder nor a folder for "
        "temporary files can be written, so each new process compiles anew, which takes seconds; set NUMBA_CACHE_DIR "
        "to a folder that can be written.",
        RuntimeWarning,
        stacklevel=4,
    )
