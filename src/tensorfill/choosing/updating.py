"""More data for a fit: new entries, and new indices of a mode, without a new search.

The method, its settings, centring, the smooth field and the polish stay as they were chosen. The method starts from its
earlier answer, in which a new index is the mean of the others. Intervals rest on the earlier held-out errors and on
those at some of the new entries, which the earlier fit did not see and a second one leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .._support.checks import listed
from .._support.clock import Clock
from .._support.finding import UNKNOWN
from .._support.ordering import joint_keys
from .._support.types import Floats, Integers
from ..graphs import KernelGraph
from ..labels import UNNAMED, Labelled, Labels, shown
from ..losses import Square
from ..methods.base import Result, Status
from ..methods.problem import Problem
from ..models import Model, Placed
from ..observations import Observations
from .completing import Answer, filled
from .context import Context
from .error_bars import ErrorBars
from .holdout.held_out import HeldOut
from .recipe import Recipe
from .run import run
from .stages.base import Lift, Reduced, merging
from .stages.centre import is_of_differences
from .stages.empty_slices import EmptySlices
from .stages.graphs import Graphs, checked_graphs
from .stages.present_slices import Places, PresentSlices
from .stages.whiten import Whiten

HELD_OUT = 0.1
"""The share of the new entries that is held out for intervals."""

FEWEST = 200
"""With fewer new entries than this, none are held out, and intervals rest on the earlier errors."""


SOURCES, ENTRIES = 300, 500
"""The largest numbers of old slices, and of entries of a new one, that determine the start of a new slice."""

RIDGE = 1e-4
"""The ridge of their weights, relative to the mean square of the old slices."""

TIGHTER = 0.1
"""The tolerance of an update, as a share of that of the method: a few new slices change the objective little."""


@dataclass(frozen=True, eq=False)
class Grown:
    """Old and new data together.

    Parameters
    ----------
    labels
        The labels of all indices.
    sizes
        The number of old indices of each mode.
    places
        For each mode, the new number of each old index; None if all keep their numbers.
    old, new
        The old entries, without those that are observed anew, and the new ones, by the new numbers; None for none.
    """

    labels: Labels
    sizes: tuple[int, ...]
    places: tuple[Integers | None, ...]
    old: Observations | None
    new: Observations

    def known(self, mode: int) -> Integers:
        """Return the new number of each old index of a mode."""
        places = self.places[mode]
        return np.arange(self.sizes[mode]) if places is None else places

    def fresh(self, mode: int) -> Integers:
        """Return the indices of a mode that are new."""
        if self.places[mode] is None:
            return np.arange(self.sizes[mode], self.new.shape[mode])
        return np.setdiff1d(np.arange(self.new.shape[mode]), self.known(mode))

    @property
    def all(self) -> Observations:
        """All entries."""
        if self.old is None:
            return self.new
        coords = np.concatenate([self.old.coords, self.new.coords])
        values = np.concatenate([self.old.values, self.new.values])
        return Observations(coords, values, self.new.shape)

    def extended(self, model: Model) -> Model:
        """Return a model of the old indices for all, with the mean of the old ones at each new one."""
        for mode, (count, size) in enumerate(zip(self.sizes, self.new.shape, strict=True)):
            if size == count:
                continue
            rows = np.full(size, UNKNOWN)
            rows[self.known(mode)] = np.arange(count)
            mean = np.full((1, count), 1 / count)
            matrix = scipy.sparse.vstack([scipy.sparse.eye_array(count), scipy.sparse.csr_array(mean)], format="csr")
            whole = [np.arange(each) for each in model.shape]
            whole[mode] = np.where(rows == UNKNOWN, count, rows)
            model = model.multiplied(mode, matrix).restrict(whole)
        return model.orthonormal()


def grown(labels: Labels, old: Observations, given: Labelled) -> Grown:
    """Return old and new data with the labels of both.

    Parameters
    ----------
    labels, old
        The earlier data.
    given
        The new data. Its modes have the names of the old ones, in any order, and labels of the same kinds. An index
        with a label that is not known is a new one; without labels, indices count from 0, and those beyond the old ones
        are new.
    """
    if given.observations.ndim != old.ndim:
        raise ValueError(
            f"new data must have the {old.ndim} modes {listed(labels.names)}, but it has {given.observations.ndim}."
        )
    order = _matched(labels, given.labels)
    keys: list[NDArray[Any] | None] = []
    places: list[Integers | None] = []
    columns: list[Integers] = []
    shape: list[int] = []
    for mode, at in enumerate(order):
        index = given.observations.coords[:, at]
        new_keys, size = given.labels.keys[at], given.observations.shape[at]
        known = labels.keys[mode]
        if known is None:
            index = index if new_keys is None else labels.positions(mode, new_keys)[index]
            size = max(old.shape[mode], size if new_keys is None else int(index.max(initial=0)) + 1)
            keys.append(None)
            places.append(None)
        else:
            if new_keys is None:
                raise ValueError(
                    f"{labels.names[mode]!r} of the fit has labels, such as {shown(known[0])}, but new data "
                    "has none for it; give data with labels, such as a table."
                )
            merged = labels.merged(mode, new_keys)
            keys.append(merged.keys)
            places.append(merged.old)
            index, size = merged.new[index], len(merged.keys)
        columns.append(index)
        shape.append(size)
    new = Observations(np.stack(columns, axis=1), given.observations.values.astype(old.dtype), tuple(shape))
    moved = _renumbered(old.coords, places)
    places_before, places_now = joint_keys(new.shape, moved, new.coords)
    kept = ~np.isin(places_before, places_now)
    before = Observations(moved[kept], old.values[kept], new.shape) if kept.any() else None
    return Grown(Labels(labels.names, tuple(keys), labels.value), old.shape, tuple(places), before, new)


def _renumbered(coords: Integers, places: Sequence[Integers | None]) -> Integers:
    """Return coordinates of old indices by their new numbers."""
    pairs = zip(places, coords.T, strict=True)
    return np.stack([column if place is None else place[column] for place, column in pairs], axis=1)


def _matched(labels: Labels, new: Labels) -> list[int]:
    """Return the mode of new data for each mode of a fit; what differs in its names or in what it measures is refused.

    Data without any names or labels is taken in the order of its modes, if the fit has no labels either.
    """
    if new.are_plain and all(keys is None for keys in labels.keys):
        return list(range(len(labels.names)))
    if set(new.names) != set(labels.names):
        raise ValueError(
            f"new data must have the modes of the fit, {listed(labels.names)}, but it has {listed(new.names)}; rename "
            "them if they are the same, as in table.rename(columns=...), or complete this data by itself."
        )
    if labels.value != new.value and UNNAMED not in (labels.value, new.value):
        raise ValueError(
            f"new data must hold the values of the fit, {labels.value!r}, but it holds {new.value!r}; rename the "
            "column if it is the same, or name the right one with value=."
        )
    return [new.names.index(name) for name in labels.names]


@dataclass(frozen=True, eq=False)
class Thinned:
    """Old and new data, without the empty slices of long modes that are mostly empty.

    Parameters
    ----------
    whole
        All of it.
    data, core
        What takes part, and the earlier answer of the method alone for that.
    places
        The way back.
    """

    whole: Grown
    data: Grown
    core: Model
    places: Lift

    @classmethod
    def of(cls, whole: Grown, core: Model, recipe: Recipe) -> Thinned:
        """Return what takes part, of data with values as the loss takes them.

        Modes whose slices all matter stay, unless the earlier fit has left slices out.
        """
        ordered = {mode for stage in recipe.stages if not isinstance(stage, EmptySlices) for mode in stage.modes}
        ordered |= {mode % whole.new.ndim for mode in getattr(recipe.method, "same", ())}
        if isinstance(core, Placed):
            ordered -= {mode for mode, slices in enumerate(core.slices) if slices is not None}
        entries = whole.all
        _, places = PresentSlices(frozenset(ordered)).reduce(Problem(entries, Square()), Clock())
        rows: list[Integers] = [np.arange(0)] * entries.ndim
        numbers, sizes = list(whole.places), list(whole.sizes)
        for mode, size in enumerate(whole.sizes):
            if not isinstance(places, Places) or mode not in places.kept:
                rows[mode] = np.arange(size)
                continue
            own, kept = whole.places[mode], places.kept[mode]
            # Labelled indices are listed anyway; without labels, the old ones come first.
            old = kept < size if own is None else np.isin(kept, own)
            rows[mode] = kept[old] if own is None else np.argsort(own)[np.searchsorted(np.sort(own), kept[old])]
            numbers[mode], sizes[mode] = np.flatnonzero(old), int(old.sum())
        if isinstance(core, Placed) or isinstance(places, Places):
            core = core.restrict(rows).orthonormal()
        if not isinstance(places, Places):
            return cls(whole, whole, core, places)
        earlier = None if whole.old is None else places.entries(whole.old)
        data = Grown(whole.labels, tuple(sizes), tuple(numbers), earlier, places.entries(whole.new))
        return cls(whole, data, core, places)


def updated(recipe: Recipe, thinned: Thinned, bars: ErrorBars | None, context: Context) -> Answer:
    """Do to old and new entries what a recipe says, from an earlier answer of its method.

    Parameters
    ----------
    recipe
        What was chosen.
    thinned
        The entries, with values as the loss takes them, and the earlier answer of the method alone.
    bars
        The earlier errors at held-out entries; None for no intervals.
    context
        The clock and the rest that accompanies the run.
    """
    data = thinned.data
    if recipe.holdout is not None and data.old is not None:
        recipe = recipe.rescaled(1 + len(data.new) / len(data.old))
    graphs = recipe.stage(Graphs)
    recipe = replace(recipe, after=tuple(stage for stage in recipe.after if not isinstance(stage, EmptySlices)))
    # Where the earlier fit began was for fewer entries, and maybe another shape.
    recipe = recipe.anew
    start = data.extended(thinned.core)
    new_bars = None if bars is None else _moved(bars, thinned.whole)
    if new_bars is not None and len(data.new) >= FEWEST:
        new_bars = _with_new_errors(new_bars, recipe, thinned, start, context)
    context.display.begin("fitting all entries", recipe.method.max_iter)
    result = _run(recipe, data, start, context)
    # The held-out entries are in their places already.
    answer = Answer(recipe, result, error_bars=None if new_bars is None else replace(new_bars, held_out=None))
    without = () if graphs is None else tuple(graphs.modes)
    answer = filled(answer, thinned.places, data.all, without)
    if new_bars is None or answer.error_bars is None:
        return answer
    return replace(answer, error_bars=replace(answer.error_bars, held_out=new_bars.held_out))


def with_graphs(recipe: Recipe, data: Grown, given: Mapping[Any, Any] | None) -> Recipe:
    """Return the recipe with the graphs of all indices, old and new."""
    stage = recipe.stage(Graphs)
    if stage is None:
        if given is not None:
            raise ValueError("laplacian is for a fit with graphs; this one has none, so complete all data with it.")
        return recipe
    graphs = {**stage.laplacians, **checked_graphs(data.labels.numbered(given, "laplacian"), data.new.shape)}
    if not all(hasattr(graph, "shape") or isinstance(graph, KernelGraph) for graph in graphs.values()):
        raise ValueError(
            "update needs the graphs of the fit, which a file does not hold; give all of them, as in "
            "fit.update(new, laplacian={0: graph})."
        )
    kernels = [mode for mode, graph in graphs.items() if isinstance(graph, KernelGraph)]
    if kernels:
        raise ValueError(
            f"laplacian must be Laplacians if a fit is updated, but a kernel was given for mode {kernels[0]}; "
            "give kernel.laplacian(width)."
        )
    for mode, graph in graphs.items():
        called = data.labels.called(mode)
        if graph.shape[0] != data.new.shape[mode]:
            raise ValueError(
                f"the {len(data.fresh(mode)):,} new indices of mode {called!r} have no place in its graph; give the "
                f"Laplacian of all {data.new.shape[mode]:,} indices, as in "
                f"fit.update(new, laplacian={{{called!r}: graph}})."
            )
    before = tuple(replace(each, laplacians=graphs) if isinstance(each, Graphs) else each for each in recipe.before)
    return replace(recipe, before=before)


def with_spreads(recipe: Recipe, data: Grown) -> Recipe:
    """Return the recipe with the spreads of all indices, old and new, where slices are whitened."""
    before = tuple(
        each.renumbered(data.new.shape, data.places) if isinstance(each, Whiten) else each for each in recipe.before
    )
    beside = tuple(replace(each, recipe=with_spreads(each.recipe, data)) for each in recipe.beside)
    return replace(recipe, before=before, beside=beside)


def _run(recipe: Recipe, data: Grown, start: Model, context: Context) -> Result:
    """Run a recipe, from an answer in which new slices are what fits their entries best."""
    problem = Problem(data.all, recipe.loss)  # type: ignore[arg-type]
    if is_of_differences(problem.loss):
        others = [stage for stage in recipe.before if not isinstance(stage, Graphs)]
        part = Reduced(problem).by(others, context.clock)
        if merging(others):
            start = _folded_in(start, data, part.placed)
        else:
            start = part.core(_folded_in(part.start(start), data, part.problem.observations))
    tighter = replace(recipe, method=replace(recipe.method, tol=TIGHTER * recipe.method.tol))
    return run(tighter, problem, start, context, partial=True)


def _folded_in(model: Model, data: Grown, entries: Observations) -> Model:
    """Return a model whose new slices are the weighted sums of old ones that fit their entries best.

    The weights are the nearest to those of the mean, by least squares with a small ridge.
    """
    for mode, size in enumerate(model.shape):
        fresh, old = data.fresh(mode), data.known(mode)
        if not len(fresh):
            continue
        sources = old[np.linspace(0, len(old) - 1, min(len(old), SOURCES)).astype(int)]
        kept = np.setdiff1d(np.arange(size), fresh)
        weights = scipy.sparse.lil_array((size, size))
        weights[kept, kept] = 1.0
        for index in fresh:
            weights[[index], sources] = _weights_of_slices(model, mode, int(index), sources, entries)
        model = model.multiplied(mode, scipy.sparse.csr_array(weights))
    return model.orthonormal()


def _weights_of_slices(model: Model, mode: int, index: int, sources: Integers, entries: Observations) -> Floats:
    """Return the weights of old slices in a new one."""
    mean: Floats = np.full(len(sources), 1 / len(sources))
    within = np.flatnonzero(entries.coords[:, mode] == index)[:ENTRIES]
    if not len(within):
        return mean
    coords = np.repeat(entries.coords[within][:, None, :], len(sources), axis=1)
    coords[:, :, mode] = sources
    slices = model.predict(coords.reshape(-1, model.ndim)).reshape(len(within), len(sources)).astype(np.float64)
    gram = slices @ slices.T
    ridge = RIDGE * np.trace(gram) / len(gram) + np.finfo(np.float64).tiny
    step = slices.T @ np.linalg.solve(gram + ridge * np.eye(len(gram)), entries.values[within] - slices @ mean)
    weights: Floats = mean + step
    return weights


def _moved(bars: ErrorBars, data: Grown) -> ErrorBars:
    """Return the earlier errors with the new numbers of their indices."""
    held = bars.held_out
    if held is None:
        return bars
    return replace(bars, held_out=replace(held, coords=_renumbered(held.coords, data.places), around=data.all))


def _with_new_errors(bars: ErrorBars, recipe: Recipe, thinned: Thinned, start: Model, context: Context) -> ErrorBars:
    """Return the errors with those at some new entries, of a fit without them."""
    context.display.begin("fitting without the held-out entries", recipe.method.max_iter)
    data = thinned.data
    chosen = context.rng.random(len(data.new)) < HELD_OUT
    without = replace(data, new=data.new.select(~chosen))
    result = _run(recipe, without, start, context)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if not result.finished:
        # Without time for this fit, intervals rest on the earlier errors.
        return bars
    new = HeldOut.at(data.new.select(chosen), recipe.loss, result.model, without.all, data.all)  # type: ignore[arg-type]
    new = new.placed(thinned.places)
    weights = None if bars.weights is None else np.concatenate([bars.weights, np.ones(len(new))])
    residuals: Floats = np.concatenate([bars.residuals, new.residuals])
    both = None if bars.held_out is None else bars.held_out.joined(new)
    return replace(bars, residuals=residuals, weights=weights, held_out=both)
