"""Which of many similar cases `make test` runs; the others are marked slow, and `make test-all` runs them too."""

from __future__ import annotations

import pytest

OURS = frozenset({"nort", "grow", "cp", "softimpute", "tucker_als", "rescal"})
"""The methods that this library is about. All others are the systems that they are compared with."""


def slow_except(cases, quick):
    """Return cases for `pytest.mark.parametrize`, of which all but those in `quick` are slow.

    A case that is a tuple has several parameters, and is in `quick` as a tuple.
    """
    return [
        case if case in quick else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]
