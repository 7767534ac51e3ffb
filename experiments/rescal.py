"""RESCAL by gradient descent, a reference written with NumPy and scipy alone: X_k = A R_k A^T, dense.

It is for small tensors of which heads and tails are the first two modes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Array = NDArray[np.float64]

RANKS = (5, 10, 20, 40)
RIDGES = (1.0, 0.3, 0.1, 0.03)
ITERATIONS = 200


def rescal(data: Array, loss: str, seed: int) -> tuple[Array, str]:
    """Return the expected value of every entry, and what was chosen, from a tensor of 0 and 1 with NaN for missing."""
    random = np.random.default_rng(seed + 1)
    known = ~np.isnan(data)
    kept = known & (random.random(data.shape) > 0.1)
    scored = known & ~kept
    best, chosen = np.inf, (RANKS[0], RIDGES[0])
    for rank in RANKS:
        lowest = np.inf
        for ridge in RIDGES:
            predicted = _fitted(data, kept, loss, rank, ridge, seed)[scored]
            score = _score(predicted, data[scored], loss)
            if score < best:
                best, chosen = score, (rank, ridge)
            if score > lowest:
                break
            lowest = score
        if chosen[0] != rank:
            break
    return _fitted(data, known, loss, *chosen, seed), f"rank {chosen[0]} ridge {chosen[1]} held out {best:.5f}"


def _score(predicted: Array, truth: Array, loss: str) -> float:
    if loss == "square":
        return float(np.mean((predicted - truth) ** 2))
    return float(-np.mean(np.log(np.where(truth > 0, predicted, 1 - predicted))))


def _fitted(data: Array, known: Array, loss: str, rank: int, ridge: float, seed: int) -> Array:
    """Return the expected value of every entry."""
    count, _, relations = data.shape
    values, weights = np.moveaxis(np.nan_to_num(data), 2, 0), np.moveaxis(known, 2, 0).astype(float)
    offset = loss == "logistic"

    def parts(point: Array) -> tuple[Array, Array, Array]:
        a, rest = point[: count * rank].reshape(count, rank), point[count * rank :]
        return a, rest[: relations * rank * rank].reshape(relations, rank, rank), rest[relations * rank * rank :]

    def predicted(point: Array) -> Array:
        a, r, b = parts(point)
        scores: Array = (a @ r) @ a.T
        return expit(scores + b[:, None, None]) if offset else scores

    def objective(point: Array) -> tuple[float, Array]:
        a, r, _ = parts(point)
        guess = predicted(point)
        residual = weights * (guess - values)
        if offset:
            guess = np.clip(guess, 1e-15, 1 - 1e-15)
            value = -float((weights * np.log(np.where(values > 0, guess, 1 - guess))).sum())
        else:
            value = 0.5 * float((residual**2).sum())
        left = a @ r
        gradient_a = np.einsum("kij,kjr->ir", residual, a @ r.transpose(0, 2, 1), optimize=True)
        gradient_a += np.einsum("kij,kir->jr", residual, left, optimize=True)
        gradient_r = a.T @ (residual @ a)
        slopes = np.concatenate([gradient_a.ravel(), gradient_r.ravel(), residual.sum((1, 2)) if offset else []])
        penalised = point.copy()
        if offset:
            penalised[-relations:] = 0
        return value + 0.5 * ridge * float(penalised @ penalised), slopes + ridge * penalised

    random = np.random.default_rng(seed + 1)
    start = 0.3 * random.standard_normal(count * rank + relations * rank * rank + (relations if offset else 0))
    if offset:
        start[-relations:] = -3.0
    function: Callable[[Array], tuple[float, Array]] = objective
    found = minimize(function, start, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
    return np.moveaxis(predicted(found.x), 0, 2)
