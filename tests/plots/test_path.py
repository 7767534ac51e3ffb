"""The drawing of a search: errors and ranks of every trial."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from tensorfill import Nort, TuckerAls
from tensorfill.choosing.search.base import PathPoint
from tensorfill.labels import Labels
from tensorfill.methods.base import Method
from tensorfill.penalties import LSP, Nuclear
from tensorfill.plots import path
from tensorfill.plots.drawing import COLOURS, MARKERS
from tests import examples
from tests.refusal import refuses

pytest.importorskip("matplotlib")


def trial(method, tried, held_out, ranks, training=None, **others):
    """Return a trial with these errors."""
    training = held_out / 2 if training is None else training
    costs = {"standard_error": 0.1, "iterations": 5, "seconds": 0.25 * (1 + sum(ranks))}
    return PathPoint(method, tried, ranks, training, held_out, **costs | others)


def point(cut, held_out, q=1.0, ranks=(1, 2, 3), training=None, modes=None, lam=None, penalty=None, **others):
    """Return a trial of NORT."""
    modes = tuple(range(len(ranks))) if modes is None else modes
    method = Nort(lam=lam or (0.5,) * len(ranks), penalty=penalty or LSP(1.0), modes=modes)
    return trial(method, {"cut": cut, "q": q}, held_out, ranks, training, **others)


def named_lines(panel):
    """Return the lines that the legend names, by that name."""
    handles, names = panel.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def in_legend(axes):
    """Return the words of the legend."""
    return [text.get_text() for text in axes[0].get_legend().get_texts()]


def drawn(axes):
    """Return the words of the legend after drawing everything, which must not warn."""
    axes[0].figure.draw_without_rendering()
    return in_legend(axes)


class TestPath:
    @pytest.fixture(scope="class")
    @classmethod
    def points(cls):
        first = [point(8.0, 4.0), point(4.0, 2.0), point(2.0, 1.0, ranks=(1, 2, 4)), point(1.0, 1.5)]
        other = [point(4.0, 1.8, q=0.1, ranks=(2, 2, 2)), point(2.0, 0.9, q=0.1, ranks=(3, 2, 5))]
        between = [point(3.0, 1.2, q=0.1, ranks=(2, 2, 3))]
        return first + other + between

    @pytest.fixture(scope="class")
    @classmethod
    def axes(cls, points):
        """The path, drawn once."""
        axes = path(points)
        drawn(axes)
        return axes

    def test_each_q_has_a_solid_and_a_dashed_line_from_the_largest_cut_down(self, axes):
        upper, _ = axes
        lines = named_lines(upper)
        assert [name for name in lines if name.startswith("q")] == ["q = 1", "q = 0.1"]
        assert lines["q = 0.1"].get_xdata().tolist() == [4.0, 3.0, 2.0]
        assert lines["q = 0.1"].get_ydata().tolist() == [1.8, 1.2, 0.9]
        colour = lines["q = 0.1"].get_color()
        assert colour != lines["q = 1"].get_color()
        assert lines["q = 0.1"].get_marker() != lines["q = 1"].get_marker()
        (dashed,) = [line for line in upper.lines if line.get_color() == colour and line.get_linestyle() == "--"]
        np.testing.assert_allclose(dashed.get_ydata(), [0.9, 0.6, 0.45])

    def test_both_axes_of_the_errors_are_logarithmic_and_the_cut_falls_to_the_right(self, axes):
        upper, lower = axes
        assert (upper.get_xscale(), upper.get_yscale(), lower.get_xscale()) == ("log", "log", "log")
        for panel in (upper, lower):
            left, right = panel.get_xlim()
            assert left > 8.0
            assert right < 1.0
        assert "cut" in lower.get_xlabel()
        assert upper.get_ylabel() == "error"
        assert lower.get_ylabel() == "rank"

    def test_the_lowest_held_out_error_is_marked(self, axes):
        upper, _ = axes
        star = named_lines(upper)["lowest held-out error"]
        assert (star.get_xdata().tolist(), star.get_ydata().tolist()) == ([2.0], [0.9])

    def test_the_ranks_are_those_of_the_line_of_the_best(self, axes):
        _, lower = axes
        assert lower.get_legend().get_title().get_text() == "ranks at q = 0.1"
        lines = named_lines(lower)
        assert list(lines) == ["mode 0", "mode 1", "mode 2"]
        assert [line.get_ydata().tolist() for line in lines.values()] == [[2, 2, 3], [2, 2, 2], [2, 3, 5]]
        assert lower.get_ylim()[0] == 0
        assert lower.get_ylim()[1] > 5

    def test_modes_of_the_same_rank_all_show(self):
        _, lower = path([point(2.0, 1.0, ranks=(3, 3, 3)), point(1.0, 0.5, ranks=(4, 4, 4))])
        widths = [line.get_linewidth() for line in named_lines(lower).values()]
        assert widths[0] > widths[1] > widths[2]

    def test_only_some_modes_are_regularised(self):
        _, lower = path([point(2.0, 1.0, ranks=(3, 4), modes=(0, 2))])
        assert list(named_lines(lower)) == ["mode 0", "mode 2"]

    def test_the_legend_says_what_differs_beside_q(self):
        trials = [
            point(2.0, 1.0),
            point(2.0, 1.1, lam=(0.2, 0.4, 0.4)),
            point(2.0, 1.2, lam=(4.0, 2.0, 2.0)),
            point(2.0, 1.3, before=("centred",)),
            point(2.0, 1.4, mu=0.3),
        ]
        axes = path(trials)
        assert drawn(axes)[:5] == [
            "q = 1",
            "q = 1, weights 0.2 : 0.4 : 0.4",
            "q = 1, weights 0.5 : 0.25 : 0.25",
            "q = 1, centred",
            "q = 1, graphs 0.3",
        ]
        lines = list(named_lines(axes[0]).values())[:5]
        assert len({line.get_color() for line in lines}) == 1
        assert len({line.get_marker() for line in lines}) == 5
        assert in_legend(path([point(2.0, 1.0, lam=(0.2, 0.4, 0.4), before=("centred",))]))[0] == "q = 1"

    def test_modes_are_said_where_some_are_left_out_and_by_their_names_if_they_have_any(self):
        trials = [
            point(2.0, 1.0),
            point(2.0, 1.1, ranks=(1, 2), modes=(0, 1)),
            point(2.0, 1.2, ranks=(2,), modes=(2,)),
        ]
        assert in_legend(path(trials))[:3] == ["q = 1", "q = 1, modes 0, 1", "q = 1, mode 2"]
        labels = Labels(("station", "day", "$x$"), (None,) * 3)
        axes = path(trials, labels=labels)
        assert drawn(axes)[:3] == ["q = 1", "q = 1, modes station, day", r"q = 1, mode \$x\$"]
        assert list(named_lines(axes[1])) == ["station", "day", r"\$x\$"]
        assert in_legend(path(trials, labels=Labels.plain(3)))[2] == "q = 1, mode 2"

    def test_penalties_of_two_method_objects_are_lines_of_their_own(self):
        words = in_legend(path([point(2.0, 1.0), point(1.5, 1.1, penalty=Nuclear())]))
        assert words[:2] == ["q = 1, LSP", "q = 1, Nuclear"]

    def test_more_lines_than_colours_and_markers(self):
        many = [point(2.0, 1.0 + q, q=float(q)) for q in range(1, 4 + max(len(COLOURS), len(MARKERS)))]
        assert sum(name.startswith("q") for name in drawn(path(many))) == len(many)

    def test_the_legends_cover_no_data(self, axes):
        for panel in axes:
            box = panel.get_legend().get_window_extent()
            assert box.x0 >= panel.get_window_extent().x1
            assert box.x1 <= panel.figure.bbox.x1

    @pytest.mark.parametrize(
        ("held_out", "training"),
        [
            *((held_out, 1.0) for held_out in (1.0, 0.0, math.inf, math.nan, 1e-100, 1e100)),
            *((1.0, training) for training in (0.0, math.inf, math.nan)),
            (math.nan, math.nan),
            (0.0, math.inf),
        ],
    )
    def test_a_path_of_one_point(self, held_out, training):
        axes = path([point(3.0, held_out, training=training)])
        words = drawn(axes)
        hidden = sum(not 0 < number < math.inf for number in (held_out, training))
        assert (f"({hidden} that are zero or not finite left out)" in axes[0].get_title()) == (hidden > 0)
        assert ("lowest held-out error" in words) == (0 < held_out < math.inf)

    def test_errors_that_have_no_logarithm_leave_the_others_in_place(self):
        trials = [point(4.0, math.nan), point(3.0, 2.0, training=0.0), point(2.0, math.inf), point(1.0, 1.0)]
        axes = path(trials)
        words = drawn(axes)
        np.testing.assert_array_equal(named_lines(axes[0])["q = 1"].get_ydata(), [np.nan, 2.0, np.nan, 1.0])
        assert named_lines(axes[0])["lowest held-out error"].get_xdata().tolist() == [1.0]
        assert "lowest held-out error" in words
        assert "(5 that are zero or not finite left out)" in axes[0].get_title()

    def test_ranks_of_zero(self):
        axes = path([point(4.0, 2.0, ranks=(0, 0)), point(3.0, 2.0, ranks=(0, 0))])
        drawn(axes)
        assert axes[1].get_ylim()[1] > 0

    def test_numbers_on_the_axes_are_plain(self, axes):
        labels = [text.get_text() for text in axes[1].get_xticklabels(which="both")]
        assert "1" in labels
        assert not any("$" in label or "e" in label for label in labels)

    def test_axes_that_were_given_are_drawn_on(self, points):
        from matplotlib.figure import Figure

        given = Figure().subplots(2, 1)
        axes = path(points, given)
        assert axes == list(given)
        assert axes[0].get_xlim() == axes[1].get_xlim()
        refuses(ValueError, ["ax", "2 axes", "two for each method", "subplots"], lambda: path(points, given[0]))

    def test_a_readable_png_is_written(self, points, tmp_path):
        from matplotlib.image import imread

        file = tmp_path / "path.png"
        path(points, file=file)
        assert imread(file)[:, :, :3].std() > 0.05
        assert [found.name for found in tmp_path.iterdir()] == ["path.png"]

    def test_part_of_a_larger_drawing_is_written_with_all_of_it(self, points, tmp_path):
        from matplotlib.figure import Figure

        left, _ = Figure(layout="constrained").subfigures(1, 2)
        path(points, left.subplots(2, 1), file=tmp_path / "path.png")
        assert (tmp_path / "path.png").stat().st_size > 1000

    @pytest.mark.parametrize("nothing", [[], (), None])
    def test_a_path_without_points_gets_one_sentence(self, nothing):
        refuses(ValueError, ["path", "at least one trial", "chosen settings"], lambda: path(nothing))

    def test_without_matplotlib_the_error_names_the_package(self, points, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(ImportError, match=r"pip install matplotlib"):
            path(points)


@dataclass(frozen=True, kw_only=True)
class Own(Method):
    """A method of a user."""

    name: ClassVar[str] = "my_own"

    def prepare(self, problem, start, rng):
        raise NotImplementedError


class TestOtherMethods:
    def test_a_rank_grows_from_left_to_right_above_the_seconds(self):
        trials = [
            trial(TuckerAls(rank=rank), {"rank": rank}, error, (rank,) * 3) for rank, error in ((3, 1.0), (1, 2.0))
        ]
        upper, lower = axes = path(trials)
        words = drawn(axes)
        assert words == ["lowest held-out error", "held-out entries", "fitted entries"]
        solid = upper.lines[0]
        assert (solid.get_xdata().tolist(), solid.get_ydata().tolist()) == ([1.0, 3.0], [2.0, 1.0])
        left, right = upper.get_xlim()
        assert left < 1 < 3 < right
        assert (upper.get_xscale(), upper.get_yscale()) == ("linear", "log")
        assert (lower.get_xlabel(), lower.get_ylabel()) == ("rank", "seconds")
        assert lower.lines[0].get_ydata().tolist() == [1.0, 2.5]

    def test_a_lambda_falls_on_a_logarithmic_axis_above_the_ranks(self):
        trials = [trial(Own(), {"lam": lam}, 1 / lam, (rank,)) for lam, rank in ((1.0, 1), (4.0, 2), (2.0, 5))]
        upper, lower = axes = path(trials)
        drawn(axes)
        assert upper.lines[0].get_xdata().tolist() == [4.0, 2.0, 1.0]
        left, right = upper.get_xlim()
        assert left > 4.0 > 1.0 > right
        assert upper.get_xscale() == "log"
        assert lower.get_xlabel() == "lambda"
        assert named_lines(lower)["rank"].get_ydata().tolist() == [2.0, 5.0, 1.0]

    def test_what_else_was_varied_is_another_line(self):
        trials = [trial(Own(), {"rank": 2, "ridge": ridge}, 1.0 + ridge, (2,)) for ridge in (0.1, 0.2)]
        assert in_legend(path(trials))[:2] == ["ridge = 0.1", "ridge = 0.2"]

    def test_trials_that_vary_nothing_are_numbered(self):
        axes = path([trial(Own(), {}, 2.0, (1, 2)), trial(Own(), {}, 1.0, (1, 2), before=("centred",))])
        drawn(axes)
        assert axes[1].get_xlabel() == "trial"
        star = named_lines(axes[0])["lowest held-out error"]
        assert star.get_xdata().tolist() == [2.0]

    def test_several_methods_have_panels_of_their_own_on_one_scale(self):
        trials = [
            point(2.0, 1.0),
            point(1.0, 0.5),
            *(trial(Own(), {"rank": rank}, 3.0 / rank, (rank,)) for rank in (1, 2)),
        ]
        axes = path(trials)
        drawn(axes)
        assert len(axes) == 4
        assert [axes[0].get_title(), axes[2].get_title()] == ["NORT (best)", "Own"]
        assert axes[0].get_ylim() == axes[2].get_ylim()
        assert [axes[1].get_xlabel(), axes[3].get_xlabel()] == ["cut: the singular value threshold", "rank"]
        stars = [named_lines(axes[place])["lowest held-out error"].get_ydata().tolist() for place in (0, 2)]
        assert stars == [[0.5], [1.5]]
        refuses(ValueError, ["ax", "4 axes"], lambda: path(trials, axes[:2]))

    @pytest.mark.slow
    def test_the_path_of_a_search_among_methods_is_drawn(self, tmp_path):
        fit = examples.several()
        axes = path(fit.path, labels=fit.labels, file=tmp_path / "path.png")
        titles = [panel.get_title() for panel in axes[::2]]
        assert [title.removesuffix(" (best)") for title in titles] == ["NORT", "Tucker by alternating least squares"]
        assert [title.endswith(" (best)") for title in titles] == [fit.method.name == "nort", fit.method.name != "nort"]
        page = axes[0].figure.bbox
        for panel in axes:
            assert page.x0 - 1 <= panel.get_tightbbox().x0
            assert panel.get_tightbbox().x1 <= page.x1 + 1

    def test_a_narrow_range_of_errors_has_ticks_all_along(self):
        upper, _ = axes = path([trial(Own(), {"rank": rank}, 1.1 + 0.1 * rank, (rank,), 1.05) for rank in (1, 2, 3)])
        drawn(axes)
        assert sum(1.05 <= tick <= 1.4 for tick in upper.get_yticks()) >= 3
