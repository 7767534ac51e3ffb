"""The names of the modes and of their indices, which the result has too."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._support.finding import UNKNOWN, Finder
from ._support.moments import is_moment, moments, written_label
from ._support.types import Floats, Integers
from .observations import Observations

UNNAMED = "value"
"""The name of entries that have none of their own."""

KINDS = {"iuf": "numbers", "b": "truth values", "M": "dates", "m": "durations", "UT": "texts"}
"""What labels are called, by the kind of their array."""

CLASSES: dict[Any, str] = {
    str: "texts", bool | np.bool_: "truth values", int | float | np.number: "numbers", datetime.time: "times of day",
    datetime.date | np.datetime64: "dates", datetime.timedelta | np.timedelta64: "durations",
}  # fmt: skip
"""What labels are called, by the class of each."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The name of each mode, of each of its indices, and of what was measured.

    Parameters
    ----------
    names
        One name for each mode, all different.
    keys
        The labels of the indices of each mode: numbers, texts, dates or other hashable objects, all
        different and none of them missing; None for a mode whose indices are counted from 0.
    value
        The name of the entries, used as their column in a table.

    Examples
    --------
    >>> labels = Labels(("station", "month"), (np.array(["Aspen", "Vail"]), None))
    >>> labels.mode("month"), labels.positions("station", ["Vail"]).tolist()
    (1, [1])
    """

    names: tuple[str, ...]
    keys: tuple[NDArray[Any] | None, ...]
    value: str = UNNAMED

    def __post_init__(self) -> None:
        names, keys = tuple(self.names), tuple(self.keys)
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ValueError(f"modes must have different names, each a text, but {names!r} was given; rename some.")
        if len(keys) != len(names):
            raise ValueError(
                f"each of the {len(names)} modes must have keys or None, but there are {len(keys)} of these; "
                "give as many."
            )
        checked = tuple(None if own is None else _checked(own, name) for name, own in zip(names, keys, strict=True))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "keys", checked)

    @classmethod
    def plain(cls, ndim: int) -> Self:
        """Return the labels of unlabelled data: ``mode_0``, ``mode_1`` and so on, indices counted from 0."""
        return cls(tuple(f"mode_{mode}" for mode in range(ndim)), (None,) * ndim)

    @property
    def are_plain(self) -> bool:
        """Whether these are the labels of unlabelled data."""
        return all(own is None for own in self.keys) and self.names == Labels.plain(len(self.names)).names

    def mode(self, name: str | int) -> int:
        """Return the number of the mode with this name; a number is returned unchanged."""
        if not isinstance(name, str):
            return name
        if name not in self.names:
            known = ", ".join(repr(each) for each in self.names)
            raise ValueError(f"There is no mode {name!r}; the modes are {known}.")
        return self.names.index(name)

    def called(self, mode: int) -> str | int:
        """Return how messages and settings refer to a mode: by its name if it has one, else by its number."""
        name = self.names[mode]
        return mode if name == f"mode_{mode}" else name

    def in_words(self, mode: int) -> str:
        """Return a mode in a sentence.

        >>> Labels.plain(2).in_words(1)
        'mode 1'
        """
        called = self.called(mode)
        return called if isinstance(called, str) else f"mode {called}"

    def entry(self, coords: Integers) -> str:
        """Return the labels of an entry as text.

        >>> Labels(("station", "month"), (np.array(["Aspen", "Vail"]), None)).entry(np.array([1, 7]))
        '(Vail, 7)'
        """
        own = (index if keys is None else keys[index] for index, keys in zip(coords, self.keys, strict=True))
        return f"({', '.join(map(str, own))})"

    def numbers(self, modes: Any) -> Any:
        """Return a list of modes as numbers; anything but a list is returned unchanged, to be validated later.

        >>> Labels(("station", "month"), (None, None)).numbers(["month", 0])
        [1, 0]
        """
        return [self.mode(name) for name in modes] if _is_list(modes) else modes

    def numbered(self, by_mode: Any, name: str) -> Any:
        """Return a mapping from modes with their numbers as keys; anything but a mapping is returned unchanged.

        Parameters
        ----------
        by_mode
            A mapping from modes to anything.
        name
            The name of the mapping in error messages.
        """
        if not isinstance(by_mode, Mapping):
            return by_mode
        found = {self.mode(mode): each for mode, each in by_mode.items()}
        if len(found) < len(by_mode):
            raise ValueError(f"{name} must name every mode once, but {list(by_mode)} names one twice.")
        return found

    def holdout(self, how: Any) -> Any:
        """Return a hold-out rule with the number of its mode; anything else is returned unchanged.

        >>> Labels(("station", "month"), (None, None)).holdout(("slice", "station"))
        ('slice', 0)
        """
        if isinstance(how, list | tuple) and len(how) == 2 and isinstance(how[0], str):
            return how[0], self.mode(how[1])
        return how

    def has_order(self, mode: int) -> bool:
        """Return whether neighbours along a mode can be alike because of their labels.

        Indices that are counted, numbers, dates and times have an order, also if dates and times are texts such as
        ``"2024-03-01"`` or ``"08:00"``. Other texts have none, and neither have categories.

        >>> labels = Labels(("city", "day", "hour"), (np.array(["Bonn", "Aarhus"]), np.array(["2024-03-01"]), None))
        >>> [labels.has_order(mode) for mode in range(3)]
        [False, True, True]
        """
        keys = self.keys[mode]
        return keys is None or keys.dtype.kind in "iufmM" or all(map(is_moment, keys.tolist()))

    def positions(self, mode: str | int, wanted: ArrayLike) -> Integers:
        """Return the index of each wanted label of a mode.

        Parameters
        ----------
        mode
            The name or number of the mode.
        wanted
            Labels in one row, in any order and any number of times. Dates may be texts such as ``"2024-03-01"``, and
            times of day and durations such as ``"08:00"`` or ``"0 days 08:00:00"``.
        """
        number = self.mode(mode)
        found = self.found(number, wanted)
        unknown, keys = found == UNKNOWN, self.keys[number]
        if keys is not None and unknown.any():
            first = shown(_row(wanted)[unknown.argmax()])
            raise ValueError(
                f"{self.names[number]!r} has no label {first} in the data of this fit; its labels are {_some(keys)}."
            )
        return found

    def found(self, mode: int, wanted: ArrayLike) -> Integers:
        """Return what `positions` does, with `UNKNOWN` for a label that is not found."""
        given = _row(wanted)
        return _counted(given, self.names[mode]) if self.keys[mode] is None else self._finders[mode](given)

    def merged(self, mode: int, wanted: ArrayLike) -> MergedLabels:
        """Return the labels of a mode together with others, of which some may be new.

        Sorted numbers and dates stay sorted. Other new labels follow the known ones.

        >>> merged = Labels(("year",), (np.array([2020, 2022]),)).merged(0, [2021, 2022])
        >>> merged.keys.tolist(), merged.old.tolist(), merged.new.tolist()
        ([2020, 2021, 2022], [0, 2], [1, 2])
        """
        keys, said = self.keys[mode], _tidy(_row(wanted))
        if keys is None:
            raise ValueError(f"{self.names[mode]!r} has no labels, so there is nothing to merge.")
        kind = keys.dtype.kind
        given = moments(said, kind) if kind in "mM" and said.dtype.kind != kind else said
        known = self._finders[mode](given) != UNKNOWN
        fresh = given[~known]
        _refuse_another_kind(self.names[mode], keys, fresh, said[~known])
        if len(fresh) == 0:
            merged = keys
        elif kind in "biufmM" and fresh.dtype.kind in "biufmM":
            merged = np.concatenate([keys, np.unique(fresh)])
            merged = np.sort(merged) if np.all(keys[1:] > keys[:-1]) else merged
        else:
            merged = _row([*keys.tolist(), *dict.fromkeys(fresh.tolist())])
        whole = Labels((self.names[mode],), (merged,))
        return MergedLabels(merged, whole.positions(0, keys), whole.positions(0, given))

    @cached_property
    def _finders(self) -> list[Finder]:
        return [Finder(np.zeros(0) if own is None else own) for own in self.keys]


@dataclass(frozen=True, eq=False)
class MergedLabels:
    """Known and new labels of a mode.

    Parameters
    ----------
    keys
        All labels.
    old, new
        The index of each known label, and of each that was given.
    """

    keys: NDArray[Any]
    old: Integers
    new: Integers


@dataclass(frozen=True, eq=False)
class Labelled:
    """Observations with their labels, and the way to return results in the form of the input.

    Parameters
    ----------
    observations
        The observed entries.
    labels
        The names of the modes and of their indices.
    restore
        Turns an array of the tensor's shape into an object of the input's kind; None leaves it an array.
    """

    observations: Observations
    labels: Labels
    restore: Callable[[Floats], Any] | None = None

    def __post_init__(self) -> None:
        shape, names = self.observations.shape, self.labels.names
        if len(names) != len(shape):
            raise ValueError(f"there must be a name for each mode of shape {shape}, but {names!r} was given.")
        for name, keys, size in zip(names, self.labels.keys, shape, strict=True):
            if keys is not None and len(keys) != size:
                raise ValueError(
                    f"{name!r} must have a label for each of its {size:,} indices, but it has {len(keys):,}."
                )


def _is_list(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | Mapping)


def shown(label: Any) -> str:
    """Return a label as text for a message.

    >>> shown(np.str_("Vail")), shown(np.datetime64("2024-03-01"))
    ("'Vail'", "'2024-03-01'")
    """
    if isinstance(label, np.datetime64 | np.timedelta64 | datetime.date | datetime.time | datetime.timedelta):
        return repr(written_label(label))
    return repr(label.item() if isinstance(label, np.generic) else label)


def _some(keys: NDArray[Any], most: int = 3) -> str:
    """Return the first labels as text, and the number of labels if there are more."""
    first = ", ".join(shown(key) for key in keys[:most])
    return first if len(keys) <= most else f"{first} and {len(keys) - most:,} more"


def _checked(given: Any, name: str) -> NDArray[Any]:
    """Return the keys of a mode as a one-dimensional array, without missing or repeated keys."""
    keys = _tidy(_row(given))
    missing = _missing(keys)
    if missing.any():
        raise ValueError(
            f"{name!r} must have a label for each index, but that of index {missing.argmax()} is missing; "
            "leave such entries out or name them."
        )
    repeated = _first_repeated(keys, name)
    if repeated is not None:
        raise ValueError(
            f"{name!r} must have different labels, but {shown(keys[repeated])} is there more than once; "
            "make them different, or leave the labels of this mode out."
        )
    return keys


def _row(given: Any) -> NDArray[Any]:
    """Return labels as a one-dimensional array; a list becomes an array of its objects."""
    if isinstance(given, np.ndarray) and given.ndim == 1:
        return given
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | tuple)
    listed = list(given) if several else [given]
    row = np.empty(len(listed), dtype=object)
    row[:] = listed
    return row


def _tidy(keys: NDArray[Any]) -> NDArray[Any]:
    """Return arrays of objects that are all numbers, or all dates, as arrays of that type."""
    if keys.dtype.metadata is not None:
        # Other libraries attach such metadata, and numpy warns that files do not keep it.
        keys = keys.astype(keys.dtype.str)
    if keys.dtype.kind != "O" or len(keys) == 0:
        return keys
    kinds = {type(key) for key in keys.tolist()}
    if kinds == {datetime.date}:
        return keys.astype("datetime64[D]")
    if kinds == {datetime.timedelta}:
        return keys.astype("timedelta64[us]")
    if kinds == {datetime.datetime} and all(key.tzinfo is None for key in keys.tolist()):
        return keys.astype("datetime64[us]")
    if len(kinds) == 1 and issubclass(next(iter(kinds)), int | float | np.number | np.datetime64 | np.timedelta64):
        tidied = np.asarray(keys.tolist())
        return tidied if tidied.dtype.kind in "biufmM" else keys
    return keys


def _kinds_of(keys: NDArray[Any]) -> list[str]:
    """Return the kind of each label, in words."""
    kind = next((word for kinds, word in KINDS.items() if keys.dtype.kind in kinds), None)
    if kind is not None:
        return [kind] * len(keys)
    return [
        next((word for type_, word in CLASSES.items() if isinstance(key, type_)), type(key).__name__)
        for key in keys.tolist()
    ]


def _refuse_another_kind(name: str, keys: NDArray[Any], fresh: NDArray[Any], said: NDArray[Any]) -> None:
    """Refuse new labels of a mode that are of no kind that its labels have; `said` are these as they were given."""
    kinds = dict.fromkeys(_kinds_of(keys))
    wrong = np.array([kind not in kinds for kind in _kinds_of(fresh)], dtype=np.bool_) | _missing(fresh)
    if wrong.any():
        raise TypeError(
            f"the labels of {name!r} must be {' or '.join(kinds)} as in the data of this fit, such as {shown(keys[0])}"
            f", but {shown(said[wrong.argmax()])} was given; convert them, or check that the data belongs to this fit."
        )


def _missing(keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which keys are None, NaN, NaT or NA."""
    if keys.dtype.kind in "mM":
        return np.asarray(np.isnat(keys))
    if keys.dtype.kind == "f":
        return np.asarray(np.isnan(keys))
    if keys.dtype.kind != "O":
        return np.zeros(len(keys), dtype=np.bool_)
    return np.fromiter((_is_missing(key) for key in keys), dtype=np.bool_, count=len(keys))


def _is_missing(key: Any) -> bool:
    try:
        return key is None or bool(key != key)
    except TypeError:
        # pandas.NA is neither equal to itself nor different.
        return True


def _first_repeated(keys: NDArray[Any], name: str) -> int | None:
    """Return the position of the first key that repeats an earlier one."""
    if keys.dtype.kind in "biufmM":
        order = np.argsort(keys, kind="stable")
        repeats = order[1:][keys[order[1:]] == keys[order[:-1]]]
        return int(repeats.min()) if len(repeats) else None
    seen: set[Any] = set()
    try:
        for place, key in enumerate(keys.tolist()):
            if key in seen:
                return place
            seen.add(key)
    except TypeError:
        raise TypeError(
            f"the labels of {name!r} must be numbers, texts or dates, but {shown(keys[len(seen)])} is a "
            f"{type(keys[len(seen)]).__name__}; convert with str."
        ) from None
    return None


def _counted(given: NDArray[Any], name: str) -> Integers:
    """Return labels as indices, for a mode without labels."""
    numbers = np.asarray(given.tolist()) if given.dtype.kind == "O" else given
    if len(numbers) and numbers.dtype.kind not in "iu":
        raise TypeError(
            f"{name!r} has no labels, so its indices are whole numbers from 0, but {shown(given[0])} was given."
        )
    return numbers.astype(np.int64)
