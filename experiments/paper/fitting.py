"""One fit and what is measured of it: the error, seconds of CPU, peak memory, and the way there."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import tensorfill
from tensorfill import Choice, Clock, Fit, Nort, Observations, Problem
from tensorfill._support.memory import PeakMemory
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.base import Method
from tensorfill.methods.registry import make_method
from tensorfill.metrics import rmse

from .experiment import Measured, Task

AUTOMATIC = "complete()"
"""The name of a row: the library's own call with nothing said."""

AS_PRINTED: dict[str, Any] = {"smooth": None, "centre": False}
"""A method of the paper has nothing around it."""

TESTED_ON_THE_WAY = 20_000
"""At most this many test entries are predicted after each iteration."""

NEARLY = 1.05
"""A threshold is nearly as good as the best up to this multiple of the held-out error."""

POINTS = 40
"""A curve is kept at about this many iterations."""


def arguments(row: str) -> dict[str, Any]:
    """Return the arguments of `complete` for a row of a table.

    A row is the name of a method, with its penalty after a colon if there are several.

    >>> arguments("snort:lsp")["momentum"]
    False
    """
    if row == AUTOMATIC:
        return {}
    method, _, penalty = row.partition(":")
    given: dict[str, Any] = {"method": method, **AS_PRINTED}
    if method == "snort":
        given |= {"method": "nort", "momentum": False}
    return given | ({"penalty": penalty} if penalty else {})


def fitted(
    row: str,
    train: Observations,
    test: Observations,
    *,
    seed: int,
    limit: float,
    validation: Observations | None = None,
    settings: Mapping[str, Any] | None = None,
    curves: bool = False,
) -> tuple[Fit, Measured]:
    """Return the fit of a row, and what was measured.

    Parameters
    ----------
    row
        The method; see `arguments`.
    train, test
        The entries to fit, and those that give the error.
    seed
        Decides everything that is random.
    limit
        Seconds for the choice and the fit.
    validation
        Entries to choose settings on; by default the library holds some of `train` out.
    settings
        Further arguments of `complete`.
    curves
        Whether the method runs once more, from zero with what was chosen, and every iteration is measured.
    """
    given = {**arguments(row), **(settings or {}), "rng": seed}
    if validation is not None:
        given["choose"] = Choice(validation=validation)
    load_loops(row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        with PeakMemory() as peak:
            fit = tensorfill.complete(train, time_limit=limit, **given)
        seconds = time.process_time() - began
        found: Measured = {
            "rmse": rmse(fit.predict(test.coords), test.values),
            "seconds": round(seconds, 2),
            "memory": peak.bytes,
            "iterations": len(fit.history) - 1,
            "ranks": list(fit.ranks),
        }
        if not fit.status.is_finished:
            found["note"] = fit.status.name.lower().replace("_", " ")
        if curves:
            with PeakMemory() as peak:
                found["curves"] = way(fit, train, test, seed=seed, limit=limit)
            found["memory of one fit"] = peak.bytes
    return fit, found


def fitted_to_parts(
    task: Task, train: Observations, validation: Observations, test: Observations, *, curves: bool = True
) -> Measured:
    """Return what a run measures by the paper's protocol: settings are chosen on the validation part.

    The library's own call sees the training part only. With `curves`, every iteration is measured for the first seed.
    """
    own = task.method == AUTOMATIC
    _, found = fitted(
        task.method,
        train,
        test,
        seed=task.seed,
        limit=task.limit,
        validation=None if own else validation,
        curves=curves and task.seed == 0 and not own,
    )
    return found


def chosen_by_nort(task: Task, train: Observations) -> dict[str, Any]:
    """Return the settings and rank limits that NORT chooses, for a method that minimises the same on whole tensors.

    Other methods get none.
    """
    name, _, penalty = task.method.partition(":")
    if name not in ("gdpan", "lrtc"):
        return {}
    # A tensor that is too large for the method is refused before NORT takes long to choose.
    make_method(name, {"lam": 1.0}).check(Problem(train, Square()))
    chosen: Any = from_zero(tensorfill.complete(train, rng=task.seed, **arguments(f"nort:{penalty}")))
    return {"lam": chosen.lam, "penalty": chosen.penalty, "modes": chosen.modes, "max_rank": chosen.max_rank}


def load_loops(row: str) -> None:
    """Fit a small tensor, so that neither time nor memory includes the loading of compiled loops."""
    small = synthetic((40, 40, 40), rank=2, observed=3_200, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensorfill.complete(small.observations, time_limit=20, rng=0, **arguments(row))


def from_zero(fit: Fit, *, spare: int = 0) -> Method:
    """Return what was chosen, for a run from zero: with the largest threshold that is nearly as good as the best.

    A search comes down to its threshold. From zero a small one would keep noise, which nonconvex penalties rarely drop.
    So ranks are limited to those of the answer, as the paper's authors limit them, and `spare` more.
    """
    if not isinstance(fit.method, Nort) or fit.path is None:
        return fit.method
    best = min(point.held_out for point in fit.path)
    good = [point for point in fit.path if point.held_out <= NEARLY * best]
    method: Any = max(good, key=lambda point: point.cut).method
    found = dict(zip(fit.method.modes or (), fit.ranks, strict=False))
    return replace(method, max_rank=tuple(found.get(mode, 1) + spare for mode in method.modes), polish=False)


def way(fit: Fit, train: Observations, test: Observations, *, seed: int, limit: float) -> dict[str, list[float]]:
    """Return iterations, seconds of CPU, objective and test error of a run from zero with what was chosen."""
    # All over the tensor: the first entries of a picture are its upper rows.
    part = test.select(np.arange(len(test)) % math.ceil(len(test) / TESTED_ON_THE_WAY) == 0)
    clock = CpuClock()
    rows: list[tuple[int, float, float, float]] = []

    def note(record: Any, model: Any) -> None:
        with clock.paused():
            rows.append(
                (record.iteration, clock.seconds, record.objective, rmse(model.predict(part.coords), part.values))
            )

    from_zero(fit).solve(Problem(train, fit.loss), rng=seed, callback=note, clock=Clock(limit))
    kept = rows[:: max(1, len(rows) // POINTS)]
    if rows and kept[-1] is not rows[-1]:
        kept.append(rows[-1])
    names = ("iteration", "seconds", "objective", "rmse")
    return {name: [float(f"{row[place]:.6g}") for row in kept] for place, name in enumerate(names)}


class CpuClock:
    """Seconds of CPU since it was made, without those while it is paused."""

    def __init__(self) -> None:
        self._began, self._left_out = time.process_time(), 0.0

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return time.process_time() - self._began - self._left_out

    def paused(self) -> _Pause:
        """Return a context that does not count."""
        return _Pause(self._leave_out)

    def _leave_out(self, seconds: float) -> None:
        self._left_out += seconds


class _Pause:
    def __init__(self, leave_out: Callable[[float], None]) -> None:
        self._leave_out = leave_out

    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *error: object) -> None:
        self._leave_out(time.process_time() - self._began)
