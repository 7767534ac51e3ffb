"""What an answer is: every form of a tensor that is known without being stored entry by entry."""

from .base import Model
from .centred import Centred
from .dense import Dense
from .folded import FoldedLowRank
from .tucker import Tucker

MODELS: dict[str, type[Model]] = {model.kind: model for model in (FoldedLowRank, Tucker, Centred, Dense)}
"""The forms by the name that a file gives them."""

__all__ = ["MODELS", "Centred", "Dense", "FoldedLowRank", "Model", "Tucker"]
