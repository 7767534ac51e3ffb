"""A run that is killed goes on from its checkpoint, and ends with the same bits."""

from __future__ import annotations

import functools
import itertools
import json
import os
import signal
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

import tensorfill
from tensorfill import Choice, Observations, Status, complete
from tensorfill._support.fingerprints import fingerprint
from tensorfill.graphs import haversine
from tensorfill.io import checkpoints
from tensorfill.io.checkpoints import Checkpoint
from tests.refusal import refuses
from tests.slow import slow_except

ASKED = {"data": "a", "settings": "b", "seed": "0"}


class Killed(BaseException):
    """Stands for SIGKILL: nothing is written after it."""


def due_every(monkeypatch, count):
    """Let the file be written every so many times that it is asked for, so that no test depends on time."""
    calls = itertools.count(1)
    monkeypatch.setattr(Checkpoint, "is_due", lambda self, least: next(calls) % count == 0)


def noisy(shape, observed=0.6, seed=0, rank=2):
    rng = np.random.default_rng(seed)
    letters = "ijkl"[: len(shape)]
    factors = [rng.standard_normal((size, rank)) for size in shape]
    truth = np.einsum(",".join(f"{each}r" for each in letters) + f"->{letters}", *factors)
    return np.where(rng.random(shape) < observed, truth + 0.2 * rng.standard_normal(shape), np.nan)


SMALL = noisy((9, 8, 7))
PLACES = np.random.default_rng(1).uniform(0, 20, (9, 2))
CORRUPT = SMALL.copy()
CORRUPT[tuple(np.argwhere(~np.isnan(SMALL))[20])] = 1e4
EMPTY = SMALL.copy()
EMPTY[3] = np.nan
SURFACE = np.where(np.isnan(noisy((14, 12))), np.nan, np.sin(np.add.outer(np.arange(14), np.arange(12)) / 5))

RUNS = {
    "default": (noisy((12, 11, 10)), {}),
    "nort": (SMALL, {"method": "nort"}),
    "given": (SMALL, {"lam": 0.3}),
    "several": (SMALL, {"method": ["tucker_als", "cp"]}),
    "counts": (np.where(np.isnan(SMALL), np.nan, np.round(np.abs(SMALL))), {"loss": "poisson", "method": "nort"}),
    "corrupt": (CORRUPT, {"loss": "l1", "method": "nort"}),
    "corrupt, given": (CORRUPT, {"loss": "l1", "lam": 0.3}),
    "splits": (SMALL, {"choose": Choice(splits=2), "lam": 0.3, "refine": "tucker"}),
    "smooth": (SURFACE, {"smooth": [0, 1], "lam": 1.0}),
    "graph": (EMPTY, {"laplacian": {0: haversine(PLACES)}, "lam": 0.3}),
}


def answer_of(fit):
    """Return a text that any other bit of an answer changes; only times do not count."""
    path = [(point.method, dict(point.tried), point.held_out, point.iterations) for point in fit.path or ()]
    history = [(record.iteration, record.objective, record.f_tau, record.ranks) for record in fit.history]
    errors = None if fit.error_bars is None else (fit.error_bars.residuals, fit.error_bars.weights)
    return fingerprint(fit.model, fit.status, path, history, errors, fit.method, fit.seed)


def quietly(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return complete(data, **({"rng": 0} | options))


@functools.cache
def uninterrupted(kind):
    """Return the answer of a run without a checkpoint, which is made once."""
    data, options = RUNS[kind]
    return answer_of(quietly(data, **options))


def killed_at(monkeypatch, number):
    """Kill the run at this write of its file, counted from now, before the file takes its name."""
    writes = iter(range(1, number))
    written = Checkpoint._write

    def write(self):
        if next(writes, None) is None:
            raise Killed
        written(self)

    monkeypatch.setattr(Checkpoint, "_write", write)


@pytest.mark.parametrize("kind", slow_except(RUNS, RUNS.keys() - {"counts", "corrupt"}))
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bits(kind, tmp_path, monkeypatch):
    data, options = RUNS[kind]
    path = tmp_path / "run.npz"
    whole = uninterrupted(kind)
    due_every(monkeypatch, 5)
    kills = 0
    for number in (2, 2, 3, 9, 27, 81, 243):
        try:
            with monkeypatch.context() as patched:
                killed_at(patched, number)
                fit = quietly(data, checkpoint=path, **options)
        except Killed:
            kills += 1
        else:
            break
    assert kills >= 1
    assert answer_of(fit) == whole
    assert answer_of(quietly(data, checkpoint=path, resume=True, **options)) == whole


def test_drafts_of_a_solve_are_resumed_and_not_made_again(tmp_path, monkeypatch):
    path, options = tmp_path / "run.npz", {"method": tensorfill.Nort(lam=0.3, descend=False, tol=1e-9)}
    whole = quietly(SMALL, **options)
    due_every(monkeypatch, 1)
    with monkeypatch.context() as patched:
        killed_at(patched, 12)
        with pytest.raises(Killed):
            quietly(SMALL, checkpoint=path, **options)
    seen = []
    fit = quietly(SMALL, checkpoint=path, callback=lambda record, model: seen.append(record.iteration), **options)
    assert answer_of(fit) == answer_of(whole)
    assert seen[0] == 11
    assert len(whole.history) > 20


def test_a_run_that_was_stopped_goes_on(tmp_path):
    path = tmp_path / "run.npz"
    calls = []
    stopped = quietly(
        SMALL, method="nort", checkpoint=path, callback=lambda record, model: calls.append(1) or len(calls) > 60
    )
    assert stopped.status is Status.CALLBACK
    assert answer_of(quietly(SMALL, method="nort", checkpoint=path)) == uninterrupted("nort")
    assert len(calls) > 60


def test_a_finished_run_is_not_made_again(tmp_path):
    path, calls = tmp_path / "run.npz", []
    first = quietly(SMALL, method="nort", checkpoint=path)
    again = quietly(SMALL, method="nort", checkpoint=path, callback=lambda *given: calls.append(given))
    assert answer_of(first) == answer_of(again)
    assert calls == []


def test_without_a_seed_the_run_goes_on_with_that_of_the_checkpoint(tmp_path):
    path = tmp_path / "run.npz"
    first, again = (quietly(SMALL, rng=None, lam=0.3, checkpoint=path) for _ in range(2))
    assert first.seed == again.seed
    assert answer_of(first) == answer_of(again)


def test_a_time_limit_can_differ_and_ends_the_same_run(tmp_path):
    path = tmp_path / "run.npz"
    first = quietly(SMALL, method="nort", checkpoint=path, time_limit=1e-9)
    assert first.status is Status.TIME_LIMIT
    assert answer_of(quietly(SMALL, method="nort", checkpoint=path)) == uninterrupted("nort")


def test_another_run_is_refused_in_words(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    quietly(SMALL, lam=0.3, checkpoint=path)
    other = np.where(np.isnan(SMALL), np.nan, SMALL + 1)
    refuses(ValueError, ["run.npz", "other data", "resume=False"], lambda: complete(other, lam=0.3, checkpoint=path))
    refuses(ValueError, ["other settings"], lambda: complete(SMALL, lam=0.4, rng=0, checkpoint=path))
    refuses(ValueError, ["other settings"], lambda: complete(SMALL, lam=0.3, loss="huber", rng=0, checkpoint=path))
    refuses(ValueError, ["another seed"], lambda: complete(SMALL, lam=0.3, rng=1, checkpoint=path))
    monkeypatch.setattr(checkpoints, "__version__", "99.0")
    refuses(ValueError, ["of tensorfill", "99.0"], lambda: complete(SMALL, lam=0.3, rng=0, checkpoint=path))
    assert quietly(SMALL, lam=0.3, checkpoint=path, resume=False).status.is_finished


def test_settings_of_somebodys_own_are_told_apart(tmp_path):
    class Tilted:
        """A square loss, tilted by a number that its text does not show."""

        curvature = 1.0

        def __init__(self, tilt):
            self.tilt = tilt

        def value(self, predicted, observed):
            return 0.5 * (predicted - observed) ** 2 + self.tilt * (predicted - observed)

        def derivative(self, predicted, observed):
            return predicted - observed + self.tilt

    path = tmp_path / "run.npz"
    quietly(SMALL, lam=0.3, loss=Tilted(0.1), checkpoint=path)
    quietly(SMALL, lam=0.3, loss=Tilted(0.1), checkpoint=path, resume=True)
    refuses(ValueError, ["other settings"], lambda: quietly(SMALL, lam=0.3, loss=Tilted(0.2), checkpoint=path))


def test_starting_over_replaces_a_checkpoint_but_nothing_else(tmp_path):
    path = tmp_path / "run.npz"
    quietly(SMALL, lam=0.3, checkpoint=path)
    fit = quietly(SMALL, lam=0.4, checkpoint=path, resume=False)
    assert answer_of(fit) == answer_of(quietly(SMALL, lam=0.4, checkpoint=path, resume=True))
    fit.save(path)
    before = path.read_bytes()
    for resume in ("auto", True, False):
        refuses(
            ValueError, ["not a checkpoint", "another path"],
            lambda resume=resume: complete(SMALL, lam=0.4, checkpoint=path, resume=resume),
        )  # fmt: skip
    assert path.read_bytes() == before


def test_what_cannot_go_on_is_refused(tmp_path):
    refuses(FileNotFoundError, ["no checkpoint"], lambda: complete(SMALL, checkpoint=tmp_path / "a.npz", resume=True))
    refuses(ValueError, ["checkpoint="], lambda: complete(SMALL, resume=True))
    refuses(ValueError, ["resume", "'auto'", "'no'"], lambda: complete(SMALL, resume="no"))
    refuses(OSError, ["cannot be written"], lambda: complete(SMALL, lam=0.3, checkpoint=tmp_path / "no" / "a.npz"))


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    quietly(SMALL, lam=0.3, checkpoint=path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refuses(ValueError, ["not a checkpoint", "damaged"], lambda: complete(SMALL, lam=0.3, rng=0, checkpoint=path))
    middle = bytearray(whole)
    path.write_bytes(whole)
    with zipfile.ZipFile(path) as file:
        place = max(file.infolist(), key=lambda info: info.file_size)
    middle[place.header_offset + place.file_size // 2 + 200] ^= 255
    path.write_bytes(middle)
    refuses(ValueError, ["damaged"], lambda: complete(SMALL, lam=0.3, rng=0, checkpoint=path))


def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path):
    path = tmp_path / "run.npz"
    options = {"method": "tucker_als", "rank": 1, "checkpoint": path}
    whole = answer_of(quietly(SMALL, **options))
    kept, rng = path.read_bytes(), np.random.default_rng(0)
    words = []
    for place in rng.integers(len(kept), size=40):
        damaged = bytearray(kept)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            assert answer_of(quietly(SMALL, **options)) == whole
        except ValueError as error:
            words.append(str(error))
    assert len(words) > 10
    assert all(str(path) in each for each in words)


def test_a_disk_that_fills_up_does_not_end_the_run(tmp_path, monkeypatch):
    path, opened = tmp_path / "run.npz", checkpoints.written_beside
    times = iter(range(1, 4))
    due_every(monkeypatch, 5)

    def full(name):
        if next(times, None) is None:
            raise OSError(f"{name} cannot be written: No space left on device")
        return opened(name)

    monkeypatch.setattr(checkpoints, "written_beside", full)
    with pytest.warns(UserWarning, match="No space left on device; the run goes on without it"):
        fit = complete(SMALL, method="nort", rng=0, checkpoint=path)
    monkeypatch.undo()
    assert answer_of(fit) == uninterrupted("nort")


def test_a_checkpoint_that_is_removed_meanwhile_is_written_again(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    quietly(SMALL, lam=0.3, checkpoint=path)

    def removed(record, model):
        path.unlink(missing_ok=True)

    due_every(monkeypatch, 5)
    fit = quietly(SMALL, lam=0.3, checkpoint=path, resume=False, callback=removed)
    assert answer_of(fit) == answer_of(quietly(SMALL, lam=0.3, checkpoint=path))


# The journal itself


def test_the_journal_keeps_answers_by_what_was_asked(tmp_path):
    made = []

    def answer(rng):
        made.append(1)
        return rng.random(3)

    for _ in range(2):
        rng = np.random.default_rng(0)
        with Checkpoint(tmp_path / "run.npz", ASKED) as journal:
            first = journal.recall(("a",), lambda draft, rng=rng: answer(rng), rng=rng)
            second = journal.recall(("a",), lambda draft, rng=rng: answer(rng), rng=rng)
            other = journal.recall(("b",), lambda draft: {"one": (1, [2.5, "three"]), "none": None})
    assert len(made) == 2
    np.testing.assert_array_equal(np.concatenate([first, second]), np.random.default_rng(0).random(6))
    assert other == {"one": (1, [2.5, "three"]), "none": None}


def test_what_was_stopped_is_not_kept_but_its_draft_is(tmp_path):
    with Checkpoint(tmp_path / "run.npz", ASKED) as journal:
        journal.recall(
            ("a",), lambda draft: draft.offer(lambda: {"step": 4}, last=True), is_finished=lambda answer: False
        )
    with Checkpoint(tmp_path / "run.npz", ASKED) as journal:
        assert journal.recall(("a",), lambda draft: dict(draft.state)) == {"step": 4}
        assert journal.recall(("a",), lambda draft: "made again") == {"step": 4}
    with zipfile.ZipFile(tmp_path / "run.npz") as file:
        assert not any("draft" in name for name in file.namelist())


def test_a_large_file_leaves_out_what_is_soon_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 10_000)
    with Checkpoint(tmp_path / "run.npz", ASKED) as journal:
        for number in range(5):
            journal.recall((number,), lambda draft: np.zeros(500))
    assert (tmp_path / "run.npz").stat().st_size < 12_000
    with Checkpoint(tmp_path / "run.npz", ASKED) as journal:
        for number in range(5):
            assert journal.recall((number,), lambda draft: np.zeros(500)).shape == (500,)


def test_writing_waits_until_it_costs_little(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoints, "SHARE", 0.02)
    monkeypatch.setattr(checkpoints, "EVERY", 60.0)
    journal = Checkpoint(tmp_path / "run.npz", ASKED)
    now[0] = 0.5 * checkpoints.FIRST_COST / 0.02
    assert not journal.is_due(0.0)
    now[0] = 1.1 * checkpoints.FIRST_COST / 0.02
    assert journal.is_due(0.0)
    assert not journal.is_due(checkpoints.EVERY)
    now[0] = 61.0
    assert journal.is_due(checkpoints.EVERY)


def test_no_pickle_is_read(tmp_path):
    path = tmp_path / "run.npz"
    quietly(SMALL, lam=0.3, checkpoint=path)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        assert all(file[name] is not None for name in file.files)
    assert header["format"] == checkpoints.FORMAT


# Real processes

CHILD = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np, tensorfill
from tensorfill.io.checkpoints import Checkpoint
calls = []
Checkpoint.is_due = lambda self, least: len(calls) % 10 == 0
data, path = np.load(sys.argv[1]), sys.argv[2]
def seen(record, model):
    calls.append(1)
    sys.stdout.write("iteration\\n")
    sys.stdout.flush()
tensorfill.complete(data, rng=0, method="nort", checkpoint=path, callback=seen)
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_sigkill_leaves_a_file_to_go_on_from(tmp_path):
    np.save(tmp_path / "data.npy", SMALL)
    path = tmp_path / "run.npz"
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path / "data.npy"), str(path)], stdout=subprocess.PIPE
    ) as child:
        for _ in range(40):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    calls = []
    fit = quietly(
        SMALL, method="nort", checkpoint=path, resume=True, callback=lambda record, model: calls.append(1) and None
    )
    every = []
    whole = quietly(SMALL, method="nort", callback=lambda record, model: every.append(1) and None)
    assert answer_of(fit) == answer_of(whole)
    assert len(calls) < len(every)


def test_observations_have_a_fingerprint_of_their_own():
    dense = Observations.from_dense(SMALL)
    sparse = Observations(dense.coords, dense.values, dense.shape)
    other = sparse.with_values(sparse.values + 1e-12)
    moved = Observations(sparse.coords[:, [1, 0, 2]], sparse.values, (8, 9, 7))
    assert len({each.fingerprint for each in (dense, sparse, other, moved)}) == 4
    assert sparse.fingerprint == Observations(dense.coords, dense.values, dense.shape).fingerprint
