"""Regularisations tried on held-out entries: the path of lambda, for a look at it, and what it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ._support.checks import generator, whole_number
from ._support.parallel import blas_threads
from ._support.records import Records
from .losses import Loss, make_loss
from .observations import Observations
from .penalties import Penalty


@dataclass(frozen=True)
class PathPoint:
    """One regularisation that was tried.

    Parameters
    ----------
    cut, q
        The singular value below which everything goes, and how nonconvex the penalty is: theta as a share of the cut.
    lam
        Of each mode that may be regularised; 0 where it was left out.
    theta
        The parameter of the penalty, or None where it has none.
    modes
        The modes that may be regularised.
    ranks
        The ranks of the answer; 0 where a mode was left out.
    training, held_out
        The error on the entries that were fitted and on those that were not.
    iterations, seconds
        What it took.
    centred
        Whether the mean and the effect of each index were taken away first.
    mu
        How alike neighbours on graphs are to be, in terms of the mean degree.
    """

    cut: float
    q: float
    lam: tuple[float, ...]
    theta: float | None
    modes: tuple[int, ...]
    ranks: tuple[int, ...]
    training: float
    held_out: float
    iterations: int
    seconds: float
    centred: bool = False
    mu: float = 0.0


class Path(Records[PathPoint]):
    """The regularisations that were tried, as a sequence of records and, by name, as columns."""

    columns = tuple(field.name for field in fields(PathPoint))

    @property
    def best(self) -> PathPoint:
        """The one with the least error on the held-out entries; what is chosen is as good, but for chance."""
        return min(self, key=lambda point: point.held_out)


def path(
    data: Any,
    *,
    loss: str | Loss = "square",
    penalty: str | Penalty = "lsp",
    theta: float | str = "auto",
    q: float | None = None,
    points: int | None = None,
    modes: Sequence[int | str] | None = None,
    max_rank: int | Sequence[int] | None = None,
    validation: float | Observations = 0.1,
    holdout: str | Sequence[Any] = "auto",
    splits: int = 1,
    rng: int | np.random.Generator | None = None,
) -> Path:
    """Return the path of lambda: falling regularisations, each from the answer of the last, with their errors.

    This is the first part of what ``complete(data)`` does, for a look at how the errors and the ranks depend on lambda;
    `tensorfill.plots.path` draws it.

    Parameters
    ----------
    data, loss, penalty, theta, modes, max_rank, validation, holdout, splits, rng
        As in `tensorfill.complete`.
    q
        How nonconvex the penalty is, where theta is ``"auto"``: theta as a share of the cut.
    points
        So many regularisations, whatever their score; by default until the score has clearly worsened.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> tried = path(synthetic((20, 20, 20), rank=2, rng=0).observations, rng=0)
    >>> bool(tried.best.held_out < 0.5 * tried[0].held_out)
    True
    """
    from .adapters.registry import take_in
    from .choosing.holdout import make_splits
    from .choosing.trials import Chooser
    from .labels import by_number
    from .losses import prepare
    from .methods.nort import Nort
    from .penalties.family import make_family

    random = generator(rng)
    taken = take_in(data)
    observations, named = (
        taken.observations,
        by_number(taken.labels, modes=modes, laplacian=None, smooth=None, holdout=holdout),
    )
    made, values = prepare(make_loss(loss), observations.values)
    parts, _ = make_splits(observations.with_values(values), made, validation, named.holdout, splits, random)
    with blas_threads(1):
        chooser = Chooser(
            Nort(lam=1.0, modes=named.modes, max_rank=max_rank), parts, make_family(penalty, theta), random
        )
        chooser.trace(q, None if points is None else whole_number(points, "points", at_least=1))
    return Path(chooser.points)
