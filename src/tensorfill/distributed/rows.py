"""Matrices and vectors that are on the workers, as the driver sees them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from .._support.types import Floats
from .crew import Crew
from .cutting import Cut


class Rows:
    """A tall matrix whose rows are on the workers.

    Small matrices multiply it there, so that it serves as the right factor of a `Component`. The matrix of the split
    mode is the same on all workers, and that of another mode is cut as the tensor is.

    Parameters
    ----------
    crew
        The workers.
    shape, dtype
        Those of the whole matrix.
    replicated
        Whether every part has all rows.
    name
        Its name on the workers.
    """

    __array_ufunc__ = None
    """NumPy leaves operators with these to us."""

    def __init__(
        self,
        crew: Crew,
        shape: tuple[int, int],
        dtype: np.dtype[np.floating],
        *,
        replicated: bool,
        name: int | None = None,
    ) -> None:
        self.crew, self.shape, self.dtype, self.replicated = crew, shape, dtype, replicated
        self.name = crew.new_name() if name is None else name
        self._end = weakref.finalize(self, crew.drop, self.name)
        # Nothing is to be tidied up when Python ends: the workers do that.
        self._end.atexit = False

    @property
    def fingerprint(self) -> str:
        """What tells this from others beside the left factor of its component, which determines it."""
        return f"rows {self.shape} {self.dtype}"

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """The number of bytes of the whole matrix."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> Transposed:
        """The transposed matrix."""
        return Transposed(self)

    def __matmul__(self, small: Floats) -> Rows:
        product = self._like(small.shape[1])
        self.crew.later("multiply", product.name, self.name, np.ascontiguousarray(small))
        return product

    def __add__(self, other: Rows) -> Rows:
        total = self._like(self.shape[1])
        self.crew.later("add", total.name, self.name, other.name)
        return total

    def _like(self, width: int) -> Rows:
        return Rows(self.crew, (self.shape[0], width), self.dtype, replicated=self.replicated)


class Transposed:
    """A wide matrix whose columns are on the workers."""

    __array_ufunc__ = None

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __matmul__(self, other: Rows) -> Floats:
        return overlaps([(self._rows, other)])[0]


def overlaps(pairs: Sequence[tuple[Rows, Rows]]) -> list[Floats]:
    """Return the small product ``first.T @ second`` of each pair, by one question to the workers."""
    crew = pairs[0][0].crew
    return list(crew.total("overlaps", [(first.name, second.name, first.replicated) for first, second in pairs]))


class Seen:
    """The values of a point at the observed entries, which are on the workers.

    Parameters
    ----------
    crew
        The workers.
    loss
        The sum of the losses; NaN for a point at which nobody asks for it.
    products
        The inner products of each pair of its components.
    dtype
        The type of the values.
    """

    def __init__(
        self, crew: Crew, dtype: np.dtype[np.floating], loss: float = float("nan"), products: Floats | None = None
    ) -> None:
        self.dtype, self.loss, self.products = dtype, loss, products
        self.name = crew.new_name()
        self._end = weakref.finalize(self, crew.drop, self.name)
        self._end.atexit = False


class Slope:
    """A multiple of the gradient at the observed entries, which workers compute when they stand at its point."""

    def __init__(self, seen: Seen, scale: float) -> None:
        self.seen, self.scale = seen, scale


def spread(crew: Crew, cut: Cut, v: Floats, mode: int) -> Rows:
    """Send the rows of a right factor to the workers."""
    rows = Rows(crew, v.shape, v.dtype, replicated=mode == cut.mode)
    crew.later_each("put", [(rows.name, cut.rows_of(v, mode, part)) for part in range(cut.parts)])
    return rows


def brought_together(cut: Cut, rows: Rows, mode: int) -> Floats:
    """Return the rows of a right factor from all workers."""
    if rows.replicated:
        whole: Floats = rows.crew.ask_one("get", rows.name)
        return whole
    return cut.joined(rows.crew.ask("get", rows.name), mode)
