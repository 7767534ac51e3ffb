"""The peers of the experiment on series: each at the settings that are best at the tested entries themselves.

They are tuned on the test entries: the one of a few settings whose mean absolute error is least there is kept. No user
can do that, so that a peer's error is a lower bound of what it reaches with these settings.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from .arena_data import Array
from .series_contests import Case, measures
from .series_library import latc, latc_settings, trmf, trmf_settings
from .series_models import FORMS, dynamic_factors, regressions, structural
from .series_sets import folded, sample

CPU_LIMIT = 300.0
"""CPU seconds of a peer in a contest; the settings that are not tried by then are left out."""

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Peer:
    """A way to fill in series and to forecast them.

    Parameters
    ----------
    answer
        Takes series by time with holes, the steps to forecast and settings; returns series by time and steps.
    settings
        Returns the settings that are tried, from the periods of a set.
    sampled
        Whether it gets only a sample of the series of a large set.
    fewest
        The fewest series that it is of use for.
    ahead
        Whether it forecasts.
    """

    answer: Callable[..., Array]
    settings: Callable[[Sequence[int]], Sequence[Settings]] = lambda periods: [{}]
    sampled: bool = False
    fewest: int = 1
    ahead: bool = True

    def takes(self, case: Case) -> bool:
        """Return whether it has an answer to such a case."""
        return len(case.data) >= self.fewest and (self.ahead or not case.steps)


def linear(data: Array, steps: int) -> Array:
    """Interpolate linearly between known values; before the first and after the last, keep it."""
    places = np.arange(data.shape[1] + steps)
    filled = np.zeros((len(data), len(places)))
    for row, series in zip(filled, data, strict=True):
        known = np.flatnonzero(np.isfinite(series))
        if known.size:
            row[:] = np.interp(places, known, series[known])
    return filled


def spline(data: Array, steps: int) -> Array:
    """Interpolate by a cubic spline through known values; outside of these, keep the last."""
    from scipy.interpolate import CubicSpline

    filled = linear(data, steps)
    for row, series in zip(filled, data, strict=True):
        known = np.flatnonzero(np.isfinite(series))
        if known.size > 3:
            inside = np.arange(known[0], known[-1] + 1)
            row[inside] = CubicSpline(known, series[known])(inside)
    return filled


def seasonal(data: Array, steps: int, period: int) -> Array:
    """Return the mean of the last value known whole periods before and the first known whole periods after."""
    length = data.shape[1] + steps
    cycles = folded(np.pad(data, ((0, 0), (0, steps)), constant_values=np.nan), period)
    around = np.stack([_carried(cycles), _carried(cycles[:, ::-1])[:, ::-1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of none is NaN, and is meant
        filled = np.nanmean(around, axis=0).reshape(len(data), -1)[:, :length]
    return np.where(np.isfinite(filled), filled, linear(data, steps))


def _carried(cycles: Array) -> Array:
    """Return each slot's last known value up to each cycle."""
    last = np.where(np.isfinite(cycles), np.arange(cycles.shape[1])[:, None], 0)
    return np.take_along_axis(cycles, np.maximum.accumulate(last, axis=1), axis=1)


PEERS = {
    "linear": Peer(linear),
    "spline": Peer(spline, ahead=False),
    "seasonal": Peer(seasonal, lambda periods: [{"period": each} for each in periods]),
    "regressions": Peer(regressions, lambda periods: [{"period": each} for each in periods[:1]]),
    "structural": Peer(
        structural,
        lambda periods: [{"form": form, "periods": tuple(periods)} for form in FORMS],
        sampled=True,
    ),
    "dynamic factors": Peer(
        dynamic_factors,
        lambda periods: [{"period": each, "factors": 4} for each in periods],
        fewest=2,
    ),
    "latc": Peer(latc, latc_settings),
    "trmf": Peer(trmf, trmf_settings, fewest=2),
}
"""Every peer by name; the models of statsmodels are the slow ones."""


def peer_row(peer: Peer, found: Sequence[Case], periods: Sequence[int]) -> dict[str, Any]:
    """Return the errors of a peer at its best settings, and the CPU seconds of these.

    Parameters
    ----------
    peer
        The peer.
    found
        The cases of a contest.
    periods
        The seasonal periods of the set.
    """
    asked = [case.of(sample(len(case.data))) for case in found] if peer.sampled else list(found)
    whole = len(asked[0].data) == len(found[0].data)
    best: dict[str, Any] = {}
    try:
        with cpu_limit(CPU_LIMIT):
            for settings in peer.settings(periods):
                row = _tried(peer, asked, settings, whole)
                if not best or row["sample_mae"] < best["sample_mae"]:
                    best = row
    except TimeoutError as error:
        if not best:
            raise
        best["error"] = f"other settings: {error}"
    return best


def errors_of(found: Sequence[Case], answers: Sequence[Array]) -> dict[str, float]:
    """Return the errors over all series, and over the sample of them that slow peers get."""
    some = sample(len(found[0].data))
    of_some = measures([case.of(some) for case in found], [answer[some] for answer in answers])
    return measures(found, answers) | {"sample_mae": of_some["mae"], "sample_rmse": of_some["rmse"]}


def _tried(peer: Peer, asked: Sequence[Case], settings: Settings, whole: bool) -> dict[str, Any]:
    """Return the errors at some settings; if the cases are not whole, only those over the sample."""
    began = time.process_time()
    answers = [peer.answer(case.data, case.steps, **settings) for case in asked]
    seconds = time.process_time() - began
    if whole:
        errors = errors_of(asked, answers)
    else:
        errors = {f"sample_{name}": measures(asked, answers)[name] for name in ("mae", "rmse")}
    words = ", ".join(f"{name} {value}" for name, value in settings.items())
    return errors | {"settings": words, "cpu": seconds}


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` once the process has taken this many CPU seconds more."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"stopped after {seconds:g} CPU seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
