"""Pictures side by side."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tensorfill.plots import side_by_side
from tensorfill.plots.drawing import MISSING_GREY

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


def test_without_matplotlib_the_error_names_the_package(colour, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        side_by_side({"A": colour})
