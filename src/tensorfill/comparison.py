"""Compares methods on the same held-out entries: their errors and costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from ._support.checks import generator
from ._support.clock import Clock, TimeUp
from ._support.memory import PeakMemory
from ._support.parallel import one_blas_thread, threads
from ._support.progress import Display
from ._support.records import Records
from ._support.scaling import ERROR, LOSS, SETTINGS
from ._support.types import Floats
from ._support.words import bytes_in_words
from .choosing.candidates import candidates
from .choosing.choose import contend
from .choosing.completing import Work
from .choosing.contest import Contest
from .choosing.context import Context
from .choosing.holdout.splits import Choice
from .choosing.search.base import are_better
from .choosing.search.trials import error_of, standard_error_of
from .choosing.task import taken_in
from .losses import Loss, Robust
from .methods.base import Method, Status, Stopped
from .methods.registry import COMPARED
from .plots.comparison import comparison as drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Contender:
    """One method of a comparison.

    Parameters
    ----------
    method
        The method with the chosen settings, for a fit of all entries: ``complete(data, method=...)``.
    held_out, standard_error
        Its error on the held-out entries, and the standard error of this error.
    seconds
        The time including the choice of settings, but without the fit of all entries.
    memory
        Its peak memory in bytes, above that of the process before; NaN if the system does not report it. It includes
        what a method loads at its first use in a process, such as compiled loops.
    ranks
        The ranks of the answer.
    tried
        The chosen settings, by name.
    trials
        The number of settings that were tried.
    stages
        The stages around the method, in words.
    losses
        The loss at each held-out entry.
    clipped
        Whether comparisons clip the largest losses.
    """

    method: Method
    held_out: float = field(metadata=ERROR)
    standard_error: float = field(metadata=ERROR)
    seconds: float
    memory: float
    ranks: tuple[int, ...]
    tried: Mapping[str, float] = field(metadata=SETTINGS)
    trials: int
    stages: tuple[str, ...] = ()
    losses: Floats = field(metadata=LOSS, default_factory=lambda: np.zeros(0), repr=False)
    clipped: bool = field(default=True, repr=False)

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.method.name

    @property
    def chosen(self) -> str:
        """The chosen settings, in words."""
        settings = [f"{name} {value:.3g}" for name, value in self.tried.items()]
        return ", ".join([*settings, *self.stages])


class Comparison(Records[Contender]):
    """The methods of a comparison, sorted by held-out error; ``print`` shows a table.

    Parameters
    ----------
    records
        The methods.
    left_out
        The names of the methods that were not compared, because the run was stopped before they had an answer.
    """

    def __init__(self, records: Iterable[Contender] = (), left_out: Iterable[str] = ()) -> None:
        super().__init__(records)
        self.left_out = tuple(left_out)

    columns = (*(each.name for each in fields(Contender)), "name", "chosen")
    _shown: ClassVar[Mapping[str, str]] = {
        "name": "method",
        "held_out": "held-out error",
        "standard_error": "± standard error",
        "seconds": "seconds",
        "memory": "memory, bytes",
        "ranks": "ranks",
        "chosen": "chosen",
    }

    def __repr__(self) -> str:
        many = "1 method" if len(self) == 1 else f"{len(self)} methods"
        without = f", without {', '.join(self.left_out)}" if self.left_out else ""
        return f"Comparison({many}, the best is {self.best.name}{without})" if len(self) else "Comparison(empty)"

    @property
    def best(self) -> Contender:
        """The method with the lowest held-out error."""
        return self[0]

    def is_clear(self) -> bool:
        """Return whether the best is significantly better than the second, by paired differences of entries."""
        return len(self) < 2 or are_better(self[0].losses, self[1].losses, clipped=self[0].clipped)

    def plot(self, ax: Axes | None = None, *, file: str | PathLike[str] | None = None) -> Axes:
        """Draw the held-out errors with their standard errors, and the seconds; see `plots.comparison`."""
        return drawn(self, ax, file=file)

    def __str__(self) -> str:
        head = ("method", "held-out error", "seconds", "memory", "ranks", "chosen")
        rows = [
            (
                each.name,
                f"{each.held_out:.4g} ± {each.standard_error:.2g}",
                f"{each.seconds:.1f}",
                "not known" if np.isnan(each.memory) else bytes_in_words(each.memory),
                " ".join(map(str, each.ranks)),
                each.chosen,
            )
            for each in self
        ]
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows])
        stopped = f"Not compared, because the run was stopped: {', '.join(self.left_out)}."
        return "\n".join([*(line.rstrip() for line in lines), *([stopped] if self.left_out else [])])


def compare(
    data: Any,
    methods: str | Method | Sequence[str | Method] = "auto",
    *,
    missing: str | None = None,
    value: str | None = None,
    layout: str | None = None,
    loss: str | Loss | Robust = "square",
    laplacian: Mapping[Any, Any] | None = None,
    smooth: Sequence[int | str] | str | None = None,
    centre: bool | str = "auto",
    refine: str | None = None,
    choose: Choice | None = None,
    dtype: DTypeLike = np.float64,
    time_limit: float | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
) -> Comparison:
    """Compare methods on the same held-out entries.

    The settings of every method are chosen on the same splits, and its score is that of the fit without the held-out
    entries. The error of a method is that of its best trial on these entries, so all errors are slightly optimistic.

    Parameters
    ----------
    data
        As in `tensorfill.complete`.
    methods
        Names of methods or method objects; ``"auto"`` for those of ``"nort"``, ``"grow"``, ``"cp"`` and
        ``"softimpute"`` that support the data, and ``"all"`` for every method that does.
    missing, value, layout, loss, laplacian, centre, refine, choose, dtype, rng, progress, n_jobs
        As in `tensorfill.complete`.
    smooth
        As in `tensorfill.complete`, but by default no smooth field is added, to compare the methods themselves.
    time_limit
        Seconds for the whole comparison, divided evenly among the methods. One that runs out of time is scored by its
        best answer so far.

    Returns
    -------
    Comparison
        A record for each method, sorted by error. ``print`` shows a table, and `Comparison.plot` draws it. After
        Ctrl-C it has the methods that were done, and its `left_out` names the others.

    Examples
    --------
    >>> import tensorfill
    >>> from tensorfill.datasets import synthetic
    >>> data = synthetic((20, 18, 16), rank=2, rng=0)
    >>> table = tensorfill.compare(data.observations, ["nort", "tucker_als"], rng=0)
    >>> sorted(table["name"].tolist())
    ['nort', 'tucker_als']
    """
    clock, random = Clock(time_limit), generator(rng)
    job = taken_in(
        data,
        missing=missing,
        value=value,
        layout=layout,
        dtype=dtype,
        loss=loss,
        laplacian=laplacian,
        smooth=smooth,
        centre=centre,
        refine=refine,
        choose=choose,
    )
    named = _named(methods)
    made = candidates(named, {}, job, COMPARED)
    with Display(progress) as display, one_blas_thread, threads(n_jobs):
        rows: list[Contender] = []
        try:
            work, scaled = Work.of(job.task, made, Context(random, clock, display))
            contest = work.contest(scaled)
            for method in scaled:
                rows.append(_contender(contest, method, clock.part(1 / (len(made) - len(rows)))))
        except (Stopped, TimeUp, KeyboardInterrupt) as stop:
            # The methods that have finished are still a comparison.
            if not rows and (isinstance(stop, TimeUp) or getattr(stop, "status", None) is Status.TIME_LIMIT):
                raise ValueError(
                    "The time limit was reached before any method had an answer; raise time_limit."
                ) from None
            if not rows:
                raise KeyboardInterrupt from None
    return Comparison(sorted(rows, key=lambda row: row.held_out), [each.name for each in made[len(rows) :]])


def _named(methods: Any) -> str | list[Any]:
    """Return ``"auto"``, ``"all"`` or a name as it is, and anything else as a list of methods."""
    if isinstance(methods, str):
        return methods
    if isinstance(methods, Method):
        return [methods]
    if not isinstance(methods, Iterable):
        raise TypeError(
            "methods must be 'auto', 'all', or a list of names and method objects, such as ['nort', 'cp'], but "
            f"{methods!r} ({type(methods).__name__}) was given."
        )
    return list(methods)


def _contender(contest: Contest, method: Method, clock: Clock) -> Contender:
    watch = Clock()
    with PeakMemory() as peak:
        scored = contend(contest, method, clock)
    contender = Contender(
        method=scored.final(len(contest.problem.observations)),
        held_out=error_of(scored.losses),
        standard_error=standard_error_of(scored.losses),
        seconds=watch.elapsed,
        memory=peak.bytes,
        ranks=scored.models[0].ranks,
        tried=scored.trial.point.tried,
        trials=len(scored.trials.points),
        stages=tuple(stage.brief for stage in scored.recipe.stages if stage.brief),
        losses=scored.losses,
        clipped=scored.trials.clipped,
    )
    return contest.context.scale.up(contender)
