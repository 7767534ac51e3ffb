"""A checkpoint that somebody changed is refused in one sentence, before it takes memory or time."""

from __future__ import annotations

import copy
import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

from tensorfill import complete
from tensorfill.io.storing import Entry
from tests.io.test_checkpoints import SMALL, answer_of, quietly
from tests.refusal import refuses

OPTIONS = {"method": "tucker_als", "rank": 1}
OTHERS = [None, 5, -1, "x", [], {}, True, 1e400, [[1]], {"class": "Recipe"}]
"""What takes the place of each part of a record."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return the members of a sound checkpoint, and the answer of its run."""
    path = tmp_path_factory.mktemp("sound") / "run.npz"
    fit = quietly(SMALL, checkpoint=path, **OPTIONS)
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}, answer_of(fit)


def written(path, members, packing=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", packing) as file:
        for name, content in members.items():
            file.writestr(name, content)


def as_array(thing):
    made = io.BytesIO()
    np.save(made, np.asarray(thing))
    return made.getvalue()


def header_of(members):
    return json.loads(str(np.load(io.BytesIO(members["header.npy"]))))


def places(words, within=()):
    """Yield the way to each part of a JSON value."""
    parts = words.items() if isinstance(words, dict) else enumerate(words) if isinstance(words, list) else ()
    for key, each in parts:
        yield (*within, key)
        yield from places(each, (*within, key))


def changed(words, place, other):
    """Return a JSON value with another part at a place; an Ellipsis takes the part away."""
    words = copy.deepcopy(words)
    inside = words
    for key in place[:-1]:
        inside = inside[key]
    if other is Ellipsis:
        del inside[place[-1]]
    else:
        inside[place[-1]] = other
    return words


def outcome(path, whole):
    """Return the sentence that a checkpoint is refused with; None if the run has the right answer all the same."""
    try:
        assert answer_of(quietly(SMALL, checkpoint=path, **OPTIONS)) == whole
    except ValueError as error:
        said = str(error)
        assert said.startswith(str(path))
        assert said.endswith(".")
        return said
    return None


def test_every_part_of_the_header_is_checked(sound, tmp_path):
    members, whole = sound
    header, path = header_of(members), tmp_path / "run.npz"
    said = []
    for number, place in enumerate(places(header)):
        for other in (Ellipsis, OTHERS[number % len(OTHERS)], OTHERS[(3 * number + 1) % len(OTHERS)]):
            forged = as_array(json.dumps(changed(header, place, other)))
            written(path, members | {"header.npy": forged})
            said.append(outcome(path, whole))
    assert sum(each is not None for each in said) > len(said) / 2


def test_every_record_is_checked(sound, tmp_path):
    members, whole = sound
    path, rng = tmp_path / "run.npz", np.random.default_rng(0)
    said = []
    for name in (each for each in members if each.endswith(".json")):
        words = json.loads(members[name])
        every = list(places(words))
        for place in [every[at] for at in rng.integers(len(every), size=20)]:
            forged = json.dumps(changed(words, place, [Ellipsis, *OTHERS][rng.integers(len(OTHERS) + 1)]))
            written(path, members | {name: forged})
            said.append(outcome(path, whole))
    assert all(each is None or "damaged" in each for each in said)
    assert sum(each is not None for each in said) > 10


@pytest.mark.parametrize("other", [np.zeros(3), np.array("x"), np.zeros((2, 2), dtype=int), None], ids=str)
def test_every_array_is_checked(sound, tmp_path, other):
    members, whole = sound
    path = tmp_path / "run.npz"
    for name in (each for each in members if each.endswith(".npy") and each != "header.npy"):
        forged = {each: content for each, content in members.items() if each != name or other is not None}
        written(path, forged if other is None else forged | {name: as_array(other)})
        assert outcome(path, whole) is not None


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_small_file_takes_little_memory(sound, tmp_path, packing):
    members, _ = sound
    path, largest = (
        tmp_path / "run.npz",
        max((each for each in members if each.endswith(".npy")), key=lambda n: len(members[n])),
    )
    huge = as_array(np.zeros(2**22)) if packing else as_array(np.zeros(0)).replace(b"(0,)", b"(999999999,)"[:12])
    for name in ("header.npy", largest):
        written(path, members | {name: huge}, packing)
        tracemalloc.start()
        try:
            refuses(ValueError, [str(path), "damaged"], lambda: complete(SMALL, rng=0, checkpoint=path, **OPTIONS))
            assert tracemalloc.get_traced_memory()[1] < 2**24
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("other", [[], 5, "x", None, {}], ids=repr)
def test_an_answer_of_another_kind_is_refused_although_its_digest_is_right(sound, tmp_path, other):
    members, whole = sound
    path, header = tmp_path / "run.npz", header_of(members)
    for name in (each.removesuffix(".json") for each in members if each.endswith(".json")):
        arrays = {
            each.removesuffix(".npy"): np.load(io.BytesIO(content))
            for each, content in members.items()
            if each.endswith(".npy") and each.partition(".")[0] == name
        }
        content = Entry(members[f"{name}.json"].decode(), arrays).content()
        entry = Entry.of(name, content | {"answer": other})
        kept = {each: of for each, of in members.items() if each.partition(".")[0] != name}
        forged = changed(header, ("digests", name), entry.digest)
        written(path, kept | {f"{name}.json": entry.words, "header.npy": as_array(json.dumps(forged))})
        assert "damaged" in (outcome(path, whole) or "")
