"""Fixtures of the tests of the command."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tensorfill.completion
from tensorfill.cli import main
from tensorfill.io import write

from .examples import tables_of_products


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return a folder with data in several formats, and with the output of one run of the command."""
    folder = tmp_path_factory.mktemp("files")
    data, truth = tables_of_products()
    write(folder / "a.nc", data)
    write(folder / "a.csv", data)
    write(folder / "a.npz", data.observations)
    np.save(folder / "truth.npy", truth)
    options = ["--method", "nort", "--no-smooth", "--bounds", "0", "500", "--quiet"]
    arguments = ["complete", "a.nc", "-o", "filled.nc", "--model", "model.npz", *options]
    assert main([each if "." not in each else str(folder / each) for each in arguments]) == 0
    return folder


@pytest.fixture
def no_work(monkeypatch):
    """Fail if a run starts although it should have been refused before."""

    def refuse(*arguments, **options):
        pytest.fail("the work was begun")

    monkeypatch.setattr(tensorfill.completion, "complete", refuse)


@pytest.fixture
def quick(monkeypatch):
    """Replace the search by one fit."""
    whole = tensorfill.completion.complete

    @functools.wraps(whole)
    def once(data, **options):
        return whole(data, **{**options, "lam": 1.0, "smooth": None, "refine": None, "progress": False})

    monkeypatch.setattr(tensorfill.completion, "complete", once)
