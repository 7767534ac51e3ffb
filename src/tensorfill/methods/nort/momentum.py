"""Momentum: how far NORT extrapolates along its last step."""

from __future__ import annotations

from typing import Protocol

from ..._support.checks import choice


class Momentum(Protocol):
    """A rule for the extrapolation gamma in V = X_t + gamma (X_t - X_{t-1})."""

    @property
    def gamma(self) -> float:
        """The extrapolation of the next step."""

    def update(self, accepted: bool) -> None:
        """Record whether the extrapolated step was accepted; if not, a step without extrapolation was made."""


class RestartMomentum:
    """gamma = (k - 1) / (k + 2) in the k-th step since the last rejection."""

    def __init__(self) -> None:
        self._steps = 1

    @property
    def gamma(self) -> float:
        """The extrapolation of the next step."""
        return (self._steps - 1) / (self._steps + 2)

    def update(self, accepted: bool) -> None:
        """Continue, or restart from the step that was made without extrapolation."""
        self._steps = self._steps + 1 if accepted else 2


class AdaptiveMomentum:
    """Steps 4 to 8 of Algorithm 2: gamma grows by 1/p if accepted and falls by p if not."""

    def __init__(self, gamma: float = 0.1, p: float = 0.5) -> None:
        self.gamma, self._p = gamma, p

    def update(self, accepted: bool) -> None:
        """Extrapolate further, or less far."""
        self.gamma = min(self.gamma / self._p, 1.0) if accepted else self.gamma * self._p


class NoMomentum:
    """Every step starts from the current point."""

    gamma = 0.0

    def update(self, accepted: bool) -> None:
        """Do nothing."""


MOMENTUM: dict[str, type[Momentum]] = {"restart": RestartMomentum, "adaptive": AdaptiveMomentum}


def make_momentum(momentum: bool | str) -> Momentum:
    """Return the rule of this name; True is the restart rule, and False is no momentum."""
    if momentum is False:
        return NoMomentum()
    return MOMENTUM["restart" if momentum is True else choice(momentum, "momentum", list(MOMENTUM))]()
