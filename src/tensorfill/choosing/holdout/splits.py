"""How the entries are divided into fitted and held-out ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._support.checks import real_number, whole_number
from ..._support.clock import Clock
from ..._support.types import Floats
from ...graphs.reduction import Graph
from ...losses import Loss
from ...methods.problem import Problem
from ...models import Model
from ...observations import Observations
from ..stages.base import Before, Reduced
from ..stages.centre import Centre
from ..stages.graphs import Graphs, rough
from .judge import Likeness
from .kinds import Holdout, make_holdout

ENOUGH = 20_000
"""About this many fitted entries suffice to estimate the training error."""

FEWEST_TO_CHOOSE = 10
"""With fewer observed entries than this, none are held out to choose settings."""

ENOUGH_HELD_OUT, MOST_SPLITS = 300, 5
"""With fewer held-out entries than this, the choice is partly chance, so there are more splits, up to the second."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """How entries are held out to choose settings and to estimate error bars.

    Parameters
    ----------
    validation
        The fraction of entries to hold out, or the held-out entries themselves.
    holdout
        What is held out together: ``"auto"`` for entries like the missing ones (single entries, whole fibres, or gaps
        of any form); ``"entry"`` for single entries; ``"gaps"`` for entries under the gaps of the data, moved
        to another place; ``("fibre", mode)`` for fibres along a mode; ``("slice", mode)`` for slices, one for each
        index of a mode; or the sizes of a block.
    splits
        The number of random splits, which hold out different entries as far as possible. Settings are chosen by the
        error over all splits, which run in parallel, and error bars are based on all of them. ``"auto"`` is as many as
        it takes to hold out some 300 entries, at most 5, and thus 1 for all but small data.

    Examples
    --------
    >>> Choice(holdout=("fibre", 2), splits=3)
    Choice(validation=0.1, holdout=('fibre', 2), splits=3)
    """

    validation: float | Observations = 0.1
    holdout: str | Sequence[Any] = "auto"
    splits: int | str = "auto"

    def __post_init__(self) -> None:
        if self.splits != "auto":
            whole_number(self.splits, "splits, unless it is 'auto',", at_least=1)
        if not isinstance(self.validation, Observations):
            real_number(self.validation, "validation", above=0, below=1)
        elif self.splits not in ("auto", 1):
            raise ValueError(f"splits must be 1 if validation is the entries themselves, but {self.splits} was given.")


@dataclass(frozen=True, eq=False)
class Split(Reduced):
    """The fitted entries, as a problem, and the held-out entries.

    Parameters
    ----------
    problem, lifts
        The problem of the fitted entries, and the maps from it back to the whole tensor.
    held_out
        The held-out entries of the whole tensor.
    mu
        The weight of the graphs, if it is given; None if it is left to a search.
    """

    held_out: Observations = field(kw_only=True)
    mu: float | None = field(default=None, kw_only=True)
    _behind: dict[tuple[Before, ...], Split] = field(default_factory=dict, init=False, repr=False)

    def behind(self, stages: tuple[Before, ...], clock: Clock) -> Split:
        """Return the split that some stages make, which is computed once."""
        if stages and stages not in self._behind:
            self._behind[stages] = self.by(stages, clock)
        return self._behind[stages] if stages else self

    def centred(self, clock: Clock) -> Split:
        """Return the split of the residuals of a mean and effects."""
        return self.behind((Centre(),), clock)

    @property
    def held_out_values(self) -> Floats:
        """The values of the held-out entries."""
        return self.held_out.values

    def predict(self, model: Model) -> Floats:
        """Return the predictions of a model of the problem at the held-out entries."""
        return self.whole(model).predict(self.held_out.coords)

    @property
    def unseen(self) -> Observations | None:
        """The held-out entries in the coordinates of the problem; None if it leaves out slices."""
        return self.entries(self.held_out)

    def losses(self, model: Model) -> Floats:
        """Return the loss of a model of the problem at each held-out entry."""
        return self.problem.loss.value(self.predict(model), self.held_out.values)

    def training_losses(self, model: Model) -> Floats:
        """Return the loss of a model of the problem at fitted entries, or at a sample of them if there are many."""
        observations = self.problem.observations
        some = slice(None, None, max(1, len(observations) // ENOUGH))
        return self.problem.losses(model.predict(observations.coords[some]), some)

    def at(self, mu: float) -> Problem:
        """Return the problem with the roughness of its graphs, which have this weight unless theirs is given."""
        return rough(self.problem, self.graphs, mu if self.mu is None else self.mu)


def losses_of(splits: Sequence[Split], models: Sequence[Model]) -> Floats:
    """Return the loss at each held-out entry of every split, in order."""
    return np.concatenate([split.losses(model) for split, model in zip(splits, models, strict=True)])


def make_splits(
    observations: Observations,
    loss: Loss,
    choice: Choice,
    rng: np.random.Generator,
    graphs: Mapping[int, Graph] | None = None,
) -> tuple[list[Split], Holdout]:
    """Return the splits, and how entries were held out; see `fitted_and_held_out`."""
    parts, how = fitted_and_held_out(observations, choice, rng, graphs)
    return [whole_split(*part, loss, graphs) for part in parts], how


def fitted_and_held_out(
    observations: Observations,
    choice: Choice,
    rng: np.random.Generator,
    graphs: Mapping[int, Graph] | None = None,
    over: tuple[int, ...] = (),
) -> tuple[list[tuple[Observations, Observations]], Holdout]:
    """Return the fitted and the held-out entries of every split, and how entries were held out.

    Parameters
    ----------
    observations
        The data.
    choice
        What to hold out, and how often.
    rng
        The random generator for the held-out entries.
    graphs
        Laplacians by mode. If a mode with a graph has slices without any entry, whole slices are held out too.
    over
        The modes of time, if some times have no entry.
    """
    validation = choice.validation
    if isinstance(validation, Observations):
        if validation.shape != observations.shape:
            raise ValueError(
                f"validation must have the shape of the data, {observations.shape}, but it has {validation.shape}."
            )
        return [(observations, validation)], Holdout(None, observations.shape)
    if len(observations) < FEWEST_TO_CHOOSE:
        raise ValueError(
            f"At least {FEWEST_TO_CHOOSE} observed entries are needed to hold some out and choose settings by them, "
            f"but there are {len(observations)}; give every setting of the method, such as lam."
        )
    for mode in graphs or ():
        if choice.holdout == "auto" and len(np.unique(observations.coords[:, mode])) < observations.shape[mode]:
            choice = replace(choice, holdout=("slice", mode))
    how = make_holdout(choice.holdout, observations, validation, over)
    held_out = [how.drawn(observations, validation, rng)]
    enough = min(math.ceil(ENOUGH_HELD_OUT / np.count_nonzero(held_out[0])), MOST_SPLITS)
    while len(held_out) < (choice.splits if isinstance(choice.splits, int) else enough):
        held_out.append(how.drawn(observations, validation, rng, np.sum(held_out, axis=0)))
    if choice.holdout in ("auto", "gaps"):
        how = replace(how, auc=Likeness(observations, over=over).auc(*held_out, weighted=True))
    return [(observations.select(~each), observations.select(each)) for each in held_out], how


def whole_split(fitted: Observations, held_out: Observations, loss: Loss, graphs: Mapping[int, Graph] | None) -> Split:
    """Return the split with these entries, reduced to the nonempty slices if there are graphs."""
    split = Split(Problem(fitted, loss), held_out=held_out)
    return split.by([Graphs(graphs)], Clock()) if graphs else split
