"""A table on Dask is completed like one in memory."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("pandas")

import dask.dataframe
import pandas as pd

import tensorfill
from tensorfill.choosing.doubts import DoubtfulFitWarning
from tensorfill.datasets import synthetic
from tensorfill.distributed.cluster import Connection
from tensorfill.distributed.completion import complete
from tensorfill.distributed.cutting import Cut
from tensorfill.distributed.session import memory_of
from tensorfill.metrics import rmse

GIVEN = {"lam": 0.1, "penalty": "capped_l1", "theta": 0.5, "max_rank": 4, "max_iter": 6}


@pytest.fixture(scope="module")
def data():
    return synthetic((24, 30, 20), rank=2, observed=4000, noise=0.01, rng=0)


def table_of(observations, partitions=4):
    columns = dict(zip("abc", observations.coords.T, strict=True))
    table = pd.DataFrame({**columns, "value": observations.values}).sample(frac=1, random_state=0)
    return dask.dataframe.from_pandas(table, npartitions=partitions, sort=False)


def test_given_settings_give_the_answer_of_one_machine(client, data):
    fit = tensorfill.complete(table_of(data.observations), client=client, rng=0, **GIVEN)
    one = tensorfill.complete(
        data.observations, method="nort", rng=0, storage="sparse", svd="subspace", polish=False, **GIVEN
    )
    coords = data.test.coords
    np.testing.assert_allclose(fit.predict(coords), one.predict(coords), atol=1e-3)
    assert fit.ranks == one.ranks
    np.testing.assert_allclose(fit.together().predict(coords), fit.predict(coords), atol=1e-12)
    again = tensorfill.complete(table_of(data.observations), client=client, **fit.recipe.arguments())
    np.testing.assert_allclose(again.predict(coords), fit.predict(coords), atol=1e-6)
    again.close()
    fit.close()


@pytest.mark.slow
def test_settings_are_chosen_on_entries_that_are_held_out_on_the_workers(client, data):
    seen = []
    # A convex penalty and modes that are named: there is one path, and each point of it is near the last.
    fit = complete(
        table_of(data.observations),
        client=client,
        rng=0,
        penalty="nuclear",
        modes=["a", "b"],
        max_iter=3,
        callback=lambda *each: seen.append(each),
    )
    error = rmse(fit.predict(data.test.coords), data.test.values)
    assert error < 0.5 * data.test.values.std()
    assert fit.path is not None
    assert fit.path.best.held_out < 0.5 * fit.path[0].held_out
    assert len(seen) > len(fit.history)
    fit.close()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_answer(client, data):
    answers = []
    for _ in range(2):
        fit = complete(table_of(data.observations), client=client, rng=3, **GIVEN)
        answers.append(fit.predict(data.test.coords))
        fit.close()
    np.testing.assert_array_equal(*answers)


@pytest.mark.slow
def test_a_time_limit_ends_the_search_with_the_best_so_far(client, data):
    stop = []

    def first_only(record, model):
        stop.append(record)
        return len(stop) > 8

    fit = complete(table_of(data.observations), client=client, rng=0, callback=first_only)
    assert fit.status is tensorfill.Status.CALLBACK
    assert np.isfinite(fit.predict(data.test.coords)).all()
    fit.close()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"loss": "logistic"}, "one of 'square', 'huber' for a table"),
        ({"storage": "dense"}, "decided by the workers"),
        ({"lamm": 1.0}, "no setting 'lamm'"),
        ({"client": "nowhere"}, r"distributed\.Client"),
        ({"smooth": [0]}, "'smooth' cannot be had"),
        ({"method": "cp"}, "'method' cannot be had"),
    ],
)
def test_what_workers_cannot_do_is_refused_in_words(client, data, given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        tensorfill.complete(table_of(data.observations), **{"client": client, **given})


def test_a_table_without_room_is_refused_before_it_is_sent(client, data, monkeypatch):
    monkeypatch.setattr("tensorfill.distributed.session.memory_limit", _no_room)
    with pytest.raises(MemoryError, match="add workers"):
        complete(table_of(data.observations), client=client, **GIVEN)


def left_behind(client):
    """Return what a run has left on the workers and in the folder for temporary files."""
    parts = client.run(lambda dask_worker: list(vars(dask_worker).get("tensorfill_parts", {})))
    return [*itertools.chain(*parts.values()), *Path(tempfile.gettempdir()).glob("tensorfill-*")]


@pytest.mark.slow
def test_nothing_is_left_behind_by_a_run_that_fails(client, data, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # Tests of other files use the same workers.
    before = left_behind(client)
    table = table_of(data.observations).compute()
    twice = dask.dataframe.from_pandas(pd.concat([table, table[:1]]), npartitions=3, sort=False)
    with pytest.raises(ValueError, match="are repeats"):
        complete(twice, client=client, **GIVEN)

    def failing(record, model):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        complete(table_of(data.observations), client=client, callback=failing, **GIVEN)
    assert left_behind(client) == before


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_work(data):
    # Without a client: nothing is asked of a cluster.
    with pytest.raises(OSError, match="cannot be written"):
        complete(table_of(data.observations), client=object(), checkpoint="/proc/nowhere/run.npz", **GIVEN)


@pytest.mark.slow
def test_a_slice_that_nobody_observed_is_named_in_a_warning(client, data):
    table = table_of(data.observations).compute()
    table.loc[table.a == 3, "value"] = np.nan
    spread = dask.dataframe.from_pandas(table, npartitions=2, sort=False)
    with pytest.warns(DoubtfulFitWarning, match="1 of the 24 slices of mode 'a'"):
        fit = complete(spread, client=client, rng=0, **GIVEN)
    fit.close()


def _no_room(dask_worker):
    return 1000


def test_the_current_client_is_used(client):
    connection = Connection()
    assert connection.client is client
    assert connection.is_local
    connection.close()
    assert client.status == "running"


def test_more_parts_need_less_memory_each():
    dtype = np.dtype(float)
    whole = memory_of(Cut((100, 50, 20), 0, (0, 100)), 0, 10_000, dtype, 5, (0, 1, 2))
    half = memory_of(Cut((100, 50, 20), 0, (0, 50, 100)), 0, 5000, dtype, 5, (0, 1, 2))
    assert whole / 2 < half < whole
