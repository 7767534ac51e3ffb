"""Estimators for scikit-learn: `MatrixImputer` for tables, `TensorCompleter` for arrays of any order.

They need scikit-learn: ``pip install scikit-learn``.
"""

from .._support.optional import need

need("sklearn", "sklearn")

from .completer import TensorCompleter  # noqa: E402
from .imputer import MatrixImputer  # noqa: E402

__all__ = ["MatrixImputer", "TensorCompleter"]
