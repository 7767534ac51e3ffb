"""The singular values of a fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from .._support.types import Floats
from ..algebra.unfolding import unfold
from .drawing import (
    ABOVE,
    COLOURS,
    MARKERS,
    finished,
    grouped_numbers,
    light_grid,
    logarithmic,
    name_of,
    one_panel,
    plain_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit
    from ..models import Model


def singular_values(fit: Fit, ax: Axes | None = None, *, file: str | PathLike[str] | None = None) -> Axes:
    """Draw the singular values of a fitted model, in decreasing order: a line for each mode.

    For NORT and SoftImpute these are the singular values of the components, one for each regularised mode. For a Tucker
    or CP model they are those of each unfolding.

    Parameters
    ----------
    fit
        The fit; its model must have low rank, possibly with a mean and the effects of the indices.
    ax
        The axes to draw on; by default a new figure.
    file
        The PNG file to write, if any; an error leaves an existing file unchanged.

    Returns
    -------
    matplotlib.axes.Axes
        Its ``figure`` is the whole figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    found = spectra(fit.model)
    if not found:
        raise ValueError(
            f"singular_values needs a model of low rank, but the model of this fit is {fit.model!r}; "
            "fit with smooth=None, which adds no smooth field."
        )
    panel = one_panel(ax)
    from matplotlib.ticker import MaxNLocator

    every = np.concatenate([values for _, values in found])
    labels = fit.recipe.labels_within(fit.labels)
    for place, (mode, values) in enumerate(found):
        # Numbered from 1: the tenth singular value is at 10.
        panel.plot(
            np.arange(1, len(values) + 1),
            values,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=5,
            linewidth=1.4,
            label=f"{name_of(labels, mode)}: {len(values)}",
        )
    if logarithmic(every):
        panel.set_yscale("log")
        plain_numbers(panel.yaxis)
    else:
        panel.set_ylim(0, 1.08 * every.max(initial=0.0) or 1.0)
        grouped_numbers(panel.yaxis)
    panel.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    panel.set_xlim(0.5, max(max(len(values) for _, values in found), 1) + 0.5)
    panel.set_xlabel("number")
    panel.set_ylabel("singular value")
    light_grid(panel)
    panel.legend(ncols=3, **ABOVE)
    return finished(panel, file)


def spectra(model: Model) -> list[tuple[int, Floats]]:
    """Return modes with their singular values; none for a model that is stored entry by entry."""
    from ..models import Centred, FoldedColumns, FoldedLowRank, Merged, Placed, Tucker, Unfolded
    from ..models.cp import CPModel

    if isinstance(model, Centred | Merged | Placed | Unfolded):
        return spectra(model.model)
    if isinstance(model, FoldedLowRank | FoldedColumns):
        return [(part.mode, np.asarray(part.s, dtype=np.float64)) for part in model.components]
    if isinstance(model, Tucker):
        return list(enumerate(_of_tucker(model.core, model.factors)))
    if isinstance(model, CPModel):
        return list(enumerate(_of_cp(model.weights, model.factors)))
    return []


def _of_tucker(core: Floats, factors: Sequence[Floats]) -> list[Floats]:
    """Return the singular values of each unfolding of a Tucker model: those of its core between orthonormal factors."""
    for mode, factor in enumerate(factors):
        triangle = np.linalg.qr(np.asarray(factor, dtype=np.float64), mode="r")
        core = np.moveaxis(np.tensordot(triangle, core, axes=(1, mode)), 0, mode)
    return [np.linalg.svd(unfold(core, mode), compute_uv=False) for mode in range(core.ndim)]


def _of_cp(weights: Floats, factors: Sequence[Floats]) -> list[Floats]:
    """Return the singular values of each unfolding of a CP model.

    An unfolding is A diag(w) K^T, where K^T K is the elementwise product of the Gram matrices of the other factors. So
    its squared singular values are the eigenvalues of B K^T K B^T with B the triangular factor of A diag(w).
    """
    grams = [np.asarray(factor, dtype=np.float64).T @ factor for factor in factors]
    found = []
    for mode, factor in enumerate(factors):
        others: Floats = math.prod(gram for place, gram in enumerate(grams) if place != mode)  # type: ignore[assignment]
        triangle: Floats = np.linalg.qr(np.asarray(factor, dtype=np.float64) * weights, mode="r")  # type: ignore[assignment]
        squares = np.linalg.eigvalsh(triangle @ others @ triangle.T)[::-1]
        found.append(np.sqrt(np.maximum(squares, 0.0)))
    return found
