"""What a fit says about its forecast."""

from __future__ import annotations

import dataclasses

import numpy as np

from tensorfill.labels import Labels
from tensorfill.results.forecasts import errors_in_words, forecast_in_words, time_in_words, weights_in_words

from . import examples


def with_ahead(**changes):
    fit = examples.forecast()
    return dataclasses.replace(fit, ahead=dataclasses.replace(fit.ahead, **changes))


def test_print_has_a_line():
    fit = with_ahead(errors={"blend": 0.5, "last value": 0.9})
    line = next(line for line in str(fit).splitlines() if line.startswith("  forecast"))
    assert line == (
        "  forecast  8 steps beyond 2024-03-20, hour 11; mean absolute error at earlier ends 0.5 (last value 0.9)"
    )


def test_without_a_forecast_there_is_no_line():
    assert forecast_in_words(examples.given()) == ""
    assert "\n  forecast" not in str(examples.given())


def test_too_few_times_are_said():
    assert forecast_in_words(with_ahead(errors={}, horizon=1)) == (
        "1 step beyond 2024-03-20, hour 11; too few times to know its errors"
    )


def test_the_parts_are_named():
    found = examples.forecast().ahead
    assert errors_in_words(found).startswith("blend: 0.")
    assert errors_in_words(found).count(";") == len(found.errors) - 1
    assert {part.split(" ", 1)[1] for part in weights_in_words(found).split("; ")} == set(found.weights)


def test_times_are_labels_or_numbers_with_the_name_of_their_mode():
    hours = np.array(["2013-12-30T22", "2013-12-30T23"], dtype="M8[h]")
    assert time_in_words(Labels(("hour",), (hours,)), (0,), (1,)) == "2013-12-30 23:00"
    assert time_in_words(Labels(("year",), (np.array([2001, 2002]),)), (0,), (1,)) == "year 2002"
    assert time_in_words(Labels.plain(2), (1,), (239,)) == "index 239 of mode 1"
