"""The part of a tensor that a figure shows, and its entries; the whole tensor is never made dense."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import mode_number, whole_number
from .._support.types import Floats, Integers
from ..labels import Labels
from ..losses import Logistic
from ..observations import Observations
from .drawing import label_of, name_of, words

if TYPE_CHECKING:
    from ..fit import Fit

COLOUR_NAMES = ("colour", "color", "rgb", "channel", "channels")
"""A mode of three or four indices with one of these names holds the colours of pictures."""

SMALLEST_PICTURE = 16
"""Unlabelled arrays with fewer rows or columns than this are not treated as pictures."""

SPARSE = 0.05
"""If less than this share was observed, the indices with the most entries are drawn, else evenly spread ones."""


@dataclass(frozen=True, eq=False)
class View:
    """The modes drawn as rows, columns and colours, and the indices to draw.

    Parameters
    ----------
    along
        The mode that is sliced; None if the whole tensor is one slice.
    rows, columns
        The modes drawn as rows and as columns.
    colour
        The mode whose indices are red, green and blue, if any.
    fixed
        The index of every other mode.
    row_indices, column_indices
        The indices that are drawn, in increasing order.
    """

    along: int | None
    rows: int
    columns: int
    colour: int | None
    fixed: Mapping[int, int]
    row_indices: Integers
    column_indices: Integers

    def indices(self, ndim: int, index: int | None) -> list[Integers]:
        """Return the indices of each mode in the slice with this index."""
        taken = {mode: np.array([place]) for mode, place in self.fixed.items()}
        taken |= {self.rows: self.row_indices, self.columns: self.column_indices}
        if self.colour is not None:
            taken[self.colour] = np.arange(3)
        if self.along is not None:
            taken[self.along] = np.array([index])
        return [taken[mode] for mode in range(ndim)]

    def upright(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return a block, with an axis for every mode, as rows, columns and colours."""
        last = [] if self.colour is None else [self.colour]
        front = [mode for mode in range(block.ndim) if mode not in (self.rows, self.columns, *last)]
        turned = block.transpose(*front, self.rows, self.columns, *last)
        return turned.reshape(turned.shape[len(front) :])


def make_view(
    labels: Labels,
    shape: tuple[int, ...],
    observations: Observations | None,
    along: int | None,
    *,
    colour: int | None = None,
    at: Mapping[int, int] | None = None,
    most: int = 400,
) -> View:
    """Return the view of the slices of a mode: the two largest other modes, with at most `most` indices of each.

    Parameters
    ----------
    labels, shape, observations
        The labels, the shape and the observations of the tensor.
    along
        The mode that is sliced, or None.
    colour
        The mode of colours, if slices are pictures.
    at
        The index of modes that are neither drawn nor sliced; by default the one with the most entries.
    most
        The largest number of rows and columns; of more, the most observed indices or evenly spread ones are drawn.
    """
    rest = [mode for mode in range(len(shape)) if mode not in (along, colour)]
    if len(rest) < 2:
        raise ValueError(
            f"A slice must have two modes to draw, but a slice of {name_of(labels, along or 0)} of a tensor of shape "
            f"{shape} has fewer; choose another mode, or none for a matrix."
        )
    rows, columns = sorted(sorted(rest, key=lambda mode: -shape[mode])[:2])
    beyond = [mode for mode in rest if mode not in (rows, columns)]
    wanted = dict(at or {})
    unknown = [mode for mode in wanted if mode not in beyond]
    if unknown:
        raise ValueError(
            f"at must name modes that are not drawn, here {beyond}, but {unknown} were given; leave these out."
        )
    fixed = {mode: wanted.get(mode, _fullest(observations, mode)) for mode in beyond}
    chosen = (_chosen(observations, mode, shape[mode], most) for mode in (rows, columns))
    return View(along, rows, columns, colour, fixed, *chosen)


def colour_mode(fit: Fit) -> int | None:
    """Return the colour mode if the tensor is a picture or a movie, else None.

    It is a mode with one of `COLOUR_NAMES`; or, for an unlabelled array, the last of three modes, of size 3, if all
    values are from 0 to 1 or whole numbers from 0 to 255.
    """
    for mode, name in enumerate(fit.labels.names):
        if name.lower() in COLOUR_NAMES and fit.shape[mode] in (3, 4) and len(fit.shape) > 2:
            return mode
    plain = fit.labels.are_plain and len(fit.shape) == 3 and fit.shape[2] == 3
    if not plain or min(fit.shape[:2]) < SMALLEST_PICTURE:
        return None
    if fit.observations is None:
        return 2 if fit.bounds in ((0, 1), (0, 255)) else None
    if not fit.observations.is_dense:
        return None
    values = fit.observations.values
    light = values.min() >= 0 and values.max() <= 1
    stored = values.min() >= 0 and 1 < values.max() <= 255 and not (values % 1).any()
    return 2 if light or stored else None


def full_light(fit: Fit) -> float:
    """Return the value of white in a picture."""
    if fit.bounds is not None and math.isfinite(fit.bounds[1]):
        most = fit.bounds[1]
    else:
        most = math.inf if fit.observations is None else float(fit.observations.values.max())
    return 1.0 if most <= 1 else 65535.0 if 255 < most < math.inf else 255.0


def is_yes_or_no(fit: Fit) -> bool:
    """Return whether the data is binary, so that predictions lie between the two values."""
    return isinstance(fit.loss, Logistic)


def observed_block(fit: Fit, view: View, index: int | None) -> Floats:
    """Return the observed entries of a slice, with NaN for the missing ones."""
    seen = fit.observations
    if seen is None:
        raise ValueError("A fit that was read from a file does not hold the data; draw the fit before it is saved.")
    indices = view.indices(seen.ndim, index)
    if seen.is_dense:
        box = np.ix_(*indices)
        block = np.where(seen.mask[box], seen.array[box], np.nan)
    else:
        block = np.full([len(own) for own in indices], np.nan)
        inside, places = _inside(seen.coords, indices)
        block[tuple(places)] = seen.values[inside]
    upright: Floats = view.upright(block)
    return upright


def model_block(fit: Fit, view: View, index: int | None) -> Floats:
    """Return the model's value, on the scale of the data, of every entry of a slice."""
    indices = view.indices(len(fit.shape), index)
    coords = np.stack([grid.ravel() for grid in np.meshgrid(*indices, indexing="ij")], axis=1)
    block = np.asarray(fit.predict(coords)).reshape([len(own) for own in indices])
    upright: Floats = view.upright(block)
    return upright


def blocks(fit: Fit, view: View, index: int | None, original: NDArray[Any] | None = None) -> dict[str, Floats]:
    """Return the panels of a slice by title: the original if given, the observed entries, and the filled slice."""
    parts: dict[str, Floats] = {}
    if original is not None:
        parts["Original"] = view.upright(original[np.ix_(*view.indices(len(fit.shape), index))]).astype(np.float64)
    model = model_block(fit, view, index)
    if fit.observations is None:
        return parts | {"Model": model}
    seen = observed_block(fit, view, index)
    return parts | {"Observed": seen, "Filled": np.where(np.isnan(seen), model, seen)}


def checked_original(original: Any, shape: tuple[int, ...]) -> NDArray[Any] | None:
    """Return the original as an array of the tensor's shape."""
    if original is None:
        return None
    array = np.asarray(original)
    if array.shape != shape or array.dtype.kind not in "biuf":
        raise ValueError(
            f"original must be an array of numbers of shape {shape}, the shape of the fit, but an array of shape "
            f"{array.shape} and type {array.dtype} was given."
        )
    return array


def checked_index(labels: Labels, shape: tuple[int, ...], mode: int, index: Any) -> int:
    """Return an index of a mode as a number from 0; anything but a whole number is treated as a label."""
    if isinstance(index, bool) or not isinstance(index, int | np.integer):
        return int(labels.positions(mode, [index])[0])
    size = shape[mode]
    if not -size <= index < size:
        raise ValueError(
            f"index must be from {-size} to {size - 1} for {name_of(labels, mode)}, which has {size} indices, "
            f"but {int(index)} was given."
        )
    return int(index) % size


def checked_mode(labels: Labels, shape: tuple[int, ...], mode: Any) -> int:
    """Return a mode, given by its name or number, as a number from 0."""
    return mode_number(labels.mode(mode), "mode", len(shape))


def spread(size: int, most: int) -> Integers:
    """Return at most `most` indices, evenly spread from the first to the last.

    >>> spread(10, 4).tolist(), spread(3, 4).tolist(), spread(9, 1).tolist()
    ([0, 3, 6, 9], [0, 1, 2], [4])
    """
    most = whole_number(most, "most", at_least=1)
    if size <= most:
        return np.arange(size)
    return np.linspace(0, size - 1, most).round().astype(np.int64) if most > 1 else np.array([size // 2])


def first_shown(observations: Observations | None, view: View, among: Sequence[int]) -> int:
    """Return the position of the first slice to show: the middle one, or for sparse data the one with most entries."""
    if observations is None or view.along is None or observations.density >= SPARSE:
        return len(among) // 2
    coords = observations.coords
    for mode, index in view.fixed.items():
        coords = coords[coords[:, mode] == index]
    return next((among.index(index) for index in _by_count(coords[:, view.along]).tolist() if index in among), 0)


def slice_title(labels: Labels, view: View, index: int | None, most: int = 24) -> str:
    """Return the title of a slice: the labels of the modes that are not drawn."""
    shown = ({} if view.along is None or index is None else {view.along: index}) | dict(view.fixed)
    return ", ".join(
        f"{name_of(labels, mode)} = {words(label_of(labels, mode, own), most)}" for mode, own in shown.items()
    )


def _fullest(observations: Observations | None, mode: int) -> int:
    """Return the index of a mode that has the most entries."""
    return 0 if observations is None else int(_by_count(observations.coords[:, mode])[0])


def _by_count(indices: Integers) -> Integers:
    """Return the distinct indices, those that occur most often first; a mode may be far longer than their list."""
    present, counts = np.unique(indices, return_counts=True)
    return present[np.argsort(-counts, kind="stable")]


def _chosen(observations: Observations | None, mode: int, size: int, most: int) -> Integers:
    """Return the indices of a mode to draw."""
    if size <= most or observations is None or observations.density >= SPARSE:
        return spread(size, most)
    return np.sort(_by_count(observations.coords[:, mode])[:most])


def _inside(coords: Integers, indices: list[Integers]) -> tuple[Integers, list[Integers]]:
    """Return which entries lie in a block, and their positions in it."""
    inside = np.arange(len(coords))
    # Single indices first, because they leave few entries for the others.
    for mode in sorted(range(len(indices)), key=lambda mode: len(indices[mode])):
        column, wanted = coords[inside, mode], indices[mode]
        place = np.searchsorted(wanted, column).clip(max=len(wanted) - 1)
        inside = inside[wanted[place] == column]
    return inside, [np.searchsorted(own, coords[inside, mode]) for mode, own in enumerate(indices)]
