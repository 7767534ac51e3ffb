"""The singular values that an answer consists of."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from .._support.types import Floats
from .drawing import ABOVE, COLOURS, MARKERS, light_grid, logarithmic, name_of, one_panel, plain_numbers, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit
    from ..models import Model


def singular_values(fit: Fit, ax: Axes | None = None, *, file: str | PathLike[str] | None = None) -> Axes:
    """Draw the singular values of the component of each regularised mode, from the largest down.

    Parameters
    ----------
    fit
        The fit; its model must be of low rank, alone or on top of a mean and the effects of the indices.
    ax
        The axes to draw on; a new drawing is made if none are given.
    file
        Where to write the drawing as PNG, if anywhere; an error leaves what stood there as it was.

    Returns
    -------
    matplotlib.axes.Axes
        Its ``figure`` is the whole drawing.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    found = spectra(fit.model)
    if not found:
        raise ValueError(
            f"singular_values needs a model of low rank, but this one is {fit.model!r}, which has no components; "
            "fit with smooth=None for one that has."
        )
    panel = one_panel(ax)
    from matplotlib.ticker import MaxNLocator

    every = np.concatenate([values for _, values in found])
    for place, (mode, values) in enumerate(found):
        # Drawn as whole numbers from 1: the tenth singular value is at 10.
        panel.plot(
            np.arange(1, len(values) + 1),
            values,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=5,
            linewidth=1.4,
            label=f"{name_of(fit.labels, mode)}: {len(values)}",
        )
    if logarithmic(every):
        panel.set_yscale("log")
        plain_numbers(panel.yaxis)
    else:
        panel.set_ylim(0, 1.08 * every.max(initial=0.0) or 1.0)
    panel.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    panel.set_xlim(0.5, max(max(len(values) for _, values in found), 1) + 0.5)
    panel.set_xlabel("number")
    panel.set_ylabel("singular value")
    light_grid(panel)
    panel.legend(ncols=3, **ABOVE)
    save(panel, file)
    return panel


def spectra(model: Model) -> list[tuple[int, Floats]]:
    """Return modes with the singular values of their parts of a model; none for one that has no such parts."""
    from ..models import Centred, FoldedLowRank, Tucker

    if isinstance(model, Centred):
        return spectra(model.model)
    if isinstance(model, FoldedLowRank):
        return [(part.mode, np.asarray(part.s, dtype=np.float64)) for part in model.components]
    if isinstance(model, Tucker):
        return list(enumerate(_of_core(model.core, model.factors)))
    return []


def _of_core(core: Floats, factors: Sequence[Floats]) -> list[Floats]:
    """Return the singular values of each unfolding of a Tucker model: those of its core between orthonormal factors."""
    for mode, factor in enumerate(factors):
        triangle = np.linalg.qr(np.asarray(factor, dtype=np.float64), mode="r")
        core = np.moveaxis(np.tensordot(triangle, core, axes=(1, mode)), 0, mode)
    return [
        np.linalg.svd(np.moveaxis(core, mode, 0).reshape(core.shape[mode], -1), compute_uv=False)
        for mode in range(core.ndim)
    ]
