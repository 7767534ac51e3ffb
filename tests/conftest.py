"""Settings of all tests."""

import os

import pytest
from hypothesis import settings

from tensorfill.algebra import loops

# The same examples every time, so that only a change makes a test fail, and half of Hypothesis' default number of them.
# HYPOTHESIS_PROFILE=explore draws new ones, and keeps the default of 100 where a test sets no number of its own.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(params=["NumPy", "compiled"])
def both_kinds_of_loops(request, monkeypatch):
    """Run a test with the loops in NumPy, and with the compiled ones."""
    monkeypatch.setattr(loops, "FEW_ENTRIES", {"NumPy": 2**62, "compiled": -1}[request.param])
    monkeypatch.setattr(loops, "MOST_NUMBERS", 2**62)
