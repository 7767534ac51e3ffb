"""Where the workers come from: a given client, the current one, or a local cluster."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._support.checks import whole_number
from .._support.optional import need

if TYPE_CHECKING:
    from distributed import Client


ANSWER = 3.0
"""The longest time in seconds that a scheduler may take to answer."""

HERE = ("inproc://", "tcp://127.0.0.1:", "tls://127.0.0.1:")
"""Prefixes of the address of a worker on this machine."""


class LocalClusterWarning(UserWarning):
    """There was no Dask client, so a cluster was started on this machine."""


GONE = (
    "The connection to the Dask scheduler is gone; start the cluster and a client, and then the same call again, or "
    "load the fit from the folder that it was saved to."
)
"""What to do without a scheduler."""


def check_reachable(client: Any) -> None:
    """Raise an error if a client is closed or has lost its scheduler, for which Dask would wait half a minute."""
    if client.status != "running":
        raise ConnectionError(GONE)


@contextmanager
def reached(client: Any) -> Iterator[None]:
    """Say in one sentence that the scheduler is gone, if that is why anything within fails."""
    check_reachable(client)
    try:
        yield
    except Exception as error:
        # Dask raises errors of many kinds then, and raises them before it knows why.
        if isinstance(error, ConnectionError) and str(error) == GONE:
            raise
        if client.status == "running" and not isinstance(error, OSError | need("distributed", "dask").CancelledError):
            raise
        if _is_reachable(client):
            raise
        raise ConnectionError(GONE) from error


def _is_reachable(client: Any) -> bool:
    """Return whether the scheduler of a client answers."""
    try:
        check_reachable(client)
        client.sync(client.scheduler.identity, callback_timeout=ANSWER)
    except Exception:
        return False
    return True


class Connection:
    """A connection to a cluster, which on closing shuts down the cluster if it started it.

    Parameters
    ----------
    client
        A `distributed.Client`; by default the current one, and a local cluster if there is none.
    n_workers, memory_limit
        The number of processes of a local cluster, and the memory of each, such as ``"1GiB"``; by default one for each
        core, with the default memory limit of Dask.
    """

    def __init__(self, client: Any = None, n_workers: int | None = None, memory_limit: str | int | None = None) -> None:
        distributed = need("distributed", "dask")
        self._cluster: Any = None
        if client is not None and not isinstance(client, distributed.Client):
            raise TypeError(f"client must be a distributed.Client, but {client!r} was given.")
        self.client: Client = client or self._current(distributed) or self._local(distributed, n_workers, memory_limit)

    @property
    def is_local(self) -> bool:
        """Whether all workers are on this machine, and so share its file system."""
        return all(place.startswith(HERE) for place in self.client.ncores())

    def close(self) -> None:
        """Shut down the cluster if this connection started it."""
        if self._cluster is not None:
            self.client.close()
            self._cluster.close()
            self._cluster = None

    @staticmethod
    def _current(distributed: Any) -> Any:
        try:
            return distributed.get_client()
        except ValueError:
            return None

    def _local(self, distributed: Any, n_workers: int | None, memory_limit: str | int | None) -> Any:
        given: dict[str, Any] = {} if memory_limit is None else {"memory_limit": memory_limit}
        if n_workers is not None:
            given["n_workers"] = whole_number(n_workers, "n_workers", at_least=1)
        # Dask cannot spill the parts, so a worker that is paused for its memory would never resume.
        memory = {f"distributed.worker.memory.{each}": False for each in ("target", "spill", "pause")}
        with need("dask", "dask").config.set(memory):
            self._cluster = distributed.LocalCluster(threads_per_worker=1, dashboard_address=":0", **given)
        workers = len(self._cluster.workers)
        warnings.warn(
            f"There is no Dask client, so a cluster was started on this machine (workers: {workers}); give client, or "
            "make a distributed.Client first, to use another.",
            LocalClusterWarning,
            stacklevel=2,
        )
        return self._cluster.get_client()
