"""A quick share of `make fuzz`: mutants of every format, and of saved fits, in a process of their own."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from tensorfill.io.formats import FORMATS

from .attempts import attempt
from .mutants import mutant
from .run import Worker
from .samples import FIT, samples

pytest.importorskip("pandas")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")
pytest.importorskip("av")

EACH = 4
"""Mutants of each sample."""


def test_there_is_a_sample_of_every_format():
    assert {kind for kind, _ in samples().values()} == {*FORMATS, FIT}


@pytest.mark.parametrize("name", list(samples()))
def test_a_sound_file_is_read(name, tmp_path):
    kind, content = samples()[name]
    (tmp_path / name).write_bytes(content)
    assert attempt(tmp_path / name, kind) is None


@pytest.mark.slow
def test_mutants_are_refused_in_a_sentence_or_read():
    worker = Worker()
    try:
        finds = {(name, seed): worker.flaw(name, seed)[0] for name in samples() for seed in range(EACH)}
    finally:
        worker.close()
    assert {place: flaw for place, flaw in finds.items() if flaw is not None} == {}


def test_mutants_differ_from_the_sample_and_are_the_same_every_time():
    for name, (_, content) in samples().items():
        made = [mutant(content, np.random.default_rng(seed)) for seed in range(20)]
        assert made == [mutant(content, np.random.default_rng(seed)) for seed in range(20)], name
        assert collections.Counter(made)[content] < 5, name


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
