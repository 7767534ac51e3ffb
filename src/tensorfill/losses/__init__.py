"""Losses: how far a predicted entry is from the observed one."""

from .smooth import LOSSES, Huber, Logistic, Loss, Poisson, Square, error, make_loss, prepare

__all__ = ["LOSSES", "Huber", "Logistic", "Loss", "Poisson", "Square", "error", "make_loss", "prepare"]
