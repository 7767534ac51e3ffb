"""Peers on the 200^3 problem: seconds to a test error of 0.002, and peak memory."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from measure import fresh, heading, mib, peak, problem, row, settings, watched

TEXT = """## Peers

The 200^3 problem: seconds until the test RMSE is 0.002 for the first time, or "not reached" with the best that was, and
the peak of each process above what it held before. The time limit is 100 seconds each. TensorLy gets the true rank, its
mask, a start from its SVD, and one call for each number of iterations, of which only the last is counted. The dense
proximal average (GDPAN) is NORT's own iteration, with the same penalty and no momentum, on dense arrays with NumPy's
full decompositions. tensorfill runs with the same settings; "complete" chooses everything by itself.
"""

SIZE, GOAL, LIMIT = 200, 0.002, 100.0


def ours() -> dict[str, Any]:
    """Run NORT, and look at the test entries after every iteration."""
    from tensorfill.losses import Square
    from tensorfill.methods.problem import Problem
    from tensorfill.metrics import rmse

    # Compiled loops are loaded before, as all libraries are.
    settings(max_iter=2, storage="sparse").solve(Problem(problem(60).observations, Square()), rng=0)
    data = problem(SIZE)
    before, best, looking = watched(), np.inf, 0.0
    began = time.perf_counter()

    def watch(record, model) -> bool:
        nonlocal best, looking
        start = time.perf_counter()
        best = min(best, rmse(model.predict(data.test.coords), data.test.values))
        looking += time.perf_counter() - start
        return best <= GOAL

    settings(max_iter=500).solve(Problem(data.observations, Square()), rng=0, callback=watch)
    return {"seconds": time.perf_counter() - began - looking, "best": best, "bytes": peak() - before}


def chosen() -> dict[str, Any]:
    """Run complete() with nothing given."""
    from tensorfill import complete
    from tensorfill.metrics import rmse

    complete(problem(60).observations, rng=0)
    data = problem(SIZE)
    before, began = watched(), time.perf_counter()
    fit = complete(data.observations, rng=0)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "best": rmse(fit.predict(data.test.coords), data.test.values), "bytes": peak() - before}


def dense_average() -> dict[str, Any]:
    """Run the proximal average on dense arrays."""
    from tensorfill.algebra.unfolding import fold, unfold
    from tensorfill.metrics import rmse
    from tensorfill.penalties import CappedL1

    data = problem(SIZE)
    seen, values, shape = data.observations.positions, data.observations.values, data.observations.shape
    before, best = watched(), np.inf
    began = time.perf_counter()
    x = np.zeros(shape)
    while time.perf_counter() - began < LIMIT and best > GOAL:
        z = x.copy()
        z.ravel()[seen] -= (x.ravel()[seen] - values) / 1.01
        x = np.zeros(shape)
        for mode in range(3):
            u, s, vt = np.linalg.svd(unfold(z, mode), full_matrices=False)
            u, s, vt = u[:, :5], CappedL1(0.8).prox(s[:5], 0.4 / 1.01), vt[:5]
            x += fold((u * s) @ vt, mode, shape) / 3
        best = min(best, rmse(x[tuple(data.test.coords.T)], data.test.values))
    return {"seconds": time.perf_counter() - began, "best": best, "bytes": peak() - before}


def tensorly(name: str) -> dict[str, Any]:
    """Run a masked decomposition of TensorLy with more and more iterations."""
    import tensorly
    from tensorly import decomposition

    from tensorfill.metrics import rmse

    data = problem(SIZE)
    tensor = data.observations.to_dense(fill=0.0)
    mask = np.zeros(tensor.size)
    mask[data.observations.positions] = 1.0
    mask = mask.reshape(tensor.shape)
    rank = 5 if name == "parafac" else [5, 5, 5]
    rebuild = tensorly.cp_to_tensor if name == "parafac" else tensorly.tucker_to_tensor
    before, began, best, last, iterations = watched(), time.perf_counter(), np.inf, 0.0, 10
    while time.perf_counter() - began < LIMIT and best > GOAL:
        start = time.perf_counter()
        found = getattr(decomposition, name)(
            tensor, rank, mask=mask, n_iter_max=iterations, init="svd", tol=1e-12, random_state=0
        )
        last = time.perf_counter() - start
        best = min(best, rmse(np.asarray(rebuild(found))[tuple(data.test.coords.T)], data.test.values))
        iterations *= 3
    return {"seconds": last, "best": best, "bytes": peak() - before}


def table() -> list[str]:
    """Measure everyone."""
    lines = heading(["who", "seconds to 0.002", "best test RMSE seen", "peak memory"])
    everyone = {
        "tensorfill, NORT": (ours, ()),
        "tensorfill, complete(data)": (chosen, ()),
        "dense proximal average": (dense_average, ()),
        "TensorLy parafac": (tensorly, ("parafac",)),
        "TensorLy tucker": (tensorly, ("tucker",)),
    }
    for name, (function, given) in everyone.items():
        got = fresh(function, *given)
        reached = f"{got['seconds']:.1f}" if got["best"] <= GOAL else "not reached"
        lines.append(row([name, reached, f"{got['best']:.2g}", mib(got["bytes"])]))
    return lines
