"""The path of lambda."""

import numpy as np
import pytest

from tensorfill import Nort, complete
from tensorfill.algebra.unfolding import unfold
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.penalties import LSP, MCP, CappedL1, Nuclear, cut
from tensorfill.problem import Problem
from tensorfill.selection import follow, largest_cut, penalty_family


@pytest.fixture(scope="module")
def data():
    return synthetic((30, 28, 26), rank=3, rng=0)


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_the_path_begins_where_the_answer_is_zero(data, storage):
    task = Problem(data.observations, Square())
    settings = Nort(lam=1.0, storage=storage)
    largest = largest_cut(settings, task, np.random.default_rng(0))
    zeros = data.observations.to_dense(fill=0)
    expected = max(np.linalg.norm(unfold(zeros, mode), 2) for mode in range(3)) / 1.01
    assert largest == pytest.approx(expected, rel=1e-3)
    for penalty in (Nuclear(), LSP(largest), CappedL1(largest)):
        for share, empty in ((1.05, True), (0.9, False)):
            weight = share * largest if not isinstance(penalty, LSP) else (share * largest / 2 + largest / 2) ** 2
            model = Nort(lam=weight * 1.01 / 3, penalty=penalty, storage=storage).solve(task, rng=0).model
            assert (model.ranks == (0, 0, 0)) is empty


@pytest.mark.parametrize("name", ["lsp", "capped_l1", "mcp"])
@pytest.mark.parametrize("q", [0.1, 1.0])
def test_the_penalties_of_a_path_have_the_cut_they_are_for(data, name, q):
    task = Problem(data.observations, Square())
    selection = follow(
        Nort(lam=1.0), task, data.test, penalty_family(name, q), rng=np.random.default_rng(0)
    )  # fmt: skip
    for point in selection.path:
        penalty = {"lsp": LSP, "capped_l1": CappedL1, "mcp": MCP}[name](point.theta)
        assert point.theta == pytest.approx(q * point.cut)
        assert cut(penalty, 3 * point.lam / 1.01, largest=10 * point.cut) == pytest.approx(point.cut, rel=1e-6)


def test_ranks_grow_along_the_path_and_the_score_has_a_least(data):
    fit = complete(data.observations, rng=0)
    path = fit.path
    assert (np.diff(path["cut"]) < 0).all()
    assert path[0].ranks <= (1, 1, 1)
    assert min(fit.ranks) >= 3
    assert path["held_out"].argmin() < len(path) - 1
    assert path.best.held_out < 0.3 * path[0].held_out
    assert (path["training"] > 0).all()
    with pytest.raises(KeyError, match="no column 'speed'; the columns are cut"):
        path["speed"]
