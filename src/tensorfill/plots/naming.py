"""The names of methods in figures, and the modes that their ranks belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._support.table import METHODS
from ..labels import Labels
from .drawing import name_of

if TYPE_CHECKING:
    from ..fit import Fit
    from ..models import Model

METHODS_IN_WORDS = {name: words for name, (_, words) in METHODS.items()}
"""The methods of the registry, by name."""


def method_name(method: Any) -> str:
    """Return the name of a method in words.

    >>> from tensorfill import Nort
    >>> method_name(Nort())
    'NORT'
    """
    from ..io.typed import Unsaved

    # A fit read from a file has only the class name of a user-defined method.
    own = method.name if isinstance(method, Unsaved) else type(method).__name__
    return METHODS_IN_WORDS.get(method.name, own)


def rank_names(labels: Labels | None, modes: Sequence[int], count: int) -> list[str]:
    """Return the names of `count` ranks: those of their modes, if there is one for each.

    Parameters
    ----------
    labels
        The names of all modes; None if only their numbers are known.
    modes
        The modes that the ranks belong to; empty for a method without regularised modes.
    count
        The number of ranks.

    Examples
    --------
    >>> labels = Labels(("station", "month", "hour"), (None,) * 3)
    >>> rank_names(labels, (0, 2), 2), rank_names(labels, (), 3), rank_names(labels, (), 1), rank_names(None, (), 2)
    (['station', 'hour'], ['station', 'month', 'hour'], ['rank'], ['mode 0', 'mode 1'])
    """
    order = len(labels.names) if labels is not None else 0 if modes else count
    found = _modes_of_ranks(modes, count, order)
    if len(found) != count:
        return ["rank"] if count == 1 else [f"rank {place}" for place in range(count)]
    return [f"mode {mode}" if labels is None else name_of(labels, mode) for mode in found]


def rank_modes(fit: Fit) -> tuple[int, ...]:
    """Return the mode that each rank of a fit belongs to; none for a model such as CP, which has a single rank."""
    return _modes_of_ranks(ranked_modes(fit), len(fit.ranks), len(fit.recipe.labels_within(fit.labels).names))


def _modes_of_ranks(modes: Sequence[int], count: int, order: int) -> tuple[int, ...]:
    """Return the modes of `count` ranks: those given, or all modes of a tensor of this order, or none."""
    if len(modes) == count:
        return tuple(modes)
    return tuple(range(order)) if count == order > 1 else ()


def ranked_modes(fit: Fit) -> tuple[int, ...]:
    """Return the modes that the ranks of a fit belong to: the regularised ones, or those of the model's components."""
    return fit.modes or _component_modes(fit.model)


def _component_modes(model: Model) -> tuple[int, ...]:
    from ..models import Centred, FoldedColumns, FoldedLowRank, Merged, Placed, Unfolded

    if isinstance(model, Centred | Merged | Placed | Unfolded):
        return _component_modes(model.model)
    return tuple(part.mode for part in model.components) if isinstance(model, FoldedLowRank | FoldedColumns) else ()
