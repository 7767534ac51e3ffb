"""Sends orders to the workers that hold the parts of a tensor, and waits for answers while the workers are alive."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .cluster import check_reachable
from .orders import NotHere, Order, added, carried_out, made, nbytes_of, packed, removed, value_of

if TYPE_CHECKING:
    from distributed import Client, Future

    from .part import Part

LARGE = 2**20
"""Arrays of more bytes than this are sent separately from the orders, once for all parts that need the same one."""

CHECK_EVERY = 1.0
"""Seconds between checks that the workers are alive."""

PATIENCE = 60.0
"""Seconds to wait for a worker when none is left, or for an answer that no worker is computing."""

RESTART = 10.0
"""Seconds to wait for a replacement of a lost worker, before another worker gets a second part."""


@dataclass
class Traffic:
    """The traffic and computing time of a run.

    Parameters
    ----------
    moved
        Bytes sent between the driver and the workers, and among the workers.
    computing
        Computing time of the slowest worker in seconds, summed over all questions.
    asking
        Seconds from a question to its answer, summed over all questions.
    questions
        The number of questions.
    """

    moved: int = 0
    computing: float = 0.0
    asking: float = 0.0
    questions: int = 0


Wanted = Callable[[list["Future"]], list["Future"]]
"""Maps the answers of all parts to those that are sent to the driver."""


class Lost(Exception):
    """Workers were lost, and with them these parts."""

    def __init__(self, parts: Sequence[int]) -> None:
        super().__init__(f"the workers of parts {list(parts)} are gone.")
        self.parts = tuple(parts)


@dataclass(eq=False)
class Post:
    """Sends orders to the parts of a tensor and returns their answers.

    Parameters
    ----------
    client
        The connection to the cluster.
    places
        The address of the worker that has each part.
    """

    client: Client
    places: list[str]
    traffic: Traffic = field(default_factory=Traffic)

    def __post_init__(self) -> None:
        self.run = uuid.uuid4().hex[:8]
        self._keys = itertools.count()

    def new_key(self) -> str:
        """Return a unique key for the name of a task."""
        return f"{self.run}-{next(self._keys)}"

    def sent(self, order: str, batches: Sequence[Sequence[Order]]) -> list[Future]:
        """Send each part its batch."""
        sent: dict[int, Any] = {}
        return [self.submitted(order, part, batch, sent) for part, batch in enumerate(batches)]

    def submitted(
        self, order: str, part: int, batch: Sequence[Order], sent: dict[int, Any], after: Future | None = None
    ) -> Future:
        """Send a batch to the worker of a part; it starts when `after` is done."""
        beside: list[Any] = []
        orders = packed(batch, beside)
        self.traffic.moved += sum(map(nbytes_of, beside))
        return self._begun(order, carried_out, part, orders, after, *(self._delivered(each, sent) for each in beside))

    def _begun(self, name: str, task: Callable[..., Any], part: int, *given: Any) -> Future:
        """Start a task on the worker of a part, and only there."""
        return self.client.submit(
            task,
            self.run,
            part,
            *given,
            key=f"tensorfill-{name}-{self.new_key()}-{part}",
            workers=[self.places[part]],
            allow_other_workers=False,
            pure=False,
        )

    def _delivered(self, thing: Any, sent: dict[int, Any]) -> Any:
        """Return a large array as a future that all parts share, and anything else unchanged."""
        if nbytes_of(thing) < LARGE:
            return thing
        if id(thing) not in sent:
            sent[id(thing)] = self.client.scatter(thing, hash=False)
        return sent[id(thing)]

    def summed(self, order: str, futures: list[Future]) -> Future:
        """Return the sum of answers, computed in a tree on the workers."""
        while len(futures) > 1:
            pairs = [*itertools.pairwise([*futures, None])][::2]
            futures = [one if other is None else self._added(order, one, other) for one, other in pairs]
        return futures[0]

    def _added(self, order: str, one: Future, other: Future) -> Future:
        key = f"tensorfill-add-{order}-{self.new_key()}"
        return self.client.submit(added, one, other, key=key, pure=False)

    def gathered(self, futures: list[Future], wanted: Wanted | None = None) -> Any:
        """Wait for the answers of all parts, and return the wanted ones; raise `Lost` if a worker is gone."""
        import distributed

        last = futures if wanted is None else wanted(futures)
        try:
            self._wait([*futures, *last])
            return self.client.gather(last)
        except NotHere as error:
            raise Lost([error.part]) from error
        except (distributed.KilledWorker, distributed.CancelledError) as error:
            raise Lost(self._lost()) from error

    def _wait(self, futures: list[Future]) -> None:
        """Wait until all futures are done, and check meanwhile that the workers are alive.

        `distributed.wait` is not used: with a time limit, it raises an exception whose traceback keeps the variables of
        all callers alive, including vectors on workers, until Python collects it.
        """
        waiting = Countdown(len(futures))
        for future in futures:
            future.add_done_callback(waiting.one_less)
        idle = 0
        while not waiting.ended.wait(CHECK_EVERY):
            check_reachable(self.client)
            if lost := self._lost():
                raise Lost(lost)
            idle = 0 if any(self.client.processing().values()) else idle + 1
            if idle * CHECK_EVERY > PATIENCE:
                raise ConnectionError(
                    "The Dask cluster has had nothing to do for a minute, but an answer is missing; start it anew."
                )

    def made(self, part: int, make: Callable[..., Part], given: Sequence[Any]) -> Future:
        """Build a part on its worker."""
        return self._begun("part", made, part, make, *given)

    def left(self, order: str, futures: Sequence[Future]) -> list[Future]:
        """Return answers without their computing time, as futures that stay on the workers of their parts."""
        key = f"tensorfill-keep-{order}-{self.new_key()}"
        return [
            self.client.submit(value_of, each, key=f"{key}-{part}", workers=[self.places[part]], pure=False)
            for part, each in enumerate(futures)
        ]

    def remove_parts(self) -> None:
        """Remove the parts of this run from all workers."""
        check_reachable(self.client)
        self.client.run(removed, self.run)

    def _lost(self) -> list[int]:
        """Return the parts whose worker is gone."""
        check_reachable(self.client)
        alive = set(self.client.ncores())
        return [part for part, place in enumerate(self.places) if place not in alive]

    def another_place(self) -> str:
        """Return a worker without a part; if there is none after a while, the one with the fewest parts."""
        began = time.monotonic()
        while True:
            alive = list(self.client.ncores())
            waited = time.monotonic() - began
            if alive and (waited > RESTART or any(place not in self.places for place in alive)):
                place: str = min(alive, key=self.places.count)
                return place
            if waited > PATIENCE:
                raise ConnectionError("All Dask workers are gone; start some, and then the same call again.")
            time.sleep(min(CHECK_EVERY, 0.2))


class Countdown:
    """Signals when a number of tasks are done, in any threads."""

    def __init__(self, count: int) -> None:
        self._left, self._lock = count, threading.Lock()
        self.ended = threading.Event()

    def one_less(self, thing: object) -> None:
        """Count a task as done."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self.ended.set()
