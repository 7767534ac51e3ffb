"""The settings of the growing method.

    minimise  sum over observed p of (X_p - O_p)^2

over tensors X in Tucker form, or over sums of outer products, by alternating least squares with a ridge that the noise
sets. There is no lambda: the ranks are chosen on held-out entries, from zero upwards. For a tensor of low rank, this
ends at the error of least squares started from the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...algebra.unfolding import large_modes
from ...models import CPModel, Model, Tucker
from ..base import Method
from ..cp_least_squares import CPLeastSquares
from ..problem import Problem
from ..settings import one_of, own_search, ranks, setting
from ..sweeps import Squares, SweepSolver
from ..terms import check_terms
from ..tucker_least_squares import LeastSquares
from .cp_form import cp_form
from .growth import Growth


@dataclass(frozen=True, kw_only=True)
class Grow(Method):
    """A model that grows by least squares, for the square loss.

    It suits tensors of low rank. Directions of the residuals that exceed the noise are appended mode by mode, and then
    single terms that no single mode shows, as long as the held-out error falls.

    Parameters
    ----------
    rank
        The rank of every mode (at most its size), one for each mode, or ``"auto"`` to choose it on held-out entries.
        Modes with fewer than eight indices keep all of them in Tucker form. For a sum of outer products, the number
        of terms. An answer to start from keeps its ranks.
    form
        ``"tucker"``; ``"cp"`` for a sum of outer products, which has fewer unknowns; or ``"auto"`` for the simplest
        that is no worse on held-out entries.
    max_iter, tol
        As in `Method`; an iteration is a sweep over all factors and the core.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((30, 30, 30), rank=2, noise=0, rng=0)
    >>> model = Grow(rank=2, form="cp").solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(abs(model.predict(data.test.coords) - data.test.values).max() < 1e-3)
    True
    """

    name: ClassVar[str] = "grow"
    searched_by: ClassVar[str] = "grow"
    square_only: ClassVar[bool] = True
    descends: ClassVar[bool] = False
    # With fewer, too few entries are held out to tell signal from noise, and all methods are fast.
    fewest_entries: ClassVar[int] = 500

    max_iter: int = 50
    tol: float = 1e-6
    rank: int | Sequence[int] | str = setting("auto", check=ranks(0), path=own_search)
    form: str = setting("auto", check=one_of("auto", "tucker", "cp"), path=own_search)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rank, Sequence) and self.rank != "auto" and self.form == "cp":
            raise ValueError(f"rank must be one number, the terms, for form 'cp', but {self.rank!r} was given.")

    def check(self, problem: Problem) -> None:
        """Raise an error for a loss other than the square loss, and for ranks of another order."""
        super().check(problem)
        if isinstance(self.rank, Sequence) and not isinstance(self.rank, str):
            order = problem.observations.ndim
            if len(self.rank) != order:
                raise ValueError(f"rank must be one number or one for each of the {order} modes, not {self.rank!r}.")
        if self.form == "cp" and not isinstance(self.rank, Sequence):
            check_terms(self.rank, problem.observations)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` has the form and the shape, and all indices of the modes that do not grow."""
        shape = problem.observations.shape
        if model.shape != shape or not isinstance(model, CPModel if self.form == "cp" else Tucker):
            return False
        free = large_modes(shape)
        return isinstance(model, CPModel) or all(
            mode in free or np.array_equal(model.factors[mode], np.eye(size)) for mode, size in enumerate(shape)
        )

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> SweepSolver:
        """Return a solver that starts at `start`, or at a model that grew to the ranks."""
        if start is None:
            start = self._grown(problem, rng)
        elif not self.can_start_from(start, problem):
            raise ValueError(f"start must be an answer of method '{self.name}' in the same form, but it is {start!r}.")
        # The ridge follows the noise, so there is no single function that decreases at every step.
        return SweepSolver(_squares(problem, start), falls=False)

    def _grown(self, problem: Problem, rng: np.random.Generator) -> Model:
        """Return a model grown to the ranks without held-out entries."""
        observations = problem.observations
        given = self.rank if isinstance(self.rank, Sequence) else [self.rank] * observations.ndim
        growth = Growth(problem, rng)
        model = growth.grown({mode: min(int(given[mode]), observations.shape[mode]) for mode in growth.free})
        return cp_form(model, int(given[0]), rng) if self.form == "cp" else model


def _squares(problem: Problem, start: Model) -> Squares:
    """Return least squares at a Tucker or a CP model."""
    observations = problem.observations
    if isinstance(start, CPModel):
        return CPLeastSquares(observations, start, problem.entries_by_index())
    if isinstance(start, Tucker):
        free = large_modes(start.shape)
        return LeastSquares(observations, start, free, shrink=True, entries=problem.entries_in_blocks(free))
    raise TypeError(f"start must be a Tucker or a CP model, but it is {start!r}.")
