"""Tucker models turned into sums of outer products: exact where there are enough terms."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill.methods.grow import cp_form as module
from tensorfill.methods.grow.cp_form import cp_form
from tensorfill.models import CPModel, Tucker


def tucker_of(rng, shape, terms, dtype=np.float64):
    """Return the Tucker form of a random sum of outer products, in other bases."""
    factors = [rng.standard_normal((size, terms)) for size in shape]
    cp = CPModel(shape, np.ones(terms), factors)
    bases = [np.linalg.qr(factor)[0] for factor in factors]
    bases = [basis @ np.linalg.qr(rng.standard_normal((basis.shape[1],) * 2))[0] for basis in bases]
    core = cp.to_dense()
    for mode, basis in enumerate(bases):
        core = np.moveaxis(np.tensordot(basis.T, core, axes=(1, mode)), 0, mode)
    return Tucker(shape, core.astype(dtype), [basis.astype(dtype) for basis in bases]), cp


def relative_error(model, expected):
    return np.linalg.norm(model.to_dense() - expected.to_dense()) / expected.norm()


@pytest.mark.parametrize(
    ("shape", "terms"),
    [
        ((12, 10), 3),
        ((12, 10, 9), 1),
        ((12, 10, 9), 4),
        ((9, 10, 2), 4),  # at most the two largest sizes, above the third
        ((3, 12, 10), 6),
        ((8, 7, 6, 5), 4),
        ((3, 8, 2, 7), 6),
        ((3, 2, 3, 3), 4),  # above all sizes: no common eigenvectors to start from
    ],
    ids=str,
)
def test_a_tensor_with_this_many_terms_is_recovered(shape, terms):
    for seed in range(3):
        model, cp = tucker_of(np.random.default_rng(seed), shape, terms)
        found = cp_form(model, terms, np.random.default_rng(0))
        assert found.ranks == (terms,)
        assert relative_error(found, model) < 1e-3
        assert relative_error(model, cp) < 1e-12
        assert (np.diff(found.weights) <= 0).all()


def test_more_terms_than_any_size_come_near():
    for seed in range(3):
        model, _ = tucker_of(np.random.default_rng(seed), (4, 3, 4), 5)
        assert relative_error(cp_form(model, 5, np.random.default_rng(0)), model) < 0.06


def test_common_eigenvectors_are_exact_where_they_are_enough(monkeypatch):
    # Without sweeps worth the name, only an exact start gives the tensor.
    monkeypatch.setattr(module, "SWEEPS", 2)
    monkeypatch.setattr(module, "RANDOM_STARTS", 0)
    for shape in ((12, 10, 9), (8, 3, 9), (3, 8, 2, 7)):
        model, _ = tucker_of(np.random.default_rng(0), shape, 5)
        assert relative_error(cp_form(model, 5, np.random.default_rng(0)), model) < 1e-6


def test_fewer_terms_come_as_near_as_they_can():
    rng = np.random.default_rng(0)
    columns = [np.linalg.qr(rng.standard_normal((size, 3)))[0] for size in (9, 8, 7)]
    core = np.zeros((3, 3, 3))
    core[[0, 1, 2], [0, 1, 2], [0, 1, 2]] = [5.0, 3.0, 1.0]
    found = cp_form(Tucker((9, 8, 7), core, columns), 2, rng)
    np.testing.assert_allclose(found.weights, [5, 3], rtol=1e-3)


def test_complex_eigenvectors_do_no_harm():
    # A random core of this shape has a real form with two terms in only some cases; three are always enough.
    for seed in range(8):
        core = np.random.default_rng(seed).standard_normal((2, 2, 2))
        model = Tucker((2, 2, 2), core, [np.eye(2)] * 3)
        assert np.isfinite(cp_form(model, 2, np.random.default_rng(0)).to_dense()).all()
        assert relative_error(cp_form(model, 3, np.random.default_rng(0)), model) < 0.02


def test_the_unit_of_the_values_does_not_matter():
    model, _ = tucker_of(np.random.default_rng(0), (9, 8, 7), 3)
    for scale in (1e-8, 1e8):
        scaled = Tucker(model.shape, scale * model.core, model.factors)
        assert relative_error(cp_form(scaled, 3, np.random.default_rng(0)), scaled) < 1e-3


def test_float32():
    model, _ = tucker_of(np.random.default_rng(0), (9, 8, 7), 3, np.float32)
    assert relative_error(cp_form(model, 3, np.random.default_rng(0)), model) < 1e-3


def test_what_is_zero_stays_zero():
    rng = np.random.default_rng(0)
    zero = Tucker((5, 4, 3), np.zeros((2, 2, 2)), [np.ones((size, 2)) for size in (5, 4, 3)])
    empty = Tucker((5, 4, 3), np.zeros((0, 0, 0)), [np.zeros((size, 0)) for size in (5, 4, 3)])
    full, _ = tucker_of(rng, (5, 4, 3), 2)
    for model, terms in ((zero, 2), (empty, 2), (empty, 0), (full, 0)):
        found = cp_form(model, terms, rng)
        assert found.ranks == (terms,)
        np.testing.assert_array_equal(found.to_dense(), np.zeros((5, 4, 3)))
