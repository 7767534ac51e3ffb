"""Models as the objects of TensorLy and of pyttb, and back."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import complete
from tensorfill.datasets import synthetic
from tensorfill.models import Centred, CPModel, Dense, TensorRing, TensorTrain, Tucker
from tests.refusal import refuses

from .test_models import centred_cp, centred_ring, centred_tucker, cp, folded, ring, train, tucker

SHAPE = (4, 5, 6)
INSTALL = ["pip install tensorly pyttb"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def dense_of(theirs):
    import tensorly

    return {
        "CPTensor": tensorly.cp_to_tensor,
        "TuckerTensor": tensorly.tucker_to_tensor,
        "TTTensor": tensorly.tt_to_tensor,
        "TRTensor": tensorly.tr_to_tensor,
    }[type(theirs).__name__](theirs)


@pytest.mark.parametrize("factory", [cp, tucker, train, ring], ids=lambda factory: factory.__name__)
def test_tensorly_and_back(factory, rng):
    pytest.importorskip("tensorly")
    model, dense = factory(SHAPE, rng)
    theirs = model.to_tensorly()
    np.testing.assert_allclose(dense_of(theirs), dense, atol=1e-12)
    again = type(model).from_tensorly(theirs)
    np.testing.assert_array_equal(again.to_dense(), model.to_dense())
    # What is theirs may be changed without changing ours.
    (theirs[0] if factory in (train, ring) else theirs[1][0])[...] = 7
    np.testing.assert_allclose(model.to_dense(), dense, atol=1e-12)


@pytest.mark.parametrize("factory", [centred_cp, centred_tucker], ids=lambda factory: factory.__name__)
def test_an_offset_becomes_further_terms(factory, rng):
    pytest.importorskip("tensorly")
    model, dense = factory(SHAPE, rng)
    np.testing.assert_allclose(dense_of(model.to_tensorly()), dense, atol=1e-12)


def test_what_tensorly_finds_is_taken(rng):
    tensorly = pytest.importorskip("tensorly")
    from tensorly.decomposition import parafac, tensor_ring, tensor_train
    from tensorly.decomposition import tucker as decomposed

    array = tensorly.tensor(tucker(SHAPE, rng, [2, 2, 2])[1])
    for kind, theirs in (
        (CPModel, parafac(array, 4, random_state=0)),
        (Tucker, decomposed(array, [2, 2, 2])),
        (TensorTrain, tensor_train(array, [1, 2, 2, 1])),
        (TensorRing, tensor_ring(array, [2, 2, 3, 2])),
    ):
        np.testing.assert_allclose(kind.from_tensorly(theirs).to_dense(), dense_of(theirs), atol=1e-12)
    without_weights = CPModel.from_tensorly((None, parafac(array, 2, random_state=0).factors))
    assert without_weights.weights.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("method", ["cp", "grow", "tucker_als"])
@pytest.mark.parametrize("centre", [True, False])
def test_the_answer_of_a_fit(method, centre):
    pytest.importorskip("tensorly")
    data = synthetic((12, 11, 10), rank=2, rng=0).observations
    fit = complete(data, method=method, rank=2, smooth=None, centre=centre, rng=0)
    np.testing.assert_allclose(dense_of(fit.model.to_tensorly()), fit.to_dense(), atol=1e-10)


@pytest.mark.parametrize("factory", [cp, tucker, centred_cp, centred_tucker], ids=lambda factory: factory.__name__)
def test_pyttb_and_back(factory, rng):
    pytest.importorskip("pyttb")
    model, dense = factory(SHAPE, rng)
    theirs = model.to_pyttb()
    np.testing.assert_allclose(theirs.double(), dense, atol=1e-12)
    kind = type(model.low_rank() if isinstance(model, Centred) else model)
    np.testing.assert_allclose(kind.from_pyttb(theirs).to_dense(), dense, atol=1e-12)


def test_what_has_no_form_there_is_refused(rng):
    for model in (folded(SHAPE, rng)[0], Dense(np.zeros(SHAPE))):
        refuses(TypeError, ["TensorLy", "CP, Tucker", type(model).__name__, "to_dense()"], model.to_tensorly)
        refuses(TypeError, ["pyttb", "CP and Tucker", type(model).__name__, "to_dense()"], model.to_pyttb)
    refuses(TypeError, ["offset", "TensorRing"], centred_ring(SHAPE, rng)[0].to_tensorly)
    refuses(TypeError, ["pyttb", "TensorTrain"], train(SHAPE, rng)[0].to_pyttb)


def test_a_library_that_is_missing_is_named(rng, monkeypatch):
    import sys

    for name, convert in (("tensorly", cp(SHAPE, rng)[0].to_tensorly), ("pyttb", tucker(SHAPE, rng)[0].to_pyttb)):
        monkeypatch.setitem(sys.modules, name, None)
        refuses(ImportError, [name, *INSTALL], convert)
