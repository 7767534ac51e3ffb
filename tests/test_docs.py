"""The code in the Markdown pages of the documentation runs, and prints what the pages show."""

import sys
from pathlib import Path

import pytest

from tensorfill.methods import registry

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))

pages = pytest.importorskip("pages", reason="the documentation is not beside these tests")


@pytest.mark.slow  # `make docs` runs them too.
@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page, monkeypatch):
    # A page may register a method of its own, which other tests must not see.
    monkeypatch.setattr(registry, "METHODS", dict(registry.METHODS))
    assert pages.run(page) == []


def test_a_page_that_prints_something_else_is_reported(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('```python\nprint("error", 0.5)\n```\n\n```text\nerror 0.7\n```\n')
    (problem,) = pages.run(page)
    assert "line 2" in problem
    assert "error 0.5" in problem


def test_a_block_that_fails_is_reported(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Words.\n\n```python\nx = 1\n```\n\n```python\ny = x + z\n```\n")
    (problem,) = pages.run(page)
    assert "line 8" in problem
    assert "'z' is not defined" in problem


@pytest.mark.parametrize(("mark", "problems"), [("text", 1), ("text about", 0)])
def test_only_a_block_that_is_marked_may_print_other_digits(mark, problems, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"```python\nprint(0.0027)\n```\n\n```{mark}\n0.0026\n```\n")
    assert len(pages.run(page)) == problems
    pages.run(page, rewrite=True)
    assert f"```{mark}\n0.002{7 if problems else 6}\n" in page.read_text()


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("ranks (3, 3)\n", "ranks (3, 3)\n", True),
        ("ranks (3, 4)\n", "ranks (3, 3)\n", False),
        ("error 0.0027\n", "error 0.0026\n", True),
        ("error 0.0027\n", "error 0.0015\n", False),
        ("error 0.00269\n", "error 0.0\n", False),
        ("mean 1.0\n", "error 1.0\n", False),
    ],
)
def test_the_output_of_a_marked_block_is_compared_by_words_and_nearly_by_numbers(printed, expected, same):
    assert pages.alike(printed, expected) is same


def test_every_example_has_its_place_in_the_gallery():
    assert sorted(path.name for path in (DOCS / "examples").glob("*.py")) == sorted(pages.ORDER)
