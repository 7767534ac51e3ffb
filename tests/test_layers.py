"""The plan of the house: folders are layers, and imports go one way."""

from __future__ import annotations

import ast
import functools
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = [
    {"_version", "_support"},
    {"algebra", "metrics", "observations", "penalties"},
    {"datasets", "labels", "losses"},
    {"adapters", "diagnostics", "models", "times"},
    {"graphs", "methods"},
    {"baselines"},
    {"choosing"},
    {"io"},
    {"knowledge", "plots", "results"},
    {"forecasting", "report", "sampling", "updating"},
    {"fit"},
    {"distributed"},
    {"completion"},
    {"comparison", "selection", "sklearn", "xarray"},
    {"cli"},
]
"""From the ground up: a folder or module imports its own layer only within itself, and otherwise layers below."""


def import_graph():
    spec = importlib.util.spec_from_file_location("import_graph", ROOT / "docs" / "import_graph.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GRAPH = import_graph()
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}


@functools.cache
def modules():
    """Return what each module imports; reading all of them takes a second, which no process spends to collect tests."""
    return GRAPH.module_imports(ROOT / "src")


@functools.cache
def folders():
    """Return what each folder imports."""
    return GRAPH.folder_imports(modules())


def test_every_folder_has_its_layer():
    assert set(folders()) == set(HEIGHT)


@pytest.mark.parametrize("name", sorted(HEIGHT))
def test_imports_go_down(name):
    upward = {other for other in folders()[name] if HEIGHT[other] >= HEIGHT[name] and other != "_version"}
    assert upward == set()


def test_no_lazy_import_hides_a_cycle():
    assert GRAPH.cycles(modules()) == []


def test_cycles_are_found():
    assert GRAPH.cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert GRAPH.cycles({"a": {"b"}, "b": set()}) == []


def test_algebra_knows_nothing_of_methods_and_methods_nothing_of_how_they_are_chosen_or_shown():
    for name, others in modules().items():
        folder = name.partition(".")[0]
        found = {other.partition(".")[0] for other in others}
        if folder == "algebra":
            assert found <= {"", "algebra", "_support", "observations"}
        if folder in ("methods", "baselines"):
            assert found.isdisjoint({"choosing", "io", "plots", "report", "cli", "fit"})


def test_the_name_of_a_class_stands_once():
    """A name in an error or in a search leads to one place."""
    homes = {}
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(file.relative_to(ROOT / "src").as_posix())
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
