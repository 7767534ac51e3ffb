"""Array types for signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
"""An array of float64 or float32."""

Integers = NDArray[np.integer[Any]]
"""An array of whole numbers, of any width."""

Booleans = NDArray[np.bool_]
"""A boolean array."""

Matrix: TypeAlias = Any
"""A matrix, as an array or as a sparse array of scipy."""
