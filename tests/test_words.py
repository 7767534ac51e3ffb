"""Numbers in words: significant digits kept, and nothing rounded into another form."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill._support.words import bytes_in_words, numbers, percent, sizes, written

UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"]


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0%"),
        (0.0099999, "1%"),
        (0.00999, "0.999%"),
        (0.5, "50%"),
        (0.9994, "99.9%"),
        (0.9996, "99.960%"),
        (0.999999, "nearly 100%"),
        (1.0, "100%"),
        (9.996, "1,000%"),
        (-0.5, "-50%"),
        (math.nan, "not known"),
    ],
)
def test_percentages(share, words):
    assert percent(share) == words


@given(st.floats(1e-12, 1e6))
def test_a_percentage_is_plain_digits_near_its_share(share):
    words = percent(share)
    if words == "nearly 100%":
        assert 0.999995 <= share < 1
        return
    assert re.fullmatch(r"[\d,]+(\.\d+)?%", words)
    assert float(words[:-1].replace(",", "")) == pytest.approx(100 * share, rel=0.0051)
    assert words != "100%" or share >= 1


@given(st.integers(0, 2**60))
def test_bytes_are_plain_digits_in_a_unit_near_their_number(count):
    number, unit = bytes_in_words(count).split(" ")
    assert re.fullmatch(r"[\d,]+(\.\d+)?", number)
    assert float(number.replace(",", "")) * 1024 ** UNITS.index(unit) == pytest.approx(count, rel=0.0051)


@pytest.mark.parametrize("count", [1023, 999.7 * 1024, 1023.9 * 1024])
def test_a_unit_that_is_nearly_full_is_not_written_with_an_exponent(count):
    assert "e+" not in bytes_in_words(count)


def test_numbers_written_with_few_digits():
    assert written(999.7, 3) == "1,000"
    assert written(999.7) == "999.7"
    assert written(99.96, 3) == "100"
    assert written(-1234.5) == "-1,234"
    assert written(math.inf) == "infinite"


def test_numbers_of_modes_are_one_number_where_they_agree():
    assert numbers((0.25, 0.25, 0.25)) == "0.25"
    assert numbers((0.25, None)) == "(0.25, none)"


def test_sizes():
    assert sizes((1000, 3)) == "1,000 x 3"
    assert sizes((1000, 3), times="×") == "1,000 × 3"
