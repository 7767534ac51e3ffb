"""What tensorfill has, by name: plain data, so that help can list it without importing any of it.

An entry says where something is, as ``"module:attribute"`` within tensorfill. `Registry` imports it when it is first
asked for.
"""

from __future__ import annotations

METHODS = {
    "nort": ("methods.nort:Nort", "NORT"),
    "grow": ("methods.grow:Grow", "Growth by least squares"),
    "cp": ("methods.cp:CP", "CP"),
    "softimpute": ("methods.softimpute:SoftImpute", "SoftImpute"),
    "tucker_als": ("methods.tucker_als:TuckerAls", "Tucker by alternating least squares"),
    "tucker": ("baselines.factorised.tucker:TuckerDescent", "Tucker by gradient steps"),
    "tmac": ("baselines.factorised.tmac:Tmac", "TMac"),
    "tmac_tt": ("baselines.factorised.tmac_tt:TmacTT", "TMac-TT"),
    "trlrf": ("baselines.factorised.trlrf:Trlrf", "TRLRF"),
    "pa_apg": ("baselines.overlapped.proximal:PaApg", "PA-APG"),
    "gdpan": ("baselines.overlapped.proximal:Gdpan", "GDPAN"),
    "admm": ("baselines.overlapped.admm:Admm", "ADMM"),
    "lrtc": ("baselines.overlapped.admm:Lrtc", "LRTC"),
    "halrtc": ("baselines.overlapped.admm:Halrtc", "HaLRTC"),
    "falrtc": ("baselines.overlapped.falrtc:Falrtc", "FaLRTC"),
    "rtdgc": ("baselines.overlapped.rtdgc:Rtdgc", "RTDGC"),
    "tennn": ("baselines.tubal:Tennn", "the tubal nuclear norm"),
    "rp": ("baselines.riemannian.method:RP", "Tucker by Riemannian conjugate gradients"),
    "ffw": ("baselines.latent.ffw:Ffw", "FFW"),
    "greedy": ("baselines.latent.greedy:Greedy", "greedy terms"),
    "trmm": ("baselines.latent.trmm:Trmm", "TRMM"),
}
"""The class of each method, and what readers call it."""

ALIASES = {"cp_wopt": "cp"}
"""Other names that methods are known by."""

AUTOMATIC = ("grow", "nort")
"""The methods that ``method="auto"`` tries, in this order: the second if the first leaves something to find."""

COMPARED = ("nort", "grow", "cp", "softimpute")
"""The methods that a comparison has by default."""
