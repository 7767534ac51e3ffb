"""The workers that hold the parts of a tensor, how they are asked, and what happens when one is lost.

Every question costs a round trip, so orders that need no answer wait and are sent with the next question: a batch of
orders for each part, which its worker carries out in sequence. Answers are summed in a tree on the workers, in the
order of the parts, so the sum does not depend on which worker finishes first.

The state of a part is determined by its entries and the orders it has received. So when a worker is lost, its part is
rebuilt on another worker, all parts return to the last snapshot, and the questions since then, which are kept here, are
repeated. The solver does not notice, and the answer is the same, bit for bit.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .orders import Order, Reply, nbytes_of
from .post import Lost, Post, Traffic, Wanted

if TYPE_CHECKING:
    from distributed import Client, Future

    from .part import Part

T = TypeVar("T")

MOST_QUESTIONS, MOST_BYTES = 60, 2**28
"""A snapshot is written after this number of questions, or of bytes for one part, since the last one."""

MOST_LOSSES = 4
"""The run fails after this number of losses of workers at the same point."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question to all parts at once.

    Parameters
    ----------
    order
        The name of the question.
    batches
        The orders for each part; the answer is that of the last order.
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
        Returns the function that builds a part on its worker, with its arguments, which may be futures.
    folder
        A folder for snapshots that all workers can access; without one, a lost worker ends the run.
    """

    client: Client
    places: list[str]
    source: Callable[[int], tuple[Callable[..., Part], Sequence[Any]]]
    folder: str | None = None
    recoveries: int = 0

    def __post_init__(self) -> None:
        self._post = Post(self.client, self.places)
        self._names = itertools.count(1)
        self._waiting: list[Sequence[Order]] = []
        self._dropped: list[int] = []
        self._vectors: set[int] = set()
        self._standing = 0
        self._is_over = False
        self._setup: list[list[Order]] = [[] for _ in self.places]
        self._asked: list[Question] = []
        self._asked_bytes = 0
        self._snapshot: str | None = None

    # Questions

    @property
    def run(self) -> str:
        """The identifier of this run on the workers."""
        return self._post.run

    @property
    def traffic(self) -> Traffic:
        """The traffic and computing time so far."""
        return self._post.traffic

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.places)

    def make(self) -> list[int]:
        """Build every part on its worker, and return the number of entries of each."""
        futures = [self._made(part) for part in range(self.parts)]

        def make_elsewhere(parts: Sequence[int]) -> None:
            for part in parts:
                self.places[part] = self._post.another_place()
                futures[part] = self._made(part)

        counts: list[int] = _insisted(lambda: self._post.gathered(futures), make_elsewhere)
        return counts

    def new_name(self) -> int:
        """Return an unused name for an array."""
        return next(self._names)

    def drop(self, name: int) -> None:
        """Drop an array from every part, with the next question."""
        self._dropped.append(name)

    @contextmanager
    def standing(self) -> Iterator[int]:
        """Yield a name for the current point of the workers; no snapshot is taken while there is one."""
        name = self.new_name()
        self._standing += 1
        try:
            yield name
        finally:
            self._standing -= 1
            self.drop(name)

    def new_vector(self) -> int:
        """Return the name of a vector with a number for each entry, which the current run must release."""
        name = self.new_name()
        self._vectors.add(name)
        return name

    def drop_vector(self, name: int) -> None:
        """Drop such a vector from every part, unless that was done before."""
        if name in self._vectors:
            self._vectors.remove(name)
            self.drop(name)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Drop the vectors that a run has not released from every part, at its end."""
        around, self._vectors = self._vectors, set()
        try:
            yield
        finally:
            left, self._vectors = self._vectors, around
            for name in left:
                self.drop(name)

    def settle(self, order: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Ask each part to prepare its entries; a part that is rebuilt repeats this first."""
        answers = self.ask_each(order, given)
        for part, each in enumerate(given):
            self._setup[part].append((order, each))
        self._take_snapshot()
        return answers

    def later(self, order: str, *given: Any) -> None:
        """Give all parts the same order, which needs no answer."""
        self.later_each(order, [given] * self.parts)

    def later_each(self, order: str, given: Iterable[tuple[Any, ...]]) -> None:
        """Give each part a different order, which needs no answer."""
        self._waiting.append([(order, each) for each in given])

    def ask(self, order: str, *given: Any) -> list[Any]:
        """Return the answer of each part to the same question."""
        return self.ask_each(order, [given] * self.parts)

    def ask_each(self, order: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answer of each part to a different question."""
        return self._answers(Question(order, self._batches(order, given)))

    def ask_one(self, order: str, *given: Any) -> Any:
        """Return the answer of the first part, for questions that all parts answer alike."""
        question = Question(order, self._batches(order, [given] * self.parts))
        return self._answers(question, lambda futures: futures[:1])[0]

    def total(self, order: str, *given: Any) -> Any:
        """Return the sum of the answers to the same question."""
        return self.total_each(order, [given] * self.parts)

    def total_each(self, order: str, given: Sequence[tuple[Any, ...]]) -> Any:
        """Return the sum of the answers to a different question for each part."""
        question = Question(order, self._batches(order, given))
        total = self._answers(question, lambda futures: [self._post.summed(order, futures)])[0]
        # All answers but one were sent to another worker.
        self.traffic.moved += (self.parts - 1) * nbytes_of(total)
        return total

    def through_sum(
        self, order: str, given: Sequence[tuple[Any, ...]], nbytes: int, then: str, *rest: Any
    ) -> list[Any]:
        """Ask each part, sum the answers on the workers, and return the answers to a question about the sum.

        Parameters
        ----------
        order, given
            The first question.
        nbytes
            The size of an answer to it in bytes; these answers stay on the workers.
        then, rest
            The second question, whose first argument is the sum.
        """
        # Each answer is sent once for the sum, and the sum is sent to every other worker.
        self.traffic.moved += 2 * (self.parts - 1) * nbytes
        return self._answers(Question(order, self._batches(order, given), (then, rest)))

    def left_there(self, order: str, given: Sequence[tuple[Any, ...]]) -> list[Future]:
        """Return the answer of each part as a future that stays on its worker."""
        batches = self._batches(order, given)

        def left() -> list[Future]:
            futures = self._post.left(order, self._post.sent(order, batches))
            self._post.gathered(futures, lambda futures: [])
            return futures

        return _insisted(left, self._recover)

    def close(self) -> None:
        """Remove the parts from the workers."""
        self._is_over = True
        self._waiting.clear()
        self._asked.clear()
        self._post.remove_parts()

    # How questions are sent

    def _batches(self, order: str, given: Sequence[tuple[Any, ...]]) -> list[list[Order]]:
        """Return the waiting orders for each part, the names to drop, and the question."""
        if self._is_over:
            raise ValueError("the run is over, and what it had on the workers is gone; ask the fit that it returned.")
        # Waiting orders may use arrays that were dropped since, so these are dropped after them. Python may collect
        # rows at any time, also during this call; those are dropped with the next question.
        dropped, self._dropped = self._dropped, []
        forget: list[Order] = [("forget", (tuple(dropped),))] if dropped else []
        batches = [
            [*(orders[part] for orders in self._waiting), *forget, (order, each)] for part, each in enumerate(given)
        ]
        self._waiting.clear()
        return batches

    def _answers(self, question: Question, wanted: Wanted | None = None) -> list[Any]:
        """Repeat a question until all parts have answered, and return the wanted answers."""
        began = time.perf_counter()
        if self._is_time_for_a_snapshot():
            # Waiting orders are sent with the question, so the parts are still as they were after the last one.
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

    def _put(self, question: Question, wanted: Wanted | None = None) -> list[Reply]:
        """Put a question to all parts; raise `Lost` if a worker is gone."""
        futures = self._post.sent(question.order, question.batches)
        if question.then is not None:
            then, rest = question.then
            second: Order = (then, (self._post.summed(question.order, futures), *rest))
            futures = self._post.sent(then, [[second]] * self.parts)
        answers: list[Reply] = self._post.gathered(futures, wanted)
        return answers

    # Lost workers

    def _made(self, part: int) -> Future:
        """Build a part on its worker, from its entries."""
        return self._post.made(part, *self.source(part))

    def _recover(self, parts: Sequence[int]) -> None:
        """Rebuild parts on other workers, and repeat on all parts the questions since the last snapshot."""
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
                self.places[part] = self._post.another_place()
            again = [
                self._post.submitted("again", part, [*self._setup[part], recall], {}, after=self._made(part))
                if part in missing
                else self._post.submitted("again", part, [recall], {})
                for part in range(self.parts)
            ]
            self._post.gathered(again)
            for question in self._asked:
                self._put(question)

        # The parts that were just rebuilt may be incomplete, so they are rebuilt again too.
        _insisted(do_again, missing.update)

    def _is_time_for_a_snapshot(self) -> bool:
        many = len(self._asked) > MOST_QUESTIONS or self._asked_bytes > MOST_BYTES
        return many and self._standing == 0 and self.folder is not None

    def _take_snapshot(self) -> None:
        """Let every part write its arrays, and clear the list of questions."""
        if self.folder is not None:
            name, before = self._post.new_key(), self._snapshot
            keep = Question("keep_all", [[("keep_all", (self.folder, name))]] * self.parts)
            _insisted(lambda: self._put(keep), self._recover)
            self._snapshot = name
            if before is not None:
                self.later("drop_kept", self.folder, before)
        self._asked.clear()
        self._asked_bytes = 0


def _insisted(action: Callable[[], T], again: Callable[[Sequence[int]], object]) -> T:
    """Return the result of an action; if workers are lost, recover and retry a limited number of times."""
    for _ in range(MOST_LOSSES):
        try:
            return action()
        except Lost as lost:
            again(lost.parts)
    raise ConnectionError(
        f"Dask workers were lost {MOST_LOSSES} times at the same point of the run, perhaps because their memory does "
        "not suffice; add workers, or give them more memory."
    )
