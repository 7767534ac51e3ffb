from __future__ import annotations

import socket
import sys

import pytest

from tensorfill.datasets import PICTURES, picture

pytest.importorskip("skimage")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_a_colour_tensor_from_0_to_1_and_is_not_downloaded(name, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    values = picture(name, rows=40)
    assert values.shape[0] == 40
    assert values.shape[2] == 3
    assert values.dtype == "float64"
    assert 0 <= values.min() < values.max() <= 1


def test_a_picture_keeps_its_proportions():
    whole, small = picture("chelsea", rows=None), picture("chelsea", rows=50)
    assert whole.shape == (300, 451, 3)
    assert small.shape == (50, 75, 3)
    assert small.mean() == pytest.approx(whole.mean(), abs=0.01)


def test_an_unknown_picture_is_answered_with_the_names():
    with pytest.raises(ValueError, match=r"name must be one of 'astronaut', 'chelsea', .*, but 'dog' was given\.$"):
        picture("dog")


def test_rows_must_be_a_whole_number():
    with pytest.raises(ValueError, match="rows must be a whole number of at least 1, but 0 was given"):
        picture(rows=0)


def test_without_scikit_image_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib scikit-image"):
        picture()
