"""How good the automatic choice is: `complete(data)` against the best fixed lambda, the mean, and TensorLy.

    python experiments/automatic_choice.py birmingham-30 birmingham-fibres --oracle --peers
    python experiments/automatic_choice.py --oracle --peers --output automatic_choice.md

Every case hides known entries, and every number is the root mean square error on exactly these.

Cases
    birmingham-30, -70, -90 and nyc-30, -70, -90: so many percent of the known entries hidden at random.
    birmingham-fibres: 30% of the days of a car park hidden whole. nyc-days: 30% of the days of a pair of zones.
    image-tree and the other pictures: 5% of the pixels kept; the three colours of a pixel go together.

Columns
    complete: `tensorfill.complete(data, rng=seed)`, nothing else given.
    oracle (--oracle): the best of many fixed settings, chosen by the error on the hidden entries, which no user has.
    LSP with q = theta / cut of 3, 1, 0.3 and 0.1; for each, falling cuts with warm starts, all known entries fitted,
    each cut solved to a tolerance of 1e-4 and, on another path, of 1e-3 only: stopping early regularises too. The
    regularised modes are the default ones with the same weight each; "weighted" is the same oracle with the modes and
    weights that complete() chose, where they differ. A path ends early where the test error is 1.25 times its best, or
    has not improved for 10 points. The grid is coarser for tensors of more than a million entries: see `FINE` and
    `COARSE`.
    nuclear: `complete(data, penalty="nuclear", rng=seed)`.
    mean: the mean of all known entries.
    parafac, tucker (--peers): TensorLy with a mask, SVD start, missing entries first filled with the mean, and
    the best rank from 1 to 20 by the error on the hidden entries, which is generous. Tucker has the same rank in
    every mode, up to its size. Every rank gets 100 iterations and then 1000 (--peer-iterations), and the better
    counts, for stopping early helps it in some cases and hurts in others. Limits: above 100,000 entries no further rank
    is tried once the error has grown three times running; above a million entries only the ranks 1, 2, 3, 5, 8, 12 and
    20, and only the fewest iterations.

Seconds are of one thread; for the oracle those of the whole grid, for TensorLy those of the best rank, with those of
all the ranks tried in parentheses.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from data import IMAGES, DataMissing, image, traffic
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill.metrics import rmse
from tensorfill.penalties import LSP, weight_for_cut

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SMALL = 100_000
"""With no more entries than this, TensorLy tries every rank."""

LARGE = 1_000_000
"""Tensors with more entries than this get the coarse grid and few ranks."""

TAU = 1.01
"""The default inverse step of the square loss; lam = weight * TAU * (the weight of the mode)."""

NOT_INSTALLED = "--peers needs TensorLy, which is not installed: pip install tensorly."


# Cases: tensors, and which of their known entries are hidden


@dataclass(frozen=True)
class Case:
    """A tensor and a way of hiding entries.

    Parameters
    ----------
    name
        What it is called on the command line.
    load
        Returns the tensor, NaN where nothing is known.
    hide
        Returns which entries are hidden, whether they are known or not.
    """

    name: str
    load: Callable[[], Array]
    hide: Callable[[Array, np.random.Generator], Mask]

    def split(self, seed: int) -> tuple[Array, Mask, Array]:
        """Return the tensor with holes (NaN), where the hidden entries are, and what they are."""
        truth = self.load()
        hidden = self.hide(truth, np.random.default_rng(seed)) & ~np.isnan(truth)
        return np.where(hidden, np.nan, truth), hidden, truth[hidden]


def entries(share: float) -> Callable[[Array, np.random.Generator], Mask]:
    """Hide this share of the known entries, one by one."""

    def hide(truth: Array, rng: np.random.Generator) -> Mask:
        known = np.flatnonzero(~np.isnan(truth))
        return _chosen(known, share, truth.size, rng).reshape(truth.shape)

    return hide


def segments(share: float, length: int) -> Callable[[Array, np.random.Generator], Mask]:
    """Hide this share of the segments of so many consecutive entries along the last mode."""

    def hide(truth: Array, rng: np.random.Generator) -> Mask:
        *others, last = truth.shape
        shape = (*others, -(-last // length))
        count = int(np.prod(shape))
        hidden = _chosen(np.arange(count), share, count, rng).reshape(shape)
        return np.repeat(hidden, length, axis=-1)[..., :last]

    return hide


def _chosen(among: NDArray[Any], share: float, size: int, rng: np.random.Generator) -> Mask:
    chosen = np.zeros(size, dtype=bool)
    chosen[rng.choice(among, round(share * len(among)), replace=False)] = True
    return chosen


def all_cases() -> dict[str, Case]:
    """Return every case by name."""
    birmingham, nyc = (lambda: traffic("birmingham")), (lambda: traffic("nyc"))
    shares = {"30": entries(0.3), "70": entries(0.7), "90": entries(0.9)}
    cases = [
        *(Case(f"birmingham-{name}", birmingham, hide) for name, hide in shares.items()),
        Case("birmingham-fibres", birmingham, segments(0.3, 18)),
        *(Case(f"nyc-{name}", nyc, hide) for name, hide in shares.items()),
        Case("nyc-days", nyc, segments(0.3, 24)),
        *(Case(f"image-{name}", lambda name=name: image(name), segments(0.95, 3)) for name in IMAGES),
    ]
    return {case.name: case for case in cases}


# What is compared


Weights = tuple[tuple[int, float], ...]
"""The regularised modes and the weight of each."""


@dataclass(frozen=True)
class Outcome:
    """What one contestant made of one case.

    Parameters
    ----------
    error
        Root mean square error on the hidden entries.
    seconds
        What it took.
    note
        What was chosen.
    trace
        Lines about what was tried.
    """

    error: float
    seconds: float
    note: str = ""
    trace: tuple[str, ...] = ()
    total_seconds: float | None = None
    weights: Weights | None = None
    modes: int = 0


@dataclass(frozen=True)
class Grid:
    """The fixed settings that the oracle tries.

    Parameters
    ----------
    ratio, points
        So many cuts at most, each this much of the last.
    qs
        Theta as a share of the cut; a path for each.
    stops
        Tolerance and most iterations of each point; a path for each.
    """

    ratio: float
    points: int
    qs: tuple[float, ...]
    stops: tuple[tuple[float, int], ...]


FINE = Grid(ratio=0.85, points=60, qs=(3.0, 1.0, 0.3, 0.1), stops=((1e-4, 500), (1e-3, 50)))
COARSE = Grid(ratio=0.75, points=24, qs=(3.0, 1.0, 0.3), stops=((3e-4, 100),))
MUCH_WORSE, PATIENCE = 1.25, 10

RANKS = tuple(range(1, 21))
FEW_RANKS = (1, 2, 3, 5, 8, 12, 20)


def automatic(holes: Array, hidden: Mask, truth: Array, seed: int, **given: Any) -> Outcome:
    """Run complete() with nothing but what is given."""
    began = time.perf_counter()
    fit = tensorfill.complete(holes, rng=seed, **given)
    seconds = time.perf_counter() - began
    return Outcome(
        rmse(fit.predict(np.argwhere(hidden)), truth),
        seconds,
        ", ".join([_settings(fit), f"ranks {fit.ranks}", *(stage.brief for stage in fit.recipe.stages if stage.brief)]),
        tuple(_path_lines(fit)),
        weights=tuple(zip(fit.modes, (lam / sum(fit.lam) for lam in fit.lam), strict=True)),
    )


def _settings(fit: tensorfill.Fit) -> str:
    """Describe the method that was chosen."""
    if not fit.lam:
        return fit.method.name
    return f"{fit.method.name}, lam {_listed(fit.lam)}, theta {_number(fit.theta[0])}, modes {fit.modes}"


def _listed(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in values) + ")"


def _path_lines(fit: tensorfill.Fit) -> Iterator[str]:
    """Describe each point of the path of a fit, and mark the best."""
    for point in fit.path or ():
        theta = getattr(point.penalty, "theta", None)
        yield (
            f"{'*' if point is fit.path.best else ' '} {point.method.name} cut {point.cut:10.4g}  "
            f"theta {_number(theta):>8}  "
            f"training {point.training:9.4f}  held out {point.held_out:9.4f}  ranks {point.ranks}  "
            f"{point.iterations} iterations  {point.seconds:.2f} s"
        )


def oracle(holes: Array, hidden: Mask, truth: Array, seed: int, weights: Weights | None, grid: Grid) -> Outcome:
    """Return the best fixed lambda and theta by the error on the hidden entries themselves."""
    began = time.perf_counter()
    default = tuple(tensorfill.complete(holes, lam=1.0, theta=1.0, max_iter=1, rng=seed).modes)
    coords = np.argwhere(hidden)
    best: tuple[float, str] = (np.inf, "")
    trace: list[str] = []
    equal = tuple((mode, 1 / len(default)) for mode in default)
    for q, stop in itertools.product(grid.qs, grid.stops):
        errors: list[float] = []
        for cut, fit in _descent(holes, weights or equal, q, stop, grid, seed):
            errors.append(rmse(fit.predict(coords), truth))
            shares = _listed(weight for _, weight in weights or equal)
            said = f"q {q:g}, cut {cut:.4g}, tol {stop[0]:g}, weights {shares}, ranks {fit.ranks}"
            trace.append(f"  test {errors[-1]:9.4f}  {said}, {fit.history[-1].iteration} iterations")
            best = min(best, (errors[-1], said + " (end of the grid)" * (len(errors) == grid.points)))
            if errors[-1] > MUCH_WORSE * min(errors) or len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE:
                break
    return Outcome(best[0], time.perf_counter() - began, best[1], tuple(trace), modes=len(weights or equal))


def _descent(
    holes: Array, weights: Weights, q: float, stop: tuple[float, int], grid: Grid, seed: int
) -> Iterator[tuple[float, tensorfill.Fit]]:
    """Follow falling cuts, each from the answer of the last."""
    modes = [mode for mode, _ in weights]
    largest = _largest_singular_value(np.nan_to_num(holes), modes) / TAU
    tol, max_iter = stop
    fit = None
    for step in range(1, grid.points + 1):
        cut = largest * grid.ratio**step
        total = weight_for_cut(LSP(q * cut), cut) * TAU
        lam = [total * weight for _, weight in weights]
        fit = tensorfill.complete(
            holes, lam=lam, theta=q * cut, modes=modes, start=fit, tol=tol, max_iter=max_iter, rng=seed
        )
        yield cut, fit


def _largest_singular_value(tensor: Array, modes: Iterable[int]) -> float:
    unfoldings = (np.moveaxis(tensor, mode, 0).reshape(tensor.shape[mode], -1) for mode in modes)
    return max(float(np.sqrt(np.linalg.eigvalsh(matrix @ matrix.T)[-1])) for matrix in unfoldings)


def mean(holes: Array, truth: Array) -> Outcome:
    """Predict the mean of what is known everywhere."""
    began = time.perf_counter()
    error = rmse(np.full_like(truth, np.nanmean(holes)), truth)
    return Outcome(error, time.perf_counter() - began)


def tensorly_parafac(filled: Array, mask: Array, rank: int, iterations: int, seed: int) -> Array:
    """Return the tensor that TensorLy's CP decomposition with missing values makes."""
    import tensorly
    from tensorly.decomposition import parafac

    found = parafac(filled, rank, mask=mask, n_iter_max=iterations, init="svd", tol=1e-7, random_state=seed)
    return np.asarray(tensorly.cp_to_tensor(found))


def tensorly_tucker(filled: Array, mask: Array, rank: int, iterations: int, seed: int) -> Array:
    """Return the tensor that TensorLy's Tucker decomposition with missing values makes."""
    import tensorly
    from tensorly.decomposition import tucker

    ranks = [min(rank, size) for size in filled.shape]
    found = tucker(filled, ranks, mask=mask, n_iter_max=iterations, init="svd", tol=1e-6, random_state=seed)
    return np.asarray(tensorly.tucker_to_tensor(found))


def best_rank(
    decompose: Callable[[Array, Array, int, int, int], Array],
    holes: Array,
    hidden: Mask,
    truth: Array,
    seed: int,
    iterations: Sequence[int],
) -> Outcome:
    """Return what a peer reaches with the rank and iterations that are best on the hidden entries themselves."""
    known = ~np.isnan(holes)
    filled, mask = np.where(known, holes, np.nanmean(holes)), known.astype(np.float64)
    large = holes.size > LARGE
    tried: list[tuple[float, float, str]] = []
    for most in [min(iterations)] if large else iterations:
        errors: list[float] = []
        for rank in FEW_RANKS if large else RANKS:
            began = time.perf_counter()
            errors.append(_error_or_infinity(lambda: decompose(filled, mask, rank, most, seed)[hidden], truth))  # noqa: B023
            tried.append((errors[-1], time.perf_counter() - began, f"rank {rank}, {most} iterations"))
            if holes.size > SMALL and _grown(errors, 3):
                break
    error, seconds, note = min(tried)
    trace = tuple(f"  test {error:9.4f}  {note}  {seconds:.1f} s" for error, seconds, note in tried)
    return Outcome(error, seconds, note, trace, total_seconds=sum(seconds for _, seconds, _ in tried))


def _error_or_infinity(predict: Callable[[], Array], truth: Array) -> float:
    """Return the error of a prediction, infinite where there is none because the peer failed."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            error = rmse(predict(), truth)
    except (np.linalg.LinAlgError, ValueError):
        return np.inf
    return error if np.isfinite(error) else np.inf


def _grown(errors: Sequence[float], times: int) -> bool:
    """Tell whether the last so many errors were each larger than the one before, or not finite."""
    last = errors[-times - 1 :]
    return len(last) > times and all(
        after > before or not np.isfinite(after) for before, after in itertools.pairwise(last)
    )


# The table


CONTESTANTS = ("complete", "oracle", "weighted", "nuclear", "mean", "parafac", "tucker")


@dataclass
class Row:
    """One case and what every contestant made of it."""

    case: str
    shape: tuple[int, ...]
    observed: float
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def errors(self) -> list[str]:
        """Return the cells of the table of errors."""
        cells = [self.case, "x".join(map(str, self.shape)), f"{self.observed:.1%}"]
        for name in CONTESTANTS:
            outcome = self.outcomes.get(name)
            rank = f" ({outcome.note.split(',')[0]})" if outcome and name in ("parafac", "tucker") else ""
            cells.append("" if outcome is None else _number(outcome.error) + rank)
            if name == "oracle":
                cells.append("" if outcome is None else f"{self.outcomes['complete'].error / outcome.error:.3f}")
        return cells

    def seconds(self) -> list[str]:
        """Return the cells of the table of seconds."""
        outcomes = (self.outcomes.get(name) for name in CONTESTANTS)
        return [self.case, *("" if outcome is None else _seconds(outcome) for outcome in outcomes)]

    def chosen(self) -> list[str]:
        """Return the cells of the table of what was chosen."""
        outcomes = (self.outcomes.get(name) for name in ("complete", "oracle", "nuclear"))
        return [self.case, *("" if outcome is None else outcome.note for outcome in outcomes)]


ERRORS = [
    "case",
    "shape",
    "observed",
    "complete",
    "oracle",
    "complete / oracle",
    "weighted",
    "nuclear",
    "mean",
    "parafac",
    "tucker",
]
SECONDS = ["case", *CONTESTANTS]
CHOSEN = ["case", "complete", "oracle", "nuclear"]
CAPTIONS = (
    "Root mean square error on the hidden entries, seed {seed}. The oracle is the best fixed lambda and "
    "theta = q * cut of a grid (cuts in ratio {fine.ratio}, or {coarse.ratio} for tensors above a million entries; q "
    "of 3, 1, 0.3 and 0.1; solved to 1e-4 and to 1e-3) by these same entries, with the same weight for every mode, or "
    "weighted as complete() chose; so are the ranks of TensorLy's parafac and tucker (the better of {iterations} "
    "iterations; the fewest only above a million entries).",
    "Seconds on one thread; the oracle's are of its whole grid, TensorLy's of its best rank (of all ranks tried).",
    "What was chosen.",
)


def run(case: Case, arguments: argparse.Namespace, console: Console) -> Row:
    """Run every contestant on one case and print each outcome as soon as it is known."""
    seed = arguments.seed
    holes, hidden, truth = case.split(seed)
    row = Row(case.name, holes.shape, float(np.mean(~np.isnan(holes))))
    console.print(f"{case.name}: {'x'.join(map(str, row.shape))}, {row.observed:.1%} observed, {len(truth):,} hidden")

    def known(name: str, outcome: Outcome) -> None:
        row.outcomes[name] = outcome
        console.print(f"  {name:9} {_number(outcome.error):>8}  in {_seconds(outcome)} s  {outcome.note}")
        if arguments.verbose:
            console.print("\n".join(outcome.trace), highlight=False, markup=False)

    known("complete", automatic(holes, hidden, truth, seed))
    known("mean", mean(holes, truth))
    known("nuclear", automatic(holes, hidden, truth, seed, penalty="nuclear"))
    if arguments.oracle:
        grid = COARSE if holes.size > LARGE else FINE
        known("oracle", oracle(holes, hidden, truth, seed, None, grid))
        weights = row.outcomes["complete"].weights or ()
        if len({round(weight, 6) for _, weight in weights}) > 1 or len(weights) < row.outcomes["oracle"].modes:
            known("weighted", oracle(holes, hidden, truth, seed, weights, grid))
    if arguments.peers:
        for name, decompose in {"parafac": tensorly_parafac, "tucker": tensorly_tucker}.items():
            known(name, best_rank(decompose, holes, hidden, truth, seed, arguments.peer_iterations))
    return row


def markdown(rows: Sequence[Row], captions: Sequence[str]) -> str:
    """Return the three tables as Markdown."""
    parts = []
    tables = [(ERRORS, Row.errors), (SECONDS, Row.seconds), (CHOSEN, Row.chosen)]
    for caption, (header, cells) in zip(captions, tables, strict=True):
        lines = [header, ["---"] * len(header), *(cells(row) for row in rows)]
        parts.append(f"{caption}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n")
    return "\n".join(parts)


def show(rows: Sequence[Row], captions: Sequence[str], console: Console) -> None:
    """Print the tables of errors and of seconds."""
    tables = [(ERRORS, Row.errors), (SECONDS, Row.seconds)]
    for caption, (header, cells) in zip(captions, tables, strict=False):
        table = Table(*header, caption=caption)
        for row in rows:
            table.add_row(*cells(row))
        console.print(table)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _seconds(outcome: Outcome) -> str:
    total = "" if outcome.total_seconds is None else f" ({outcome.total_seconds:.1f})"
    return f"{outcome.seconds:.1f}{total}"


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(all_cases())
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"which of {', '.join(names)}; by default all")
    parser.add_argument("--oracle", action="store_true", help="also look for the best fixed lambda and theta")
    parser.add_argument("--peers", action="store_true", help="also run TensorLy's parafac and tucker")
    parser.add_argument("--peer-iterations", type=int, nargs="+", default=[100, 1000], help="of TensorLy for each rank")
    parser.add_argument("--seed", type=int, default=0, help="decides the holes and everything random in the methods")
    parser.add_argument("--output", type=Path, help="write the tables to this Markdown file, after every case")
    parser.add_argument("--verbose", action="store_true", help="print everything that was tried")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if name not in names]
    if unknown:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(names)}.")
    if arguments.peers:
        try:
            import tensorly  # noqa: F401
        except ImportError:
            parser.error(NOT_INSTALLED)
    return arguments


def main() -> None:
    """Run the cases and print and write the tables."""
    arguments = parse()
    console = Console(width=160)
    cases = all_cases()
    rows: list[Row] = []
    peers = " and ".join(map(str, arguments.peer_iterations))
    captions = [text.format(seed=arguments.seed, fine=FINE, coarse=COARSE, iterations=peers) for text in CAPTIONS]
    # Birmingham has days without any record; none of their entries is tested.
    warnings.filterwarnings("ignore", message=".*slices of mode")
    with threadpool_limits(1):
        for name in arguments.cases or cases:
            try:
                rows.append(run(cases[name], arguments, console))
            except DataMissing as missing:
                console.print(f"{name} skipped: {missing}")
                continue
            if arguments.output:
                arguments.output.write_text(markdown(rows, captions))
    if rows:
        show(rows, captions, console)


if __name__ == "__main__":
    main()
