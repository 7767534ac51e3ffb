"""The table of names: everything in it is there, and what is listed elsewhere agrees with it."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import tensorfill
from tensorfill._support import table
from tensorfill._support.optional import EXTRAS
from tensorfill._support.registry import Registry, imported
from tensorfill.adapters.registry import RESTORERS
from tensorfill.losses import LOSSES, ROBUST
from tensorfill.methods.registry import METHODS
from tensorfill.penalties import PENALTIES

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("registry", [METHODS, PENALTIES, LOSSES, ROBUST, RESTORERS], ids=repr)
def test_everything_in_a_registry_is_there(registry):
    assert len(registry) == len(list(registry.values()))


def test_every_format_and_adapter_is_there():
    for each in table.FORMATS.values():
        assert all(callable(imported(home)) for home in (each.read, each.write, each.check) if home is not None)
    for home in table.ADAPTERS.values():
        assert callable(imported(home).take_in)


def test_names_are_those_of_the_classes():
    assert all(kind.name == name for name, kind in METHODS.items())
    assert all(kind.kind == name for name, kind in RESTORERS.items())


def test_type_checkers_see_what_can_be_imported():
    tree = ast.parse(Path(tensorfill.__file__).read_text())
    seen = {each.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names}
    assert seen - {None} == set(tensorfill.__all__)


def test_the_reference_has_every_method():
    text = (ROOT / "docs" / "api.rst").read_text()
    assert {kind.__name__ for kind in METHODS.values()} <= set(
        re.findall(r"^   tensorfill\.(\w+)$", text, re.MULTILINE)
    )


def test_a_registry_takes_more_and_gives_it_back():
    registry = Registry({"square": "losses.smooth:Square"})
    registry["own"] = dict
    assert list(registry) == ["square", "own"]
    assert registry["own"] is dict
    del registry["own"]
    assert "own" not in registry
    assert len(registry) == 1
    with pytest.raises(KeyError):
        registry["own"]


def test_the_packages_of_each_extra_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]

    def packages(extra):
        for each in extras[extra]:
            inner = re.fullmatch(r"tensorfill\[(.*)\]", each)
            yield from packages(inner[1]) if inner else [re.split("[><=]", each)[0]]

    for extra, named in EXTRAS.items():
        assert sorted(named) == sorted(packages(extra))
    assert {each.extra for each in table.FORMATS.values()} <= EXTRAS.keys()
