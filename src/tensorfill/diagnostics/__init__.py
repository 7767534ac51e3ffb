"""Checks for custom losses and penalties, to run before a method relies on them.

A wrong sign in a derivative or a curvature that is too small does not raise an error: the method ascends or
diverges. `check_loss` and `check_penalty` compare the parts of an object with each other at random points, and report
in plain sentences what is inconsistent, and where.
"""

from .losses import check_loss
from .penalties import check_penalty
from .report import Report

__all__ = ["Report", "check_loss", "check_penalty"]
