"""What is known of the observed entries of a tensor without looking at one."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Entries(Protocol):
    """The observed entries, on this machine (`tensorfill.Observations`) or on others."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""

    @property
    def ndim(self) -> int:
        """The order of the tensor."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""

    @property
    def density(self) -> float:
        """The fraction of the tensor's entries that was observed."""

    def __len__(self) -> int:
        """Return the number of entries."""
