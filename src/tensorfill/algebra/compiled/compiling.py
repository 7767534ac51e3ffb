"""The decorator that compiles loops."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a loop and releases the interpreter lock.

    The machine code is cached for the next process, in the package or in the home folder. If neither is writable,
    as in some containers, each process compiles again.

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
            _warn_of_no_cache()
            return numba.njit(nogil=True, **options)(function)

    return decorate


@functools.cache
def _warn_of_no_cache() -> None:
    """Warn once per process that there is no cache."""
    warnings.warn(
        "Compiled code cannot be kept, since neither the folder of tensorfill nor the home folder can be written, so "
        "each new process compiles anew, which takes half a minute or more; set NUMBA_CACHE_DIR to a folder "
        "that can be written.",
        RuntimeWarning,
        stacklevel=4,
    )
