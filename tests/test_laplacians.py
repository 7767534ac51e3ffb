"""Graphs in the front door: slices that nobody observed."""

import warnings

import numpy as np
import pytest

from tensorfill import Observations, complete, graphs
from tensorfill.graphs.reduction import best_width, reduce
from tensorfill.metrics import rmse
from tests.refusal import refuses


def stations(seed=0, count=40, observed=25):
    """Places on a line, a smooth low-rank tensor over them, and which of them were observed."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.random(count))
    space = np.stack([np.sin(4 * places), np.cos(3 * places)], axis=1)
    truth = np.einsum("ir,jr,kr->ijk", space, rng.standard_normal((20, 2)), rng.standard_normal((9, 2)))
    kept = rng.permutation(count)[:observed]
    array = np.full(truth.shape, np.nan)
    array[kept] = truth[kept] + 0.01 * rng.standard_normal(truth[kept].shape)
    return places, truth, array, kept


def kernel(places):
    return graphs.knn(places[:, None], neighbours=6)


def test_slices_without_any_observation_are_filled_by_a_graph():
    places, truth, array, kept = stations()
    empty = np.setdiff1d(np.arange(len(places)), kept)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = complete(array, laplacian={0: kernel(places)}, rng=0)
    assert fit.shape == truth.shape
    assert fit.settings["holdout"].startswith("whole slices")
    assert rmse(fit.to_dense()[empty], truth[empty]) < 0.3 * truth[empty].std()
    assert rmse(fit.to_dense()[kept], truth[kept]) < 0.02
    np.testing.assert_allclose(fit.predict([[empty[0], 3, 4]]), fit.to_dense()[empty[0], 3, 4])
    with pytest.warns(UserWarning, match=r"15 of the 40 slices of mode 0.*laplacian=\{0: graph\}\.$"):
        alone = complete(array, smooth=None, rng=0)
    np.testing.assert_allclose(alone[int(empty[0])], 0, atol=1e-9)


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


def test_the_extension_is_harmonic_and_the_rest_is_the_schur_complement():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((9, 9)), 1)
    graph = graphs.from_adjacency(weights + weights.T)
    kept = np.array([0, 2, 3, 7])
    seen = np.zeros((9, 4), dtype=bool)
    seen[kept] = True
    reduced = reduce(Observations.from_dense(rng.standard_normal((9, 4)), seen), {0: graph})
    matrix, dense = reduced.extensions[0].matrix, graph.toarray()
    values = rng.standard_normal((4, 3))
    extended = matrix @ values
    np.testing.assert_array_equal(extended[kept], values)
    np.testing.assert_allclose((dense @ extended)[np.setdiff1d(np.arange(9), kept)], 0, atol=1e-7)
    energy = np.trace(extended.T @ dense @ extended)
    assert energy == pytest.approx(np.trace(values.T @ reduced.graphs[0].toarray() @ values), rel=1e-6)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-6)


def test_the_width_is_one_that_tells_slices_from_their_neighbours():
    places, _, array, _ = stations()
    graph = kernel(places)
    width = best_width(graph, Observations.from_dense(array), 0, np.random.default_rng(0))
    assert width in graph.widths
    assert width < graph.widths[-1]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"laplacian": {5: graphs.chain(20)}}, ValueError, ["laplacian", "5"]),
        ({"laplacian": {0: graphs.chain(20)}}, ValueError, ["mode 0", "40"]),
        ({"laplacian": graphs.chain(40)}, TypeError, ["laplacian", "modes to graphs"]),
        ({"laplacian": {0: graphs.chain(40)}, "lam": 1.0}, ValueError, ["laplacian", "lam='auto'"]),
        ({"laplacian": {0: graphs.knn(np.arange(20.0)[:, None], 3)}}, ValueError, ["mode 0", "40"]),
    ],
)
def test_bad_graphs_get_one_sentence(options, kind, words):
    refuses(kind, words, lambda: complete(stations()[2], rng=0, **options))
