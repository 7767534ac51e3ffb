"""What the choice of the regularisation costs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from measure import fresh, heading, problem, row

TEXT = """## What the choice costs

The seconds of `complete(data)`, which chooses everything on held-out entries and then fits all of them, against those
of one fit of all entries at the lambda, theta and modes that were chosen, with the default tolerance: with the largest
ranks that were chosen, from zero; and without them, which comes down from larger lambdas and may end at other ranks.
The ratio is to the faster of these two. All are measured once each, one after the other in a fresh process, after a
small problem that is not counted.
"""

CASES = {
    "100^3": "synthetic, 100^3",
    "200^3": "synthetic, 200^3",
    "picture": "picture, 256 x 256 x 3, 70% of the pixels missing",
}


def picture():
    """Return a picture of which 70% of the pixels are missing."""
    from skimage.data import astronaut

    from tensorfill import Observations

    colours = astronaut().astype(float).reshape(256, 2, 256, 2, 3).mean(axis=(1, 3))
    seen = np.random.default_rng(0).random((256, 256)) >= 0.7
    return Observations.from_dense(colours, np.broadcast_to(seen[:, :, None], colours.shape))


def costs(case: str) -> dict[str, Any]:
    """Return the seconds and ranks of a fit whose regularisation is chosen, and of fits for which it is given."""
    from tensorfill import complete

    small = problem(20).observations
    complete(small, rng=0)
    complete(small, lam=0.1, theta=0.1, rng=0)
    data = picture() if case == "picture" else problem(int(case.removesuffix("^3"))).observations

    def timed(**given):
        began = time.perf_counter()
        fit = complete(data, rng=0, **given)
        return fit, (time.perf_counter() - began, fit.ranks)

    fit, chosen = timed()
    limited = timed(method=replace(fit.method, descend=False))[1]
    free = timed(method=replace(fit.method, max_rank=None))[1]
    return {"entries": len(data), "chosen": chosen, "limited": limited, "free": free}


def table() -> list[str]:
    """Measure what the choice of the regularisation costs."""
    lines = heading(["problem", "entries", "all chosen", "one fit, ranks limited", "one fit, from above", "ratio"])
    for case, name in CASES.items():
        cost = fresh(costs, case)
        described = (f"{cost[kind][0]:.2f} s, ranks {tuple(cost[kind][1])}" for kind in ("chosen", "limited", "free"))
        ratio = cost["chosen"][0] / min(cost["limited"][0], cost["free"][0])
        lines.append(row([name, f"{cost['entries']:,}", *described, f"{ratio:.1f}"]))
    return lines
