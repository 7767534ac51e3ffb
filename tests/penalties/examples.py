"""Penalties that the tests try: every named one with several theta, and a user's own."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tensorfill.penalties import PENALTIES, Elementwise, make_penalty

THETAS = {
    "capped_l1": [0.05, 1.0, 7.0],
    "lsp": [1e-3, 0.5, 20.0],
    "tnn": [0, 1, 3],
    "scad": [2.01, 3.7, 30.0],
    "mcp": [0.05, 1.0, 20.0],
}
"""Values of theta, some near the limits of what a penalty takes; one that is not listed here takes `USUAL`."""

USUAL = [0.05, 1.0, 20.0]


def takes_theta(name):
    """Return whether a registered penalty has a setting."""
    return bool(dataclasses.fields(PENALTIES[name]))


NAMED = [
    make_penalty(name, theta)
    for name in PENALTIES
    for theta in (THETAS.get(name, USUAL) if takes_theta(name) else [None])
]


class TwiceNuclear:
    """A user's own penalty, kappa(s) = 2 s, with only the two methods of the protocol."""

    def value(self, s):
        return 2 * float(np.sum(s))

    def prox(self, s, weight):
        return np.maximum(s - s.dtype.type(2 * weight), 0)


class Rank(Elementwise):
    """A user's own penalty from its formula: 1 for each singular value above 0."""

    slope_at_zero = math.inf

    def kappa(self, s):
        return np.where(s > 0, 1.0, 0.0)

    def candidates(self, s, weight):
        return [s]


def defines(penalty, name):
    """Return whether an elementwise penalty has something optional, such as a slope, of its own."""
    return getattr(type(penalty), name) is not getattr(Elementwise, name)


def singular(penalty, value, largest=100.0):
    """Return singular values with `value` at the first place that is penalised."""
    return np.array([largest] * getattr(penalty, "free", 0) + [value])
