"""Index arithmetic of unfoldings, for tensors of any order, without overflow.

``unfold_d`` has mode d as rows and the other modes, in increasing order with the last running fastest
(C order), as columns. Arithmetic on shapes uses Python's integers, so no product overflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix

Shape = tuple[int, ...]

SMALLEST_MODE = 8
"""The unfolding along a mode with fewer indices has low rank in any case."""


def columns(shape: Sequence[int], mode: int) -> int:
    """Return N_d, the number of columns of the unfolding along `mode`.

    >>> columns((4, 5, 6), 1)
    24
    """
    return math.prod(shape[:mode]) * math.prod(shape[mode + 1 :])


def sizes_around(shape: Sequence[int], mode: int, *, without: int | None = None) -> tuple[int, int]:
    """Return the product of the sizes before `mode` and of those after it, leaving out the mode `without` if given.

    >>> sizes_around((4, 5, 6, 7), 2), sizes_around((4, 5, 6, 7), 2, without=0)
    ((20, 7), (5, 7))
    """
    sizes = [1 if axis == without else size for axis, size in enumerate(shape)]
    return math.prod(sizes[:mode]), math.prod(sizes[mode + 1 :])


def large_modes(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the modes with at least `SMALLEST_MODE` indices, and always the two largest.

    >>> large_modes((300, 300, 3)), large_modes((5, 4, 3)), large_modes((30, 4))
    ((0, 1), (0, 1), (0, 1))
    """
    largest = sorted(range(len(shape)), key=lambda mode: -shape[mode])[:2]
    return tuple(mode for mode, size in enumerate(shape) if size >= SMALLEST_MODE or mode in largest)


def leading_mode(mode: int) -> int:
    """Return the mode that runs slowest over the columns of the unfolding along `mode`."""
    return 0 if mode else 1


def smallest_index_type(size: int) -> type[np.signedinteger[Any]]:
    """Return the narrowest of int32 and int64 that indexes `size` places."""
    return np.int32 if size <= np.iinfo(np.int32).max else np.int64


def column_index(coords: Integers, shape: Sequence[int], mode: int) -> Integers:
    """Return the column of each entry in the unfolding along `mode`.

    >>> column_index(np.array([[1, 2, 3]]), (4, 5, 6), 1)
    array([9], dtype=int32)
    """
    size = columns(shape, mode)
    if size >= 2**63:
        raise OverflowError(
            f"the unfolding along mode {mode} must have fewer than 2**63 columns, but a tensor of shape {tuple(shape)} "
            f"has {size:,}."
        )
    index = np.zeros(len(coords), dtype=smallest_index_type(size))
    for axis in range(len(shape)):
        if axis != mode:
            index *= shape[axis]
            index += coords[:, axis].astype(index.dtype, copy=False)
    return index


def unfold(tensor: NDArray[Any], mode: int) -> NDArray[Any]:
    """Return the unfolding of a dense tensor along `mode`, as a view if the memory layout allows, else as a copy."""
    # A tensor without entries does not say how many columns it has.
    return np.moveaxis(tensor, mode, 0).reshape(tensor.shape[mode], columns(tensor.shape, mode))


def fold(matrix: NDArray[Any], mode: int, shape: Sequence[int]) -> NDArray[Any]:
    """Return the tensor whose unfolding along `mode` is `matrix`, as a view.

    >>> tensor = np.arange(24).reshape(2, 3, 4)
    >>> np.array_equal(fold(unfold(tensor, 1), 1, tensor.shape), tensor)
    True
    """
    others = [size for axis, size in enumerate(shape) if axis != mode]
    return np.moveaxis(matrix.reshape(shape[mode], *others), 0, mode)


def times(matrix: Matrix, tensor: Floats, mode: int) -> Floats:
    """Return the product of a tensor with a matrix, dense or sparse, along `mode`.

    >>> times(np.ones((1, 2)), np.array([[1.0, 2.0], [3.0, 4.0]]), 0)
    array([[4., 6.]])
    """
    if not scipy.sparse.issparse(matrix):
        before, after = sizes_around(tensor.shape, mode)
        if after == 1:
            # One product with a matrix is faster than many with vectors.
            product = tensor.reshape(before, tensor.shape[mode]) @ matrix.T
        else:
            product = matrix @ tensor.reshape(before, tensor.shape[mode], after)
    else:
        unfolded = matrix @ unfold(tensor, mode)
        # The number of rows is given explicitly, because it cannot be inferred for an array of size zero.
        product = np.moveaxis(unfolded.reshape(matrix.shape[0], *_others(tensor.shape, mode)), 0, mode)
    sizes = [matrix.shape[0] if other == mode else size for other, size in enumerate(tensor.shape)]
    return np.ascontiguousarray(product.reshape(sizes))


def _others(shape: Sequence[int], mode: int) -> list[int]:
    return [size for other, size in enumerate(shape) if other != mode]
