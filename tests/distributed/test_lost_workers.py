"""A worker that is killed in the middle of a run does not change the answer."""

import os
import signal

import numpy as np
import pytest

pytest.importorskip("distributed")

import distributed
from tensorfill.datasets import synthetic
from tensorfill.distributed import crew as crews
from tensorfill.distributed import post as posts

from .test_storage import observations, settings, spread

# A worker that is killed leaves its sockets to be collected.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def processes():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


def kill_one(cluster, number):
    nanny = list(cluster.workers.values())[number % len(cluster.workers)]
    os.kill(nanny.pid, signal.SIGKILL)


@pytest.mark.slow
def test_the_answer_is_the_same_bit_for_bit(processes, tmp_path, monkeypatch):
    cluster, client = processes
    # Snapshots that are taken often, so that both they and the orders since then are needed.
    monkeypatch.setattr(crews, "MOST_QUESTIONS", 12)
    monkeypatch.setattr(posts, "CHECK_EVERY", 0.2)
    obs = observations(np.random.default_rng(7))
    expected = _solved(client, obs, str(tmp_path), lambda record, model: None)

    def killing(record, model):
        if record.iteration in (2, 5):
            kill_one(cluster, record.iteration)

    found = _solved(client, obs, str(tmp_path), killing)
    assert found.recoveries >= 2
    np.testing.assert_array_equal(found.f_tau, expected.f_tau)


class _Solved:
    def __init__(self, result, recoveries):
        self.f_tau, self.recoveries = result.history["f_tau"], recoveries


def _solved(client, obs, folder, callback):
    problem = spread(client, obs, 2, 0, folder=folder)
    result = settings(max_iter=7).solve(problem, rng=0, callback=callback)
    solved = _Solved(result, problem.crew.recoveries)
    problem.crew.close()
    return solved


@pytest.mark.slow
def test_without_a_common_folder_a_lost_worker_ends_the_run_in_words(processes, monkeypatch):
    cluster, client = processes
    monkeypatch.setattr(posts, "CHECK_EVERY", 0.2)
    obs = synthetic((9, 8, 7), rank=1, observed=200, rng=0).observations
    problem = spread(client, obs, 2, 0)
    with pytest.raises(ConnectionError, match="shared disk"):
        settings().solve(problem, rng=0, callback=lambda record, model: kill_one(cluster, 0))
