"""One page that tells of a fit: what went in, what was chosen, how good it is, and how to do it again."""

from .page import write_report

__all__ = ["write_report"]
