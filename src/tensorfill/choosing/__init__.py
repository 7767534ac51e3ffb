"""Choosing on held-out entries, for any method: splits, trials, the default search, and the stages around a fit."""
