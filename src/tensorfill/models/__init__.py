"""Models: compact representations of a tensor that do not store every entry."""

from .base import MODELS, Model
from .blend import Blend
from .centred import Centred
from .columns import FoldedColumns
from .cp import CPModel
from .dense import Dense
from .folded import FoldedLowRank
from .linked import Linked
from .merged import Merged
from .placed import Placed
from .ring import TensorRing, TensorTrain
from .tucker import Tucker
from .unfolded import Unfolded

__all__ = [
    "MODELS",
    "Blend",
    "CPModel",
    "Centred",
    "Dense",
    "FoldedColumns",
    "FoldedLowRank",
    "Linked",
    "Merged",
    "Model",
    "Placed",
    "TensorRing",
    "TensorTrain",
    "Tucker",
    "Unfolded",
]
