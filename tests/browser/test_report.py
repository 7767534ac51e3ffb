"""The report in a browser; `make test-browser` runs these tests."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
from pathlib import Path

import pytest

if not os.environ.get("TENSORFILL_BROWSER"):
    pytest.skip("the report is opened in a browser by `make test-browser`", allow_module_level=True)

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tensorfill._support.words import label_in_words
from tests import examples

PAGES = ("labelled", "given", "picture", "logistic", "tucker", "several", "file")
DESKTOP, PHONE = 1280, 390
PIXELS = """
    return Array.from(document.querySelectorAll("#panels canvas")).map(function (canvas) {
        var data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return Array.from(data).join();
    });
"""


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return the pages by name."""
    folder = tmp_path_factory.mktemp("reports")
    picture, whole = examples.picture()
    fits = {
        "labelled": (examples.labelled(), examples.truth()),
        "given": (examples.given(), None),
        "picture": (picture, whole),
        "logistic": (examples.logistic(), None),
        "tucker": (examples.tucker(), None),
        "several": (examples.several(), None),
        "file": (dataclasses.replace(examples.labelled(), observations=None), None),
    }
    for name, (fit, original) in fits.items():
        fit.report(folder / f"{name}.html", original=original, title=f"{examples.NASTY} {examples.QUOTED}")
    return {name: folder / f"{name}.html" for name in fits}


def width(browser, pixels):
    settings = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)


def opened(browser, path: Path):
    """Open a page, wait until its first slice is drawn, and return what the console and the network saw."""
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    settled(browser)
    requests = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            requests.append(message["params"]["request"]["url"])
    return [entry["message"] for entry in browser.get_log("browser")], requests


def settled(browser, other_than=None):
    """Wait until a slice is drawn, and return the name of what is drawn."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        drawn = browser.find_element(By.ID, "panels").get_attribute("data-drawn")
        if drawn and drawn != other_than:
            return drawn
        time.sleep(0.02)
    raise TimeoutError("no slice was drawn")


def set_slider(browser, value):
    browser.execute_script(
        "var s = document.getElementById('position'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));",
        value,
    )


@pytest.mark.parametrize("name", PAGES)
def test_the_page_opens_without_an_error_and_asks_nothing_of_the_network(browser, pages, name):
    width(browser, DESKTOP)
    console, requests = opened(browser, pages[name])
    assert console == []
    assert requests[0] == pages[name].as_uri()
    assert all(address.startswith("data:") for address in requests[1:])
    fetched = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert all(address.startswith("data:") for address in fetched)


@pytest.mark.parametrize("name", PAGES)
def test_every_drawing_is_there(browser, pages, name):
    opened(browser, pages[name])
    sizes = browser.execute_script("return Array.from(document.images).map(i => [i.complete, i.naturalWidth])")
    assert len(sizes) >= 3
    assert all(complete and size > 100 for complete, size in sizes)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("pixels", [PHONE, DESKTOP])
def test_nothing_is_wider_than_the_window(browser, pages, name, pixels):
    width(browser, pixels)
    opened(browser, pages[name])
    assert browser.execute_script("return window.innerWidth") == pixels
    assert browser.execute_script("return document.documentElement.scrollWidth") <= pixels
    wide = browser.execute_script("""
        return Array.from(document.body.querySelectorAll("*")).filter(function (each) {
            return !each.closest(".scroll, pre, select") && each.getBoundingClientRect().right > window.innerWidth + 1;
        }).map(each => each.outerHTML.slice(0, 80));
    """)
    assert wide == []


def test_the_slider_moves_the_picture(browser, pages):
    width(browser, DESKTOP)
    opened(browser, pages["labelled"])
    first, before = settled(browser), browser.execute_script(PIXELS)
    title = browser.find_element(By.ID, "slice-title").text
    set_slider(browser, 0)
    second, after = settled(browser, other_than=first), browser.execute_script(PIXELS)
    assert all(one != two for one, two in zip(before, after, strict=True))
    assert browser.find_element(By.ID, "slice-title").text != title
    assert browser.find_element(By.ID, "slice-title").text == "hour <b>: 0"
    browser.find_element(By.ID, "after").click()
    settled(browser, other_than=second)
    assert browser.find_element(By.ID, "slice-title").text == "hour <b>: 1"
    assert browser.find_element(By.ID, "count").text == "2 of 9"
    assert browser.execute_script(PIXELS) != after


def test_the_slices_of_another_mode_can_be_chosen(browser, pages):
    opened(browser, pages["labelled"])
    first = settled(browser)
    select = Select(browser.find_element(By.ID, "view"))
    assert [option.text for option in select.options] == [
        "slices by hour <b>",
        "slices by station",
        "slices by day",
    ]
    select.select_by_index(1)
    settled(browser, other_than=first)
    set_slider(browser, 0)
    settled(browser, other_than="slices by station/6")
    assert browser.find_element(By.ID, "slice-title").text == f"station: {examples.NASTY}"


def test_an_entry_that_is_pointed_at_is_told(browser, pages):
    fit = examples.labelled()
    opened(browser, pages["labelled"])
    set_slider(browser, 0)
    settled(browser, other_than="slices by hour <b>/4")
    canvas = browser.find_elements(By.CSS_SELECTOR, "#panels canvas")[1]
    mask, values = fit.observations.mask[:, :, 0], fit.observations.array[:, :, 0]
    row, column = divmod(int(mask.argmax()), 15)
    size = canvas.size
    across = (column + 0.5) / 15 * size["width"] - size["width"] / 2
    down = (row + 0.5) / 12 * size["height"] - size["height"] / 2
    ActionChains(browser).move_to_element_with_offset(canvas, int(across), int(down)).perform()
    said = browser.find_element(By.ID, "pointed").text
    assert f"day {label_in_words(fit.labels.keys[1][column])}" in said
    told = float(said.partition("observed about ")[2].partition(";")[0])
    assert told == pytest.approx(values[row, column], abs=0.02 * values[mask].max())


def test_the_numbers_are_those_of_the_fit(browser, pages):
    fit = examples.labelled()
    opened(browser, pages["labelled"])
    words = browser.find_element(By.TAG_NAME, "body").text
    _, low, high = fit.predict([[0, 0, 0]], interval=0.9)
    for number in (
        f"{fit.held_out_error:.4g}",
        f"± {(high[0] - low[0]) / 2:.4g}",
        f"{len(fit.observations):,}",
        f"{fit.history[-1].iteration} iterations",
        " · ".join(map(str, fit.ranks)),
        str(fit.status),
    ):
        assert number in words


@pytest.mark.parametrize("name", PAGES)
def test_labels_are_text_and_not_run(browser, pages, name):
    opened(browser, pages[name])
    # An alert that was shown would stop every command to the browser.
    assert browser.find_element(By.TAG_NAME, "h1").text == f"{examples.NASTY} {examples.QUOTED}"
    assert browser.execute_script("return document.scripts.length") == 2
    assert browser.execute_script("return document.querySelectorAll('main b, main i').length") == 0


def test_a_script_that_came_in_by_any_way_would_not_run(browser, pages):
    opened(browser, pages["given"])
    # Injected as a hole in the escaping would have it; the page allows its own script only.
    run = browser.execute_script("""
        var script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
        return window.ran === true;
    """)
    assert run is False


def test_a_picture_is_shown_in_its_colours(browser, pages):
    _, whole = examples.picture()
    opened(browser, pages["picture"])
    original = browser.execute_script(PIXELS)[0].split(",")
    assert [int(value) for value in original[:3]] == pytest.approx((255 * whole[0, 0]).tolist(), abs=1)
    assert not browser.find_element(By.ID, "scale").is_displayed()


def test_the_call_can_be_copied(browser, pages):
    opened(browser, pages["given"])
    browser.execute_script("window.getSelection().removeAllRanges()")
    browser.find_element(By.CSS_SELECTOR, ".copy").click()
    time.sleep(0.1)
    copied = browser.find_element(By.CSS_SELECTOR, ".copy").text == "Copied"
    selected = browser.execute_script("return window.getSelection().toString()")
    assert copied or "tensorfill.complete(" in selected
