"""The workers that hold the parts of a tensor, how they are asked, and what happens when one is lost.

Asking takes a message there and back, so what needs no answer waits and goes along with the next question: a batch of
orders for each part, which its worker carries out one after the other. Answers are added up in a tree on the workers,
in the order of the parts, and so the sum does not depend on who is first.

The parts are a function of their entries and of the orders that they got. So when a worker is lost, its part is made
again on another worker, all parts go back to the last snapshot, and the questions since then, which are kept here, are
asked once more. Nobody else notices, and the answer is the same, bit for bit.
"""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from .orders import Answer, NotHere, Order, added, carried_out, made, nbytes_of, packed, removed, value_of

if TYPE_CHECKING:
    from distributed import Client, Future

    from .part import Part

T = TypeVar("T")

LARGE = 2**20
"""Arrays of more bytes than this travel beside the orders, and once for all parts that need the same one."""

CHECK_EVERY = 1.0
"""Seconds after which it is checked whether the workers are still there."""

MOST_QUESTIONS, MOST_BYTES = 60, 2**28
"""A snapshot is written when the questions since the last one are so many, or have so many bytes for a part."""

PATIENCE = 60.0
"""Seconds to wait for a worker when none is left, or for an answer that no worker is at work on."""

MOST_LOSSES = 4
"""Workers may be lost so many times at the same point of a run."""

RESTART = 10.0
"""Seconds to wait for a worker in the place of one that is lost, before another gets a second part."""


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


Wanted = Callable[[list["Future"]], list["Future"]]
"""From the answers of all parts to those that are brought here."""


@dataclass(frozen=True, eq=False)
class Question:
    """What all parts are asked at once.

    Parameters
    ----------
    order
        Its name.
    batches
        The orders for each part; the answer is that to the last.
    then
        A second question for all parts, whose first argument is the sum of the answers to the first.
    """

    order: str
    batches: Sequence[Sequence[Order]]
    then: Order | None = None


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
        self._keys = itertools.count()
        self._waiting: list[Sequence[Order]] = []
        self._dropped: list[int] = []
        self._standing = 0
        self._setup: list[list[Order]] = [[] for _ in self.places]
        self._asked: list[Question] = []
        self._asked_bytes = 0
        self._snapshot: str | None = None

    # What is asked

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.places)

    def make(self) -> list[int]:
        """Make every part on its worker, and return how many entries each has."""
        futures = [self._made(part) for part in range(self.parts)]

        def make_elsewhere(parts: Sequence[int]) -> None:
            for part in parts:
                self.places[part] = self._another_place()
                futures[part] = self._made(part)

        counts: list[int] = _insisted(lambda: self._gathered(futures), make_elsewhere)
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
        return self._answers(Question(order, self._batches(order, given)))

    def ask_one(self, order: str, *given: Any) -> Any:
        """Return the answer of the first part, where all have the same."""
        question = Question(order, self._batches(order, [given] * self.parts))
        return self._answers(question, lambda futures: futures[:1])[0]

    def total(self, order: str, *given: Any) -> Any:
        """Return the sum of the answers to the same question."""
        return self.total_each(order, [given] * self.parts)

    def total_each(self, order: str, given: Sequence[tuple[Any, ...]]) -> Any:
        """Return the sum of the answers to a question for each part."""
        question = Question(order, self._batches(order, given))
        total = self._answers(question, lambda futures: [self._summed(order, futures)])[0]
        # All answers but one travelled to be added.
        self.traffic.moved += (self.parts - 1) * nbytes_of(total)
        return total

    def through_sum(
        self, order: str, given: Sequence[tuple[Any, ...]], nbytes: int, then: str, *rest: Any
    ) -> list[Any]:
        """Ask each part, add the answers up on the workers, and return the answers to a question about the sum.

        Parameters
        ----------
        order, given
            The first question.
        nbytes
            The bytes of an answer to it, none of which comes here.
        then, rest
            The second question, whose first argument is the sum.
        """
        # Each answer travels once to be added, and the sum to every other worker.
        self.traffic.moved += 2 * (self.parts - 1) * nbytes
        return self._answers(Question(order, self._batches(order, given), (then, rest)))

    def left_there(self, order: str, given: Sequence[tuple[Any, ...]]) -> list[Future]:
        """Return the answer of each part as a future that stays on its worker."""
        batches = self._batches(order, given)

        def left() -> list[Future]:
            key = f"tensorfill-keep-{order}-{self.run}-{next(self._keys)}"
            futures: list[Future] = [
                self.client.submit(value_of, each, key=f"{key}-{part}", workers=[self.places[part]], pure=False)
                for part, each in enumerate(self._sent(order, batches))
            ]
            self._gathered(futures, lambda futures: [])
            return futures

        return _insisted(left, self._recover)

    def close(self) -> None:
        """Remove the parts from the workers."""
        self._waiting.clear()
        self._asked.clear()
        self.client.run(removed, self.run)

    # How it is sent

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

    def _answers(self, question: Question, wanted: Wanted | None = None) -> list[Any]:
        """Ask a question until all parts have answered, and return the answers that are wanted."""
        began = time.perf_counter()
        if self._is_time_for_a_snapshot():
            # What waited goes with the question, so the parts are as they were after the last one.
            self._take_snapshot()
        answers = _insisted(lambda: self._put(question, wanted), self._recover)
        if self.folder is not None:
            self._asked.append(question)
            self._asked_bytes += max(nbytes_of(batch) for batch in question.batches)
        self.traffic.questions += 1
        self.traffic.asking += time.perf_counter() - began
        self.traffic.computing += max(answer.seconds for answer in answers)
        self.traffic.moved += sum(nbytes_of(answer.value) for answer in answers)
        return [answer.value for answer in answers]

    def _put(self, question: Question, wanted: Wanted | None = None) -> list[Answer]:
        """Put a question to all parts; raise `_Lost` if a worker is gone."""
        futures = self._sent(question.order, question.batches)
        if question.then is not None:
            then, rest = question.then
            second: Order = (then, (self._summed(question.order, futures), *rest))
            futures = self._sent(then, [[second]] * self.parts)
        answers: list[Answer] = self._gathered(futures, wanted)
        return answers

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
            key=f"tensorfill-{order}-{self.run}-{next(self._keys)}-{part}",
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
        key = f"tensorfill-add-{order}-{self.run}-{next(self._keys)}"
        return self.client.submit(added, one, other, key=key, pure=False)

    def _gathered(self, futures: list[Future], wanted: Wanted | None = None) -> Any:
        """Wait for the answers of all parts, and return those that are wanted; raise `_Lost` if a worker is gone."""
        import distributed

        last = futures if wanted is None else wanted(futures)
        try:
            self._wait([*futures, *last])
            return self.client.gather(last)
        except NotHere as error:
            raise _Lost([error.part]) from error
        except (distributed.KilledWorker, distributed.CancelledError) as error:
            raise _Lost(self._lost()) from error

    def _wait(self, futures: list[Future]) -> None:
        """Wait until all are done, and look after the workers meanwhile.

        `distributed.wait` with a time limit raises an exception whose traceback keeps everything alive that the callers
        of this function refer to, vectors on workers among them, until Python collects it.
        """
        waiting = Countdown(len(futures))
        for future in futures:
            future.add_done_callback(waiting.one_less)
        idle = 0
        while not waiting.ended.wait(CHECK_EVERY):
            if lost := self._lost():
                raise _Lost(lost)
            idle = 0 if any(self.client.processing().values()) else idle + 1
            if idle * CHECK_EVERY > PATIENCE:
                raise ConnectionError(
                    "The Dask cluster has had nothing to do for a minute, but an answer is missing; start it anew."
                )

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
            key=f"tensorfill-part-{self.run}-{next(self._keys)}-{part}",
            workers=[self.places[part]],
            allow_other_workers=False,
            pure=False,
        )

    def _recover(self, parts: Sequence[int]) -> None:
        """Make parts on other workers, and let all parts do again what they did since the last snapshot."""
        if self.folder is None or self._snapshot is None:
            raise ConnectionError(
                "A Dask worker is gone, and there is no folder that all workers see; give checkpoint, a path on a "
                "shared disk, so that the work of a lost worker can be done again."
            )
        self.recoveries += 1
        recall: Order = ("recall_all", (self.folder, self._snapshot))
        missing = set(parts)

        def do_again() -> None:
            for part in missing:
                self.places[part] = self._another_place()
            again = [
                self._submitted("again", part, [*self._setup[part], recall], {}, after=self._made(part))
                if part in missing
                else self._submitted("again", part, [recall], {})
                for part in range(self.parts)
            ]
            self._gathered(again)
            for question in self._asked:
                self._put(question)

        # Those that were made just now may be incomplete, so they are made again too.
        _insisted(do_again, missing.update)

    def _another_place(self) -> str:
        """Return a worker that has no part; after a while, the one with the fewest parts."""
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

    def _is_time_for_a_snapshot(self) -> bool:
        many = len(self._asked) > MOST_QUESTIONS or self._asked_bytes > MOST_BYTES
        return many and self._standing == 0 and self.folder is not None

    def _take_snapshot(self) -> None:
        """Let every part write its arrays, and forget the questions that made them."""
        if self.folder is not None:
            name, before = f"{self.run}-{next(self._keys)}", self._snapshot
            keep = Question("keep_all", [[("keep_all", (self.folder, name))]] * self.parts)
            _insisted(lambda: self._put(keep), self._recover)
            self._snapshot = name
            if before is not None:
                self.later("drop_kept", self.folder, before)
        self._asked.clear()
        self._asked_bytes = 0


class Countdown:
    """Says when so many things are done, in whatever threads."""

    def __init__(self, count: int) -> None:
        self._left, self._lock = count, threading.Lock()
        self.ended = threading.Event()

    def one_less(self, thing: object) -> None:
        """Count one that is done."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self.ended.set()


def _insisted(action: Callable[[], T], again: Callable[[Sequence[int]], object]) -> T:
    """Return what an action returns; if workers are lost meanwhile, repair that and try again, but not for ever."""
    for _ in range(MOST_LOSSES):
        try:
            return action()
        except _Lost as lost:
            again(lost.parts)
    raise ConnectionError(
        f"Dask workers were lost {MOST_LOSSES} times at the same point of the run, perhaps because their memory does "
        "not suffice; add workers, or give them more memory."
    )


class _Lost(Exception):
    """Workers are gone, and with them these parts."""

    def __init__(self, parts: Sequence[int]) -> None:
        super().__init__(f"the workers of parts {list(parts)} are gone.")
        self.parts = tuple(parts)
