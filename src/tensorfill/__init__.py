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

from ._support.registry import imported
from ._support.table import METHODS
from ._version import __version__ as __version__

if TYPE_CHECKING:
    from ._support.clock import Clock as Clock
    from .baselines.factorised.tmac import Tmac as Tmac
    from .baselines.factorised.tmac_tt import TmacTT as TmacTT
    from .baselines.factorised.trlrf import Trlrf as Trlrf
    from .baselines.factorised.tucker import TuckerDescent as TuckerDescent
    from .baselines.latent.ffw import Ffw as Ffw
    from .baselines.latent.greedy import Greedy as Greedy
    from .baselines.latent.trmm import Trmm as Trmm
    from .baselines.overlapped.admm import Admm as Admm
    from .baselines.overlapped.admm import Halrtc as Halrtc
    from .baselines.overlapped.admm import Lrtc as Lrtc
    from .baselines.overlapped.falrtc import Falrtc as Falrtc
    from .baselines.overlapped.proximal import Gdpan as Gdpan
    from .baselines.overlapped.proximal import PaApg as PaApg
    from .baselines.overlapped.rtdgc import Rtdgc as Rtdgc
    from .baselines.riemannian.method import RP as RP
    from .baselines.series.latc import Latc as Latc
    from .baselines.series.trmf import Trmf as Trmf
    from .baselines.tubal import Tennn as Tennn
    from .choosing.holdout.splits import Choice as Choice
    from .choosing.stages.centre import Centre as Centre
    from .choosing.stages.fold import Fold as Fold
    from .choosing.stages.graphs import Graphs as Graphs
    from .choosing.stages.merge import Merge as Merge
    from .choosing.stages.polish import Polish as Polish
    from .choosing.stages.smooth_field import SmoothField as SmoothField
    from .choosing.stages.whiten import Whiten as Whiten
    from .comparison import compare as compare
    from .completion import complete as complete
    from .fit import Fit as Fit
    from .fit import load as load
    from .methods.base import Method as Method
    from .methods.base import Status as Status
    from .methods.calibrated import Calibrated as Calibrated
    from .methods.cp import CP as CP
    from .methods.cp_means import CPMeans as CPMeans
    from .methods.grow import Grow as Grow
    from .methods.nort import Nort as Nort
    from .methods.nort import SmoothedNort as SmoothedNort
    from .methods.problem import Problem as Problem
    from .methods.rescal import Rescal as Rescal
    from .methods.seasonal_ar import SeasonalAR as SeasonalAR
    from .methods.simple import Effects as Effects
    from .methods.simple import Interpolation as Interpolation
    from .methods.simple import Mean as Mean
    from .methods.softimpute import SoftImpute as SoftImpute
    from .methods.tucker_als import TuckerAls as TuckerAls
    from .observations import Observations as Observations

_HOMES = {home.partition(":")[2]: home for home, _ in METHODS.values()} | {
    "Centre": "choosing.stages.centre:Centre",
    "Choice": "choosing.holdout.splits:Choice",
    "Clock": "_support.clock:Clock",
    "Effects": "methods.simple:Effects",
    "Fit": "fit:Fit",
    "Fold": "choosing.stages.fold:Fold",
    "Graphs": "choosing.stages.graphs:Graphs",
    "Interpolation": "methods.simple:Interpolation",
    "Mean": "methods.simple:Mean",
    "Merge": "choosing.stages.merge:Merge",
    "Method": "methods.base:Method",
    "Observations": "observations:Observations",
    "Polish": "choosing.stages.polish:Polish",
    "Problem": "methods.problem:Problem",
    "SmoothField": "choosing.stages.smooth_field:SmoothField",
    "Status": "methods.base:Status",
    "Whiten": "choosing.stages.whiten:Whiten",
    "compare": "comparison:compare",
    "complete": "completion:complete",
    "load": "fit:load",
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

__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: the compiler behind the methods is slow to import."""
    if name in _HOMES:
        value = imported(_HOMES[name])
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
