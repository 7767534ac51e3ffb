"""TenNN: the tubal nuclear norm against a full transform and a decomposition of each slice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations, Problem, Tennn, complete
from tensorfill.baselines.tubal import Tubal, shrunk_stack
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tests.methods.zoo import low_rank
from tests.refusal import refuses
from tests.strategies import generators


def slices(full, along):
    """Return the full transform along these modes, as a list of matrices, and how to go back."""
    moved = np.moveaxis(full, along, range(len(along)))
    return np.fft.fftn(moved, axes=range(len(along)), norm="ortho"), moved.shape


def norm(full, along):
    stack, shape = slices(full, along)
    return sum(np.linalg.svd(each, compute_uv=False).sum() for each in stack.reshape(-1, *shape[-2:]))


def shrunk(full, along, weight):
    stack, shape = slices(full, along)
    out = np.zeros_like(stack.reshape(-1, *shape[-2:]))
    for place, each in enumerate(stack.reshape(-1, *shape[-2:])):
        u, s, vh = np.linalg.svd(each, full_matrices=False)
        out[place] = (u * np.maximum(s - weight, 0)) @ vh
    back = np.fft.ifftn(out.reshape(stack.shape), axes=range(len(along)), norm="ortho")
    assert np.abs(back.imag).max() < 1e-10
    return np.moveaxis(back.real, range(len(along)), along)


@given(
    shape=st.lists(st.integers(1, 6), min_size=3, max_size=4).map(tuple),
    weight=st.sampled_from([0.0, 1e-9, 0.3, 1.0, 100.0]),
    rng=generators,
)
@settings(max_examples=40)
def test_half_of_the_slices_are_enough(shape, weight, rng):
    full = rng.standard_normal(shape)
    along = tuple(range(len(shape) - 2))
    part = Tubal(shape)
    assert part.value(full) == pytest.approx(norm(full, along), abs=1e-6)
    found = part.back(shrunk_stack(part.transform(full), weight)[0])
    np.testing.assert_allclose(found, shrunk(full, along, weight), atol=1e-9 if weight > 1e-3 else 1e-7)


@pytest.mark.parametrize(("shape", "along"), [((6, 5, 7), 2), ((6, 5, 7), 0), ((4, 3, 5, 4), (1, 3))])
def test_iterations_are_those_of_a_direct_implementation(shape, along):
    _, data = low_rank(shape)
    modes, zeta = along if isinstance(along, tuple) else (along,), 0.5
    at = data.positions
    x = data.to_dense(fill=0.0)
    dual = np.zeros(shape)
    for _ in range(8):
        copy = shrunk(x - dual / zeta, modes, 1 / zeta)
        x = copy + dual / zeta
        x.ravel()[at] = data.values
        dual += zeta * (copy - x)
    result = Tennn(along=along, zeta=zeta, max_iter=8, tol=0.0).solve(Problem(data, Square()))
    np.testing.assert_allclose(result.model.to_dense(), x, atol=1e-9)
    assert result.history[-1].objective == pytest.approx(norm(x, modes))


def test_the_minimum_does_not_depend_on_zeta_and_no_neighbour_is_below_it():
    _, data = low_rank((6, 5, 4), noise=0.0)
    ends = [Tennn(along=2, zeta=zeta, tol=1e-9, max_iter=800).solve(Problem(data, Square())) for zeta in (None, 1.0)]
    assert ends[0].history[-1].objective == pytest.approx(ends[1].history[-1].objective, rel=1e-5)
    full, rng = ends[0].model.to_dense(), np.random.default_rng(0)
    free = np.isnan(data.to_dense())
    for size in (1e-3, 1e-2, 0.1):
        assert norm(full + size * np.where(free, rng.standard_normal(full.shape), 0), (2,)) > norm(full, (2,)) * (
            1 - 1e-8
        )


def test_the_mode_to_transform_is_chosen():
    rng = np.random.default_rng(0)
    # Of tubal rank one along mode 0, and of full rank otherwise.
    stack = np.fft.rfft(rng.standard_normal((9, 14, 1)), axis=0) @ np.fft.rfft(rng.standard_normal((9, 1, 12)), axis=0)
    truth = np.fft.irfft(stack, n=9, axis=0)
    seen = rng.random(truth.shape) < 0.6
    fit = complete(Observations.from_dense(truth, seen), method="tennn", smooth=None, centre=False, rng=0)
    assert fit.method.along == (0,)
    assert fit.ranks == (1,)
    assert set(fit.path["along_0"]) == {0, 1, 2}
    assert rmse(fit.to_dense()[~seen], truth[~seen]) < 0.02 * truth.std()


def test_bad_settings_get_one_sentence():
    _, data = low_rank((5, 4, 3))
    for along in ((0, 1), 3, (0, 0), []):
        refuses(ValueError, ["along"], lambda along=along: Tennn(along=along).solve(Problem(data, Square())))
    refuses(ValueError, ["zeta", "above 0"], lambda: Tennn(along=0, zeta=0.0))
