"""The roughness of Tucker and CP models, against dense tensors and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra.factored_roughness import roughness_of_cp, roughness_of_tucker
from tensorfill.models import CPModel, Tucker
from tests.strategies import generators, shapes

from .test_roughness import applied, make

STEP = 1e-5


@st.composite
def rough_problems(draw):
    """Draw a shape, a roughness along some of its modes, its dense matrices, and a generator."""
    shape = draw(shapes(max_order=4, max_entries=200, max_size=7))
    modes = draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1, max_size=len(shape)))
    rng = draw(generators)
    return shape, *make(shape, modes, rng, draw(st.sampled_from(["explicit", "resolvent"]))), rng


def slope(function, parts, directions):
    """Return the derivative of a function of several arrays along directions, by a central difference."""
    ends = [
        function([part + sign * STEP * way for part, way in zip(parts, directions, strict=True)]) for sign in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2 * STEP)


@settings(max_examples=40, deadline=None)
@given(drawn=rough_problems(), data=st.data())
def test_a_tucker_model(drawn, data):
    shape, roughness, dense, rng = drawn
    ranks = [data.draw(st.integers(1, 3)) for _ in shape]
    parts = [rng.standard_normal(ranks), *(rng.standard_normal(size) for size in zip(shape, ranks, strict=True))]

    def value(parts):
        tensor = Tucker(shape, parts[0], parts[1:]).to_dense()
        return 0.5 * np.vdot(tensor, applied(tensor, dense))

    found, to_core, to_factors = roughness_of_tucker(roughness, parts[0], parts[1:])
    assert found == pytest.approx(value(parts), rel=1e-9, abs=1e-9)
    ways = [rng.standard_normal(part.shape) for part in parts]
    along = sum(np.vdot(gradient, way) for gradient, way in zip([to_core, *to_factors], ways, strict=True))
    assert along == pytest.approx(slope(value, parts, ways), rel=1e-5, abs=1e-4)


@settings(max_examples=40, deadline=None)
@given(drawn=rough_problems(), rank=st.integers(1, 3))
def test_a_cp_model(drawn, rank):
    shape, roughness, dense, rng = drawn
    factors = [rng.standard_normal((size, rank)) for size in shape]

    def value(factors):
        tensor = CPModel(shape, np.ones(rank), factors).to_dense()
        return 0.5 * np.vdot(tensor, applied(tensor, dense))

    found, gradients = roughness_of_cp(roughness, factors)
    assert found == pytest.approx(value(factors), rel=1e-9, abs=1e-9)
    ways = [rng.standard_normal(factor.shape) for factor in factors]
    along = sum(np.vdot(gradient, way) for gradient, way in zip(gradients, ways, strict=True))
    assert along == pytest.approx(slope(value, factors, ways), rel=1e-5, abs=1e-4)
