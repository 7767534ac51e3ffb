"""The header of a saved fit. Every field is validated here, in one place, before it is used."""

from __future__ import annotations

import json
import keyword
import math
from dataclasses import dataclass, field
from typing import Any, Self

from .._support.checks import tensor_shape
from .._support.conforming import misfit
from .._support.timing import Timing
from ..adapters.registry import RESTORERS
from ..choosing.baselines import Baseline
from ..choosing.recipe import Recipe
from ..choosing.search.base import PathPoint
from ..choosing.stages.base import Stage
from ..methods.base import Method, Record, Status
from ..models import MODELS
from .typed import decoded

FORMAT = "tensorfill-fit"
VERSION = 11
"""The version of the format that is written and read."""

TYPED = ("status", "recipe", "bounds", "history", "path", "baselines", "timing")
"""The fields that hold typed objects, as `encoded` writes them."""

LONGEST_NAME = 10_000
"""The largest length of the name of a mode."""


@dataclass(frozen=True)
class FitHeader:
    """The description of a fit in its file, besides its arrays.

    Parameters
    ----------
    kind, core
        The kinds of the model, and of the model without a smooth field, by their names in `MODELS`.
    starts
        The kind of the model that each part of the recipe started from.
    left_out
        The fingerprint of the entries of which corrupt ones were left out.
    shape
        The shape of the tensor.
    status, recipe, bounds, history, path, baselines, timing
        As in `Fit`.
    slices
        For each mode with slices that were held out, the mode, their number, and whether the empty slices that they
        stand for lie between others (1) or at either end (0).
    labels
        The names of the modes, and that of the values.
    restore
        The description of the restorer, with its name in `RESTORERS`.
    """

    kind: str
    shape: list[int]
    status: Status
    recipe: Recipe
    history: list[Record]
    labels: dict[str, Any]
    slices: list[list[int]]
    bounds: tuple[float, float] | None = None
    path: list[PathPoint] | None = None
    baselines: tuple[Baseline, ...] = ()
    timing: Timing | None = None
    core: str | None = None
    starts: list[str | None] = field(default_factory=list)
    left_out: str | None = None
    restore: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        for kind in (self.kind, self.core, *self.starts):
            if kind is not None and kind not in MODELS:
                raise ValueError(f"there is no model of kind {kind[:40]!r}")
        shape = tensor_shape(self.shape)
        if not self.history:
            raise ValueError("it has no iterations")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"its bounds are {self.bounds}")
        self._check_labels(len(shape))
        if self.restore is not None and self.restore.get("kind") not in list(RESTORERS):
            raise ValueError("it was made of data of an unknown kind")
        if any(len(each) != 3 or not 0 <= each[0] < len(shape) or min(each) < 0 for each in self.slices):
            raise ValueError("its empty slices are of no mode")
        self._check_recipe(len(shape))

    def _check_labels(self, ndim: int) -> None:
        names, value = self.labels.get("names"), self.labels.get("value")
        if not isinstance(names, list) or not all(isinstance(each, str) for each in [*names, value]):
            raise ValueError("the names of its modes are no texts")
        if len(names) != ndim:
            raise ValueError(f"it names {len(names)} modes, but it has {ndim}")
        if max(map(len, [*names, value])) > LONGEST_NAME:
            raise ValueError(f"a name has more than {LONGEST_NAME:,} letters")

    def _check_recipe(self, ndim: int) -> None:
        """Check that the recipe suits a tensor of this order."""
        held_out = self.recipe.holdout
        stages = [stage for part in self.recipe.parts for stage in part.stages if isinstance(stage, Stage)]
        modes = [mode for stage in stages for mode in stage.modes]
        modes += [each.mode for each in self.baselines if each.mode is not None]
        if not all(0 <= mode < ndim for mode in modes):
            raise ValueError(f"it speaks of a mode that a tensor of order {ndim} does not have")
        if len(self.starts) not in (0, len(self.recipe.parts)):
            raise ValueError("its recipe has another number of parts")
        if held_out is not None:
            blocks = [held_out.shape] if held_out.block is None else [held_out.shape, held_out.block]
            # The tensor may have grown since.
            if any(len(each) != ndim or min(each) < 1 for each in blocks):
                raise ValueError("its entries were held out of a tensor of another order")
        # A report shows these as the arguments of a call.
        if not all(name.isidentifier() and not keyword.iskeyword(name) for name in self.recipe.asked):
            raise ValueError("what was asked for are no names of arguments")
        # Of a user-defined method, only the text is stored.
        methods = [part.method for part in self.recipe.parts]
        if any(isinstance(method, Method) and method.open_settings for method in methods):
            raise ValueError("a setting of its method is not known")
        timed = [*self.history, *(self.path or ()), *(() if self.timing is None else self.timing.stages)]
        if not all(0 <= each.seconds < math.inf for each in timed):
            raise ValueError("a time is no number of seconds")
        if self.recipe.seed < 0:
            raise ValueError("the seed is no number that it can be")

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the header from JSON text, or raise a ValueError that says what is wrong with it."""
        try:
            said = json.loads(text)
        except RecursionError:
            raise ValueError("its header is nested too deeply") from None
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise ValueError("its header is not that of a fit")
        version = said.get("version")
        if version != VERSION:
            raise OtherVersion(version)
        fields = {name: value for name, value in said.items() if name not in ("format", "version")}
        fields |= {name: decoded(fields[name]) for name in TYPED if name in fields}
        wrong = misfit(cls, fields)
        if wrong is not None:
            raise ValueError(wrong)
        return cls(**fields)


class OtherVersion(Exception):
    """The file has another version of the format."""

    def __init__(self, version: Any) -> None:
        super().__init__()
        self.version = version

    def sentence(self, path: Any) -> str:
        """Return a message that says what to do."""
        if not isinstance(self.version, int) or isinstance(self.version, bool) or not 0 < self.version < 1000:
            return f"{path} is not a file that Fit.save wrote, or it is damaged (its version is none)."
        instead = "install a newer tensorfill" if self.version > VERSION else "fit the data again"
        return (
            f"{path} has version {self.version} of the format, but this tensorfill reads version {VERSION}; {instead}."
        )
