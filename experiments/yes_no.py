"""Yes or no, and counts: `loss="logistic"` and `loss="poisson"` against the square loss and RESCAL.

    python experiments/yes_no.py
    python experiments/yes_no.py umls-80 skewed --how logistic square --bins

Every case hides known entries, and every number is of exactly these.

Cases
    umls-80, umls-50: the UMLS graph as a tensor of 0 and 1, 135 heads x 135 tails x 46 relations, where what is not a
    fact is 0, with so many percent of all entries hidden at random.
    skewed: a synthetic 60 x 50 x 40 tensor of 0 and 1, about one in twenty of them 1, from known probabilities: scores
    of rank 2 plus an effect of each index. Half of the entries hidden.
    counts: a synthetic 60 x 50 x 40 tensor of counts with a mean of about 0.5, from known rates: their logarithms are
    of rank 2 plus an effect of each index. Half of the entries hidden.
    flights: departures of New York by week, hour and destination (those with 200 or more), where no flight is 0.
    Half of the entries hidden.

How
    square, logistic, poisson, auto: `tensorfill.complete(data, loss=..., rng=seed)`. For counts and probabilities the
    square loss's predictions are clipped to what is possible, at 1e-3 from 0 and 1 (or above 0).
    logistic-same, square-same: the same with ``same=(0, 1)``, for umls, whose first two modes are the same entities.
    rescal: X_k = A R_k A^T by L-BFGS (scipy) on all observed entries with the square loss, rescal-logistic with the
    logistic loss and an offset for each relation; the rank and the ridge are those with the lowest loss on a tenth of
    the observed entries.
    truth: the known probabilities or rates.

Columns
    AP: average precision of what is above zero. Log loss: the mean of -log of the probability (for counts, of half the
    Poisson deviance). Mean: the mean prediction against the observed mean. Worst bin: the mean prediction and
    the observed mean that differ most among ten bins by prediction, each with the same sum of predictions, of which the
    observed mean is known to 5 standard errors; with --bins all of them are printed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from data import shared_folder
from numpy.typing import NDArray
from rescal import rescal
from rich.console import Console
from rich.table import Table
from scipy.special import expit, xlogy
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill.knowledge import read_archive

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Case:
    """A tensor, the entries that are hidden, and the true expected values, if they are known."""

    name: str
    tensor: Array
    hidden: Mask
    expected: Array | None = None
    same: tuple[int, int] | None = None

    @property
    def is_yes_or_no(self) -> bool:
        """Whether all values are 0 or 1."""
        return bool(np.isin(self.tensor, (0, 1)).all())


def make_case(name: str, seed: int) -> Case:
    """Return the case of this name."""
    random = np.random.default_rng(seed)
    if name.startswith("umls-"):
        tensor = umls()
        return Case(name, tensor, random.random(tensor.shape) < int(name.removeprefix("umls-")) / 100, same=(0, 1))
    if name == "flights":
        tensor = flights()
        return Case(name, tensor, random.random(tensor.shape) < 0.5)
    shape = (60, 50, 40)
    scores = -4.0 * np.ones(shape) if name == "skewed" else -1.2 * np.ones(shape)
    for mode, size in enumerate(shape):
        effects = (0.7 if name == "skewed" else 0.4) * random.standard_normal(size)
        scores += effects.reshape([-1 if axis == mode else 1 for axis in range(3)])
    factors = [random.uniform(-1.7, 1.7, (size, 2)) for size in shape]
    scores += (1.0 if name == "skewed" else 0.3) * np.einsum("ir,jr,kr->ijk", *factors)
    if name == "skewed":
        expected = expit(scores)
        tensor = (random.random(shape) < expected).astype(float)
    else:
        expected = np.exp(scores)
        tensor = random.poisson(expected).astype(float)
    return Case(name, tensor, random.random(shape) < 0.5, expected)


def umls() -> Array:
    """Return the facts of UMLS as ones among zeros: head x tail x relation."""
    parts = read_archive(shared_folder() / "kg" / "umls.tar.gz")
    tensor = np.zeros(parts["train"].shape)
    for facts in parts.values():
        tensor[tuple(facts.coords.T)] = 1
    return tensor


def flights() -> Array:
    """Return the departures by week, hour and destination, of destinations with at least 200."""
    observations = tensorfill.io.read(shared_folder() / "sparse" / "nycflights_365x24x105x16.tns").observations
    coords = observations.coords
    tensor = np.zeros((53, 24, 105))
    np.add.at(tensor, (coords[:, 0] // 7, coords[:, 1], coords[:, 2]), 1.0)
    tensor = tensor[:52]
    return tensor[:, tensor.sum((0, 2)) > 0][:, :, tensor.sum((0, 1)) >= 200]


def predictions(case: Case, how: str, seed: int) -> tuple[Array, str]:
    """Return the expected value of every entry, and what was chosen."""
    if how == "truth":
        return np.asarray(case.expected), ""
    data = np.where(case.hidden, np.nan, case.tensor)
    if how.startswith("rescal"):
        return rescal(data, "logistic" if how.endswith("logistic") else "square", seed)
    loss, _, same = how.partition("-")
    settings: dict[str, Any] = {"same": case.same} if same else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = tensorfill.complete(data, loss=loss, rng=seed, **settings)
    mean = getattr(fit.loss, "mean", None)
    dense = fit.model.to_dense(max_bytes=np.inf)
    held = min(point.held_out for point in fit.path)
    chosen = f"{fit.method.name} {fit.ranks} {' '.join(stage.brief for stage in fit.recipe.stages)} held out {held:.4f}"
    chosen += f" trials {len(fit.path)}"
    return (dense if mean is None else mean(dense)), chosen


def scores(case: Case, predicted: Array) -> list[str]:
    """Return the columns of one row."""
    truth, guess = case.tensor[case.hidden], predicted[case.hidden]
    guess = np.clip(guess, 1e-3, 1 - 1e-3 if case.is_yes_or_no else np.inf) if guess.min() < 1e-9 else guess
    if case.is_yes_or_no:
        loss = -np.mean(xlogy(truth, guess) + xlogy(1 - truth, 1 - guess))
    else:
        loss = np.mean(guess - truth - xlogy(truth, guess) + xlogy(truth, truth))
    known = [(p, o) for p, o, error in bins(case, guess) if error < 0.2 * o]
    worst = max(known, key=lambda pair: abs(np.log(pair[0] / pair[1])), default=(np.nan, np.nan))
    return [
        f"{average_precision_score(truth > 0, guess):.3f}",
        f"{loss:.5f}",
        f"{guess.mean():.4f}/{truth.mean():.4f}",
        f"{worst[0]:.4f}/{worst[1]:.4f}",
    ]


def bins(case: Case, guess: Array) -> list[tuple[float, float, float]]:
    """Return the mean prediction, the observed mean and its standard error in ten bins of about equal totals.

    The bins hold the same sum of predictions, so that rare ones are looked at as closely as the many near zero.
    """
    truth = case.tensor[case.hidden]
    order = np.argsort(guess)
    total = np.cumsum(guess[order])
    edges = np.searchsorted(total, total[-1] * np.arange(1, 10) / 10)
    parts = [part for part in np.split(order, edges) if len(part)]
    return [
        (float(guess[part].mean()), float(truth[part].mean()), float(truth[part].std() / np.sqrt(len(part))))
        for part in parts
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases that the command line names, and print a table."""
    parser = argparse.ArgumentParser(description="Yes or no, and counts.")
    parser.add_argument("cases", nargs="*", default=["umls-80", "umls-50", "skewed", "counts", "flights"])
    parser.add_argument("--how", nargs="*", default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bins", action="store_true")
    given = parser.parse_args(arguments)
    console = Console(width=170)
    table = Table("case", "method", "AP", "log loss", "mean/observed", "worst bin", "seconds", "chosen")
    for name in given.cases:
        case = make_case(name, given.seed)
        fitting = "logistic" if case.is_yes_or_no else "poisson"
        usual = ["square", fitting] + (["rescal", "rescal-logistic"] if case.same else [])
        for how in given.how or usual + (["truth"] if case.expected is not None else []):
            begin = time.perf_counter()
            with threadpool_limits(1):
                predicted, chosen = predictions(case, how, given.seed)
            row = [name, how, *scores(case, predicted), f"{time.perf_counter() - begin:.1f}", chosen]
            table.add_row(*row)
            console.print(" | ".join(row))
            if given.bins:
                guess = predicted[case.hidden]
                console.print("    " + " ".join(f"{p:.3f}/{o:.3f}" for p, o, _ in bins(case, guess)))
    console.print(table)


if __name__ == "__main__":
    main()
