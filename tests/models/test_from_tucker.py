"""A Tucker model as components that agree, against dense arrays."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra.unfolding import unfold
from tensorfill.models import FoldedLowRank, Tucker
from tests import strategies


def random_tucker(rng, shape, ranks, dtype=np.float64):
    factors = [np.linalg.qr(rng.standard_normal((size, rank)))[0] for size, rank in zip(shape, ranks, strict=True)]
    return Tucker(shape, rng.standard_normal(ranks).astype(dtype), [factor.astype(dtype) for factor in factors])


@settings(max_examples=40, deadline=None)
@given(shape=strategies.shapes(max_order=4, max_size=8), rng=strategies.generators, data=st.data())
def test_every_component_is_the_decomposition_of_the_whole_tensor(shape, rng, data):
    ranks = [data.draw(st.integers(1, size)) for size in shape]
    modes = data.draw(st.sets(st.sampled_from(range(len(shape))), min_size=1).map(sorted))
    model, weights = random_tucker(rng, shape, ranks), rng.dirichlet(np.ones(len(modes)))
    dense = np.asarray(model.to_dense())
    folded = FoldedLowRank.from_tucker(model, modes, weights)
    assert folded.modes == tuple(modes)
    np.testing.assert_allclose(folded.to_dense(), dense, atol=1e-10)
    for part in folded.components:
        exact = np.linalg.svd(unfold(dense, part.mode), compute_uv=False)
        np.testing.assert_allclose(part.s, exact[: part.rank], atol=1e-10)
        np.testing.assert_allclose(exact[part.rank :], 0, atol=1e-10)
        np.testing.assert_allclose(part.u.T @ part.u, np.eye(part.rank), atol=1e-10)
        np.testing.assert_allclose(part.v.T @ part.v, np.eye(part.rank), atol=1e-10)
        np.testing.assert_allclose((part.u * part.s) @ part.v.T, unfold(dense, part.mode), atol=1e-10)


def test_there_and_back():
    model = random_tucker(np.random.default_rng(0), (6, 7, 8), (2, 3, 4))
    back = Tucker.from_folded(FoldedLowRank.from_tucker(model, range(3), [0.2, 0.3, 0.5]))
    assert back.ranks == model.ranks
    np.testing.assert_allclose(back.to_dense(), model.to_dense(), atol=1e-12)


def test_directions_without_weight_are_left_out_and_float32_stays():
    rng = np.random.default_rng(0)
    model = random_tucker(rng, (6, 7, 8), (3, 3, 3), np.float32)
    core = np.zeros_like(model.core)
    core[0, 0, 0] = 2.0
    folded = FoldedLowRank.from_tucker(Tucker(model.shape, core, model.factors), range(3), [1 / 3] * 3)
    assert folded.ranks == (1, 1, 1)
    assert all(part.v.dtype == np.float32 for part in folded.components)
    assert folded.components[0].s == pytest.approx([2.0])


def test_nothing_of_the_size_of_the_tensor_is_allocated():
    model = random_tucker(np.random.default_rng(0), (200, 200, 200), (2, 2, 2))
    tracemalloc.start()
    try:
        FoldedLowRank.from_tucker(model, range(3), [1 / 3] * 3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200**3 * 8 / 8
