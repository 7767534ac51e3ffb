"""Conversion of models to and from objects of TensorLy and pyttb; each library is imported on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support.optional import need
from .._support.types import Floats

EXTRA = "exchange"
"""The extra of tensorfill that installs both libraries."""


def array_of(theirs: Any) -> Floats:
    """Return an array of any TensorLy backend as a NumPy array."""
    if isinstance(theirs, np.ndarray):
        return np.array(theirs)
    return np.asarray(need("tensorly", EXTRA).to_numpy(theirs))


def _tensors(arrays: Sequence[Floats]) -> list[Any]:
    """Return copies of arrays in the current TensorLy backend."""
    tensor = need("tensorly", EXTRA).tensor
    return [tensor(np.array(array)) for array in arrays]


def tensorly_cp(weights: Floats, factors: Sequence[Floats]) -> Any:
    """Return a ``CPTensor``."""
    given, *columns = _tensors([weights, *factors])
    return need("tensorly.cp_tensor", EXTRA).CPTensor((given, columns))


def tensorly_tucker(core: Floats, factors: Sequence[Floats]) -> Any:
    """Return a ``TuckerTensor``."""
    given, *columns = _tensors([core, *factors])
    return need("tensorly.tucker_tensor", EXTRA).TuckerTensor((given, columns))


def tensorly_chain(cores: Sequence[Floats], kind: str) -> Any:
    """Return a ``TTTensor`` for a train, and a ``TRTensor`` for a ring."""
    if kind == "train":
        return need("tensorly.tt_tensor", EXTRA).TTTensor(_tensors(cores))
    return need("tensorly.tr_tensor", EXTRA).TRTensor(_tensors(cores))


def pyttb_cp(weights: Floats, factors: Sequence[Floats]) -> Any:
    """Return a ``ktensor``."""
    columns = [np.array(factor, dtype=np.float64, order="F") for factor in factors]
    return need("pyttb", EXTRA).ktensor(columns, np.array(weights, dtype=np.float64))


def pyttb_tucker(core: Floats, factors: Sequence[Floats]) -> Any:
    """Return a ``ttensor``."""
    pyttb = need("pyttb", EXTRA)
    columns = [np.array(factor, dtype=np.float64, order="F") for factor in factors]
    return pyttb.ttensor(pyttb.tensor(np.array(core, dtype=np.float64)), columns)
