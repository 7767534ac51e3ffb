"""The way back from a tensor whose modes were merged or folded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..._support.types import Integers
from ...models import Model, Placed
from ...models.slices import Slices
from .base import Lift


@dataclass(frozen=True, eq=False)
class Rearranged(Lift):
    """Looks entries up in a tensor with other modes, of which some slices may have no entry.

    Parameters
    ----------
    present
        The slices with entries, by mode of that tensor, where others have none.
    """

    present: Mapping[int, Integers]

    def model(self, model: Model) -> Model:
        """Return the model of the tensor; slices without any entry are the mean of the others."""
        if self.present:
            sizes = list(enumerate(model.shape))
            kept = model.restrict([self.present.get(place, np.arange(size)) for place, size in sizes])
            slices = [Slices(size, self.present[place]) if place in self.present else None for place, size in sizes]
            model = Placed(kept, slices)
        return self.core(model)

    @abstractmethod
    def core(self, model: Model) -> Model:
        """Return the same with those slices as the method has them."""


def without_slices_of_others(model: Model) -> Model:
    """Return what a method gave, of a model that `Rearranged.model` made of it."""
    return model.part([np.arange(size) for size in model.shape]) if isinstance(model, Placed) else model
