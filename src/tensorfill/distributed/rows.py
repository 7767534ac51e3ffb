"""Matrices and vectors that are on the workers, as the driver sees them.

`Rows` behave like an array: they are multiplied, added and used in components of models, which searches and callbacks
may keep as long as they like. So their lifetime cannot be known in advance, and like the memory of an array, theirs on
the workers is freed with the last reference. `Seen` belong to a point or a step of one run, which releases them
explicitly.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from .._support.types import Floats
from .crew import Crew
from .cutting import Cut
from .part import Inner


class Rows:
    """A tall matrix whose rows are on the workers.

    Products with small matrices are computed there, so that it can be the right factor of a `Component`. The matrix of
    the split mode is replicated on all workers; that of another mode is cut like the tensor.

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
    """Makes NumPy defer to the operators of this class."""

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
        # No clean-up is needed when Python exits: the workers do that.
        self._end.atexit = False

    @property
    def fingerprint(self) -> str:
        """A short text; the left factor of its component determines the rest."""
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
    """Return the small product ``first.T @ second`` of each pair, with one question to the workers."""
    crew = pairs[0][0].crew
    return list(crew.total("overlaps", [(first.name, second.name, first.replicated) for first, second in pairs]))


class Seen:
    """A number at each observed entry, on the workers: the values of a point, or a multiple of the gradient there.

    Parameters
    ----------
    crew
        The workers.
    dtype
        The type of the numbers.
    inner
        The sums that the workers returned with the values of a point; None for a vector not made from components.
    """

    def __init__(self, crew: Crew, dtype: np.dtype[np.floating], inner: Inner | None = None) -> None:
        self._crew, self.dtype, self.inner = crew, dtype, inner
        self.name = crew.new_vector()

    def release(self) -> None:
        """Free the vector on the workers."""
        self._crew.drop_vector(self.name)


def spread(crew: Crew, cut: Cut, v: Floats, mode: int) -> Rows:
    """Send the rows of a right factor to the workers."""
    rows = Rows(crew, v.shape, v.dtype, replicated=mode == cut.mode)
    crew.later_each("put", [(rows.name, cut.rows_of(v, mode, part)) for part in range(cut.parts)])
    return rows


def brought_together(cut: Cut, rows: Rows, mode: int) -> Floats:
    """Gather the rows of a right factor from all workers."""
    if rows.replicated:
        whole: Floats = rows.crew.ask_one("get", rows.name)
        return whole
    return cut.joined(rows.crew.ask("get", rows.name), mode)
