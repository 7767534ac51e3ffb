"""What the choice of the regularisation costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from measure import fresh, heading, problem, row

TEXT = """## What the choice costs

The seconds of `complete(data)`, which chooses everything on held-out entries and then fits all of them; of
`complete(data, method="nort")`, which leaves out the growing method; and of one fit of all entries with what
`complete(data)` chose. The ratio is of the first to the last. All are measured once each, one after the other in a
fresh process, after a small problem that is not counted.
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
    """Return the seconds, the method and the ranks of fits for which everything is chosen, or nothing."""
    from tensorfill import complete

    small = problem(20).observations
    for method in ("auto", "nort", "grow"):
        complete(small, method=method, rng=0)
    data = picture() if case == "picture" else problem(int(case.removesuffix("^3"))).observations

    def timed(**given):
        began = time.perf_counter()
        fit = complete(data, rng=0, **given)
        return fit, (time.perf_counter() - began, f"{fit.method.name}, ranks {fit.ranks}")

    fit, chosen = timed()
    return {
        "entries": len(data),
        "chosen": chosen,
        "nort": timed(method="nort")[1],
        "one": timed(method=fit.method)[1],
    }


def table() -> list[str]:
    """Measure what the choice of the regularisation costs."""
    lines = heading(["problem", "entries", "all chosen", "NORT's settings chosen", "one fit", "all chosen / one fit"])
    for case, name in CASES.items():
        cost = fresh(costs, case)
        described = (f"{cost[kind][0]:.2f} s, {cost[kind][1]}" for kind in ("chosen", "nort", "one"))
        ratio = cost["chosen"][0] / cost["one"][0]
        lines.append(row([name, f"{cost['entries']:,}", *described, f"{ratio:.1f}"]))
    return lines
