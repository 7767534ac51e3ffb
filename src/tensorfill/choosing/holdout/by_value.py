"""Whether large or small values are missing more often: the AUC of telling missing entries by their prediction alone.

The values of missing entries are not known, so predictions of a fit without the held-out entries stand for them, and
for fairness also for the values of the held-out entries, which are a sample of the observed ones. The AUC is the
probability that the prediction of a missing entry is larger than that of a held-out one: 0.5 if gaps do not depend on
the value, above it if large values are missing more often. It says that values and gaps go together, not why: rows of
large values with many gaps count as much as large entries that are missing everywhere.

A few such rows may have many gaps by chance. So the standard error does not take entries for independent, but only the
slices of a mode, and counts neighbouring slices together, because a gap may be as long as a month or as wide as a hole
in a picture. The influence of each entry on the AUC (DeLong et al. 1988) is summed within these groups (Obuchowski
1997), and the variances of all modes are added (Cameron, Gelbach and Miller 2011). What is common to two modes is then
counted twice, so that the error is rather too large than too small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..._support.types import Floats, Integers
from ...models import Model
from .likeness import sampled
from .resemblance import FEWEST, MISSING

GROUPS = 20
"""The largest number of groups of neighbouring slices of a mode."""


def value_auc(
    coords: Sequence[Integers],
    predicted: Sequence[Floats],
    models: Iterable[Model],
    missing: Integers,
    shape: tuple[int, ...],
) -> tuple[float, float] | None:
    """Return the AUC of telling missing entries by their prediction, with its standard error; None if there are few.

    Parameters
    ----------
    coords, predicted
        The held-out entries of each split, and their predictions by a fit without them.
    models
        The model of each split, which predicts missing entries too; one at a time, because some are large.
    missing
        The coordinates of a sample of missing entries, in random order.
    shape
        The shape of the tensor.
    """
    count = sum(map(len, predicted))
    if min(count, len(missing)) < FEWEST:
        return None
    held_out, values = np.concatenate(list(coords)), np.concatenate(list(predicted))
    some = sampled(np.arange(count), MISSING)
    # Every fit predicts its own share, so that those of missing and of held-out entries are of the same fits.
    ends = np.cumsum([len(each) for each in predicted])[:-1] * len(missing) // count
    shares = np.split(missing, ends)
    others = [model.predict(share) for model, share in zip(models, shares, strict=True)]
    return auc_in_groups(
        (held_out[some], values[some].astype(np.float64)),
        (missing, np.concatenate(others).astype(np.float64)),
        shape,
    )


def auc_in_groups(
    held_out: tuple[Integers, Floats], missing: tuple[Integers, Floats], shape: tuple[int, ...]
) -> tuple[float, float]:
    """Return the probability that a missing entry has a larger number than a held-out one, and its standard error.

    Parameters
    ----------
    held_out, missing
        The coordinates of entries, and a number for each.
    shape
        The shape of the tensor.

    Examples
    --------
    >>> places = np.stack([np.arange(40), np.arange(40)], axis=1)
    >>> auc, error = auc_in_groups((places, np.zeros(40)), (places, np.repeat([0.0, 1.0], 20)), (40, 40))
    >>> auc, round(error, 3)
    (0.75, 0.073)
    """
    below, above = _shares_below(held_out[1], missing[1]), 1 - _shares_below(missing[1], held_out[1])
    auc = float(below.mean())
    influence = np.concatenate([(above - auc) / len(above), (below - auc) / len(below)])
    coords = np.concatenate([held_out[0], missing[0]])
    alone = float(influence @ influence)
    variances = [_variance_of_sums(influence, coords[:, mode], size) for mode, size in enumerate(shape)]
    # Of independent entries every mode has the variance of the entries alone, which counts once.
    return auc, math.sqrt(max(sum(variances) - (len(shape) - 1) * alone, *variances, alone))


def _shares_below(values: Floats, at: Floats) -> Floats:
    """Return the share of some values that lie below each of others; equal ones count half.

    >>> _shares_below(np.array([1.0, 2.0]), np.array([0.0, 1.0, 1.5])).tolist()
    [0.0, 0.25, 0.5]
    """
    ordered = np.sort(values)
    both = np.searchsorted(ordered, at, side="left") + np.searchsorted(ordered, at, side="right")
    shares: Floats = both / (2 * len(values))
    return shares


def _variance_of_sums(influence: Floats, indices: Integers, size: int) -> float:
    """Return the variance of a sum of influences, if only groups of neighbouring slices are independent."""
    groups = indices.astype(np.int64) * min(size, GROUPS) // size
    sums, counts = np.bincount(groups, influence), np.bincount(groups)
    full = int(np.count_nonzero(counts))
    # The sums add up to 0, so that those of few groups are too small, as in a jackknife over the groups.
    return float(sums @ sums) * (full / max(full - 1, 1)) ** 2
