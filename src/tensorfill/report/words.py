"""Descriptions of losses, penalties and models."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..io.typed import Unsaved
from ..losses import Huber, Logistic, Poisson, Robust, Square
from ..losses.robust import Envelope, SmoothedRobust
from ..models import Model
from ..penalties import LSP, MCP, SCAD, TNN, CappedL1, Nuclear
from .source import source_of, unusual_fields

LOSSES_IN_WORDS: dict[type[Any], str] = {
    Square: "square: half the squared difference",
    Huber: "Huber: squared for small differences, absolute for large ones",
    Logistic: "logistic, for two values; predictions lie between them",
    Poisson: "Poisson, for counts; predictions are expected counts",
    Robust: "robust, for data with corrupt entries",
    SmoothedRobust: "robust, with its kink rounded off, for data with corrupt entries",
    Envelope: "robust, for data with noise and corrupt entries",
}
PENALTIES_IN_WORDS: dict[type[Any], str] = {
    LSP: "log-sum: the logarithm of 1 + s / theta for each singular value s",
    Nuclear: "nuclear norm: the sum of the singular values",
    CappedL1: "capped l1: the sum of the singular values, each capped at theta",
    TNN: "truncated nuclear norm: the sum of all but the theta largest singular values",
    SCAD: "SCAD: flat for singular values above theta times its unit",
    MCP: "MCP: flat for singular values above theta",
}
MODELS_IN_WORDS = {
    "folded": "a sum of folded low-rank matrices",
    "folded_columns": "a mean of folded low-rank matrices, known where something was observed",
    "tucker": "a Tucker model",
    "cp": "a CP model",
    "merged": "a model of a tensor of which some modes are treated as one",
    "unfolded": "a model of a tensor of which one mode is folded into rows",
    "centred": "a mean, the effect of each index, and a low-rank model",
    "dense": "stored entry by entry, as a smooth field or an interpolation is",
}


def loss_in_words(loss: Any) -> str:
    """Return the description of a loss, with its settings.

    >>> loss_in_words(Huber(delta=2.0))
    'Huber: squared for small differences, absolute for large ones (delta=2)'
    """
    said = _described(loss, LOSSES_IN_WORDS)
    # The lower value of the data is not a setting of interest.
    settings = "" if isinstance(loss, Logistic) else settings_in_words(loss)
    return f"{said} ({settings})" if settings else said


def penalty_in_words(penalty: Any) -> str:
    """Return the description of a penalty; its theta is in the table of modes.

    >>> penalty_in_words(Nuclear())
    'nuclear norm: the sum of the singular values'
    """
    return _described(penalty, PENALTIES_IN_WORDS)


def model_in_words(model: Model) -> str:
    """Return the description of a model."""
    return MODELS_IN_WORDS.get(model.kind, model.kind)


def settings_in_words(thing: Any, but: tuple[str, ...] = ()) -> str:
    """Return the settings of a dataclass that differ from their default, except those in `but`.

    >>> from tensorfill import Nort
    >>> settings_in_words(Nort(lam=0.5, tau=2.0, max_rank=3), but=("lam",))
    'max_rank=3, tau=2'
    """
    if not dataclasses.is_dataclass(thing) or isinstance(thing, Unsaved):
        return ""
    return ", ".join(f"{name}={_value(value)}" for name, value in unusual_fields(thing).items() if name not in but)


def _value(value: Any) -> str:
    """Return a setting in readable form: numbers with a few digits, and equal ones once."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        each = [_value(one) for one in value]
        return each[0] if len(set(each)) == 1 else f"({', '.join(each)})"
    return source_of(value).text


def _described(thing: Any, table: dict[type[Any], str]) -> str:
    own = thing.name if isinstance(thing, Unsaved) else type(thing).__name__
    return table.get(type(thing), f"{own}, a user-defined object")
