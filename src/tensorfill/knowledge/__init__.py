"""Knowledge graphs as tensors: reading triples, negatives, ranking and recommending (Section 5.3 of the paper).

A graph of facts (head, relation, tail) is a tensor of shape (entities, entities, relations) that is +1 at the known
facts. Coordinates are always in the order of its modes: head, tail, relation.
"""

from .facts import Facts
from .negatives import Negatives, sample_negatives, to_observations
from .odds import GraphOdds
from .ranking import Ranking, Scorer, entity_ranking, relation_ranking
from .recommendation import Recommendations, recommend
from .triples import MODES, Triples, most_frequent, read_archive

__all__ = [
    "MODES",
    "Facts",
    "GraphOdds",
    "Negatives",
    "Ranking",
    "Recommendations",
    "Scorer",
    "Triples",
    "entity_ranking",
    "most_frequent",
    "read_archive",
    "recommend",
    "relation_ranking",
    "sample_negatives",
    "to_observations",
]
