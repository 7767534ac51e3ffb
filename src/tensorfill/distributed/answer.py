"""The answer of a fit on a cluster: a `Fit` whose model stays on the workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from .._support.optional import need
from .._support.types import Floats, Integers
from ..adapters.kinds import is_a
from ..adapters.tables import answered, coords_of_keys
from ..fit import Fit
from ..io.fit_folders import (
    FitFolder,
    Manifest,
    Written,
    abandoned_if_it_fails,
    check_folder,
    finish,
    write_part,
    write_rest,
    write_shared,
)
from ..labels import Labels
from ..losses import expected
from ..models import FoldedLowRank
from ..models.base import DENSE_LIMIT
from .chunks import PANDAS
from .cluster import check_reachable
from .model import SpreadModel, routed

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, eq=False, repr=False)
class SpreadFit(Fit):
    """A completed tensor whose model is in parts on the workers of a cluster.

    It offers all of `Fit` that needs only some entries or slices on this machine.

    Parameters
    ----------
    model
        The tensor, in parts on the workers.
    entries
        The number of observed entries; 0 for a fit that was loaded.
    ended
        Called by `close`, to shut down a cluster that was started for this fit.
    """

    model: SpreadModel
    entries: int = 0
    ended: Callable[[], None] | None = field(default=None, repr=False)

    def close(self) -> None:
        """Remove the model from the workers, and shut down a cluster that was started for it."""
        self.model.parts.clear()
        if self.ended is not None:
            self.ended()

    def predict(self, coords: Any, *, interval: float | None = None, unknown: str = "error") -> Any:
        """Return the expected value of entries, on the scale of the data.

        Parameters
        ----------
        coords
            As in `Fit.predict`; or a `dask.dataframe.DataFrame` with a column of labels for each mode, named after the
            mode.
        interval, unknown
            As in `Fit.predict`; not supported for a Dask table.

        Returns
        -------
        values, (values, low, high) or a table
            As in `Fit.predict`. For a Dask table, the same table with the predictions as an additional column, which
            the workers compute lazily.
        """
        if not is_a(coords, "dask", "DataFrame"):
            return super().predict(coords, interval=interval, unknown=unknown)
        if unknown != "error":
            raise ValueError(
                f"unknown must be left out for a table of Dask, but {unknown!r} was given; give a table of pandas."
            )
        if interval is not None:
            raise ValueError(
                f"interval must be left out for a table of Dask, but {interval!r} was given; give coordinates or a "
                "table of pandas instead."
            )
        return self._answered(coords)

    def _answered(self, table: Any) -> Any:
        """Return a Dask table with a column of predictions; each entry is predicted on the worker with its slice."""
        check_reachable(self.model.client)
        delayed = need("dask", "dask").delayed
        frames = need("dask.dataframe", "dask")
        meta = answered(table._meta, PANDAS, self.labels, lambda coords: np.zeros(len(coords), self.model.dtype))
        [labels] = self.model.client.scatter([self.labels], broadcast=True)
        run, names = uuid4().hex, ("route", "predict", "answer")
        route, predict, answer = (f"tensorfill-{name}-{run}" for name in names)
        answers = []
        for number, partition in enumerate(table.to_delayed()):
            places = delayed(_routed, pure=False)(
                partition, labels, self.model.mode, self.model.bounds, number, dask_key_name=(route, number)
            )
            found = [
                delayed(_predicted, pure=False)(model, places, part, dask_key_name=(predict, number, part))
                for part, model in enumerate(self.model.parts)
            ]
            answers.append(
                delayed(_extended, pure=False)(
                    partition, self.labels.value, self.loss, self.bounds, found, dask_key_name=(answer, number)
                )
            )
        return frames.from_delayed(answers, meta=meta, divisions=table.divisions, verify_meta=False)

    def together(self, *, max_bytes: float = DENSE_LIMIT) -> Fit:
        """Return the same fit with its model in the memory of this machine.

        Parameters
        ----------
        max_bytes
            The largest model to gather, in bytes; a larger one raises an error.
        """
        own = {each.name: getattr(self, each.name) for each in fields(Fit)}
        return Fit(**own | {"model": self.model.together(max_bytes=max_bytes)})

    def save(self, path: str | PathLike[str], *, data: bool = False) -> None:
        """Write the fit to a folder that `tensorfill.load` and `tensorfill.distributed.load` read.

        Each worker writes its part of the model, so all of them need access to the folder. If saving fails or is
        interrupted, an earlier fit in the folder is left unchanged.

        Parameters
        ----------
        path
            The folder; it is created if it does not exist.
        data
            Must be False, because the data is not gathered.
        """
        if data:
            raise ValueError("data must be False for a fit on a cluster, whose data stays in its files.")
        folder, run, model = Path(path).absolute(), uuid4().hex[:8], self.model
        check_folder(folder)
        folder.mkdir(exist_ok=True)
        many = len(model.parts)
        with abandoned_if_it_fails(folder, run):
            parts = model.ask(_write_part, "save", range(many), [folder] * many, [run] * many, [model.mode] * many)
            key = f"tensorfill-save-shared-{uuid4().hex}"
            shared = model.client.submit(write_shared, model.parts[0], folder, run, model.mode, key=key).result()
            rest = write_rest(folder, run, self)
            finish(folder, Manifest(model.mode, list(model.bounds), rest, shared, parts))


def load(path: str | PathLike[str], client: Client) -> SpreadFit:
    """Load a fit that `SpreadFit.save` wrote, with each part of its model on a worker of a cluster.

    Parts are read again if a worker is lost. As with `tensorfill.load`, files need not be trusted.

    Parameters
    ----------
    path
        The folder, which all workers must be able to read.
    client
        The cluster.
    """
    folder = FitFolder(path)
    header, arrays = folder.header()
    shape, many, run = tuple(header.shape), len(folder.manifest.parts), uuid4().hex
    keys = [(f"tensorfill-load-{run}", number) for number in range(many)]
    parts = client.map(_read_part, [folder] * many, range(many), [shape] * many, key=keys)
    model = SpreadModel(client, shape, folder.manifest.mode, folder.manifest.bounds, parts, lasting=True)
    return SpreadFit(**folder.with_model(header, arrays, model))


# Tasks of the workers


def _read_part(folder: FitFolder, number: int, shape: Sequence[int]) -> FoldedLowRank:
    return folder.part(number, shape, folder.shared())


def _write_part(part: FoldedLowRank, number: int, folder: Path, run: str, mode: int) -> Written:
    return write_part(part, folder, run, number, mode)


def _routed(
    table: Any, labels: Labels, mode: int, bounds: Sequence[int], number: int
) -> list[tuple[Integers, Integers]]:
    """Return for each part of the model the rows of a partition that it predicts, and their places in the part."""
    try:
        return routed(coords_of_keys(table, PANDAS, labels), mode, bounds)
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None


def _predicted(
    part: FoldedLowRank, places: Sequence[tuple[Integers, Integers]], number: int
) -> tuple[Integers, Floats]:
    """Return the rows of a partition that belong to a part of the model, and their predictions."""
    rows, coords = places[number]
    return rows, part.predict(coords)


def _extended(
    table: Any,
    value: str,
    loss: Any,
    bounds: tuple[float, float] | None,
    found: Sequence[tuple[Integers, Floats]],
) -> Any:
    """Return a partition with a column of predictions."""
    scores = np.empty(len(table), dtype=found[0][1].dtype)
    for rows, own in found:
        scores[rows] = own
    values = expected(loss, scores)
    return PANDAS.extended(table, {value: values if bounds is None else np.clip(values, *bounds)})
