"""The width of a kernel, chosen on held-out slices."""

from __future__ import annotations

import numpy as np

from tensorfill import Observations
from tensorfill.choosing.stages.graphs import best_width

from ..graphs.examples import kernel, stations


def test_the_chosen_width_predicts_slices_from_their_neighbours():
    places, _, array, _ = stations()
    graph = kernel(places)
    width = best_width(graph, Observations.from_dense(array), 0, np.random.default_rng(0))
    assert width in graph.widths
    assert width < graph.widths[-1]
