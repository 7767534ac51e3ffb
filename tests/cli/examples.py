"""Data for the tests of the command, and how they read its answers."""

from __future__ import annotations

import re

import numpy as np

from tensorfill.cli import main
from tensorfill.labels import Labelled, Labels
from tensorfill.observations import Observations

SHAPE = (12, 10)


def tables_of_products():
    """Return a table of rank 1 with missing entries and labels, and the whole table."""
    truth = np.outer(np.arange(1.0, 13.0), np.arange(1.0, 11.0))
    seen = np.random.default_rng(0).random(SHAPE) < 0.7
    labels = Labels(
        ("station", "month"), (np.array([f"S{n}" for n in range(12)]), np.datetime64("2024-01", "M") + np.arange(10))
    )
    days = Labels(labels.names, (labels.keys[0], labels.keys[1].astype("datetime64[ns]")))
    return Labelled(Observations.from_dense(truth, seen), days), truth


def said(capsys, *arguments, code=0):
    """Run the command and return what it printed."""
    assert main([str(each) for each in arguments]) == code
    return capsys.readouterr()


def facts(text):
    """Return the facts that were printed, by name."""
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines())
