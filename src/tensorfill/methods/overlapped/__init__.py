"""Methods with a penalty on the singular values of several unfoldings, on the whole tensor."""

from __future__ import annotations

from .admm import Admm, Halrtc, Lrtc
from .falrtc import Falrtc
from .proximal import Gdpan, PaApg
from .rtdgc import Rtdgc

__all__ = ["Admm", "Falrtc", "Gdpan", "Halrtc", "Lrtc", "PaApg", "Rtdgc"]
