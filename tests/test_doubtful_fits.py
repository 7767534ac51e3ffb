"""A fit that has hardly found anything says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete
from tensorfill.datasets import synthetic

DOUBT = "hardly better than 0"


def noise(seed=0):
    rng = np.random.default_rng(seed)
    return Observations.from_dense(rng.standard_normal((15, 14, 13)), rng.random((15, 14, 13)) < 0.5)


def test_pure_noise_is_called_doubtful():
    with pytest.warns(UserWarning, match=DOUBT) as caught:
        fit = complete(noise(), rng=0)
    said = str(next(each.message for each in caught if DOUBT in str(each.message)))
    assert "held-out entries" in said
    assert f"error on held-out entries is {np.sqrt(np.mean(fit.residuals**2)):.4g}" in said
    assert np.isfinite(fit.to_dense()).all()


@pytest.mark.parametrize("seed", range(4))
def test_zero_is_always_called_doubtful(seed):
    """The held-out values of small data may be smaller than the rest; zero is no better there for that."""
    with pytest.warns(UserWarning, match=DOUBT):
        complete(noise(seed), method="nort", lam=1e3, choose=Choice(), smooth=None, centre=False, rng=seed)


def test_a_lambda_that_leaves_nothing_is_called_doubtful():
    with pytest.warns(UserWarning, match=f"{DOUBT}.*observed entries"):
        complete(noise(), lam=1e3, rng=0)


@pytest.mark.parametrize("method", ["grow", "nort"])
def test_a_good_fit_is_not(method):
    data = synthetic((20, 18, 16), rank=2, rng=0).observations
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete(data, method=method, rng=0)


def test_data_that_is_zero_is_not():
    data = Observations.from_dense(np.zeros((8, 7, 6)), np.random.default_rng(0).random((8, 7, 6)) < 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete(data, method="nort", lam=0.1, rng=0)
