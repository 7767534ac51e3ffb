"""The settings of methods: each is declared once, with its default, its check, its unit and how it is searched."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._support.checks import choice, is_auto, real_number, whole_number
from .problem import Problem


@dataclass(frozen=True)
class Axis:
    """A setting to choose on held-out entries, and the path to walk.

    Parameters
    ----------
    setting
        The name of the setting.
    values
        The values to try, in order. Each trial starts from the answer of the one before.
    meanwhile
        The value it has while the axes before it are walked.
    ordered
        Whether the values go from simple to complex, so that the walk ends when held-out entries no longer gain. If
        not, all of them are tried.
    """

    setting: str
    values: Sequence[Any]
    meanwhile: Any = None
    ordered: bool = True


Check = Callable[[Any, str], object]
"""Raises an error of one sentence if it is given a bad value of the setting of this name."""

Power = float | Callable[[float, int], float]
"""A power of the unit of the data, or a function of the power that the loss has and of the order of the tensor."""

Path = Callable[[Any, Problem, np.random.Generator, Sequence[Axis]], Sequence[Axis]]
"""Returns the axes of a setting, given the method, the problem, what is random, and the axes before them."""


class Declared(NamedTuple):
    """What is declared of a setting beside its default; see `setting`."""

    check: Check | None = None
    power: Power | None = None
    path: Path | None = None


def setting(default: Any, *, check: Check | None = None, power: Power | None = None, path: Path | None = None) -> Any:
    """Return the declaration of a setting, for the class body of a method.

    A subclass that declares the setting again, or only gives it another default, keeps what it does not name.

    Parameters
    ----------
    default
        Its default; ``"auto"`` for a setting that is left to held-out entries.
    check
        Raises an error for a bad value.
    power
        The power of the unit of the data that it has, if it has one.
    path
        How held-out entries choose it while it is ``"auto"``; `own_search` if another search than a walk chooses it.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Ridge:
    ...     ridge: float | str = setting("auto", check=auto_or(real(at_least=0)), path=one_axis("ridge", [1.0, 0.1]))
    >>> declared(Ridge)["ridge"].check(-1, "ridge")
    Traceback (most recent call last):
        ...
    ValueError: ridge must be a number of at least 0, but -1 was given.
    """
    return field(default=default, metadata={"declared": Declared(check, power, path)})


@functools.cache
def declared(kind: type) -> dict[str, Declared]:
    """Return the declarations of the settings of a class, in the order of its fields."""
    found: dict[str, Declared] = {}
    for each in reversed(kind.__mro__):
        for name, its in vars(each).get("__dataclass_fields__", {}).items():
            named = its.metadata.get("declared", Declared())._asdict()
            found[name] = found.get(name, Declared())._replace(**{a: b for a, b in named.items() if b is not None})
    return found


@functools.cache
def searched(kind: type) -> tuple[str, ...]:
    """Return the names of the settings that held-out entries choose while they are ``"auto"``."""
    return tuple(name for name, its in declared(kind).items() if its.path is not None)


# Checks


def check_settings(method: object) -> None:
    """Raise an error for the first bad setting.

    A search makes many copies of a method that differ in one setting. A plain value that was found sound is not looked
    at again.
    """
    kind: Any = type(method)
    for name, its in declared(kind).items():
        if its.check is not None:
            value: object = getattr(method, name)
            (_check_once if type(value) in _PLAIN else _check)(its.check, name, type(value), value)


_PLAIN = {str, int, float, bool, type(None)}


def _check(check: Check, name: str, kind: type, value: object) -> None:
    check(value, name)


# 1, 1.0 and True are equal, so the type is among what is remembered.
_check_once = functools.lru_cache(maxsize=1024)(_check)


def whole(at_least: int) -> Check:
    """Return a check for a whole number."""
    return functools.partial(whole_number, at_least=at_least)


def real(*, at_least: float = -math.inf, above: float = -math.inf, below: float = math.inf) -> Check:
    """Return a check for a finite number within bounds."""
    return functools.partial(real_number, at_least=at_least, above=above, below=below)


def one_of(*names: str) -> Check:
    """Return a check for one of several names."""
    return functools.partial(choice, allowed=names)


def flag_or(*names: str) -> Check:
    """Return a check for True, False, or one of several names."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, bool):
            choice(value, f"{name}, unless True or False,", names)

    return check


def none_or(check: Check) -> Check:
    """Return a check that leaves None alone."""

    def unless_none(value: Any, name: str) -> None:
        if value is not None:
            check(value, name)

    return unless_none


def auto_or(check: Check) -> Check:
    """Return a check that leaves ``"auto"`` alone, and refuses other texts."""

    def unless_auto(value: Any, name: str) -> None:
        if not is_auto(value, name):
            check(value, name)

    return unless_auto


def ranks(at_least: int) -> Check:
    """Return a check for a rank, or one for each mode, or ``"auto"``."""

    def check(value: Any, name: str) -> None:
        for rank in value if isinstance(value, Sequence) else [value]:
            whole_number(rank, name, at_least=at_least)

    return auto_or(check)


# Units


def loss_less(amount: float) -> Power:
    """Return the power of the loss less an amount: 1 for the weight of a norm, 2 for that of squares."""
    return lambda loss, order: loss - amount


# Paths


def own_search(method: Any, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
    """Return no axis: the search of the method moves this setting."""
    return ()


def one_axis(
    name: str, values: Sequence[Any] | Callable[[Any, Problem], Sequence[Any]], *, ordered: bool = True
) -> Path:
    """Return the path of a setting with one axis.

    Parameters
    ----------
    name
        The setting.
    values
        The values to try, or a function of the method and the problem that returns them.
    ordered
        As in `Axis`.
    """

    def path(method: Any, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
        return [Axis(name, values(method, problem) if callable(values) else values, ordered=ordered)]

    return path


def weight_path(
    name: str, first: float, *paths: Sequence[float], unit: Callable[[Problem], float] = lambda problem: 1.0
) -> Path:
    """Return the path of a weight, such as a ridge, that is chosen after the ranks.

    Parameters
    ----------
    name
        The setting.
    first
        Its value while ranks are tried. If they are not, the first path begins with it.
    *paths
        The values of each axis.
    unit
        All values are multiplied by this number of the problem.

    Examples
    --------
    >>> path = weight_path("ridge", 1.0, (3.0, 10.0), (0.3,))
    >>> [list(axis.values) for axis in path(None, None, None, [])]
    [[1.0, 3.0, 10.0], [0.3]]
    """

    def path(method: Any, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
        of_problem = unit(problem)
        begun = [] if before else [first]
        return [
            Axis(
                name,
                [of_problem * level for level in (begun if number == 0 else []) + list(levels)],
                meanwhile=of_problem * first,
            )
            for number, levels in enumerate(paths)
        ]

    return path
