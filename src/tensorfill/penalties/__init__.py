"""Penalties on singular values: what makes a completed tensor low-rank."""

from .elementwise import (
    LSP,
    MCP,
    PENALTIES,
    SCAD,
    TNN,
    CappedL1,
    Elementwise,
    Nuclear,
    Penalty,
    cut,
    make_penalty,
    weight_for_cut,
)

__all__ = [
    "LSP",
    "MCP",
    "PENALTIES",
    "SCAD",
    "TNN",
    "CappedL1",
    "Elementwise",
    "Nuclear",
    "Penalty",
    "cut",
    "make_penalty",
    "weight_for_cut",
]
