"""The factors of a fit with the names of the modes and of their indices, for interpretation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._support.html import card
from .._support.optional import need
from .._support.types import Floats
from .._support.words import label_in_words, written
from ..algebra.unfolding import unfold
from ..choosing.stages.fold import Fold
from ..choosing.stages.merge import Merge
from ..labels import Labels
from ..models import Blend, Centred, FoldedColumns, FoldedLowRank, Merged, Model, Placed, Tucker, Unfolded
from ..models.cp import CPModel

SHOWN = 3
"""The number of largest and of smallest indices of a column that are shown."""


@dataclass(frozen=True, eq=False)
class Factor:
    """The factor of one mode: a row for each index, a column for each component, the strongest first.

    Parameters
    ----------
    mode
        The name of the mode.
    keys
        The label of each index.
    values
        The columns, of unit length, of shape (indices, components). The entry of largest magnitude of each is positive.
    weights
        The strength of each component: its weight in a CP model, otherwise a singular value of the mode's unfolding.
    """

    mode: str
    keys: NDArray[Any]
    values: Floats
    weights: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of indices and of components."""
        return self.values.shape

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def largest(self, component: int, count: int = SHOWN) -> list[tuple[Any, float]]:
        """Return the labels with the largest entries of a component, and these entries.

        >>> Factor("day", np.array(["Mon", "Tue"]), np.array([[0.6], [0.8]]), np.array([5.0])).largest(0, 1)
        [('Tue', 0.8)]
        """
        column = self.values[:, component]
        best = np.argsort(-column, kind="stable")[:count]
        return list(zip(self.keys[best].tolist(), column[best].tolist(), strict=True))

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each index and a column for each component, counted from 1."""
        pandas = need("pandas", "tables")
        index = pandas.Index(self.keys, name=self.mode)
        return pandas.DataFrame(self.values, index, pandas.RangeIndex(1, self.shape[1] + 1, name="component"))

    def __repr__(self) -> str:
        return f"Factor({self.mode}: {self.shape[0]:,} indices, {self.shape[1]} components)"

    def _repr_html_(self) -> str:
        rows = [self._row(component) for component in range(self.shape[1])]
        head = ("component", "strength", "largest", "smallest")
        return card(f"Factor of {self.mode}", [("indices", f"{self.shape[0]:,}")], head, rows)

    def _row(self, component: int) -> tuple[str, ...]:
        column = self.values[:, component]
        order = np.argsort(column, kind="stable")
        few = min(SHOWN, len(order))
        ends = (order[::-1][:few], order[:few])
        said = (", ".join(f"{label_in_words(self.keys[at])} {column[at]:.2g}" for at in end) for end in ends)
        return (str(component + 1), written(float(self.weights[component])), *said)


@dataclass(frozen=True, eq=False)
class Factors(Mapping[str, Factor]):
    """The factors of a fit, by the name of their mode.

    Parameters
    ----------
    factors
        The factor of each mode that has one.
    core
        The core of a Tucker model, which combines the components of the modes; None for other models.
    mean, effects
        The mean and the effect of each index, by mode, if the data was centred.
    """

    factors: Mapping[str, Factor]
    core: Floats | None = field(default=None, repr=False)
    mean: float = 0.0
    effects: Mapping[str, Floats] = field(default_factory=dict, repr=False)

    def __getitem__(self, mode: str) -> Factor:
        return self.factors[mode]

    def __iter__(self) -> Iterator[str]:
        return iter(self.factors)

    def __len__(self) -> int:
        return len(self.factors)

    def _repr_html_(self) -> str:
        return "".join(factor._repr_html_() for factor in self.factors.values())


def factors_of(model: Model, labels: Labels) -> Factors:
    """Return the factors of a model, with its labels.

    Parameters
    ----------
    model
        A CP, Tucker or folded low-rank model, centred or not.
    labels
        The names of its modes and of their indices.

    Examples
    --------
    >>> model = CPModel((2, 3), [6.0], [[[0.6], [-0.8]], [[1.0], [0.0], [0.0]]])
    >>> found = factors_of(model, Labels(("side", "day"), (np.array(["left", "right"]), None)))
    >>> found["side"].to_pandas().round(1).to_dict()
    {1: {'left': -0.6, 'right': 0.8}}
    """
    if isinstance(model, Merged):
        return factors_of(model.model, Merge(model.groups).labels(labels) if model.groups else labels)
    if isinstance(model, Unfolded) and model.weights is None:
        return factors_of(model.model, Fold(model.mode, model.period).labels(labels))
    if isinstance(model, Placed):
        return factors_of(model.model, _of_present(model, labels))
    if isinstance(model, Centred):
        inner = factors_of(model.model, labels)
        effects = dict(zip(labels.names, model.offset.effects, strict=True))
        return Factors(inner.factors, inner.core, model.offset.mean, effects)
    core = None
    if isinstance(model, CPModel):
        columns = _of_cp(model)
    elif isinstance(model, Tucker):
        columns, core = _of_tucker(model)
    elif isinstance(model, FoldedLowRank | FoldedColumns):
        columns = {part.mode: (_upright(np.asarray(part.u))[0], np.asarray(part.s)) for part in model.components}
    else:
        if isinstance(model, Blend):
            raise ValueError(
                f"There are no factors: the answer is a blend of {len(model.models)} models; fit with blend=False, or "
                "with a method such as 'grow', for an answer of factors alone."
            )
        raise ValueError(
            "There are no factors: the answer is stored entry by entry, as a smooth field or an interpolation is; fit "
            "with smooth=None and a method such as 'grow' for an answer of factors alone."
        )
    named = {
        labels.names[mode]: Factor(labels.names[mode], _keys(labels, mode, len(values)), values, weights)
        for mode, (values, weights) in columns.items()
    }
    return Factors(named, core)


def _of_present(model: Placed, labels: Labels) -> Labels:
    """Return the labels of the slices that have entries, of which alone a model with long modes has factors."""
    keys = [
        own if each is None else each.kept if own is None else own[each.kept]
        for own, each in zip(labels.keys, model.slices, strict=True)
    ]
    return Labels(labels.names, tuple(keys), labels.value)


Columns = dict[int, tuple[Floats, Floats]]
"""The columns of a mode and their strengths, by mode."""


def _of_cp(model: CPModel) -> Columns:
    lengths = [np.linalg.norm(factor, axis=0) for factor in model.factors]
    weights = np.abs(model.weights) * math.prod(lengths)
    order = np.argsort(-weights, kind="stable")
    upright = [
        _upright(factor / np.where(length > 0, length, 1.0))
        for factor, length in zip(model.factors, lengths, strict=True)
    ]
    # Every column has a fixed sign, so the sign of a term is in its weight.
    signed = weights * np.sign(model.weights) * math.prod(signs for _, signs in upright)
    return {mode: (values[:, order], signed[order]) for mode, (values, _) in enumerate(upright)}


def _of_tucker(model: Tucker) -> tuple[Columns, Floats]:
    """Return the singular vectors of each unfolding, and the core that belongs to them."""
    turned = model.orthonormal()
    core: Floats = turned.core
    columns: Columns = {}
    for mode, factor in enumerate(turned.factors):
        flat = unfold(turned.core, mode)
        directions, strengths, _ = np.linalg.svd(flat, full_matrices=False)
        values, signs = _upright(factor @ directions)
        columns[mode] = values, strengths
        core = np.moveaxis(np.tensordot((directions * signs).T, core, axes=(1, mode)), 0, mode)
    return columns, core


def _upright(columns: Floats) -> tuple[Floats, Floats]:
    """Return columns whose entry of largest magnitude is positive, and the signs that were applied."""
    if columns.size == 0:
        return columns, np.ones(columns.shape[1])
    largest = columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])]
    signs = np.where(largest < 0, -1.0, 1.0).astype(columns.dtype)
    return columns * signs, signs


def _keys(labels: Labels, mode: int, size: int) -> NDArray[Any]:
    keys = labels.keys[mode]
    return np.arange(size) if keys is None else keys
