"""The experiments by name, in the order of the paper."""

from __future__ import annotations

from . import climate, critical_points, effects, knowledge_graph, network, pictures, ranks, recovery, video
from .experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        recovery.EXPERIMENT,
        ranks.EXPERIMENT,
        critical_points.EXPERIMENT,
        effects.NOISE,
        effects.OBSERVATIONS,
        effects.ORDER,
        effects.RANK,
        pictures.IMAGES,
        pictures.IMAGE_NOISE,
        pictures.HYPERSPECTRAL,
        network.EXPERIMENT,
        knowledge_graph.EXPERIMENT,
        video.EXPERIMENT,
        climate.EXPERIMENT,
    )
}
"""A new experiment is one module and one line here."""
