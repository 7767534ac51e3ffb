"""Texts of a model from a stranger are shown in a report, and are never a part of its code."""

from __future__ import annotations

import ast
import io
import json
import zipfile

import numpy as np
import pytest

from tensorfill import load
from tensorfill.report import page
from tensorfill.report.call import call_to_repeat, call_without_search
from tests import examples
from tests.refusal import refuses

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

CODE = 'x); __import__(\'os\').abort() #"""\n'
NASTY = f"{examples.NASTY}{CODE}"


@pytest.fixture
def forged(tmp_path):
    """Return a function that changes the header of a saved fit, and returns the path of the new file."""

    def forge(change):
        path = tmp_path / "fit.npz"
        examples.labelled().save(path)
        with zipfile.ZipFile(path) as file:
            members = {name: file.read(name) for name in file.namelist()}
        header = json.loads(str(np.load(io.BytesIO(members["header.npy"]))))
        change(header)
        made = io.BytesIO()
        np.save(made, np.array(json.dumps(header)))
        with zipfile.ZipFile(path, "w") as file:
            for name, content in (members | {"header.npy": made.getvalue()}).items():
                file.writestr(name, content)
        return path

    return forge


@pytest.mark.filterwarnings("ignore:constrained_layout")
def test_texts_are_no_code(forged):
    def change(header):
        header["labels"] = {"names": [NASTY, f"2{NASTY}", f"3{NASTY}"], "value": NASTY}
        header["timing"]["stages"]["tuple"][0]["name"] = NASTY
        header["baselines"]["tuple"][0]["kind"] = NASTY
        asked = [
            ["data", NASTY],
            ["loss", {"class": "Unsaved", "text": NASTY}],
            ["choose", {"mapping": [[NASTY, NASTY]]}],
        ]
        header["recipe"]["asked"] = {"mapping": asked}

    fit = load(forged(change))
    assert examples.NASTY not in page.rendered(fit, title=NASTY)
    assert examples.NASTY not in fit._repr_html_()
    for call in (call_to_repeat(fit), call_without_search(fit)):
        tree = ast.parse(call)
        called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {each.attr if isinstance(each, ast.Attribute) else each.id for each in called}
        assert names <= {"complete", "Nort", "LSP", "Choice"}
        assert {type(node) for node in tree.body} <= {ast.Import, ast.ImportFrom, ast.Assign}


def test_names_of_arguments_are_names(forged):
    path = forged(lambda header: header["recipe"].update(asked={"mapping": [["lam=1) or __import__('os').abort(", 1]]}))
    refuses(ValueError, [str(path), "names of arguments"], lambda: load(path))
