"""The report: one page that says what the fit says and holds all it needs."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import html
import io
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import tensorfill
from tensorfill import Observations
from tensorfill._support.words import written
from tensorfill.choosing.stages.centre import Centre
from tensorfill.choosing.stages.empty_slices import EmptySlices, SliceFill
from tensorfill.choosing.stages.graphs import Graphs
from tensorfill.choosing.stages.polish import Polish
from tensorfill.labels import Labels
from tensorfill.losses import Huber
from tensorfill.methods.base import History, Record
from tensorfill.methods.registry import METHODS
from tensorfill.models import Dense, TensorRing
from tensorfill.models.cp import CPModel
from tensorfill.penalties import LSP
from tensorfill.plots.naming import method_name
from tensorfill.report import figures, gallery, page
from tensorfill.report.facts import empty_slices, forecast, modes, what_was_chosen
from tests import examples
from tests.refusal import refuses
from tests.slow import OURS, slow_except

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


class Read(HTMLParser):
    """The words of a page, its tags, and the data of its slices."""

    def __init__(self, text):
        super().__init__()
        self.words, self.tags, self.inside, self.data = [], [], [], ""
        self.feed(text)
        self.said = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self.inside.append(dict(attributes).get("id", tag))

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.words.append(data)
        elif self.inside[-1] == "data":
            self.data += data


@dataclasses.dataclass(frozen=True)
class Mine(LSP):
    """A penalty of a user."""


@pytest.fixture
def undrawn(monkeypatch):
    """Leave every drawing unwritten, where only the words of the page are looked at."""
    monkeypatch.setattr(figures, "_svg", lambda figure: "data:image/svg+xml;base64,")


@pytest.fixture(scope="module")
def logistic():
    return page.rendered(examples.logistic())


@pytest.fixture(scope="module")
def labelled():
    return page.rendered(examples.labelled(), original=examples.truth(), title=f"A {examples.NASTY}")


@pytest.fixture(scope="module")
def given():
    return page.rendered(examples.given())


@pytest.fixture(scope="module")
def read(labelled):
    return Read(labelled)


def image(address):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


class TestWhatItSays:
    def test_the_numbers_are_those_of_the_fit(self, read):
        fit = examples.labelled()
        assert f"{len(fit.observations):,}" in read.said
        assert "12 × 15 × 9" in read.said
        assert f"{fit.held_out_error:.4g}" in read.said
        assert f"{100 * fit.held_out_error / fit.observations.values.std():.3g}% of the standard deviation" in read.said
        for baseline in fit.baselines:
            assert baseline.in_words(fit.labels) in read.said
        assert "What the time went into" in read.said
        _, low, high = fit.predict([[0, 0, 0]], interval=0.9)
        assert f"± {(high[0] - low[0]) / 2:.4g}" in read.said
        assert " · ".join(map(str, fit.ranks)) in read.said
        assert str(fit.status) in read.said
        assert f"the best of {len(fit.path)} trials on held-out entries" in read.said
        assert "Seed 0" in read.said
        assert f"{fit.history[-1].iteration} iterations" in read.said
        assert tensorfill.__version__ in read.said
        assert re.search(r"written on \d+ [A-Z][a-z]+ \d{4}", read.said)

    def test_the_names_of_the_modes_and_labels_are_there(self, read):
        for words in ("station", "day", "hour <b>", "2024-02-25 to 2024-03-10", "flow & <i>more</i>"):
            assert words in read.said

    def test_a_given_lambda_has_no_held_out_error_and_says_so(self, given):
        said = Read(given).said
        assert "no entries were held out" in said
        assert "Held-out error" not in said
        assert "Error on fitted entries" in said

    @pytest.mark.usefixtures("undrawn")
    def test_without_the_data_it_says_what_is_left_out(self, tmp_path):
        examples.labelled().save(tmp_path / "fit.npz")
        found = Read(page.rendered(tensorfill.load(tmp_path / "fit.npz")))
        assert "read from a file, which does not hold the data" in found.said
        assert "Error on fitted entries" not in found.said
        assert f"{examples.labelled().held_out_error:.4g}" in found.said
        assert json.loads(found.data)["views"][0]["panels"] == ["Model"]

    def test_a_smooth_field_without_low_rank_is_told_in_words(self):
        fit, whole = examples.picture()
        found = Read(page.rendered(fit, original=whole))
        assert "stored entry by entry" in found.said
        assert "It has no low-rank part" in found.said
        assert "along mode 0 and mode 1, alone, without low rank, with stiffness 0.1" in found.said
        assert "whole fibres along mode 2" in found.said
        assert "singular values of each" not in found.said

    def test_probabilities_have_their_curve_if_entries_were_held_out(self, logistic, labelled, undrawn):
        said = "Whether probabilities are what they say"
        assert said not in logistic
        assert said not in labelled
        assert said in page.rendered(examples.of_two_values(-1))

    def test_scores_are_no_errors(self, logistic):
        said = Read(logistic).said
        assert "right side of 0.5" in said
        assert "Held-out error" not in said
        assert "the whole matrix" in logistic

    @pytest.mark.usefixtures("undrawn")
    def test_what_was_held_out_is_said_with_the_names_of_the_modes(self):
        fit, whole = examples.picture()
        named = dataclasses.replace(fit, labels=Labels(("row", "column", "colour"), (None,) * 3))
        assert "whole fibres along colour" in Read(page.rendered(named, original=whole)).said

    def test_another_method_has_its_own_settings_and_no_lambda(self):
        found = Read(page.rendered(examples.tucker()))
        assert "Method Tucker by alternating least squares" in found.said
        assert "Settings rank=2" in found.said
        assert "Lambda" not in found.said
        assert "Mode Rank mode 0 2 mode 1 2 mode 2 2" in found.said

    @pytest.mark.usefixtures("undrawn")
    @pytest.mark.parametrize("method", slow_except(sorted(METHODS.keys() - {"nort", "smoothed_nort", "rescal"}), OURS))
    def test_there_is_a_page_for_every_method(self, method):
        fit = examples.of_method(method)
        found = Read(page.rendered(fit))
        assert f"Method {method_name(fit.method)}" in found.said
        # A tensor that is stored whole, and a ring, have no singular values to draw.
        has_values = not isinstance(fit.model, Dense | TensorRing)
        assert ("The singular values of each mode." in found.said) == has_values
        assert ("one trial" if len(fit.path) == 1 else f"the best of {len(fit.path)} trials") in found.said

    def test_several_methods_are_named_and_each_has_its_drawing(self):
        fit = examples.several()
        found = Read(page.rendered(fit))
        assert "NORT, Tucker by alternating least squares" in found.said
        for name in ("NORT", "Tucker by alternating least squares"):
            assert f"The errors of the trials of {name}, " in found.said

    @pytest.mark.usefixtures("undrawn")
    def test_a_cp_model_has_one_rank(self):
        fit = examples.tucker()
        random = np.random.default_rng(0)
        model = CPModel(fit.shape, np.ones(3), [random.random((size, 3)) for size in fit.shape])
        history = History([Record(0, 0.0, 2.0, 2.0, (3,)), Record(1, 0.1, 1.0, 1.0, (3,))])
        found = Read(page.rendered(dataclasses.replace(fit, model=model, history=history)))
        assert "a CP model" in found.said
        assert "Rank 3 of the model" in found.said
        assert "The rank by iteration." in found.said
        assert "The singular values of each mode." in found.said
        assert "stored entry by entry" not in found.said

    def test_the_stages_around_the_method_are_said(self):
        recipe = dataclasses.replace(
            examples.labelled().recipe,
            before=(Graphs({1: object()}, mu=0.3), Centre()),
            after=(Polish(),),
            loss=Huber(delta=2.0),
            seed=12,
            asked={"loss": "l1", "time_limit": 90},
        )
        said = dict(what_was_chosen(dataclasses.replace(examples.labelled(), recipe=recipe, bounds=(0, 5))))
        assert said["Loss"].startswith("Huber")
        assert said["Loss"].endswith("(delta=2)")
        assert said["Graphs"] == "along day, with weight 0.3"
        assert said["Seed"] == "12"
        assert said["Bounds"] == "predictions are clipped to 0 and 5"
        method = recipe.method
        assert said["Stops at"] == f"tolerance {method.tol:g}, {method.max_iter} iterations, or 1 min 30 s"
        assert {"Centred", "Polished", "Corrupt entries"} < set(said)

    @pytest.mark.usefixtures("undrawn")
    def test_what_a_file_knows_of_an_object_of_the_users_own_is_its_name(self, tmp_path):
        fit = tensorfill.complete(examples.given().observations, lam=0.05, penalty=Mine(1.0), max_iter=3, rng=0)
        assert "Mine, a user-defined object" in dict(what_was_chosen(fit))["Penalty"]
        fit.save(tmp_path / "fit.npz")
        found = Read(page.rendered(tensorfill.load(tmp_path / "fit.npz")))
        assert "Mine, a user-defined object" in found.said
        assert "penalty=your_mine, # an object of your own" in found.said

    def test_a_mode_that_is_not_regularised_says_so(self):
        fit, _ = examples.picture()
        assert [mode.lam for mode in modes(fit)] == ["1", "1", "not regularised"]
        assert [mode.rank for mode in modes(fit)] == ["0", "0", ""]

    def test_a_forecast_is_drawn_and_its_errors_are_there(self, undrawn):
        read = Read(page.rendered(examples.forecast()))
        found = examples.forecast().ahead
        assert "8 steps beyond 2024-03-20, hour 11" in read.said
        assert f"last value: {written(found.errors['last value'])}" in read.said
        assert f"blend: {written(found.errors['blend'])}" in read.said
        assert "Weights in the blend" in read.said
        assert "Series along day and hour" in read.said
        assert "After the dotted line comes the forecast, with the band that holds 90% of such values." in read.said

    def test_without_a_forecast_nothing_is_said_of_one(self, read):
        assert "earlier end" not in read.said

    def test_a_forecast_without_earlier_ends_has_no_errors(self):
        fit = examples.forecast()
        blank = dataclasses.replace(fit.ahead, errors={}, quantiles=np.zeros(0))
        assert forecast(dataclasses.replace(fit, ahead=blank))[1] == (
            "Its errors",
            "not known: there are too few times for an earlier end",
        )

    def test_empty_slices_are_told(self):
        fit = examples.given()
        fills = EmptySlices((SliceFill(1, 1, None, 0.25),))
        recipe = dataclasses.replace(fit.recipe, after=(fills,))
        (said,) = empty_slices(dataclasses.replace(fit, recipe=recipe))
        assert "1 of the 25 slices of mode 1 have no observed entry" in said
        assert "filled from the mean of the other slices, with an error of 0.25" in said


class TestWhatItHolds:
    def test_nothing_is_fetched(self, labelled, read):
        for tag, attributes in read.tags:
            assert tag not in ("iframe", "object", "embed")
            for name in ("src", "href"):
                assert attributes.get(name, "data:").startswith("data:")
        style = re.search(r"<style>(.*?)</style>", labelled, re.DOTALL)[1]
        assert "url(" not in style
        assert "@import" not in style
        assert "default-src 'none'" in labelled

    def test_labels_of_the_data_are_text_and_nothing_else(self, labelled, read):
        assert "<script>alert" not in labelled
        assert [attributes.get("id") for tag, attributes in read.tags if tag == "script"] == ["data", None]
        assert not [tag for tag, _ in read.tags if tag in ("b", "i")]
        assert f"A {examples.NASTY}" in read.said
        views = json.loads(read.data)["views"]
        stations = next(view["rowLabels"] for view in views if view["rowMode"] == "station")
        assert stations[:2] == [examples.NASTY, examples.QUOTED]

    def test_the_drawings_hold_no_tag_of_a_label(self, labelled):
        drawings = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', labelled)
        assert len(drawings) >= 8
        for drawing in drawings:
            text = base64.b64decode(drawing).decode()
            assert "<script" not in text
            assert "<b>" not in text.replace("hour &lt;b&gt;", "")

    def test_the_slices_are_those_of_the_data(self, read):
        fit, data = examples.labelled(), json.loads(read.data)
        view = data["views"][0]
        assert view["name"] == "slices by hour <b>"
        assert view["panels"] == ["Original", "Observed", "Filled"]
        assert len(view["slices"]) == 9
        assert view["slices"][4]["title"] == "hour <b>: 4"
        _, observed, filled = (image(address) for address in view["slices"][4]["images"])
        mask = fit.observations.mask[:, :, 4]
        np.testing.assert_array_equal(observed > 0, mask)
        assert (filled > 0).all()
        values = data["lowest"] + (observed[mask] - 1.0) / 254 * (data["highest"] - data["lowest"])
        expected = np.clip(fit.observations.array[:, :, 4][mask], data["lowest"], data["highest"])
        np.testing.assert_allclose(values, expected, atol=(data["highest"] - data["lowest"]) / 254)

    def test_a_picture_is_there_in_colour_and_by_channel(self):
        fit, whole = examples.picture()
        data = gallery.gallery(fit, whole)
        assert [view["name"] for view in data["views"]] == ["the whole picture", "slices by mode 2"]
        np.testing.assert_allclose(image(data["views"][0]["slices"][0]["images"][0]), 255 * whole, atol=0.51)
        assert len(data["views"][1]["slices"]) == 3

    def test_many_slices_are_thinned_evenly_and_the_note_says_so(self, monkeypatch):
        monkeypatch.setattr(gallery, "MOST_LETTERS", 20_000)
        monkeypatch.setattr(gallery, "MOST_CELLS", 12)
        data = gallery.gallery(examples.given(), None)
        view = data["views"][0]
        assert 1 < len(view["slices"]) < 20
        assert view["slices"][0]["title"] == "mode 2: 0"
        assert view["slices"][-1]["title"] == "mode 2: 19"
        assert f"{len(view['slices'])} of the 20 slices" in view["note"]
        assert "12 of 30 are drawn, evenly spread" in view["note"]
        assert sum(len(a) for v in data["views"] for s in v["slices"] for a in s["images"]) < 20_000

    @pytest.mark.usefixtures("undrawn")
    def test_a_huge_sparse_tensor_never_becomes_dense(self):
        shape = (300_000, 200_000, 3)
        random = np.random.default_rng(0)
        coords = np.unique(np.stack([random.integers(size, size=2000) for size in shape], axis=1), axis=0)
        seen = Observations(coords, np.ones(len(coords)), shape)

        class Zero(Dense):
            def __init__(self):
                self.shape, self.array, self._ranks = shape, np.zeros(1), (0, 0)

            def _values_at(self, coords):
                return np.zeros(len(coords))

        fit = dataclasses.replace(examples.given(), model=Zero(), observations=seen, labels=Labels.plain(3))
        found = Read(page.rendered(fit))
        assert "200 of 300,000 are drawn, those with the most entries" in json.loads(found.data)["views"][0]["note"]
        assert "300,000 × 200,000 × 3" in found.said

    def test_the_same_fit_makes_the_same_page(self, logistic):
        assert page.rendered(examples.logistic()) == logistic


class TestTheFile:
    @pytest.mark.usefixtures("undrawn")
    def test_it_is_written_whole(self, tmp_path):
        examples.given().report(tmp_path / "report.html", title="Rain")
        text = (tmp_path / "report.html").read_text("utf-8")
        assert "<h1>Rain</h1>" in text
        assert text.rstrip().endswith("</html>")
        assert [found.name for found in tmp_path.iterdir()] == ["report.html"]

    def test_an_error_leaves_what_was_there(self, tmp_path, monkeypatch):
        path = tmp_path / "report.html"
        path.write_text("before")
        refuses(ValueError, ["original", "(30, 25, 20)"], lambda: examples.given().report(path, original=[1.0]))
        assert path.read_text() == "before"

    def test_letters_that_the_font_of_drawings_lacks_and_half_a_letter_do_no_harm(self, tmp_path):
        labels = Labels(("駅", "c\ud83d"), (None,) * 2)
        dataclasses.replace(examples.logistic(), labels=labels).report(tmp_path / "report.html")
        text = html.unescape((tmp_path / "report.html").read_text("utf-8"))
        assert "駅" in text
        assert "c?" in text

    @pytest.mark.parametrize(
        ("module", "packages"), [("jinja2", "matplotlib jinja2 pillow"), ("matplotlib.figure", "matplotlib")]
    )
    def test_what_is_missing_is_named(self, module, packages, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=rf"pip install {packages}\.$"):
            examples.given().report(tmp_path / "report.html")
        assert not list(tmp_path.iterdir())


class TestForPeople:
    """Dark pages, series, words that are explained, dates and numbers as people write them."""

    def test_a_dark_page_for_those_who_want_one(self, logistic):
        assert "@media (prefers-color-scheme: dark)" in logistic
        assert "color-scheme: light dark" in logistic

    def test_series_with_their_band(self, read):
        assert (
            "Series along day: observed entries, and what is filled in. The band holds 90% of new entries." in read.said
        )

    def test_the_words_of_the_search_are_explained(self, read):
        for word in ("Singular values below the cut", "theta divided by the cut", "they add up to 1", "F_tau"):
            assert word in read.said

    def test_dates_are_written_without_what_is_zero(self, read):
        assert "T00:00:00" not in read.said
        assert f"written on {datetime.date.today().day} " in read.said

    def test_no_held_out_entries_no_simple_answers(self, given):
        assert "Beside simple answers" not in given
        assert "fitted entries, which the fit has seen" in given
