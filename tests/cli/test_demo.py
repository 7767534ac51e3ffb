"""``tensorfill demo``."""

from __future__ import annotations

import re
import sys

import pytest

import tensorfill.completion
from tensorfill.cli import main

pytest.importorskip("skimage")
pytest.importorskip("matplotlib")


def only_line(text):
    (line,) = text.splitlines()
    return line


@pytest.mark.slow
def test_the_demo_beats_the_mean_and_draws_what_it_did(tmp_path, capsys):
    from matplotlib.image import imread

    path = tmp_path / "demo.png"
    assert main(["demo", "--rows", "32", "--missing", "0.5", "--output", str(path)]) == 0
    said = capsys.readouterr()
    assert "shape (32, 48, 3)" in said.out
    assert re.search(r"Chosen of \d+ trials: \w+ \S+, .*ranks \(\d+,.*\); held-out error 0\.\d+", said.out)
    assert str(path) in said.out
    recovered = float(re.search(r"tensorfill\s+\D?\s+(\d\.\d+)", said.out)[1])
    mean = float(re.search(r"mean of (?:each colour|the picture)\s+\D?\s+(\d\.\d+)", said.out)[1])
    assert recovered < mean / 2
    assert imread(path).shape[1] > 1000


@pytest.mark.slow
def test_the_same_seed_says_the_same_again(tmp_path, capsys):
    def said():
        assert main(["demo", "--rows", "16", "--seed", "3", "--output", str(tmp_path / "a.png")]) == 0
        return re.sub(r"everything took \d+\.\d s", "", capsys.readouterr().out)

    assert said() == said()


@pytest.mark.filterwarnings("default")
@pytest.mark.slow
def test_a_warning_is_a_sentence(tmp_path, capsys):
    assert main(["demo", "--rows", "16", "--missing", "0.98", "--output", str(tmp_path / "a.png")]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert any(
        re.match(r"tensorfill: Warning: \d+ of the 16 slices of mode 0 have no observed entry", x) for x in lines
    )
    assert not any("cli.py" in line for line in lines)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--missing", "1.5"], "--missing must be a number above 0 and below 1, but 1.5 was given."),
        (["--missing", "much"], "argument --missing: invalid float value: 'much'; see tensorfill demo --help."),
        (["--missing", "1e-9", "--rows", "16"], "--missing 1e-09 leaves nothing to fill"),
        (["--rows", "2"], "--rows must be a whole number of at least 16, but 2 was given."),
        (["--seed", "-1"], "--seed must be a whole number of at least 0, but -1 was given."),
        (["--output", "/nowhere/at/all.png"], "--output must be a file in a folder that exists"),
    ],
)
def test_bad_input_gets_one_sentence_and_code_2(options, sentence, capsys):
    assert main(["demo", *options]) == 2
    said = capsys.readouterr()
    assert only_line(said.err).startswith(f"tensorfill: {sentence}")
    assert said.out == ""


def test_no_command_gets_one_sentence_and_code_2(capsys):
    assert main([]) == 2
    assert "COMMAND" in only_line(capsys.readouterr().err)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("module", "package"), [("skimage", "scikit-image"), ("matplotlib.figure", "matplotlib")])
def test_a_missing_package_is_named_before_the_work_with_code_1(module, package, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["demo", "--rows", "16", "--output", str(tmp_path / "a.png")]) == 1
    told = only_line(capsys.readouterr().err)
    assert package in told.partition("pip install ")[2]
    assert not list(tmp_path.iterdir())


def test_an_interrupt_gets_one_sentence_and_code_130(tmp_path, monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(tensorfill.completion, "complete", interrupted)
    assert main(["demo", "--rows", "16", "--output", str(tmp_path / "a.png")]) == 130
    assert only_line(capsys.readouterr().err) == "tensorfill: Interrupted; nothing was written."
    assert not list(tmp_path.iterdir())


def test_an_interrupt_that_a_method_answers_is_an_interrupt_too(tmp_path, monkeypatch, capsys):
    from tensorfill._support.progress import Display

    def interrupt(self, record):
        if record.iteration == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Display, "iteration", interrupt)
    assert main(["demo", "--rows", "16", "--output", str(tmp_path / "a.png")]) == 130
    assert not list(tmp_path.iterdir())
    assert "Traceback" not in capsys.readouterr().err
