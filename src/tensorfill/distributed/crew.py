"""The workers that hold the parts of a tensor, how they are asked, and what happens when one is lost.

Asking takes a message there and back, so what needs no answer waits and goes along with the next question: a batch of
orders for each part, which its worker carries out one after the other. Answers are added up in a tree on the workers,
in the order of the parts, and so the sum does not depend on who is first.

A part is a function of its entries and of the orders that it got. So a part whose worker is lost is made again on
another worker: its entries are read again, the arrays of the last snapshot too, and the orders since then, which are
kept here, are carried out once more. Nobody else notices, and the answer is the same, bit for bit.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .orders import Answer, Order, added, carried_out, made, nbytes_of, packed, removed

if TYPE_CHECKING:
    from distributed import Client, Future

    from .part import Part

LARGE = 2**20
"""Arrays of more bytes than this travel beside the orders, and once for all parts that need the same one."""

CHECK_EVERY = 1.0
"""Seconds after which it is checked whether the workers are still there."""

MOST_ORDERS, MOST_BYTES = 400, 2**28
"""A snapshot is written when the orders since the last one, for one part, are so many or have so many bytes."""

PATIENCE = 60.0
"""Seconds to wait for a worker when none is left."""


@dataclass
class Traffic:
    """What was moved and computed.

    Parameters
    ----------
    moved
        Bytes that travelled between the driver and the workers, and among the workers.
    computing
        Seconds in which the slowest worker computed, added up over all questions.
    asking
        Seconds from a question to its answer, added up.
    questions
        How many there were.
    """

    moved: int = 0
    computing: float = 0.0
    asking: float = 0.0
    questions: int = 0


@dataclass(eq=False)
class Crew:
    """The workers of a run.

    Parameters
    ----------
    client
        The connection to the cluster.
    places
        The address of the worker that has each part.
    source
        Returns the function that makes a part on its worker, with its arguments, which may be futures.
    folder
        A folder that all workers see, for snapshots; without one, a lost worker ends the run.
    """

    client: Client
    places: list[str]
    source: Callable[[int], tuple[Callable[..., Part], Sequence[Any]]]
    folder: str | None = None
    traffic: Traffic = field(default_factory=Traffic)
    recoveries: int = 0

    def __post_init__(self) -> None:
        self.run = uuid.uuid4().hex[:8]
        self._names = itertools.count(1)
        self._questions = itertools.count()
        self._waiting: list[Sequence[Order]] = []
        self._dropped: list[int] = []
        self._standing = 0
        self._setup: list[list[Order]] = [[] for _ in self.places]
        self._log: list[list[Order]] = [[] for _ in self.places]
        self._logged_bytes = 0
        self._snapshot: str | None = None

    # What is asked

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.places)

    def make(self) -> list[int]:
        """Make every part on its worker, and return how many entries each has."""
        counts: list[int] = self._gathered([self._made(part) for part in range(self.parts)])
        return counts

    def new_name(self) -> int:
        """Return a name that no array has yet."""
        return next(self._names)

    def drop(self, name: int) -> None:
        """Let every part forget an array, with the next question."""
        self._dropped.append(name)

    def standing(self, change: int) -> None:
        """Count the points that workers stand at; while there are any, no snapshot is made."""
        self._standing += change

    def settle(self, order: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Ask each part to prepare its entries; a part that is made again begins with this."""
        answers = self.ask_each(order, given)
        for part, each in enumerate(given):
            self._setup[part].append((order, each))
        self._take_snapshot()
        return answers

    def later(self, order: str, *given: Any) -> None:
        """Give all parts the same order, which needs no answer."""
        self.later_each(order, [given] * self.parts)

    def later_each(self, order: str, given: Iterable[tuple[Any, ...]]) -> None:
        """Give each part an order of its own, which needs no answer."""
        self._waiting.append([(order, each) for each in given])

    def ask(self, order: str, *given: Any) -> list[Any]:
        """Return the answer of each part to the same question."""
        return self.ask_each(order, [given] * self.parts)

    def ask_each(self, order: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answer of each part to a question of its own."""
        return [answer.value for answer in self._asked(order, given, lambda futures: futures)]

    def ask_one(self, order: str, *given: Any) -> Any:
        """Return the answer of the first part, where all have the same."""
        return self._asked(order, [given] * self.parts, lambda futures: futures[:1])[0].value

    def total(self, order: str, *given: Any) -> Any:
        """Return the sum of the answers to the same question."""
        return self.total_each(order, [given] * self.parts)

    def total_each(self, order: str, given: Sequence[tuple[Any, ...]]) -> Any:
        """Return the sum of the answers to a question for each part."""
        return self._asked(order, given, lambda futures: [self._summed(order, futures)])[0].value

    def total_there(self, order: str, given: Sequence[tuple[Any, ...]], nbytes: int) -> Future:
        """Return the sum of the answers, of so many bytes, as a future on the workers, which the next question takes."""
        # Each of these travels once to be added, and the sum to every other worker.
        self.traffic.moved += 2 * (self.parts - 1) * nbytes
        kept: list[Future] = []

        def summed(futures: list[Future]) -> list[Future]:
            kept[:] = [self._summed(order, futures)]
            return []

        self._asked(order, given, summed)
        return kept[0]

    def close(self) -> None:
        """Remove the parts from the workers."""
        self.client.run(removed, self.run)

    # How it is sent

    def _asked(
        self, order: str, given: Sequence[tuple[Any, ...]], wanted: Callable[[list[Future]], list[Future]]
    ) -> list[Answer]:
        """Send each part what waits for it and the question, and return the answers that are wanted of them."""
        if self._is_time_for_a_snapshot():
            self._take_snapshot()
        began = time.perf_counter()
        batches = self._batches(order, given)
        futures = self._sent(order, batches)
        for part, batch in enumerate(batches):
            self._log[part] += batch
        self._logged_bytes += max(nbytes_of(batch) for batch in batches)
        while True:
            try:
                answers: list[Answer] = self._gathered(futures, wanted)
                break
            except _Lost as lost:
                for part in lost.parts:
                    futures[part] = self._made_again(part)
        self.traffic.questions += 1
        self.traffic.asking += time.perf_counter() - began
        self.traffic.computing += max((answer.seconds for answer in answers), default=0.0)
        self.traffic.moved += sum(nbytes_of(answer.value) for answer in answers)
        return answers

    def _batches(self, order: str, given: Sequence[tuple[Any, ...]]) -> list[list[Order]]:
        """Return what waits for each part, what it can forget, and the question."""
        # What was dropped may have been used by what is waiting, so it is forgotten after that.
        forget: list[Order] = [("forget", (tuple(self._dropped),))] if self._dropped else []
        batches = [
            [*(orders[part] for orders in self._waiting), *forget, (order, each)] for part, each in enumerate(given)
        ]
        self._waiting.clear()
        self._dropped.clear()
        return batches

    def _sent(self, order: str, batches: Sequence[Sequence[Order]]) -> list[Future]:
        sent: dict[int, Any] = {}
        return [self._submitted(order, part, batch, sent) for part, batch in enumerate(batches)]

    def _submitted(
        self, order: str, part: int, batch: Sequence[Order], sent: dict[int, Any], after: Future | None = None
    ) -> Future:
        """Send a batch to the worker of a part; it begins when `after` is done."""
        beside: list[Any] = []
        orders = packed(batch, beside)
        self.traffic.moved += sum(map(nbytes_of, beside))
        return self.client.submit(
            carried_out,
            self.run,
            part,
            orders,
            after,
            *(self._delivered(each, sent) for each in beside),
            key=f"tensorfill-{order}-{self.run}-{next(self._questions)}-{part}",
            workers=[self.places[part]],
            allow_other_workers=False,
            pure=False,
        )

    def _delivered(self, thing: Any, sent: dict[int, Any]) -> Any:
        """Return a large array as a future, made once for all parts; anything else as it is."""
        if nbytes_of(thing) < LARGE:
            return thing
        if id(thing) not in sent:
            sent[id(thing)] = self.client.scatter(thing, hash=False)
        return sent[id(thing)]

    def _summed(self, order: str, futures: list[Future]) -> Future:
        """Return the sum of answers, by a tree of additions on the workers."""
        while len(futures) > 1:
            pairs = [*itertools.pairwise([*futures, None])][::2]
            futures = [one if other is None else self._added(order, one, other) for one, other in pairs]
        return futures[0]

    def _added(self, order: str, one: Future, other: Future) -> Future:
        key = f"tensorfill-add-{order}-{self.run}-{next(self._questions)}"
        return self.client.submit(added, one, other, key=key, pure=False)

    def _gathered(self, futures: list[Future], wanted: Callable[[list[Future]], list[Future]] | None = None) -> Any:
        """Wait for the answers of all parts, and return those that are wanted; raise `_Lost` if a worker is gone."""
        import distributed

        last = futures
        try:
            self._wait(futures)
            last = futures if wanted is None else wanted(futures)
            self._wait(last)
            return self.client.gather(last)
        except (distributed.KilledWorker, distributed.CancelledError) as error:
            raise _Lost(self._lost() or list(range(self.parts))) from error

    def _wait(self, futures: list[Future]) -> None:
        import distributed

        while futures:
            try:
                distributed.wait(futures, timeout=CHECK_EVERY)
                return
            except TimeoutError:
                if lost := self._lost():
                    raise _Lost(lost) from None

    # What is lost

    def _lost(self) -> list[int]:
        """Return the parts whose worker is gone."""
        alive = set(self.client.ncores())
        return [part for part, place in enumerate(self.places) if place not in alive]

    def _made(self, part: int) -> Future:
        """Make a part on its worker."""
        make, given = self.source(part)
        return self.client.submit(
            made,
            self.run,
            part,
            make,
            *given,
            key=f"tensorfill-part-{self.run}-{next(self._questions)}-{part}",
            workers=[self.places[part]],
            allow_other_workers=False,
            pure=False,
        )

    def _made_again(self, part: int) -> Future:
        """Make a part on another worker, as it was, and return the answer to the last question to it."""
        if self.folder is None:
            raise ConnectionError(
                f"The Dask worker of part {part} is gone, and there is no folder that all workers see; give checkpoint, "
                "a path on a shared disk, so that the work of a lost worker can be done again."
            )
        self.places[part] = self._another_place()
        self.recoveries += 1
        before: list[Order] = [] if self._snapshot is None else [("recall_all", (self.folder, self._snapshot))]
        return self._submitted(
            "again", part, [*self._setup[part], *before, *self._log[part]], {}, after=self._made(part)
        )

    def _another_place(self) -> str:
        """Return the worker with the fewest parts."""
        ends = time.monotonic() + PATIENCE
        while not (alive := list(self.client.ncores())):
            if time.monotonic() > ends:
                raise ConnectionError("All Dask workers are gone; start some, and the same call again.")
            time.sleep(CHECK_EVERY)
        return min(alive, key=self.places.count)

    def _is_time_for_a_snapshot(self) -> bool:
        many = max(map(len, self._log)) > MOST_ORDERS or self._logged_bytes > MOST_BYTES
        return many and self._standing == 0 and self.folder is not None

    def _take_snapshot(self) -> None:
        """Let every part write its arrays, and forget the orders that made them."""
        if self.folder is None:
            self._empty_log()
            return
        name, before = f"{self.run}-{next(self._questions)}", self._snapshot
        batches = self._batches("keep_all", [(self.folder, name)] * self.parts)
        for part, batch in enumerate(batches):
            # A worker that is lost while it writes does everything again that led here.
            self._log[part] += batch
        futures = self._sent("keep_all", batches)
        while True:
            try:
                self._gathered(futures)
                break
            except _Lost as lost:
                for part in lost.parts:
                    futures[part] = self._made_again(part)
        self._snapshot = name
        self._empty_log()
        if before is not None:
            self.later("drop_kept", self.folder, before)

    def _empty_log(self) -> None:
        self._log = [[] for _ in self.places]
        self._logged_bytes = 0


class _Lost(Exception):
    """Workers are gone, and with them these parts."""

    def __init__(self, parts: Sequence[int]) -> None:
        super().__init__(f"the workers of parts {list(parts)} are gone.")
        self.parts = tuple(parts)
