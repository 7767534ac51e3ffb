"""Graphs in `complete`: slices without any observed entry."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tensorfill import complete, graphs
from tensorfill.metrics import rmse

from ..refusal import refuses
from .examples import kernel, stations


def test_slices_without_any_observation_are_filled_by_a_graph():
    places, truth, array, kept = stations()
    empty = np.setdiff1d(np.arange(len(places)), kept)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = complete(array, laplacian={0: kernel(places)}, rng=0)
    assert fit.shape == truth.shape
    assert str(fit.recipe.holdout).startswith("whole slices")
    assert rmse(fit.to_dense()[empty], truth[empty]) < 0.3 * truth[empty].std()
    assert rmse(fit.to_dense()[kept], truth[kept]) < 0.02
    np.testing.assert_allclose(fit.predict([[empty[0], 3, 4]]), fit.to_dense()[empty[0], 3, 4])
    with pytest.warns(UserWarning, match=r"of the 40 slices of mode 0.*laplacian=\{0: graph\}\.$"):
        alone = complete(array, smooth=None, rng=0)
    errors = [rmse(each.to_dense()[empty], truth[empty]) for each in (fit, alone)]
    assert errors[0] < errors[1]


def test_a_fit_with_a_graph_can_be_saved(tmp_path):
    from tensorfill import load

    places, _, array, _ = stations()
    fit = complete(array, laplacian={0: kernel(places).laplacian(0.1)}, rng=0)
    fit.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(load(tmp_path / "fit.npz").to_dense(), fit.to_dense())


def test_two_graphs_at_once():
    places, truth, array, kept = stations()
    array[:, [4, 11]] = np.nan
    fit = complete(array, laplacian={0: kernel(places), 1: graphs.chain(20)}, rng=0)
    assert fit.shape == truth.shape
    assert np.isfinite(fit.to_dense()).all()
    others = np.setdiff1d(np.arange(20), [4, 11])
    assert rmse(fit.to_dense()[np.ix_(kept, others)], truth[np.ix_(kept, others)]) < 0.05


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"laplacian": {5: graphs.chain(20)}}, ValueError, ["laplacian", "5"]),
        ({"laplacian": {0: graphs.chain(20)}}, ValueError, ["mode 0", "40"]),
        ({"laplacian": graphs.chain(40)}, TypeError, ["laplacian", "modes to graphs"]),
        ({"laplacian": {0: graphs.knn(np.arange(20.0)[:, None], 3)}}, ValueError, ["mode 0", "40"]),
    ],
)
def test_bad_graphs_get_one_sentence(options, kind, words):
    refuses(kind, words, lambda: complete(stations()[2], rng=0, **options))
