"""Factorisations fitted to the observed entries: by gradient steps, by completing unfoldings, and as tensor rings."""

from .tmac import Tmac
from .tmac_tt import TmacTT
from .trlrf import Trlrf
from .tucker import TuckerDescent

__all__ = ["Tmac", "TmacTT", "Trlrf", "TuckerDescent"]
