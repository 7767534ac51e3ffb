"""A quick share of `make fuzz`: mutants of every format, and of saved fits, in a process of their own."""

from __future__ import annotations

import collections
import gzip
import io

import numpy as np
import pytest

from tensorfill.io.formats import FORMATS

from .attempts import attempt, opened
from .mutants import mutant
from .run import Worker
from .samples import FIT, options_for, samples

pytest.importorskip("pandas")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")
pytest.importorskip("av")

EACH = 2
"""Mutants of each sample."""


@pytest.mark.slow
def test_sound_files_of_every_format_are_read(tmp_path):
    assert {kind for kind, _ in samples().values()} == {*FORMATS, FIT}
    for name, (kind, content) in samples().items():
        (tmp_path / name).write_bytes(content)
        assert opened(tmp_path / name, kind, **options_for(name, 0)) is not None
        assert attempt(tmp_path / name, kind, **options_for(name, 0)) is None, name


@pytest.mark.slow
def test_mutants_are_refused_in_a_sentence_or_read():
    worker = Worker()
    try:
        finds = {(name, seed): worker.flaw(name, seed)[0] for name in samples() for seed in range(EACH)}
    finally:
        worker.close()
    assert {place: flaw for place, flaw in finds.items() if flaw is not None} == {}


def _zipped():
    made = io.BytesIO()
    np.savez(made, header=np.array('{"a": [1, 2, {"b": null}]}'), x=np.arange(6.0))
    return made.getvalue()


@pytest.mark.parametrize(
    "content", [b"a,b,v\nx,1,0.5\n", gzip.compress(b"1 2 3\n" * 9), _zipped()], ids=["text", "gzip", "zip"]
)
def test_mutants_differ_from_the_sample_and_are_the_same_every_time(content):
    made = [mutant(content, np.random.default_rng(seed)) for seed in range(40)]
    assert made == [mutant(content, np.random.default_rng(seed)) for seed in range(40)]
    assert collections.Counter(made)[content] < 5
    assert len(set(made)) > 25


def test_what_is_wrong_is_found(tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((2, 2)))

    def raising(error):
        def read(*_, **__):
            raise error

        monkeypatch.setattr("tests.fuzz.attempts.read", read)
        return attempt(path, "npy")

    assert "KeyError" in raising(KeyError("x"))
    assert "without a sentence" in raising(ValueError("wrong"))
    assert "MemoryError" in raising(MemoryError())
    assert raising(ValueError(f"{path} is wrong.")) is None
