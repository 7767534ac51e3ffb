"""A table on Dask gets the checks and the warnings of one in memory, and says in words that its cluster is gone."""

import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("pandas")

import dask.dataframe
import pandas as pd

import distributed
import tensorfill
from tensorfill.choosing.doubts import DoubtfulFitWarning
from tensorfill.distributed import post as posts
from tests.refusal import refuses

GIVEN = {"lam": 0.1, "max_rank": 2, "max_iter": 5}


def table_of(values, seed=0):
    rng = np.random.default_rng(seed)
    coords = np.argwhere(rng.random((10, 9, 8)) < 0.5)
    columns = dict(zip("abc", coords.T, strict=True))
    return dask.dataframe.from_pandas(pd.DataFrame({**columns, "y": values(coords, rng)}), npartitions=3)


def of_rank_one(coords, rng):
    return np.prod(1 + coords / 10, axis=1)


def test_all_zeros_are_completed(client):
    fit = tensorfill.complete(table_of(lambda coords, rng: np.zeros(len(coords))), client=client, rng=0, **GIVEN)
    assert fit.predict([[0, 0, 0], [9, 8, 7]]).tolist() == [0.0, 0.0]
    fit.close()


def test_zeros_are_not_searched(client):
    fit = tensorfill.complete(table_of(lambda coords, rng: np.zeros(len(coords))), client=client, rng=0, max_iter=3)
    assert len(fit.path) == 1
    assert fit.predict([[0, 0, 0]]).tolist() == [0.0]
    fit.close()


@pytest.mark.parametrize(("size", "dtype"), [(1e300, "float64"), (1e-100, "float64"), (1e20, "float32")])
def test_extreme_values_are_refused_before_the_fit(client, size, dtype):
    table = table_of(lambda coords, rng: np.full(len(coords), size))
    words = ["largest value", "in size", dtype, "divide the values"]
    refuses(ValueError, words, lambda: tensorfill.complete(table, client=client, dtype=dtype, **GIVEN))


def test_noise_is_warned_of(client):
    table = table_of(lambda coords, rng: rng.standard_normal(len(coords)))
    with pytest.warns(DoubtfulFitWarning, match="hardly better than 0 everywhere.*on observed entries"):
        tensorfill.complete(table, client=client, rng=0, **GIVEN | {"lam": 100.0}).close()


@pytest.mark.slow
def test_noise_is_warned_of_at_held_out_entries(client):
    table = table_of(lambda coords, rng: rng.standard_normal(len(coords)))
    with pytest.warns(DoubtfulFitWarning, match="hardly better than 0 everywhere.*on held-out entries"):
        tensorfill.complete(table, client=client, rng=0, max_iter=3, modes=["a"], penalty="nuclear").close()


@pytest.mark.parametrize("loss", ["l1", "logistic", "poisson", "nothing"])
def test_a_loss_that_is_not_for_workers_names_those_that_are(client, loss):
    table = table_of(of_rank_one)
    with pytest.raises(ValueError, match=f"one of 'square', 'huber' for a table .* but '{loss}' was given; .*\\.$"):
        tensorfill.complete(table, loss=loss, client=client)


def test_a_client_that_is_closed_is_told_in_words():
    with distributed.LocalCluster(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        client = distributed.Client(cluster, set_as_default=False)
        table = table_of(of_rank_one)
        fit = tensorfill.complete(table, client=client, rng=0, **GIVEN)
        client.close()
        for call in (
            lambda: fit.predict([[0, 0, 0]]),
            lambda: fit.predict(table),
            lambda: fit[0, 0],
            lambda: fit.together(),
            lambda: tensorfill.complete(table, client=client, **GIVEN),
        ):
            refuses(ConnectionError, ["Dask scheduler is gone", "start the cluster"], call)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_scheduler_that_is_gone_is_told_soon_and_in_words(monkeypatch, tmp_path):
    monkeypatch.setattr(posts, "CHECK_EVERY", 0.2)
    file = tmp_path / "scheduler.json"
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(file), "--port", "0"]
    scheduler = subprocess.Popen([*start, "--dashboard-address", ":0"], stderr=subprocess.DEVNULL)
    work = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1"]
    while not file.exists():
        time.sleep(0.1)
    worker = subprocess.Popen([*work, "--no-nanny", "--dashboard-address", ":0"], stderr=subprocess.DEVNULL)
    try:
        client = distributed.Client(scheduler_file=str(file), set_as_default=False)
        client.wait_for_workers(1, timeout=30)

        def kill(record, model):
            scheduler.kill()
            scheduler.wait()

        table = table_of(of_rank_one)
        words = ["Dask scheduler is gone", "start the cluster"]
        given = GIVEN | {"max_iter": 50, "callback": kill}
        refuses(ConnectionError, words, lambda: tensorfill.complete(table, client=client, rng=0, **given))
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        client.close(timeout=1)
