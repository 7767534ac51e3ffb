"""What a table library must offer, so that tables of any of them are taken in the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from .._support.types import Booleans, Floats, Integers


class TableLibrary(ABC):
    """The operations on the tables of one library."""

    name: ClassVar[str]

    def opened(self, data: Any) -> tuple[Any, dict[str, Any]]:
        """Return a table with all keys as columns, and the form that `closed` needs to undo this."""
        return data, {}

    def closed(self, table: Any, form: Mapping[str, Any]) -> Any:
        """Return a table in its original form."""
        return table

    def columns(self, table: Any) -> list[Hashable]:
        """Return the names of the columns."""
        return list(table.columns)

    @abstractmethod
    def merging(self, keys: Sequence[Hashable], value: Hashable) -> str:
        """Return the code that merges rows with the same keys into their mean."""

    @abstractmethod
    def numbers(self, table: Any, column: Hashable) -> Floats | None:
        """Return a column of numbers, with NaN for null, or None if the column holds something else."""

    @abstractmethod
    def missing(self, table: Any, column: Hashable) -> Booleans:
        """Return the mask of null and NaN in a column."""

    @abstractmethod
    def distinct(self, table: Any, column: Hashable) -> Any:
        """Return the distinct keys of a column in the order of the mode, as a column in the library's own type.

        Categories keep their order, and include those that no row has. Other keys are sorted if they can be.
        """

    @abstractmethod
    def plain(self, column: Any) -> NDArray[Any]:
        """Return a column of keys as an array; times with a zone become times in UTC."""

    @abstractmethod
    def take(self, keys: Any, places: Integers) -> Any:
        """Return the keys at the given places, as a column."""

    @abstractmethod
    def table(self, columns: Mapping[Hashable, Any]) -> Any:
        """Return a table with these columns."""

    @abstractmethod
    def extended(self, table: Any, columns: Mapping[str, Floats]) -> Any:
        """Return a table with these columns added."""

    @abstractmethod
    def described(self, keys: Any) -> dict[str, Any]:
        """Return what a file must store about keys, besides their labels."""

    @abstractmethod
    def rebuilt(self, keys: NDArray[Any], words: Mapping[str, Any]) -> Any:
        """Return keys in the library's own type, from labels and the result of `described`."""
