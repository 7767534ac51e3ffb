"""What an answer is: every form of a tensor that is known without being stored entry by entry."""

from .base import Model
from .folded import FoldedLowRank

MODELS: dict[str, type[Model]] = {FoldedLowRank.kind: FoldedLowRank}
"""The forms by the name that a file gives them."""

__all__ = ["MODELS", "FoldedLowRank", "Model"]
