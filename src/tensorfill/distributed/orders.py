"""The messages between the driver and the workers: orders, the arrays sent with them, and answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support.parallel import one_blas_thread, threads
from .part import Part, Term

Order = tuple[str, tuple[Any, ...]]
"""The name of a method of `Part`, and its arguments."""


@dataclass(frozen=True)
class Slot:
    """A placeholder for an array or a future that is sent separately from the orders."""

    number: int


@dataclass(frozen=True)
class Reply:
    """The answer of a worker, and how long it took."""

    value: Any
    seconds: float


class NotHere(Exception):
    """A worker no longer has a part, because it was restarted with the same address."""

    def __init__(self, part: int) -> None:
        super().__init__(part)
        self.part = part


def made(run: str, number: int, make: Callable[..., Part], *given: Any) -> int:
    """Build a part on the current worker, and return its number of entries."""
    part = make(*given)
    _parts_here()[run, number] = part
    return len(part)


def carried_out(run: str, number: int, batch: Sequence[Order], after: object, *beside: Any) -> Reply:
    """Carry out orders on a part of the current worker, and return the answer to the last.

    Dask runs a task when the futures among its arguments are done; `after` only delays it.
    """
    from distributed import get_worker

    part = _parts_here().get((run, number))
    if part is None:
        raise NotHere(number)
    began, value = time.perf_counter(), None
    with one_blas_thread, threads(get_worker().state.nthreads):
        for order, given in batch:
            value = getattr(part, order)(*(_unpacked(each, beside) for each in given))
    return Reply(value, time.perf_counter() - began)


def removed(run: str, dask_worker: Any) -> None:
    """Remove the parts of a run from a worker."""
    here = _parts_on(dask_worker)
    for key in [key for key in here if key[0] == run]:
        del here[key]


def _parts_here() -> dict[tuple[str, int], Part]:
    """Return the parts on the current worker."""
    from distributed import get_worker

    return _parts_on(get_worker())


def _parts_on(worker: Any) -> dict[tuple[str, int], Part]:
    """Return the parts on a worker, which stay there from one task to the next."""
    found: dict[tuple[str, int], Part] = vars(worker).setdefault("tensorfill_parts", {})
    return found


def value_of(answer: Reply) -> Any:
    """Return an answer without its computing time."""
    return answer.value


def added(first: Reply, second: Reply) -> Reply:
    """Return the sum of two answers, elementwise for tuples."""
    if isinstance(first.value, tuple):
        value: Any = tuple(one + other for one, other in zip(first.value, second.value, strict=True))
    else:
        value = first.value + second.value
    return Reply(value, max(first.seconds, second.seconds))


def packed(thing: Any, beside: list[Any]) -> Any:
    """Return orders with a slot for every array and future, and append these to `beside`."""
    from distributed import Future

    if isinstance(thing, np.ndarray | Future):
        for number, known in enumerate(beside):
            if known is thing:
                return Slot(number)
        beside.append(thing)
        return Slot(len(beside) - 1)
    if isinstance(thing, list | tuple):
        return type(thing)(packed(each, beside) for each in thing)
    if isinstance(thing, Term):
        return replace(thing, u=packed(thing.u, beside), s=packed(thing.s, beside))
    return thing


def _unpacked(thing: Any, beside: Sequence[Any]) -> Any:
    """Return the argument of `packed`."""
    if isinstance(thing, Slot):
        found = beside[thing.number]
        return _own(found.value if isinstance(found, Reply) else found)
    if isinstance(thing, list | tuple):
        return type(thing)(_unpacked(each, beside) for each in thing)
    if isinstance(thing, Term):
        return replace(thing, u=_unpacked(thing.u, beside), s=_unpacked(thing.s, beside))
    return thing


def _own(thing: Any) -> Any:
    """Return an array as an aligned copy.

    An array from a message may start at any byte. Loops are compiled differently for unaligned arrays, and their sums
    differ in the last digit.
    """
    return np.require(thing, requirements=["C", "A", "W"]) if isinstance(thing, np.ndarray) else thing


def nbytes_of(thing: Any) -> int:
    """Return the number of bytes of the arrays in orders or in an answer."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, list | tuple):
        return sum(map(nbytes_of, thing))
    if isinstance(thing, Term):
        return thing.u.nbytes + thing.s.nbytes
    return 0
