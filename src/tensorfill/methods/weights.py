"""The axes of a weight, such as a ridge, that is chosen after the ranks."""

from __future__ import annotations

from collections.abc import Sequence

from .base import Axis


def weight_axes(
    setting: str, first: float, *paths: Sequence[float], unit: float = 1.0, ranks_were_tried: bool
) -> list[Axis]:
    """Return the axes of a weight.

    Parameters
    ----------
    setting
        The name of the weight.
    first
        Its value while ranks are tried. If they are not, the first path starts with it.
    *paths
        The values of each path.
    unit
        The factor of all values.
    ranks_were_tried
        Whether an axis of ranks precedes it.

    Examples
    --------
    >>> [list(axis.values) for axis in weight_axes("ridge", 1.0, (3.0, 10.0), (0.3,), ranks_were_tried=False)]
    [[1.0, 3.0, 10.0], [0.3]]
    """
    begun = [] if ranks_were_tried else [first]
    return [
        Axis(setting, [unit * level for level in (begun if number == 0 else []) + list(path)], meanwhile=unit * first)
        for number, path in enumerate(paths)
    ]
