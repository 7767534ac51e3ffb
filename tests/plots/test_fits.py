"""Drawings of fits: what they show is what the fit says."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys

import numpy as np
import pytest

import tensorfill
from tensorfill import Observations, plots
from tensorfill.choosing.error_bars import ErrorBars
from tensorfill.labels import Labelled, Labels
from tensorfill.losses import Logistic, Poisson
from tensorfill.methods.base import History, Record
from tensorfill.metrics import reliability
from tensorfill.models import Centred, Dense, FoldedLowRank, Tucker
from tensorfill.models.additive import Additive
from tensorfill.models.cp import CPModel
from tensorfill.plots.ahead import Times
from tensorfill.plots.drawing import MISSING_GREY, words
from tensorfill.plots.lines import chosen_series, series_mode
from tensorfill.plots.views import colour_mode, spread
from tests import examples
from tests.refusal import refuses

pytest.importorskip("matplotlib")

OF_A_FIT = [plots.convergence, plots.ranks, plots.singular_values, plots.slices, plots.held_out, plots.missingness]


def by_name(panel):
    handles, names = panel.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def drawn(axes):
    """Return the axes as a list, after drawing everything, which must not warn."""
    panels = axes if isinstance(axes, list) else [axes]
    panels[0].figure.figure.draw_without_rendering()
    return panels


def from_file(fit):
    """Return a fit as an older file had it, without the entries."""
    bars = None if fit.error_bars is None else dataclasses.replace(fit.error_bars, held_out=None)
    return dataclasses.replace(fit, observations=None, error_bars=bars)


def with_history(fit, *records):
    return dataclasses.replace(fit, history=History(records))


@pytest.mark.parametrize("draw", OF_A_FIT)
def test_every_drawing_is_written_and_no_part_of_it_is_cut(draw, tmp_path):
    from matplotlib.image import imread

    panels = drawn(draw(examples.labelled(), file=tmp_path / "drawing.png"))
    assert imread(tmp_path / "drawing.png")[:, :, :3].std() > 0.03
    assert [found.name for found in tmp_path.iterdir()] == ["drawing.png"]
    page = panels[0].figure.figure.bbox
    for panel in panels:
        box = panel.get_tightbbox()
        assert box.x0 >= page.x0 - 1
        assert box.x1 <= page.x1 + 1
        assert box.y0 >= page.y0 - 1
        assert box.y1 <= page.y1 + 1


@pytest.mark.parametrize("draw", [*OF_A_FIT, lambda fit: plots.stations([[0, 0]])])
def test_without_matplotlib_the_error_names_the_package(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.ticker", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        draw(examples.given())


@pytest.mark.parametrize("draw", [plots.convergence, plots.ranks, plots.singular_values])
def test_axes_that_were_given_are_drawn_on(draw):
    from matplotlib.figure import Figure

    panels = Figure().subplots(1, 2)
    assert draw(examples.given(), panels[1]) is panels[1]
    assert not panels[0].lines
    refuses(ValueError, ["ax", "1 axes", "subplots"], lambda: draw(examples.given(), panels))


class TestConvergence:
    def test_both_functions_are_drawn_by_iteration_and_by_seconds(self):
        fit = examples.given()
        lines = by_name(plots.convergence(fit))
        np.testing.assert_array_equal(lines["objective"].get_ydata(), fit.history["objective"])
        np.testing.assert_array_equal(lines["$F_\\tau$ (falls at every step)"].get_ydata(), fit.history["f_tau"])
        timed = by_name(plots.convergence(fit, against="seconds"))
        np.testing.assert_array_equal(timed["objective"].get_xdata(), fit.history["seconds"])

    def test_every_step_is_marked_as_extrapolated_or_plain(self):
        fit = examples.given()
        lines = by_name(plots.convergence(fit))
        steps, extrapolated = fit.history["iteration"][1:], fit.history["momentum"][1:]
        assert lines["extrapolated step"].get_xdata().tolist() == steps[extrapolated].tolist()
        assert lines["plain step"].get_xdata().tolist() == steps[~extrapolated].tolist()
        assert lines["plain step"].get_markerfacecolor() == "white"

    def test_of_many_steps_only_the_rarer_kind_is_marked(self):
        records = [Record(place, place / 10, 2.0, 2.0, (1,), momentum=place % 10 > 0) for place in range(101)]
        lines = by_name(plots.convergence(with_history(examples.given(), *records)))
        assert "extrapolated step" not in lines
        assert len(lines["plain step"].get_xdata()) == 10

    def test_what_varies_much_is_drawn_by_its_logarithm(self):
        few = [Record(0, 0.0, 9.0, 9.5, (1,)), Record(1, 1.0, 5.0, 5.5, (1,))]
        many = [Record(0, 0.0, 900.0, 950.0, (1,)), Record(1, 1.0, 5.0, 5.5, (1,))]
        below = [Record(0, 0.0, 900.0, 950.0, (1,)), Record(1, 1.0, -5.0, -5.5, (1,))]
        scales = [plots.convergence(with_history(examples.given(), *each)).get_yscale() for each in (few, many, below)]
        assert scales == ["linear", "log", "linear"]

    def test_a_method_without_f_tau_and_values_that_are_not_finite(self):
        records = [Record(0, 0.0, math.inf, math.nan, ()), Record(1, 1.0, 2.0, math.nan, ())]
        panel = plots.convergence(with_history(examples.given(), *records))
        drawn(panel)
        assert [name for name in by_name(panel) if "F" in name] == []
        nothing = plots.convergence(with_history(examples.given(), Record(0, 0.0, math.nan, math.nan, ())))
        drawn(nothing)
        assert "no finite objective" in nothing.get_title(loc="left")

    def test_a_method_whose_objective_falls_by_itself_has_one_line_and_no_dots(self):
        assert list(by_name(plots.convergence(examples.tucker()))) == ["objective"]

    def test_what_it_is_drawn_against_must_be_known(self):
        refuses(
            ValueError,
            ["against", "'seconds'", "'hours'"],
            lambda: plots.convergence(examples.given(), against="hours"),
        )


class TestRanks:
    def test_each_mode_has_its_line_under_its_name(self):
        fit = examples.labelled()
        lines = by_name(plots.ranks(fit))
        assert list(lines) == [fit.labels.names[mode] for mode in fit.modes]
        ranks = np.array([record.ranks for record in fit.history])
        for line, column in zip(lines.values(), ranks.T, strict=True):
            assert line.get_ydata().tolist() == column.tolist()

    def test_other_methods_have_a_rank_of_each_mode_or_one_of_all(self):
        assert list(by_name(plots.ranks(examples.tucker()))) == ["mode 0", "mode 1", "mode 2"]
        fit = with_history(examples.tucker(), Record(0, 0.0, 1.0, 1.0, (4,)))
        assert list(by_name(plots.ranks(fit))) == ["rank"]

    def test_ranks_of_zero_are_told_in_words(self):
        panel = plots.ranks(with_history(examples.given(), Record(0, 0.0, 1.0, 1.0, (0, 0, 0))))
        drawn(panel)
        assert "all ranks are 0" in panel.texts[0].get_text()
        assert panel.get_ylim()[1] > 0

    def test_ranks_of_other_number_than_modes_are_numbered(self):
        panel = plots.ranks(with_history(examples.given(), Record(0, 0.0, 1.0, 1.0, (2, 3))))
        assert list(by_name(panel)) == ["rank 0", "rank 1"]


class TestSingularValues:
    def test_they_are_those_of_the_components(self):
        fit = examples.given()
        lines = list(by_name(plots.singular_values(fit)).values())
        for line, part in zip(lines, fit.model.components, strict=True):
            np.testing.assert_allclose(line.get_ydata(), part.s)
            assert line.get_xdata().tolist() == list(range(1, part.rank + 1))

    def test_a_centred_model_has_those_of_its_inner_one(self):
        fit = examples.given()
        offset = Additive(1.0, tuple(np.zeros(size) for size in fit.shape))
        centred = dataclasses.replace(fit, model=Centred(fit.model, offset))
        assert len(by_name(plots.singular_values(centred))) == len(fit.model.components)

    def test_a_tucker_model_has_those_of_its_unfoldings(self):
        random = np.random.default_rng(0)
        model = Tucker(
            (30, 25, 20),
            random.random((2, 3, 2)),
            [random.random((s, r)) for s, r in zip((30, 25, 20), (2, 3, 2), strict=True)],
        )
        lines = list(by_name(plots.singular_values(dataclasses.replace(examples.given(), model=model))).values())
        for mode, line in enumerate(lines):
            unfolded = np.moveaxis(model.to_dense(), mode, 0).reshape(model.shape[mode], -1)
            expected = np.linalg.svd(unfolded, compute_uv=False)[: model.core.shape[mode]]
            np.testing.assert_allclose(line.get_ydata(), expected)

    def test_a_cp_model_has_those_of_its_unfoldings(self):
        random = np.random.default_rng(0)
        factors = [random.standard_normal((size, 4)) for size in (30, 25, 3)]
        model = CPModel((30, 25, 3), random.standard_normal(4), factors)
        lines = list(by_name(plots.singular_values(dataclasses.replace(examples.given(), model=model))).values())
        assert [len(line.get_xdata()) for line in lines] == [4, 4, 3]
        for mode, line in enumerate(lines):
            unfolded = np.moveaxis(model.to_dense(), mode, 0).reshape(model.shape[mode], -1)
            expected = np.linalg.svd(unfolded, compute_uv=False)[: len(line.get_ydata())]
            np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-6)

    def test_a_model_without_components_gets_one_sentence(self):
        fit = dataclasses.replace(examples.given(), model=Dense(np.ones((30, 25, 20)), (0, 0)))
        refuses(ValueError, ["low rank", "Dense", "smooth=None"], lambda: plots.singular_values(fit))

    def test_components_of_rank_zero(self):
        model = examples.given().model
        assert isinstance(model, FoldedLowRank)
        fit = dataclasses.replace(examples.given(), model=model.truncated([0, 0, 0]))
        drawn(plots.singular_values(fit))


class TestSlices:
    def test_the_panels_show_the_original_what_was_observed_and_what_was_filled(self):
        fit = examples.labelled()
        axes = drawn(plots.slices(fit, "hour <b>", 4, original=examples.truth()))
        assert [panel.get_title().partition(" (")[0] for panel in axes] == ["Original", "Observed", "Filled"]
        original, observed, filled = (panel.images[0].get_array() for panel in axes)
        np.testing.assert_array_equal(original, examples.truth()[:, :, 4])
        mask = fit.observations.mask[:, :, 4]
        np.testing.assert_array_equal(np.ma.getmaskarray(observed), ~mask)
        np.testing.assert_array_equal(observed.compressed(), fit.observations.array[:, :, 4][mask])
        whole = dataclasses.replace(fit, restore=None).filled()
        np.testing.assert_allclose(filled, whole[:, :, 4])
        assert axes[0].figure.get_suptitle() == "hour <b> = 4"

    def test_all_panels_have_one_colour_scale_and_missing_is_grey(self):
        axes = plots.slices(examples.labelled(), 2, 0)
        assert len({panel.images[0].get_clim() for panel in axes}) == 1
        bad = axes[0].images[0].get_cmap().get_bad()
        assert bad[0] == bad[1] == bad[2]

    def test_a_slice_is_found_by_its_label_and_the_axes_are_labelled(self):
        fit = examples.labelled()
        axes = drawn(plots.slices(fit, "day", "2024-02-27"))
        np.testing.assert_allclose(
            axes[-1].images[0].get_array()[~fit.observations.mask[:, 2]], fit[:, 2][~fit.observations.mask[:, 2]]
        )
        assert axes[0].get_xlabel() == "hour <b>"
        assert axes[0].get_ylabel() == "station"
        assert words(examples.NASTY, 20) in [text.get_text() for text in axes[0].get_yticklabels()]

    def test_sparse_observations_are_drawn_where_they_are(self):
        fit = examples.given()
        for mode, index in ((0, 3), (1, -1), (2, 0)):
            observed = plots.slices(fit, mode, index)[0].images[0].get_array()
            dense = np.take(fit.observations.to_dense(), index, axis=mode)
            np.testing.assert_array_equal(np.ma.filled(observed, np.nan), dense)

    def test_pictures_are_drawn_in_colour_and_whole(self):
        fit, whole = examples.picture()
        original, observed, filled = drawn(plots.slices(fit, original=whole))
        np.testing.assert_allclose(original.images[0].get_array(), whole, atol=1e-6)
        holes = ~fit.observations.mask
        np.testing.assert_allclose(np.asarray(observed.images[0].get_array())[holes], MISSING_GREY)
        assert "grey" in observed.get_title()
        assert filled.images[0].get_array().shape == whole.shape
        channel = plots.slices(fit, 2, 1)
        assert channel[0].images[0].get_array().ndim == 2

    def test_a_mode_that_is_named_so_holds_colours_and_other_data_does_not(self):
        fit = examples.given()
        values = np.random.default_rng(0).normal(size=(20, 20, 3))
        plain = dataclasses.replace(
            fit, model=Dense(values), observations=Observations.from_dense(values), labels=Labels.plain(3)
        )
        assert colour_mode(plain) is None
        light = dataclasses.replace(plain, observations=Observations.from_dense(np.abs(values) / 9))
        assert colour_mode(light) == 2
        stored = dataclasses.replace(plain, observations=Observations.from_dense(np.round(np.abs(values) * 50)))
        assert colour_mode(stored) == 2
        named = dataclasses.replace(plain, labels=Labels(("row", "column", "Colour"), (None,) * 3))
        assert colour_mode(named) == 2
        other = dataclasses.replace(light, labels=Labels(("station", "month", "variable"), (None,) * 3))
        assert colour_mode(other) is None

    def test_order_four_shows_its_two_largest_other_modes_and_holds_the_rest(self):
        array = np.random.default_rng(0).random((5, 4, 6, 3))
        fit = dataclasses.replace(examples.given(), model=Dense(array), observations=None, labels=Labels.plain(4))
        (panel,) = drawn(plots.slices(fit, 0, 2, at={3: 1}))
        np.testing.assert_array_equal(panel.images[0].get_array(), array[2, :, :, 1])
        assert panel.figure.get_suptitle() == "mode 0 = 2, mode 3 = 1"
        refuses(ValueError, ["at", "not drawn", "[1]"], lambda: plots.slices(fit, 0, 2, at={1: 1}))

    def test_a_matrix_is_drawn_whole_and_by_its_expected_values(self):
        fit = examples.logistic()
        observed, filled = drawn(plots.slices(fit))
        assert set(np.unique(observed.images[0].get_array().compressed())) == {0.0, 1.0}
        holes = np.argwhere(~fit.observations.mask)
        np.testing.assert_allclose(filled.images[0].get_array()[tuple(holes.T)], fit.predict_proba(holes))
        refuses(ValueError, ["two modes", "matrix"], lambda: plots.slices(fit, 0, 1))

    def test_of_a_fit_from_a_file_the_model_is_drawn(self):
        (panel,) = drawn(plots.slices(from_file(examples.labelled()), 2, 1))
        assert panel.get_title() == "Model"

    def test_a_huge_sparse_tensor_is_drawn_where_it_has_entries(self):
        shape = (2_000_000, 1_500_000, 4)
        coords = np.stack([np.arange(900) * 2000, np.arange(900) * 1000 % 1_500_000, np.arange(900) % 4], axis=1)
        seen = Observations(coords, np.arange(900.0), shape)

        class Zero(Dense):
            def __init__(self):
                self.shape, self.array = shape, np.zeros(1)

            def _values_at(self, coords):
                return np.zeros(len(coords))

        fit = dataclasses.replace(
            examples.given(), model=Zero(), observations=seen, labels=Labels.plain(3), bounds=None
        )
        observed, _ = plots.slices(fit, 2, 1)
        shown = observed.images[0].get_array()
        assert shown.shape == (400, 400)
        assert shown.count() > 0

    def test_of_sparse_data_the_slice_with_the_most_entries_is_shown_first(self):
        coords = [[0, 0, 7], [3, 4, 7], [5, 5, 1]]
        seen = Observations(coords, [1.0, 2.0, 3.0], (20, 20, 9))
        fit = dataclasses.replace(examples.given(), model=Dense(np.zeros(seen.shape)), observations=seen)
        assert plots.slices(fit)[0].figure.get_suptitle() == "mode 2 = 7"

    def test_bad_input_gets_one_sentence(self):
        fit = examples.labelled()
        refuses(ValueError, ["index", "from -9 to 8", "9 was given"], lambda: plots.slices(fit, 2, 9))
        refuses(ValueError, ["no label", "'nowhere'"], lambda: plots.slices(fit, "station", "nowhere"))
        refuses(ValueError, ["no mode", "'planet'"], lambda: plots.slices(fit, "planet", 0))
        refuses(ValueError, ["original", "(12, 15, 9)", "(3,)"], lambda: plots.slices(fit, 2, 0, original=[1, 2, 3]))
        refuses(ValueError, ["ax", "2 axes"], lambda: plots.slices(fit, 2, 0, ax=[]))


class TestHeldOut:
    def test_the_histogram_marks_the_half_width_of_the_90_percent_interval(self):
        fit = examples.labelled()
        histogram, scatter, residuals = drawn(plots.held_out(fit))
        _, low, high = fit.predict([[0, 0, 0]], interval=0.9)
        half = float(high[0] - low[0]) / 2
        assert histogram.lines[0].get_xdata()[0] == pytest.approx(half)
        assert f"{half:.3g}" in histogram.texts[0].get_text()
        assert f"{len(fit.residuals):,} held-out" in histogram.get_title()
        inside = (fit.residuals <= histogram.get_xlim()[1]).sum()
        assert sum(patch.get_height() for patch in histogram.patches) == inside
        # Held-out entries, as a fit without them predicts them: not fitted ones, whose errors are too small.
        assert scatter.get_title() == f"all {len(fit.residuals):,} held-out entries"
        np.testing.assert_array_equal(scatter.lines[0].get_xdata(), fit.held_out.observed)
        np.testing.assert_allclose(scatter.lines[0].get_ydata(), fit.held_out.predicted)
        np.testing.assert_allclose(residuals.lines[0].get_ydata(), fit.held_out.errors)

    def test_many_entries_are_sampled_and_the_title_says_so(self):
        axes = plots.held_out(examples.given())
        assert len(axes) == 2
        count = len(examples.given().observations)
        assert axes[0].get_title() == f"4,000 of {count:,} fitted entries"
        assert len(axes[0].lines[0].get_xdata()) == 4000

    def test_of_a_fit_from_a_file_the_histogram_is_left(self):
        (panel,) = drawn(plots.held_out(from_file(examples.labelled())))
        assert "held-out" in panel.get_title()

    @pytest.mark.parametrize("low", [0, -1])
    def test_probabilities_are_drawn_by_what_was_observed(self, low):
        fit = examples.logistic()
        ones = fit.observations.values == 1
        values = np.where(ones, 1.0, low)
        given = dataclasses.replace(
            fit,
            observations=fit.observations.with_values(values),
            recipe=dataclasses.replace(fit.recipe, loss=Logistic(low=low)),
        )
        (panel,) = drawn(plots.held_out(given))
        assert list(by_name(panel)) == [f"{ones.sum()} were 1", f"{(~ones).sum()} were {low}"]

    def test_counts_are_drawn_as_counts_whatever_the_loss_is_called(self):
        class Mine(Poisson):
            pass

        counts = np.random.default_rng(0).poisson(np.outer(np.arange(1, 13), np.arange(1, 11)) / 5).astype(float)
        counts[::3, ::4] = np.nan
        fit = tensorfill.complete(counts, loss=Mine(), lam=0.1, centre=True, choose=tensorfill.Choice(), rng=0)
        histogram, scatter, _ = drawn(plots.held_out(fit))
        assert scatter.lines[0].get_ydata().min() >= 0
        assert scatter.lines[0].get_xdata().max() > 5
        assert histogram.get_xlim()[1] > 0

    def test_with_neither_there_is_nothing_to_draw(self):
        refuses(ValueError, ["neither", "choose=Choice()"], lambda: plots.held_out(from_file(examples.given())))

    def test_residuals_that_are_all_zero(self):
        drawn(plots.held_out(dataclasses.replace(examples.labelled(), error_bars=ErrorBars(np.zeros(20)))))


class TestReliability:
    @pytest.mark.parametrize("low", [0, -1])
    def test_the_shares_are_those_of_the_held_out_entries(self, low, tmp_path):
        from matplotlib.image import imread

        fit = examples.of_two_values(low)
        panel = plots.reliability(fit, file=tmp_path / "drawing.png")
        drawn(panel)
        assert imread(tmp_path / "drawing.png")[:, :, :3].std() > 0.03
        curve = reliability((fit.held_out.predicted - low) / (1 - low), fit.held_out.observed == 1)
        assert 2 <= len(curve) <= 10
        dots = by_name(panel)["held-out entries, 90% intervals"]
        np.testing.assert_allclose(dots.get_xdata(), curve.predicted)
        np.testing.assert_allclose(dots.get_ydata(), curve.observed)
        (bars,) = panel.collections
        np.testing.assert_allclose([each[:, 1] for each in bars.get_segments()], np.stack([curve.low, curve.high], 1))
        # It is a fit of what the data was made by, so that chance is all that remains.
        inside = (curve.low <= curve.predicted) & (curve.predicted <= curve.high)
        assert inside.mean() >= 0.7

    def test_it_is_drawn_on_axes_that_were_given(self):
        from matplotlib.figure import Figure

        panels = Figure().subplots(1, 2)
        assert plots.reliability(examples.of_two_values(0), panels[1]) is panels[1]
        assert not panels[0].lines

    def test_what_has_no_curve_gets_one_sentence(self):
        refuses(ValueError, ["loss='logistic'", "Square"], lambda: plots.reliability(examples.labelled()))
        refuses(ValueError, ["held-out", "choose=Choice()"], lambda: plots.reliability(examples.logistic()))
        fit = examples.of_two_values(0)
        held_out = dataclasses.replace(fit.held_out, observed=np.full(len(fit.held_out), 0.5))
        bars = dataclasses.replace(fit.error_bars, held_out=held_out)
        other = dataclasses.replace(fit, error_bars=bars)
        refuses(ValueError, ["two values", "0 or 1"], lambda: plots.reliability(other))


class TestMissingness:
    def test_the_shares_are_those_of_the_mask(self):
        fit = examples.labelled()
        axes = drawn(plots.missingness(fit))
        mask = fit.observations.mask
        for panel, (rows, columns) in zip(axes, itertools.combinations(range(3), 2), strict=False):
            (other,) = {0, 1, 2} - {rows, columns}
            np.testing.assert_allclose(panel.images[0].get_array().filled(0.0), 100 * mask.mean(axis=other))
        for mode, panel in enumerate(axes[3:]):
            others = tuple({0, 1, 2} - {mode})
            np.testing.assert_allclose(panel.patches[0].get_data().values, 100 * mask.mean(axis=others))
            assert panel.get_xlabel() == fit.labels.names[mode]

    @pytest.mark.parametrize("size", [200, 201, 333, 400, 1000])
    def test_modes_of_many_indices_share_cells_and_no_entry_is_lost(self, size):
        seen = Observations.from_dense(np.ones((size, 7)))
        pair, *lines = drawn(plots.missingness(seen))
        assert len(lines) == 2
        np.testing.assert_allclose(pair.images[0].get_array(), 100.0)
        assert pair.images[0].get_array().shape[0] <= 200
        np.testing.assert_allclose(lines[0].patches[0].get_data().values, 100.0)

    def test_order_five_and_labels_without_a_fit(self):
        seen = Observations(np.zeros((1, 5), dtype=int), [1.0], (3, 4, 5, 6, 7))
        axes = drawn(plots.missingness(Labelled(seen, Labels(tuple("abcde"), (None,) * 5))))
        assert len(axes) == 3 + 5
        assert "c × d" in axes[0].get_title()

    def test_other_things_get_one_sentence(self):
        refuses(TypeError, ["ndarray", "Observations.from_dense"], lambda: plots.missingness(np.ones((3, 3))))
        refuses(ValueError, ["file", "observations"], lambda: plots.missingness(from_file(examples.given())))


class TestStations:
    def test_points_are_where_they_are_and_a_kilometre_is_a_kilometre(self):
        panel = drawn(plots.stations([[59.0, 10.0], [61.0, 12.0]], [1.0, 2.0], label="rain"))[0]
        assert panel.collections[-1].get_offsets().tolist() == [[10.0, 59.0], [12.0, 61.0]]
        assert panel.get_aspect() == pytest.approx(2.0)
        assert panel.get_xlabel() == "longitude"

    def test_missing_values_are_hollow_and_told(self):
        panel = drawn(plots.stations([[0, 0], [1, 1], [2, 2]], [1.0, np.nan, 3.0]))[0]
        assert panel.collections[0].get_offsets().tolist() == [[1.0, 1.0]]
        assert "1 of 3" in panel.get_title()
        drawn(plots.stations([[0, 0]], [np.nan]))

    def test_places_on_both_sides_of_the_date_line_are_neighbours(self):
        panel = drawn(plots.stations([[0, 179], [0, -179]]))[0]
        left, right = panel.get_xlim()
        assert right - left < 10
        names = [text.get_text() for text in panel.get_xticklabels()]
        assert any(name.endswith("W") for name in names)
        assert any(name.endswith("E") for name in names)

    def test_bad_input_gets_one_sentence(self):
        refuses(ValueError, ["latlon", "(n, 2)", "(3,)"], lambda: plots.stations([1, 2, 3]))
        refuses(ValueError, ["degrees", "[-105.0, 40.0]", "::-1"], lambda: plots.stations([[40, 80], [-105, 40]]))
        refuses(ValueError, ["values", "2 places", "(3,)"], lambda: plots.stations([[0, 0], [1, 1]], [1, 2, 3]))


@pytest.mark.parametrize("label", ["$\\frac", "$a$ $b", "_hidden", "x\x00y\nz", "<&>", "a" * 99, "日本", ""])
def test_any_label_can_be_drawn(label):
    import warnings

    from matplotlib.figure import Figure

    panel = Figure().subplots()
    panel.plot([0, 1], label=words(label))
    panel.set_title(words(label))
    panel.legend()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        panel.figure.draw_without_rendering()
    assert len(words(label)) <= 30


def test_indices_are_spread_from_end_to_end():
    for size, most in itertools.product((1, 2, 7, 100), (1, 2, 5, 100)):
        chosen = spread(size, most)
        assert len(set(chosen.tolist())) == len(chosen) == min(size, most)
        assert most == 1 or (chosen[0], chosen[-1]) == (0, size - 1)


def test_the_module_is_reached_from_the_package():
    assert tensorfill.plots.convergence is plots.convergence


class TestSeries:
    def test_observed_entries_are_dots_and_gaps_are_filled_within_their_band(self):
        fit = examples.labelled()
        axes = plots.series(fit, "day", count=2)
        assert len(axes) == 2
        row = chosen_series(fit, (1,), {}, 2)[0]
        coords = np.repeat(row[None], fit.shape[1], axis=0)
        coords[:, 1] = np.arange(fit.shape[1])
        seen = np.where(fit.observations.mask, fit.observations.array, np.nan)[tuple(coords.T)]
        line, dots = axes[0].lines
        np.testing.assert_array_equal(dots.get_ydata(), seen)
        np.testing.assert_allclose(line.get_ydata(), np.where(np.isnan(seen), fit.predict(coords), seen))
        assert np.isnan(seen).any()
        assert "90% band" in axes[0].get_legend_handles_labels()[1]

    def test_a_fit_without_intervals_has_no_band(self):
        (panel,) = plots.series(examples.given(), 0, at={1: 0, 2: 0})
        assert "90% band" not in panel.get_legend_handles_labels()[1]

    def test_dates_are_the_first_choice(self):
        assert series_mode(examples.labelled()) == 1

    def test_a_long_series_is_drawn_where_its_gaps_are(self):
        values = np.sin(np.arange(1000) / 9)[:, None] * np.arange(1.0, 5.0)
        values[600:700, 2] = np.nan
        fit = tensorfill.complete(values, lam=0.1, rng=0)
        (panel,) = plots.series(fit, 0, at={1: 2})
        assert len(panel.lines[0].get_xdata()) == 300
        assert np.isnan(panel.lines[1].get_ydata()).sum() == 100

    def test_bad_input_gets_one_sentence(self):
        fit = examples.labelled()
        refuses(ValueError, ["along which lines run"], lambda: plots.series(fit, "day", at={"day": 0}))
        refuses(ValueError, ["no mode", "'planet'"], lambda: plots.series(fit, "planet"))
        refuses(ValueError, ["ax", "2 axes"], lambda: plots.series(fit, "day", [], count=2))
        refuses(ValueError, ["last", "at least 1", "0"], lambda: plots.series(fit, "day", last=0))
        refuses(ValueError, ["two different modes", "'day', 'day'"], lambda: plots.series(fit, ("day", "day")))

    def test_the_last_times_only(self):
        fit = examples.labelled()
        (panel,) = plots.series(fit, "day", at={"station": 0, "hour <b>": 0}, last=6)
        assert len(panel.lines[0].get_xdata()) == 6


class TestForecasts:
    def test_it_follows_the_end_of_the_data_within_its_band(self):
        fit = examples.forecast()
        axes = plots.series(fit, interval=0.8)
        assert len(axes) == 3
        panel = axes[1]
        shown = by_name(panel)
        assert list(shown) == ["80% band", "filled", "observed", "forecast"]
        np.testing.assert_allclose(shown["forecast"].get_ydata(), fit.ahead.values[2].ravel()[:8])
        np.testing.assert_array_equal(shown["forecast"].get_xdata(), 96 + np.arange(8))
        assert len(shown["filled"].get_xdata()) == 96
        half = fit.ahead.half_width(0.8)[2].ravel()[:8]
        bands = [each for each in panel.collections if each.get_paths()[0].vertices[:, 0].min() >= 96]
        ends = bands[0].get_paths()[0].vertices
        low = [ends[ends[:, 0] == 96 + step, 1].min() for step in range(8)]
        np.testing.assert_allclose(low, fit.ahead.values[2].ravel()[:8] - half)

    def test_two_modes_of_time_are_one_line_with_labels_that_go_on(self):
        fit = examples.forecast()
        times = Times.of(fit, (1, 2))
        assert len(times) == 240
        assert (times.label(0), times.label(239)) == ("2024-03-01, 0", "2024-03-20, 11")
        assert times.label(241) == "2024-03-21, 1"
        coords = times.coords(np.array([2, 0, 0]), np.array([0, 13, 239]))
        assert coords.tolist() == [[2, 0, 0], [2, 1, 1], [2, 19, 11]]
        assert times.numbers(coords).tolist() == [0, 13, 239]
        assert plots.series(fit)[-1].get_xlabel() == "day, hour"

    def test_another_mode_has_no_forecast(self):
        (panel,) = plots.series(examples.forecast(), "day", at={"station": 0, "hour": 3})
        assert "forecast" not in by_name(panel)

    def test_the_series_with_the_most_gaps_are_chosen(self):
        fit = examples.forecast()
        rows = chosen_series(fit, (1, 2), {}, 2)
        count = np.bincount(fit.observations.coords[:, 0])
        assert rows[:, 0].tolist() == sorted(np.argsort(count)[:2].tolist())
        assert not rows[:, 1:].any()

    def test_without_earlier_ends_there_is_no_band(self):
        fit = examples.forecast()
        fit = dataclasses.replace(fit, ahead=dataclasses.replace(fit.ahead, quantiles=np.zeros(0)), error_bars=None)
        (panel,) = plots.series(fit, at={"station": 0})
        assert list(by_name(panel)) == ["filled", "observed", "forecast"]
