"""Random shapes, components and sets of observed entries, shared by the property tests.

Hypothesis draws what a failure should be shrunk over (shapes, modes, ranks, which kind of set); the numbers
themselves come from a generator with a drawn seed.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from tensorfill.algebra.component import Component
from tensorfill.algebra.unfolding import columns, fold

ORDERS = range(2, 7)

weights = st.floats(-3, 3, allow_subnormal=False)
ranks = st.integers(0, 3)
blocks = st.integers(1, 18)  # rows of a part of a vector register, of one, of two and of more
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def shapes(draw, min_order=2, max_order=6, max_entries=2000, max_size=20):
    """Shapes of a given range of orders, modes of size 1 among them."""
    left = max_entries
    sizes = []
    for _ in range(draw(st.integers(min_order, max_order))):
        sizes.append(draw(st.integers(1, min(left, max_size))))
        left //= sizes[-1]
    return tuple(draw(st.permutations(sizes)))


def modes(shape):
    return st.integers(0, len(shape) - 1)


def random_component(rng, shape, mode, rank, dtype=np.float64, orthonormal=True):
    """Return a component of this rank, or of the largest that its unfolding can have."""
    rows, cols = shape[mode], columns(shape, mode)
    if orthonormal:
        rank = min(rank, rows, cols)
    u, v = rng.standard_normal((rows, rank)), rng.standard_normal((cols, rank))
    if orthonormal:
        u, v = np.linalg.qr(u)[0], np.linalg.qr(v)[0]
    s = np.sort(rng.uniform(0.5, 5, rank))[::-1]
    return Component(mode, *(np.ascontiguousarray(part, dtype=dtype) for part in (u, s, v)))


def random_components(rng, shape, most=3, dtype=np.float64):
    """Return a component of each mode, with ranks from 0 to `most`."""
    return [random_component(rng, shape, mode, rng.integers(most + 1), dtype) for mode in range(len(shape))]


def dense_component(component, shape, weight=1.0):
    """Return the tensor that a component stands for, straight from the formula, in float64."""
    u, s, v = (part.astype(np.float64) for part in (component.u, component.s, component.v))
    return weight * fold((u * s) @ v.T, component.mode, shape)


def dense_sum(components, weights, shape):
    """Return the tensor that a weighted sum of components stands for."""
    total = np.zeros(shape)
    for weight, component in zip(weights, components, strict=True):
        total += dense_component(component, shape, weight)
    return total


@st.composite
def observed(draw, shape, min_count=1):
    """Coordinates of distinct entries in C order: a few, many, all, a single one, or all within one slice."""
    size = math.prod(shape)
    rng = draw(generators)
    kind = draw(st.sampled_from(["some", "all", "single", "slice"]))
    if kind == "slice":
        mode = draw(modes(shape))
        inside = np.flatnonzero(np.indices(shape)[mode] == rng.integers(shape[mode]))
    else:
        inside = np.arange(size)
    most = {"single": 1, "all": size}.get(kind, len(inside))
    count = most if kind in ("single", "all") else draw(st.integers(1, most))
    count = max(count, min(min_count, size))
    if count > len(inside):
        inside = np.arange(size)
    positions = np.sort(rng.choice(inside, size=count, replace=False))
    return np.stack(np.unravel_index(positions, shape), axis=1)


def scatter(coords, values, shape):
    """Return the dense tensor with these values at these coordinates and zero elsewhere."""
    tensor = np.zeros(shape)
    tensor[tuple(coords.T)] = values
    return tensor
