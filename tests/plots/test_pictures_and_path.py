from __future__ import annotations

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tensorfill.plots import path, side_by_side
from tensorfill.plots.drawing import COLOURS, MARKERS, MISSING_GREY
from tests.refusal import refuses

pytest.importorskip("matplotlib")


@pytest.fixture
def colour():
    return np.random.default_rng(0).random((12, 18, 3))


def test_each_picture_has_its_own_axes_and_title_and_a_readable_png_is_written(colour, tmp_path):
    from matplotlib.image import imread

    path = tmp_path / "drawing.png"
    axes = side_by_side({"Original": colour, "Grey": colour.mean(axis=2)}, path)
    assert [panel.get_title() for panel in axes] == ["Original", "Grey"]
    drawn = imread(path)
    assert drawn.shape[1] > drawn.shape[0] > 100
    assert drawn[:, :, :3].std() > 0.05
    assert [file.name for file in tmp_path.iterdir()] == ["drawing.png"]


@pytest.mark.parametrize("colours", [True, False])
def test_missing_entries_are_grey_and_the_title_says_so(colour, colours):
    values = colour if colours else colour[:, :, 0]
    holes = values.copy()
    holes[3, 4] = np.nan
    (panel,) = side_by_side({"Observed": holes})
    shown = np.asarray(panel.images[0].get_array())
    assert "missing shown grey" in panel.get_title()
    np.testing.assert_array_equal(shown[3, 4], MISSING_GREY)
    np.testing.assert_array_equal(np.delete(shown, 3, axis=0), np.delete(values, 3, axis=0))


def test_all_pictures_are_drawn_at_one_size_whether_or_not_something_is_missing(colour):
    holes = np.where(colour < 0.5, np.nan, colour)
    axes = side_by_side({"A": colour, "B": holes, "C": colour})
    axes[0].figure.draw_without_rendering()
    assert all(panel.title.get_window_extent().y1 <= axes[0].figure.bbox.y1 for panel in axes)
    sizes = [panel.get_window_extent().size for panel in axes]
    np.testing.assert_allclose(sizes, [sizes[0]] * 3)


def test_what_cannot_be_drawn_gets_one_sentence(colour):
    with pytest.raises(ValueError, match="at least one picture"):
        side_by_side({})
    with pytest.raises(ValueError, match=r"must have shape \(rows, columns\) or"):
        side_by_side({"A": colour[:, :, :2]})
    with pytest.raises(ValueError, match="same rows and columns"):
        side_by_side({"A": colour, "B": colour[:5]})


def test_an_error_leaves_the_file_as_it_was(colour, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, file, **options):
        file.write(b"half")
        raise OSError("disk full")

    path = tmp_path / "drawing.png"
    path.write_bytes(b"before")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        side_by_side({"A": colour}, path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_without_matplotlib_the_error_names_the_extra(colour, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "tensorfill\[plots\]"'):
        side_by_side({"A": colour})


def point(cut, held_out, q=1.0, ranks=(1, 2, 3), training=None, **others):
    """Return a point of a path, with what a drawing reads of it."""
    given = {"lam": (0.5,) * len(ranks), "modes": tuple(range(len(ranks)))} | others
    training = held_out / 2 if training is None else training
    return SimpleNamespace(cut=cut, q=q, ranks=ranks, training=training, held_out=held_out, **given)


def named_lines(panel):
    """Return the lines that the legend names, by that name."""
    handles, names = panel.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def drawn(axes):
    """Return the words of the legend after drawing everything, which must not warn."""
    axes[0].figure.draw_without_rendering()
    return [text.get_text() for text in axes[0].get_legend().get_texts()]


class TestPath:
    @pytest.fixture
    def points(self):
        first = [point(8.0, 4.0), point(4.0, 2.0), point(2.0, 1.0, ranks=(1, 2, 4)), point(1.0, 1.5)]
        other = [point(4.0, 1.8, q=0.1, ranks=(2, 2, 2)), point(2.0, 0.9, q=0.1, ranks=(3, 2, 5))]
        between = [point(3.0, 1.2, q=0.1, ranks=(2, 2, 3))]
        return first + other + between

    def test_each_q_has_a_solid_and_a_dashed_line_from_the_largest_cut_down(self, points):
        upper, _ = path(points)
        lines = named_lines(upper)
        assert [name for name in lines if name.startswith("q")] == ["q = 1", "q = 0.1"]
        assert lines["q = 0.1"].get_xdata().tolist() == [4.0, 3.0, 2.0]
        assert lines["q = 0.1"].get_ydata().tolist() == [1.8, 1.2, 0.9]
        colour = lines["q = 0.1"].get_color()
        assert colour != lines["q = 1"].get_color()
        assert lines["q = 0.1"].get_marker() != lines["q = 1"].get_marker()
        (dashed,) = [line for line in upper.lines if line.get_color() == colour and line.get_linestyle() == "--"]
        np.testing.assert_allclose(dashed.get_ydata(), [0.9, 0.6, 0.45])

    def test_both_axes_of_the_errors_are_logarithmic_and_the_cut_falls_to_the_right(self, points):
        upper, lower = path(points)
        assert (upper.get_xscale(), upper.get_yscale(), lower.get_xscale()) == ("log", "log", "log")
        for panel in (upper, lower):
            left, right = panel.get_xlim()
            assert left > 8.0
            assert right < 1.0
        assert "cut" in lower.get_xlabel()
        assert upper.get_ylabel() == "error"
        assert lower.get_ylabel() == "rank"

    def test_the_least_held_out_error_is_marked(self, points):
        upper, _ = path(points)
        star = named_lines(upper)["least held-out error"]
        assert (star.get_xdata().tolist(), star.get_ydata().tolist()) == ([2.0], [0.9])

    def test_the_ranks_are_those_of_the_line_of_the_best(self, points):
        _, lower = path(points)
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

    def test_the_legend_tells_apart_what_differs_beside_q(self):
        trials = [
            point(2.0, 1.0, shares=(1, 1, 1)),
            point(2.0, 1.1, shares=(0.2, 0.4, 0.4)),
            point(2.0, 1.2, lam=(4.0, 2.0, 2.0)),
            point(2.0, 1.3, centred=True),
        ]
        words = drawn(path(trials))[:4]
        assert words == ["q = 1", "q = 1, shares 0.2 : 0.4 : 0.4", "q = 1, shares 0.5 : 0.25 : 0.25", "q = 1, centred"]
        lines = list(named_lines(path(trials)[0]).values())[:4]
        assert len({line.get_color() for line in lines}) == 1
        assert len({line.get_marker() for line in lines}) == 4
        words = drawn(path([point(2.0, 1.0, modes=(0, 1, 2)), point(2.0, 1.1, ranks=(1, 2), modes=(0, 1))]))
        assert words[:2] == ["q = 1, modes 0, 1, 2", "q = 1, modes 0, 1"]
        assert drawn(path([point(2.0, 1.0, shares=(0.2, 0.4, 0.4), centred=True)]))[0] == "q = 1"

    def test_more_lines_than_colours_and_markers(self):
        many = [point(2.0, 1.0 + q, q=float(q)) for q in range(1, 4 + max(len(COLOURS), len(MARKERS)))]
        assert sum(name.startswith("q") for name in drawn(path(many))) == len(many)

    def test_the_legends_cover_no_data(self, points):
        axes = path(points)
        drawn(axes)
        for panel in axes:
            box = panel.get_legend().get_window_extent()
            assert box.x0 >= panel.get_window_extent().x1
            assert box.x1 <= panel.figure.bbox.x1

    @pytest.mark.parametrize("held_out", [1.0, 0.0, math.inf, math.nan, 1e-100, 1e100])
    @pytest.mark.parametrize("training", [1.0, 0.0, math.inf, math.nan])
    def test_a_path_of_one_point(self, held_out, training):
        axes = path([point(3.0, held_out, training=training)])
        words = drawn(axes)
        hidden = sum(not 0 < number < math.inf for number in (held_out, training))
        assert (f"({hidden} that are zero or not finite left out)" in axes[0].get_title()) == (hidden > 0)
        assert ("least held-out error" in words) == (0 < held_out < math.inf)

    def test_errors_that_have_no_logarithm_leave_the_others_in_place(self):
        trials = [point(4.0, math.nan), point(3.0, 2.0, training=0.0), point(2.0, math.inf), point(1.0, 1.0)]
        axes = path(trials)
        words = drawn(axes)
        np.testing.assert_array_equal(named_lines(axes[0])["q = 1"].get_ydata(), [np.nan, 2.0, np.nan, 1.0])
        assert named_lines(axes[0])["least held-out error"].get_xdata().tolist() == [1.0]
        assert "least held-out error" in words
        assert "(5 that are zero or not finite left out)" in axes[0].get_title()

    def test_ranks_of_zero(self):
        axes = path([point(4.0, 2.0, ranks=(0, 0)), point(3.0, 2.0, ranks=(0, 0))])
        drawn(axes)
        assert axes[1].get_ylim()[1] > 0

    def test_numbers_on_the_axes_are_plain(self, points):
        axes = path(points)
        drawn(axes)
        labels = [text.get_text() for text in axes[1].get_xticklabels(which="both")]
        assert "1" in labels
        assert not any("$" in label or "e" in label for label in labels)

    def test_axes_that_were_given_are_drawn_on(self, points):
        from matplotlib.figure import Figure

        given = Figure().subplots(2, 1)
        axes = path(points, given)
        assert axes == list(given)
        assert axes[0].get_xlim() == axes[1].get_xlim()
        refuses(ValueError, ["ax", "two axes", "1 was given", "subplots"], lambda: path(points, given[0]))

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
        refuses(ValueError, ["path", "at least one point", "lam='auto'"], lambda: path(nothing))

    def test_without_matplotlib_the_error_names_the_extra(self, points, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(ImportError, match=r'pip install "tensorfill\[plots\]"'):
            path(points)
