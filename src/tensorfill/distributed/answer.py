"""The answer of a run on a cluster: the completed tensor, on the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._support.checks import coordinates
from .._support.types import Floats
from ..algebra.component import Component
from ..labels import Labels
from ..methods.base import History, Status
from ..methods.nort import Nort
from ..methods.search import Path
from ..models import FoldedLowRank
from .part import ALL, Term
from .rows import brought_together
from .session import Session
from .storage import SpreadStorage


@dataclass(frozen=True, eq=False)
class SpreadFit:
    """A completed tensor on the workers of a cluster.

    Parameters
    ----------
    session
        The table on the workers.
    model
        The answer, whose right factors are on the workers.
    method
        The method with the settings that were given and chosen.
    status
        Why it stopped.
    history
        Every iteration.
    path
        Every trial of the search, or None if nothing was left to choose.
    """

    session: Session
    model: Any
    method: Nort
    status: Status
    history: History
    path: Path | None = None

    @property
    def labels(self) -> Labels:
        """The names and labels of the modes."""
        return self.session.table.labels

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each component."""
        ranks: tuple[int, ...] = self.model.ranks
        return ranks

    def predict(self, coords: ArrayLike) -> Floats:
        """Return the values at coordinates, each from the worker that has its part.

        Parameters
        ----------
        coords : (n, ndim) array of integers
            One row for each entry, counted from 0.
        """
        cut, crew = self.session.cut, self.session.crew
        wanted = coordinates(coords, cut.shape)
        part = cut.part_of(wanted[:, cut.mode])
        order = np.argsort(part, kind="stable")
        pieces = np.split(wanted[order], np.searchsorted(part[order], np.arange(1, cut.parts)))
        answers = crew.ask_each("predict", list(zip(self._terms(), pieces, strict=True)))
        values = np.empty(len(wanted), self.session.table.dtype)
        values[order] = np.concatenate(answers)
        return values

    def folded(self) -> FoldedLowRank:
        """Return the model on this machine, which must have room for it."""
        components = [
            Component(part.mode, part.u, part.s, brought_together(self.session.cut, part.v, part.mode))
            for part in self.model.components
        ]
        return FoldedLowRank(self.session.cut.shape, components, self.model.weights)

    def close(self) -> None:
        """Leave the workers; a cluster that was started for this ends."""
        self.session.close()

    def _terms(self) -> list[list[Term]]:
        storage = SpreadStorage(self.session.crew, self.session.cut, ALL, self.model.modes)
        return storage.terms(self.model.components, self.model.weights)
