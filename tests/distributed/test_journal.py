"""A run on workers goes on from its checkpoint, on another number of workers too."""

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("pandas")

import tensorfill
from tensorfill._support.clock import Clock
from tensorfill.distributed.completion import complete
from tensorfill.distributed.journal import SpreadJournal
from tensorfill.io.checkpoints import Checkpoint

from .test_completion import GIVEN, table_of
from .test_storage import observations, settings, spread

IDENTITY = {"data": "a", "settings": "b", "seed": "0"}


def solved(client, obs, parts, path, callback=None, max_iter=6):
    problem = spread(client, obs, parts, 0)
    with Checkpoint(path, IDENTITY) as checkpoint:
        clock = Clock(journal=SpreadJournal(checkpoint, problem.crew, problem.cut))
        result = settings(max_iter=max_iter).solve(problem, rng=0, callback=callback, clock=clock)
    asked = problem.crew.traffic.questions
    problem.crew.close()
    return result, asked


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_more_workers(client, tmp_path):
    obs = observations(np.random.default_rng(8))
    whole, _ = solved(client, obs, 2, tmp_path / "whole.npz")
    stopped, _ = solved(client, obs, 2, tmp_path / "run.npz", callback=lambda record, model: record.iteration == 3)
    assert len(stopped.history) == 4
    seen = []
    resumed, _ = solved(client, obs, 3, tmp_path / "run.npz", callback=lambda record, model: seen.append(record))
    assert seen[0].iteration == 4
    np.testing.assert_allclose(resumed.history["f_tau"], whole.history["f_tau"], rtol=1e-10)


@pytest.mark.slow
def test_what_is_finished_is_not_done_again(client, tmp_path):
    obs = observations(np.random.default_rng(8))
    first, asked = solved(client, obs, 2, tmp_path / "run.npz")
    again, asked_again = solved(client, obs, 2, tmp_path / "run.npz")
    assert asked_again < asked / 5
    np.testing.assert_array_equal(again.history["f_tau"], first.history["f_tau"])


@pytest.mark.slow
def test_complete_goes_on_and_refuses_other_data(client, tmp_path):
    data = tensorfill.datasets.synthetic((12, 14, 10), rank=1, observed=900, noise=0.01, rng=0)
    table, path = table_of(data.observations), tmp_path / "run.npz"
    first = complete(table, client=client, rng=0, checkpoint=path, **GIVEN)
    again = complete(table, client=client, checkpoint=path, resume=True, **GIVEN)
    np.testing.assert_array_equal(first.predict(data.test.coords), again.predict(data.test.coords))
    assert list(tmp_path.iterdir()) == [path]
    other = table_of(data.observations.with_values(data.observations.values + 1))
    with pytest.raises(ValueError, match="other data"):
        complete(other, client=client, rng=0, checkpoint=path, **GIVEN)


def test_the_same_entries_are_held_out_however_the_tensor_is_cut(client):
    obs = observations(np.random.default_rng(9))
    held = []
    for parts, split in ((1, 0), (3, 0), (2, 1)):
        problem = spread(client, obs, parts, split)
        counts, _, values = zip(*problem.crew.ask("hold_out", 0.2, 5), strict=True)
        held.append((sum(counts), sorted(np.concatenate(values))))
        problem.crew.close()
    assert held[0] == held[1] == held[2]
    assert 0.1 < 1 - held[0][0] / len(obs) < 0.3
