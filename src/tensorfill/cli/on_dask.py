"""``tensorfill complete --dask``: a table in Parquet files, on the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import glob
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from .._support.checks import real_number, whole_number
from .._support.optional import need
from .facts import facts_of_fit, fit_record
from .fitting import given_settings, stages
from .options import keeping
from .output import say, show_facts, show_json
from .outputs import rescuing

if TYPE_CHECKING:
    from ..distributed.answer import SpreadFit

BY_SIGNAL = 128
"""The exit code is this plus the number of the signal: 130 for Ctrl-C and 143 for SIGTERM."""

ELSEWHERE = {
    "merge": "--merge",
    "fold": "--fold",
    "output": "-o",
    "everywhere": "--everywhere",
    "interval": "--interval",
    "with_data": "--with-data",
    "safe_csv": "--safe-csv",
    "mask": "--mask",
    "name": "--name",
    "base": "--base",
    "layout": "--layout",
    "format": "--format",
    "refine": "--refine",
    "holdout": "--holdout",
    "splits": "--splits",
}
"""Options of `tensorfill complete` that need the whole tensor on one machine, or other kinds of files."""


def add_dask(parser: argparse.ArgumentParser) -> None:
    """Add the options for a table that is too large for the memory of one machine."""
    group = parser.add_argument_group("a table that is too large for memory")
    group.add_argument(
        "--dask",
        action="store_true",
        help="complete Parquet files on a Dask cluster: IN is a file, a folder or a pattern, and --model a folder",
    )
    group.add_argument("--scheduler", metavar="ADDRESS", help="the cluster (default: processes on this machine)")
    group.add_argument("--workers", type=int, metavar="N", help="the number of these processes (default: the cores)")
    group.add_argument("--memory", metavar="SIZE", help="the memory of each of them, as in 1GiB")


def is_for_dask(given: argparse.Namespace) -> bool:
    """Return whether to run on a cluster; raise an error for options that only make sense there."""
    if given.dask:
        return True
    for option in ("scheduler", "workers", "memory"):
        if getattr(given, option) is not None:
            raise ValueError(f"--{option} is for a Dask cluster; give --dask too, or leave it out.")
    path = given.input
    if path.is_dir() or (glob.has_magic(str(path)) and not path.exists()):
        raise ValueError(
            f"{path} matches several files; give --dask if they are a table in Parquet files, or the path of one file."
        )
    return False


def complete_on_dask(given: argparse.Namespace) -> int:
    """Complete a table in Parquet files on the workers of a cluster."""
    from ..io.fit_folders import check_folder

    settings = _settings(given)
    if given.model is None:
        raise ValueError("there is nothing to write; give --model FOLDER.")
    check_folder(given.model.absolute())
    need("distributed", "dask")
    from .. import distributed
    from .._support.interrupts import Interrupts
    from ..io.parquet_files import open_files
    from ..methods.base import Status

    files = open_files(given.input, max_bytes=given.max_bytes)
    began = time.monotonic()
    with Interrupts(terminated=True) as interrupts, _cluster(given) as cluster:
        shown = not (given.quiet or given.json)
        fit: SpreadFit = distributed.complete(files, progress=shown, **cluster, **settings)
        seconds = time.monotonic() - began
        with closing(fit), rescuing(fit, "model"):
            fit.save(given.model)
            _answer(given, fit, seconds)
    if fit.status is Status.INTERRUPTED:
        say("Interrupted; what was written is the best answer so far.")
        return BY_SIGNAL + (interrupts.number or signal.SIGINT)
    return 0


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `tensorfill.distributed.complete`; other options raise an error."""
    for name, option in ELSEWHERE.items():
        if getattr(given, name) not in (None, False):
            raise ValueError(f"{option} cannot be had with --dask, which keeps the tensor in parts; leave it out.")
    if given.method not in (["auto"], ["nort"]):
        raise ValueError(f"--method must be nort with --dask, but {','.join(given.method)!r} was given.")
    if given.smooth not in ("auto", None):
        raise ValueError("--smooth cannot be had with --dask, which keeps the tensor in parts; leave it out.")
    if given.time not in ("auto", None):
        raise ValueError("--time cannot be had with --dask, which keeps the tensor in parts; leave it out.")
    staged = stages(given)
    settings = {name: staged[name] for name in ("loss", "time_limit", "rng")}
    if given.validation is not None:
        settings["validation"] = real_number(given.validation, "--validation", above=0, below=1)
    if given.bounds is not None:
        settings["bounds"] = tuple(given.bounds)
    for name in ("value", "missing"):
        if getattr(given, name) is not None:
            settings[name] = str(getattr(given, name))
    return settings | keeping(given) | given_settings(given)


@contextmanager
def _cluster(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the cluster for `tensorfill.distributed.complete`: the given one, or local processes."""
    dask = need("distributed", "dask")
    if given.scheduler is None:
        # Starting local processes is intended, so its warning is suppressed.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "There is no Dask client")
            yield {"n_workers": _workers(given), "memory_limit": _memory(given)}
        return
    for option in ("workers", "memory"):
        if getattr(given, option) is not None:
            raise ValueError(f"--{option} is for processes on this machine; leave it out with --scheduler.")
    try:
        client = dask.Client(given.scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise OSError(f"there is no Dask scheduler at {given.scheduler!r}; start one, or leave it out.") from error
    with client as connected:
        yield {"client": connected}


def _workers(given: argparse.Namespace) -> int | None:
    return None if given.workers is None else whole_number(given.workers, "--workers", at_least=1)


def _memory(given: argparse.Namespace) -> int | None:
    """Return a size in bytes."""
    if given.memory is None:
        return None
    try:
        size = int(need("dask.utils", "dask").parse_bytes(given.memory))
    except ValueError:
        size = 0
    if size <= 0:
        raise ValueError(f"--memory must be a size such as 1GiB or 500MB, but {given.memory!r} was given.")
    return size


def _answer(given: argparse.Namespace, fit: SpreadFit, seconds: float) -> None:
    if given.json:
        show_json(fit_record(fit, fit.entries, seconds) | {"model": str(given.model)})
    elif not given.quiet:
        parts = f"on {len(fit.model.parts)} workers"
        show_facts([*facts_of_fit(fit, fit.entries, seconds), ("parts", parts), ("written", f"{given.model} (model)")])
