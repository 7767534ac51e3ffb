"""A joint seasonal autoregression of all series of a tensor."""

from .method import SeasonalAR as SeasonalAR
