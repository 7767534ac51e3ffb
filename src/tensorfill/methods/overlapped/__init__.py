"""Methods with a penalty on the singular values of several unfoldings, on the whole tensor."""

from __future__ import annotations

from .proximal import Gdpan, PaApg

__all__ = ["Gdpan", "PaApg"]
