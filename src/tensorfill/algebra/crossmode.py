"""Products with a component folded along one mode and unfolded along another (Proposition 1), for any order.

Let the component be ``fold_j(U V^T)``, with the singular values in `U`, and the unfolding that of mode i. Leave
both modes out of the shape: what remains, the `rest`, is laid out in the same order inside the rows of V and
inside the columns of ``unfold_i``. So V is read as (before i, i, after i, rank) and a block B of columns of
``unfold_i`` as (before j, j, after j, block), each a view of the array as it stands. One ``matmul`` takes i out of V
(or j out of B); what is left, (rest, rank, block), is small and may be transposed freely; a second ``matmul`` puts j
in (or contracts with V). Nothing of the size of V is copied. Cost: (N_i + N_j) * rank * block multiplications.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from .._types import Floats
from ..parallel import side_by_side
from .component import Component, WeightedComponent
from .unfolding import Shape, around, columns

CACHED = 2**15
"""Numbers that stay in a core's cache."""

WORTH_SHARING = 2**16
"""Numbers in a factor from which on threads share the inner products of a sum."""


def left_product(
    component: Component, weight: float, shape: Shape, mode: int, a: Floats, out: Floats | None = None
) -> Floats:
    """Return ``unfold_i(weight * component)^T @ a`` for i = `mode`, in `out`, of shape (N_i, block); (mulv1)."""
    u, v = component.u * (weight * component.s), component.v
    if out is None:
        out = np.empty((columns(shape, mode), a.shape[1]), dtype=np.result_type(u, a))
    if component.mode == mode:
        return np.matmul(v, u.T @ a, out=out)
    rank, block = component.rank, a.shape[1]
    before_i, after_i = around(shape, mode, without=component.mode)
    before_j, after_j = around(shape, component.mode, without=mode)
    small = a.T @ v.reshape(before_i, shape[mode], after_i * rank)
    small = small.reshape(before_i, block, after_i, rank).transpose(0, 2, 3, 1)
    small = small.reshape(before_j, after_j, rank, block).transpose(0, 2, 1, 3)
    folded = out.reshape(before_j, shape[component.mode], after_j * block)
    np.matmul(u, small.reshape(before_j, rank, after_j * block), out=folded)
    return out


def right_product(component: Component, weight: float, shape: Shape, mode: int, b: Floats) -> Floats:
    """Return ``unfold_i(weight * component) @ b`` for i = `mode`, of shape (I_i, block); equation (mulv2)."""
    u, v = component.u * (weight * component.s), component.v
    if component.mode == mode:
        product: Floats = u @ (v.T @ b)
        return product
    rank, block = component.rank, b.shape[1]
    before_i, after_i = around(shape, mode, without=component.mode)
    before_j, after_j = around(shape, component.mode, without=mode)
    small = u.T @ b.reshape(before_j, shape[component.mode], after_j * block)
    small = small.reshape(before_j, rank, after_j, block).transpose(0, 2, 1, 3)
    small = small.reshape(before_i, after_i * rank, block)
    return _sum_of_products(v.reshape(before_i, shape[mode], after_i * rank), small)


def _sum_of_products(first: Floats, second: Floats) -> Floats:
    """Return the sum of ``first[q] @ second[q]`` over q, of which only a few are held at a time."""
    rows, cols = first.shape[1], second.shape[2]
    total = np.zeros((rows, cols), dtype=np.result_type(first, second))
    step = max(1, CACHED // (rows * cols))
    for q in range(0, len(first), step):
        total += (first[q : q + step] @ second[q : q + step]).sum(axis=0)
    return total


def inner_product(first: Component, second: Component, shape: Shape) -> float:
    """Return the inner product of two components as tensors, neither of them made dense."""
    if min(first.rank, second.rank) == 0:
        return 0.0
    if first.mode == second.mode:
        return float(np.vdot((first.u * first.s).T @ (second.u * second.s), first.v.T @ second.v))
    # The right product leaves a small matrix; the left one would leave one of the size of v.
    return float(np.vdot(first.u * first.s, right_product(second, 1.0, shape, first.mode, first.v)))


def inner_product_of_sums(
    first: Sequence[WeightedComponent], second: Sequence[WeightedComponent], shape: Shape
) -> float:
    """Return the inner product of two sums of components; that of a sum with itself costs half."""
    pairs = {frozenset((id(x), id(y))): (x, y) for _, x in first for _, y in second}
    tasks = [partial(inner_product, x, y, shape) for x, y in pairs.values()]
    large = max(x.v.size for _, x in first) >= WORTH_SHARING
    answers = side_by_side(tasks) if large else [task() for task in tasks]
    known = dict(zip(pairs, answers, strict=True))
    return sum(a * b * known[frozenset((id(x), id(y)))] for a, x in first for b, y in second)
