"""A part of the tensor on a worker: its entries, its rows of the factors, and the steps of NORT on them.

Everything here runs on a worker, with the same compiled loops as on one machine, because a part is itself a tensor (see
`tensorfill.distributed.cutting`). Arrays that stay on the worker are named by numbers; the driver knows only
the names.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._support.types import Floats
from ..algebra.component import Component, WeightedComponent
from ..algebra.crossmode import inner_product
from ..algebra.operators import SparsePlusLowRank
from ..algebra.pattern import SparsePattern
from ..algebra.storage import beyond
from ..losses import Loss
from ..methods.problem import Problem
from ..models import FoldedLowRank
from ..observations import Observations
from .cutting import Cut

MIXER = np.uint64(0x9E3779B97F4A7C15)
"""An odd multiplier that mixes the bits of a number."""

FITTED, ALL = "fitted", "all"
"""The entries of a problem: those that are not held out, or all."""


@dataclass(frozen=True, eq=False)
class Term:
    """A weighted component as it is sent to a worker.

    Parameters
    ----------
    weight, mode, u, s
        The weight, the mode, the left vectors (for the split mode the rows of the part) and the singular values.
    v
        The name of the right vectors.
    """

    weight: float
    mode: int
    u: Floats
    s: Floats
    v: int


@dataclass(frozen=True)
class Inner:
    """The sums over the entries of a part that an objective needs.

    Parameters
    ----------
    loss
        The sum of the losses.
    products
        The inner products of each pair of components, on the part.
    """

    loss: float
    products: Floats

    def __add__(self, other: Inner) -> Inner:
        return Inner(self.loss + other.loss, self.products + other.products)


class Part:
    """The part of a tensor that a worker holds.

    Parameters
    ----------
    cut, number
        How the tensor is cut, and which part this is.
    observations
        The entries of the part, counted from its first slice along the split mode.
    loss
        How predictions are compared with the values.
    """

    def __init__(self, cut: Cut, number: int, observations: Observations, loss: Loss) -> None:
        self._cut, self.number, self._loss = cut, number, loss
        self._shape, self._all = cut.shape_of(number), observations
        self._held_out: Observations | None = None
        self._rows: dict[int, Floats] = {}
        self._seen: dict[int, Floats] = {}
        self._standing: dict[int, tuple[str, tuple[int, ...], list[WeightedComponent], Floats]] = {}
        self._problems: dict[str, Problem] = {}

    def __len__(self) -> int:
        return len(self._all)

    # The entries

    def digest(self) -> int:
        """Return a number that identifies the entries; the sum over all parts does not depend on the cut."""
        return int(self._mixed(self._all.values.astype(np.float64).view(np.uint64)).sum(dtype=np.uint64))

    def _mixed(self, start: Any) -> Any:
        """Return a pseudo-random number for each entry, which depends only on a start and the coordinates."""
        mixed = np.broadcast_to(start, len(self)).astype(np.uint64)
        for mode, column in enumerate(self._all.coords.T):
            first = self._cut.bounds[self.number] if mode == self._cut.mode else 0
            mixed = (mixed ^ (column.astype(np.uint64) + np.uint64(first))) * MIXER
            mixed ^= mixed >> np.uint64(29)
        return mixed

    def hold_out(self, share: float, seed: int) -> tuple[int, int, Floats]:
        """Draw the held-out entries; return the numbers of fitted and of held-out entries, and the held-out values.

        The draw does not depend on how the tensor is cut.
        """
        kept = (self._mixed(self._mixed(np.uint64(seed))) >> np.uint64(11)) >= share * 2**53
        # Every part needs entries to fit, so one whose entries were all drawn holds out none.
        if kept.sum() == 0:
            kept[:] = True
        self._problems.clear()
        self._problems[FITTED] = Problem(self._all if kept.all() else self._all.select(kept), self._loss)
        self._held_out = None if kept.all() else self._all.select(~kept)
        values = np.zeros(0, self._all.dtype) if self._held_out is None else self._held_out.values
        return int(kept.sum()), int((~kept).sum()), values

    def take_all(self) -> None:
        """Fit all entries from now on, and free the memory of the split."""
        self._problems.clear()
        self._standing.clear()
        self._problems[ALL] = Problem(self._all, self._loss)

    def squared_slope(self, which: str) -> float:
        """Return the squared norm of the gradient at zero."""
        problem = self._problems[which]
        slope = problem.gradient(np.zeros_like(problem.observations.values)).astype(np.float64, copy=False)
        return float(slope @ slope)

    def squared_norm(self, which: str) -> float:
        """Return the squared norm of the values."""
        values = self._problems[which].observations.values.astype(np.float64, copy=False)
        return float(values @ values)

    # Rows of the right factors

    def put(self, name: int, rows: Floats) -> None:
        """Store an array under a name."""
        self._rows[name] = rows

    def get(self, name: int) -> Floats:
        """Return the array with a name."""
        return self._rows[name]

    def multiply(self, name: int, rows: int, small: Floats) -> None:
        """Store the product of rows with a small matrix."""
        self._rows[name] = self._rows[rows] @ small

    def add(self, name: int, first: int, second: int) -> None:
        """Store the sum of two arrays of rows."""
        self._rows[name] = self._rows[first] + self._rows[second]

    def overlaps(self, pairs: Sequence[tuple[int, int, bool]]) -> tuple[Floats, ...]:
        """Return the small products of arrays of rows; the sum over all parts is the whole product.

        The third item of a pair says whether every part has all rows; then the first part has the whole product.
        """

        def product(first: int, second: int, everywhere: bool) -> Floats:
            own = slice(0 if everywhere and self.number else None)
            small: Floats = self._rows[first][own].T @ self._rows[second][own]
            return small

        return tuple(product(*pair) for pair in pairs)

    def forget(self, names: Sequence[int]) -> None:
        """Drop the arrays with these names."""
        for name in names:
            self._rows.pop(name, None)
            self._seen.pop(name, None)
            self._standing.pop(name, None)

    def names(self) -> list[int]:
        """Return the names of all arrays."""
        return sorted([*self._rows, *self._seen, *self._standing])

    def keep_all(self, folder: str, snapshot: str) -> None:
        """Write all arrays to a folder that another worker can read."""
        arrays: dict[str, Any] = {f"rows {name}": array for name, array in self._rows.items()}
        arrays |= {f"seen {name}": array for name, array in self._seen.items()}
        with _kept(folder, snapshot, self.number).open("wb") as stream:
            np.savez(stream, **arrays)

    def recall_all(self, folder: str, snapshot: str) -> None:
        """Replace all arrays by those of a snapshot."""
        self.forget(self.names())
        with np.load(_kept(folder, snapshot, self.number), allow_pickle=False) as arrays:
            for name in arrays.files:
                kind, _, number = name.partition(" ")
                (self._rows if kind == "rows" else self._seen)[int(number)] = arrays[name]

    def drop_kept(self, folder: str, snapshot: str) -> None:
        """Remove a snapshot."""
        _kept(folder, snapshot, self.number).unlink(missing_ok=True)

    # The steps of NORT

    def enter(self, name: int, which: str, modes: tuple[int, ...], terms: Sequence[Term]) -> Inner:
        """Evaluate a sum of components at the entries, store the values, and return what an objective needs."""
        problem, pattern = self._problems[which], self._pattern(which, modes)
        components = self._components(terms)
        seen = pattern.entries(components)
        self._seen[name] = seen
        pairs = itertools.combinations([part for _, part in components], 2)
        products = np.array([inner_product(first, second, self._shape) for first, second in pairs], dtype=np.float64)
        return Inner(problem.value(seen), products)

    def extrapolate(self, name: int, now: int, before: int, gamma: float) -> None:
        """Store the values of X_t + gamma (X_t - X_{t-1}) at the entries."""
        self._seen[name] = beyond(self._seen[now], self._seen[before], gamma)

    def value(self, which: str, seen: int) -> float:
        """Return the sum of the losses for values at the entries."""
        return self._problems[which].value(self._seen[seen])

    def slope(self, name: int, which: str, seen: int, scale: float) -> None:
        """Store a multiple of the gradient for values at the entries."""
        self._seen[name] = self._problems[which].gradient(self._seen[seen], scale)

    def stand(self, name: int, which: str, modes: tuple[int, ...], terms: Sequence[Term], change: int) -> None:
        """Store the point Z, a sum of components plus a change at the entries, whose unfoldings are needed next."""
        self._standing[name] = which, modes, self._components(terms), self._seen[change]

    def round_trip(self, name: int, mode: int, a: Floats, block: int) -> tuple[Floats, Floats]:
        """Compute B = M^T `a` for the unfolding M of Z along a mode; return B^T B and M B, and store B."""
        trip = self._unfolding(name, mode).round_trip(a, use=f"block {mode}")
        self._rows[block] = trip.block
        return trip.gram, trip.product

    def there(self, name: int, mode: int, a: Floats) -> Floats:
        """Return M^T `a` for the rows of the part; the sum over all parts is B."""
        return self._unfolding(name, mode).left(a).copy()

    def back(self, b: Floats, name: int, mode: int, block: int) -> tuple[Floats, Floats]:
        """Return B^T B and the rows of M B of the part, and store B."""
        self._rows[block] = b
        return b.T @ b, self._unfolding(name, mode).right(b)

    def right(self, name: int, mode: int, rows: int) -> Floats:
        """Return the unfolding of Z times stored rows."""
        return self._unfolding(name, mode).right(self._rows[rows])

    # Predictions of a model

    def held_out_losses(self, terms: Sequence[Term]) -> Floats:
        """Return the loss of a model at each held-out entry of the part."""
        if self._held_out is None:
            return np.zeros(0, self._all.dtype)
        return self._loss.value(self.model(terms).predict(self._held_out.coords), self._held_out.values)

    def some_losses(self, which: str, terms: Sequence[Term], every: int) -> Floats:
        """Return the loss of a model at some of the fitted entries."""
        problem = self._problems[which]
        some = slice(None, None, every)
        return problem.losses(self.model(terms).predict(problem.observations.coords[some]), some)

    def model(self, terms: Sequence[Term]) -> FoldedLowRank:
        """Return a model of the slices of the part."""
        components = self._components(terms)
        return FoldedLowRank(self._shape, [part for _, part in components], [weight for weight, _ in components])

    def _components(self, terms: Sequence[Term]) -> list[WeightedComponent]:
        return [(term.weight, Component(term.mode, term.u, term.s, self._rows[term.v])) for term in terms]

    def _pattern(self, which: str, modes: tuple[int, ...]) -> SparsePattern:
        return self._problems[which].pattern(modes)

    def _unfolding(self, name: int, mode: int) -> SparsePlusLowRank:
        which, modes, components, change = self._standing[name]
        return SparsePlusLowRank(self._pattern(which, modes), mode, components, change)


def _kept(folder: str, snapshot: str, part: int) -> Path:
    return Path(folder) / f"snapshot-{snapshot}-part-{part:05d}.npz"
