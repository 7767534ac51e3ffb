"""Typed objects as JSON and back, without pickle: dataclasses of tensorfill by name, everything else by its text."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._support.conforming import StandIn, misfit
from .._support.timing import TimedStage, Timing
from ..choosing.baselines import Baseline
from ..choosing.holdout.kinds import Holdout
from ..choosing.holdout.splits import Choice
from ..choosing.recipe import Portion, Recipe, Start
from ..choosing.search.base import PathPoint
from ..choosing.stages.base import Stage
from ..choosing.stages.empty_slices import SliceFill
from ..choosing.stages.table import STAGES
from ..losses import LOSSES, Loss
from ..losses.robust import Envelope, Robust, SmoothedRobust, Tangent
from ..methods.base import Method, Record, Status
from ..methods.registry import METHODS
from ..methods.simple import Effects, Interpolation, Mean
from ..models.slices import Neighbours
from ..observations import Observations
from ..penalties import PENALTIES, Elementwise, Penalty

CLASS, TUPLE, MAPPING, TEXT, STATUS = "class", "tuple", "mapping", "text", "status"
"""The keys that mark types that JSON does not have."""

LONGEST_TEXT = 200
"""The largest length of the text of an object that a file cannot hold."""


@dataclasses.dataclass(frozen=True)
class Unsaved:
    """A user-defined object that a file cannot hold, of which only the text is known."""

    text: str

    def __repr__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """Its name: the text up to the first bracket."""
        return self.text.partition("(")[0]


OWN = StandIn(Unsaved, (Method, Loss, Robust, Penalty, Elementwise, Observations, Stage))
"""What can be an object of the caller's own, or too large, so that a file holds its text alone."""


@functools.cache
def _known() -> dict[str, type[Any]]:
    kinds: list[type[Any]] = [
        Baseline, TimedStage, Timing, *STAGES.values(),
        *METHODS.values(), Effects, Interpolation, Mean, *LOSSES.values(), *PENALTIES.values(), Robust, Envelope,
        SmoothedRobust, Tangent, Choice, Holdout, Neighbours, PathPoint, Recipe, Record, Portion, SliceFill,
        Start, Unsaved,
    ]  # fmt: skip
    return {kind.__name__: kind for kind in kinds}


def encoded(thing: Any) -> Any:
    """Return an object as a JSON value.

    >>> from tensorfill.penalties import LSP
    >>> encoded((LSP(0.5), {0: 1.0}))
    {'tuple': [{'class': 'LSP', 'theta': 0.5}, {'mapping': [[0, 1.0]]}]}
    """
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, np.generic):
        return thing.item()
    if isinstance(thing, Status):
        return {STATUS: thing.name}
    if isinstance(thing, list):
        return [encoded(each) for each in thing]
    if isinstance(thing, tuple):
        return {TUPLE: [encoded(each) for each in thing]}
    if isinstance(thing, np.ndarray) and thing.ndim == 1:
        return encoded(thing.tolist())
    if isinstance(thing, Mapping):
        return {MAPPING: [[encoded(key), encoded(value)] for key, value in thing.items()]}
    if _known().get(type(thing).__name__) is type(thing):
        fields = {each.name: encoded(getattr(thing, each.name)) for each in dataclasses.fields(thing) if each.init}
        return {CLASS: type(thing).__name__} | fields
    return {CLASS: "Unsaved", TEXT: _text_of(thing)}


def _text_of(thing: Any) -> str:
    """Return the repr of an object, or the name of its class if it has only the default repr."""
    if isinstance(thing, type):
        return thing.__name__
    if not any("__repr__" in vars(kind) for kind in type(thing).__mro__[:-1]):
        return f"{type(thing).__name__}()"
    return " ".join(repr(thing).split())[:LONGEST_TEXT]


def decoded(json: Any) -> Any:
    """Return the object from the result of `encoded`, or raise a ValueError that says briefly what is wrong.

    >>> from tensorfill.penalties import LSP
    >>> decoded(encoded((LSP(0.5), {0: 1.0})))
    (LSP(theta=0.5), {0: 1.0})
    >>> decoded({"class": "LSP", "theta": "os.system"})
    Traceback (most recent call last):
        ...
    ValueError: theta of LSP is 'os.system'
    """
    if isinstance(json, list):
        return [decoded(each) for each in json]
    if not isinstance(json, dict):
        return json
    if CLASS in json:
        return _made(json[CLASS], {name: decoded(value) for name, value in json.items() if name != CLASS})
    if len(json) != 1:
        raise ValueError("an object has no class")
    [(mark, inside)] = json.items()
    if mark == STATUS:
        if inside not in Status.__members__:
            raise ValueError("its status is unknown")
        return Status[inside]
    if mark not in (TUPLE, MAPPING) or not isinstance(inside, list):
        raise ValueError(f"there is no kind {mark[:40]!r} of objects")
    if mark == TUPLE:
        return tuple(decoded(each) for each in inside)
    if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int) for pair in inside):
        raise ValueError("a mapping is not made of pairs")
    return {key: decoded(value) for key, value in inside}


def _made(name: Any, fields: dict[str, Any]) -> Any:
    """Return the object of a class by its name, which must be one of tensorfill's, with fields of the right types."""
    kind = _known().get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"there is no class {str(name)[:40]!r}")
    wrong = misfit(kind, fields, OWN)
    if wrong is not None:
        raise ValueError(wrong)
    try:
        return kind(**fields)
    except (TypeError, ValueError) as error:
        # The class validates its fields, and one of them is only a placeholder.
        if not any(isinstance(value, Unsaved) for value in fields.values()):
            raise ValueError(f"{name} cannot be made: {error}") from error
        inside = ", ".join(f"{field}={value!r}" for field, value in fields.items())
        return Unsaved(f"{name}({inside})"[:LONGEST_TEXT])
