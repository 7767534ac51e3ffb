"""How loops are compiled."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator that compiles a loop, which runs without Python's lock.

    The machine code is kept for the next process, in the package or in the home folder. Where neither can be written,
    as in some containers, each process compiles for itself.

    Parameters
    ----------
    **options
        Options of `numba.njit`, such as ``fastmath=True``.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError as error:
            # This is all that numba says of it.
            if "no locator available" not in str(error):
                raise
            _warn_of_no_cache()
            return numba.njit(nogil=True, **options)(function)

    return decorate


@functools.cache
def _warn_of_no_cache() -> None:
    """Warn once in a process."""
    warnings.warn(
        "Compiled code cannot be kept, since neither the folder of tensorfill nor the home folder can be written, so "
        "each new process compiles anew, which takes half a minute or more; set NUMBA_CACHE_DIR to a folder "
        "that can be written.",
        RuntimeWarning,
        stacklevel=4,
    )
