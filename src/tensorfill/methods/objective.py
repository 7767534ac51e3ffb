"""What NORT asks of the smooth part of an objective, wherever its entries are.

`Smooth` has what is known without looking at an entry, which is enough for settings. `Objective` can be minimised: it
evaluates points, and has the storage that they live in. Its type variables are those of the storage: E for a number at
each entry, and V for tall matrices. `Problem`, with its entries on this machine, is an ``Objective[Floats, Floats]``;
`tensorfill.distributed` has one on the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from .._support.types import Floats
from ..algebra.component import LowRank
from ..algebra.entries import Entries
from ..algebra.roughness import Roughness
from ..algebra.storage import Point, Storage
from ..algebra.tall import E, V
from ..losses import Loss
from ..models.base import Model
from .loop import ResumableSolver, Solver

if TYPE_CHECKING:
    from .problem import Problem


class Smooth(Protocol):
    """What is known of the smooth part of an objective without looking at an entry."""

    @property
    def observations(self) -> Entries:
        """What is known of the observed entries."""

    @property
    def loss(self) -> Loss:
        """How predictions are compared with them."""

    @property
    def roughness(self) -> Roughness | None:
        """The form of graph Laplacians, or None without graphs."""

    @property
    def offset(self) -> Floats | None:
        """What is added to the prediction of each observed entry before it is compared; None for nothing."""

    @property
    def here(self) -> Problem | None:
        """The same with its entries, for what works with single ones; None if they are on other machines."""

    @property
    def curvature(self) -> float:
        """The Lipschitz constant rho of the gradient."""

    @property
    def norm(self) -> float:
        """The norm of the observed values."""

    @property
    def slope_at_zero(self) -> float:
        """The norm of the gradient at zero."""

    def keeps_observed_columns(self, kind: str, modes: tuple[int, ...]) -> bool:
        """Return whether a storage of this kind keeps components at the observed columns only."""


class Objective(Smooth, Protocol[E, V]):
    """The smooth part of an objective, with the storage of its points."""

    def value(self, seen: E) -> float:
        """Return the sum of the losses for a tensor with the values `seen` at the observed entries."""

    def gradient(self, seen: E, scale: float = 1.0, *, overwrite: bool = False) -> E:
        """Return `scale` times the gradient of the losses at the observed entries, in place of `seen` if allowed."""

    def storage_for(self, kind: str, modes: tuple[int, ...]) -> Storage[E, V]:
        """Return where points live.

        Parameters
        ----------
        kind
            ``"sparse"``, ``"dense"``, ``"columns"``, or ``"auto"`` for what suits the size and density of the data.
        modes
            The modes of their components.
        """

    def components_of(self, start: Model | None, modes: Sequence[int], storage: Storage[E, V]) -> Sequence[LowRank[V]]:
        """Return one component for each mode, where the storage has them: that of `start`, or zero if it has none."""

    def model_of(self, point: Point[E, V], storage: Storage[E, V]) -> Model:
        """Return a point of a storage as a model."""

    def at_work(self) -> AbstractContextManager[object]:
        """Return a context for one run; what it has for each entry is gone at its end, and its models stay."""

    def watched(self, solver: ResumableSolver) -> Solver:
        """Return a solver at work on this, or one that does more around each of its steps."""
