"""The drawing of a comparison of methods."""

from __future__ import annotations

import itertools
import math
import sys

import pytest

from tensorfill import Nort, TuckerAls
from tensorfill.comparison import Comparison, Contender
from tensorfill.plots import comparison
from tests.refusal import refuses

pytest.importorskip("matplotlib")


def contender(method, held_out, standard_error=0.1, seconds=75.0, memory=3 * 2**20, tried=None, **others):
    costs = {"seconds": seconds, "memory": memory, "ranks": (2,), "tried": tried or {}, "trials": 3}
    return Contender(method, held_out, standard_error, **costs, **others)


def written(panel):
    return [text.get_text() for text in panel.texts]


@pytest.fixture
def two():
    best = contender(TuckerAls(rank=3), 1.0, 0.25, tried={"rank": 3}, stages=("centred",))
    return Comparison([best, contender(Nort(lam=1.0), 2.0, memory=math.nan)])


def test_the_best_is_at_the_top_with_its_standard_error(two):
    panel = comparison(two)
    panel.figure.draw_without_rendering()
    (bars,) = panel.containers
    dots, _, (whiskers,) = bars.lines
    assert list(zip(dots.get_xdata(), dots.get_ydata(), strict=True)) == [(1.0, 0), (2.0, 1)]
    ends = [(segment[0][0], segment[-1][0]) for segment in whiskers.get_segments()]
    assert ends == [(0.75, 1.25), (1.9, 2.1)]
    top, bottom = panel.get_ylim()[::-1]
    assert top < 0 < 1 < bottom


def test_what_was_chosen_and_the_costs_are_written(two):
    words = written(comparison(two))
    for expected in (
        "Tucker by alternating least squares",
        "rank 3, centred",
        "NORT",
        "1 min 15 s",
        "3 MiB",
        "not known",
    ):
        assert expected in words


def test_no_text_is_cut_or_covers_the_dots(two, tmp_path):
    panel = comparison(two, file=tmp_path / "comparison.png")
    panel.figure.draw_without_rendering()
    inside, page = panel.get_window_extent(), panel.figure.bbox
    for text in panel.texts:
        box = text.get_window_extent()
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert box.x1 <= inside.x0 or box.x0 >= inside.x1
    assert (tmp_path / "comparison.png").stat().st_size > 1000


def test_the_numbers_of_the_axis_do_not_touch():
    close = Comparison([contender(Nort(lam=1.0), 0.011771, 0.0006), contender(Nort(lam=2.0), 0.011772, 0.0007)])
    panel = comparison(close)
    panel.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in panel.get_xticklabels() if text.get_text()]
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_errors_that_differ_much_are_drawn_by_their_logarithm():
    far = Comparison([contender(Nort(lam=1.0), 0.01, 0.02), contender(Nort(lam=2.0), 5.0)])
    panel = comparison(far)
    panel.figure.draw_without_rendering()
    assert panel.get_xscale() == "log"
    ((low, _), *_), *_ = panel.containers[0].lines[2][0].get_segments()
    assert low > 0


@pytest.mark.parametrize("error", [math.inf, math.nan])
def test_an_error_that_is_not_finite_is_written(error):
    panel = comparison(Comparison([contender(Nort(lam=1.0), 1.0), contender(Nort(lam=2.0), error, math.nan)]))
    panel.figure.draw_without_rendering()
    assert written(panel).count("error not finite") == 1
    assert len(panel.containers[0].lines[0].get_xdata()) == 1
    comparison(Comparison([contender(Nort(lam=2.0), error, math.nan)])).figure.draw_without_rendering()


def test_axes_that_were_given_are_drawn_on(two):
    from matplotlib.figure import Figure

    panels = Figure().subplots(1, 2)
    assert two.plot(panels[1]) is panels[1]
    assert not panels[0].texts


def test_nothing_to_draw_gets_one_sentence():
    refuses(ValueError, ["comparison", "at least one method", "compare"], lambda: comparison(Comparison()))


def test_without_matplotlib_the_error_names_the_package(two, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        comparison(two)
