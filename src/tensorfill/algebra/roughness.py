"""The roughness of a tensor along its modes: quadratic forms of graph Laplacians.

    q(X) = 1/2 <X, S X>,    S = sum_m S_m,    S_m acting along mode m.

For mu_m Tr(Y^T G_m Y), Y = unfold_m X (Section 4.2 of the paper), S_m = 2 mu_m G_m. This explicit form has the
curvature 2 mu |G|, which forces short steps. The resolvent form is its Moreau envelope with the parameter t,

    S_m = t (I - R_m) = 2 mu_m G_m R_m,    R_m = (I + 2 mu_m G_m / t)^-1.

Along eigenvectors that are smooth on the graph it has nearly the curvature of the Laplacian, and along all others less
than t. So steps stay long for any mu.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from .._support.fingerprints import fingerprint
from .._support.types import Floats
from .component import Component, WeightedComponent
from .unfolding import Shape, sizes_around

Operator = Callable[[Floats], Floats]
"""A symmetric matrix, given as the function that multiplies it with a block of columns."""


@dataclass(frozen=True, eq=False)
class Roughness:
    """The form 1/2 <X, S X>.

    Parameters
    ----------
    parts
        The operators S_m, by mode.
    curvature
        An upper bound of the largest eigenvalue of S.
    """

    parts: Mapping[int, Operator]
    curvature: float

    @property
    def fingerprint(self) -> str:
        """A string that identifies the graphs and their weights."""
        return fingerprint(sorted(self.parts), self.curvature)

    def of_dense(self, tensor: Floats) -> Floats:
        """Return S X for a dense tensor X."""
        out = np.zeros_like(tensor)
        for mode, part in self.parts.items():
            before, after = sizes_around(tensor.shape, mode)
            out += _along(part, tensor.reshape(before, tensor.shape[mode], after)).reshape(tensor.shape)
        return out

    def of_terms(self, terms: Sequence[WeightedComponent], shape: Shape) -> list[WeightedComponent]:
        """Return S X for a sum of components X, as a sum of components whose factors are not orthonormal."""
        rough = []
        for weight, component in terms:
            if component.rank == 0:
                continue
            if component.mode in self.parts:
                u = self.parts[component.mode](component.u)
                rough.append((weight, Component(component.mode, u, component.s, component.v)))
            if any(mode != component.mode for mode in self.parts):
                v = self._of_right_factor(component, shape)
                rough.append((weight, Component(component.mode, component.u, component.s, v)))
        return rough

    def stepped(self, terms: Sequence[WeightedComponent], shape: Shape, step: float) -> list[WeightedComponent]:
        """Return (I - step S) X for a sum of components X, with one component for each component of X."""
        return [(weight, self._stepped(component, shape, step)) for weight, component in terms]

    def _stepped(self, component: Component, shape: Shape, step: float) -> Component:
        """Return (I - step S) X for one component X.

        S changes its left factor along its own mode and its right factor along the others. If both change, the factors
        are concatenated, and the rank doubles.
        """
        if component.rank == 0:
            return component
        mode, u, s, v = component.mode, component.u, component.s, component.v
        along_others = any(other != mode for other in self.parts)
        new_v = v - step * self._of_right_factor(component, shape) if along_others else v
        if mode not in self.parts:
            return Component(mode, u, s, new_v)
        change = -step * self.parts[mode](u)
        if not along_others:
            return Component(mode, u + change, s, v)
        return Component(mode, np.hstack([u, change]), np.concatenate([s, s]), np.hstack([new_v, v]))

    def _of_right_factor(self, component: Component, shape: Shape) -> Floats:
        """Return the sum of S_m v over all modes m except the component's own; S_m acts on the axis of m inside v."""
        out = np.zeros_like(component.v)
        for mode, part in self.parts.items():
            if mode != component.mode:
                before, after = sizes_around(shape, mode, without=component.mode)
                blocks = component.v.reshape(before, shape[mode], after * component.rank)
                out += _along(part, blocks).reshape(component.v.shape)
        return out


def _along(part: Operator, blocks: Floats) -> Floats:
    """Return the product of a matrix with the middle axis of an array of order three."""
    before, size, after = blocks.shape
    if before == 1:
        return part(blocks[0])[None]
    columns = np.ascontiguousarray(blocks.transpose(1, 0, 2)).reshape(size, before * after)
    return part(columns).reshape(size, before, after).transpose(1, 0, 2)


def explicit(graph: scipy.sparse.csr_array, mu: float, largest: float) -> tuple[Operator, float]:
    """Return S = 2 mu G and its curvature, for a Laplacian whose largest eigenvalue is `largest`."""
    scaled = (2 * mu) * graph
    return (lambda block: np.asarray(scaled @ block, dtype=block.dtype)), 2 * mu * largest


def resolvent(graph: scipy.sparse.csr_array, mu: float, largest: float, steepest: float) -> tuple[Operator, float]:
    """Return S = t (I - (I + 2 mu G / t)^-1) and its curvature, with t = `steepest`; the matrix is factored once."""
    ratio = 2 * mu / steepest
    size = graph.shape[0]
    factored = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(scipy.sparse.eye(size) + ratio * graph))

    def part(block: Floats) -> Floats:
        wide = np.ascontiguousarray(block, dtype=np.float64)
        return np.asarray(steepest * (wide - factored.solve(wide)), dtype=block.dtype)

    return part, steepest * ratio * largest / (1 + ratio * largest)
