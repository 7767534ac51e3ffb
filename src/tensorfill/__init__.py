"""Fill the holes in a tensor.

>>> import numpy as np, tensorfill
>>> table = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
>>> table[2, 3] = np.nan
>>> fit = tensorfill.complete(table, rng=0)
>>> round(float(fit.filled()[2, 3]), 1)
12.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from ._support.clock import Clock
    from .choosing.holdout.splits import Choice
    from .choosing.stages.centre import Centre
    from .choosing.stages.graphs import Graphs
    from .choosing.stages.polish import Polish
    from .choosing.stages.smooth_field import SmoothField
    from .comparison import compare
    from .completion import complete
    from .fit import Fit, load
    from .methods.base import Method, Status
    from .methods.cp import CP
    from .methods.factorised import Tmac, TmacTT, Trlrf, TuckerDescent
    from .methods.grow import Grow
    from .methods.latent import Ffw, Greedy, Trmm
    from .methods.nort import Nort, SmoothedNort
    from .methods.overlapped import Admm, Falrtc, Gdpan, Halrtc, Lrtc, PaApg, Rtdgc
    from .methods.problem import Problem
    from .methods.rescal import Rescal
    from .methods.riemannian import RP
    from .methods.softimpute import SoftImpute
    from .methods.tubal import Tennn
    from .methods.tucker_als import TuckerAls
    from .observations import Observations

_HOMES = {
    "Admm": "methods.overlapped",
    "CP": "methods.cp",
    "Centre": "choosing.stages.centre",
    "Choice": "choosing.holdout.splits",
    "Clock": "_support.clock",
    "Ffw": "methods.latent",
    "Falrtc": "methods.overlapped",
    "Fit": "fit",
    "Gdpan": "methods.overlapped",
    "Graphs": "choosing.stages.graphs",
    "Greedy": "methods.latent",
    "Grow": "methods.grow",
    "Halrtc": "methods.overlapped",
    "Lrtc": "methods.overlapped",
    "Method": "methods.base",
    "Nort": "methods.nort",
    "Observations": "observations",
    "PaApg": "methods.overlapped",
    "Polish": "choosing.stages.polish",
    "Problem": "methods.problem",
    "RP": "methods.riemannian",
    "Rescal": "methods.rescal",
    "Rtdgc": "methods.overlapped",
    "SmoothedNort": "methods.nort",
    "SmoothField": "choosing.stages.smooth_field",
    "SoftImpute": "methods.softimpute",
    "Status": "methods.base",
    "Trmm": "methods.latent",
    "Tennn": "methods.tubal",
    "Tmac": "methods.factorised",
    "TmacTT": "methods.factorised",
    "Trlrf": "methods.factorised",
    "TuckerAls": "methods.tucker_als",
    "TuckerDescent": "methods.factorised",
    "compare": "comparison",
    "complete": "completion",
    "load": "fit",
}
_MODULES = (
    "datasets",
    "diagnostics",
    "graphs",
    "io",
    "knowledge",
    "labels",
    "losses",
    "metrics",
    "penalties",
    "plots",
    "report",
    "selection",
    "sklearn",
    "xarray",
)

__all__ = [
    "CP",
    "RP",
    "Admm",
    "Centre",
    "Choice",
    "Clock",
    "Falrtc",
    "Ffw",
    "Fit",
    "Gdpan",
    "Graphs",
    "Greedy",
    "Grow",
    "Halrtc",
    "Lrtc",
    "Method",
    "Nort",
    "Observations",
    "PaApg",
    "Polish",
    "Problem",
    "Rescal",
    "Rtdgc",
    "SmoothField",
    "SmoothedNort",
    "SoftImpute",
    "Status",
    "Tennn",
    "Tmac",
    "TmacTT",
    "Trlrf",
    "Trmm",
    "TuckerAls",
    "TuckerDescent",
    "__version__",
    "compare",
    "complete",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: the compiler behind the methods is slow to import."""
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
