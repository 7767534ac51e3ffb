"""A helper of the solvers on whole tensors: parallel work for each mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..._support.parallel import side_by_side

T = TypeVar("T")

WORTH_SHARING = 2**16
"""Threads share the modes of a tensor if it has at least this many entries."""


def mode_by_mode(tasks: Sequence[Callable[[], T]], size: int) -> tuple[T, ...]:
    """Return the results of tasks, one for each mode of a tensor of `size` entries."""
    return side_by_side(tasks, worth_it=size >= WORTH_SHARING)
