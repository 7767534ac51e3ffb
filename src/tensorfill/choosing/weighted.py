"""The weighted sum of the answers of a blend.

Where nothing is observed along a mode, such as at times at which all sensors were silent, some methods have an answer
and others have none. Only those that have one count there, with weights that sum to one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from .._support.types import Floats
from ..models import Blend, Model
from ..observations import Observations
from .recipe import Recipe


def weighted(parts: Sequence[Recipe], weights: Floats, models: Sequence[Model], entries: Observations | None) -> Blend:
    """Return the blend of the answers of some recipes.

    Parameters
    ----------
    parts, weights, models
        The recipes, their weights and their answers.
    entries
        The entries that were fitted; None if they are on several machines.
    """
    if entries is None:
        return Blend(models, weights)
    found = list(models)
    for mode in sorted(frozenset.union(*(part.reached_within for part in parts))):
        seen = np.bincount(entries.coords[:, mode], minlength=entries.shape[mode]) > 0
        reaching = np.array([mode in part.reached_within or mode in part.reached_after for part in parts])
        if seen.all() or reaching.all():
            continue
        share = float(weights[reaching].sum())
        for place, reaches in enumerate(reaching.tolist()):
            scale = np.where(seen, 1.0, 1 / share if reaches else 0.0)
            found[place] = found[place].multiplied(mode, scipy.sparse.diags_array(scale, format="csr"))
    return Blend(found, weights)
