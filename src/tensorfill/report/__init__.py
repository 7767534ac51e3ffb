"""A page about a fit: the data, the chosen settings, the errors, and the call that repeats it."""

from .page import write_report

__all__ = ["write_report"]
