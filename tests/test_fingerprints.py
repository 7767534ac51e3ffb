"""Fingerprints: the same for the same question, in any process, and another for another."""

from __future__ import annotations

import functools
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Nort, Status
from tensorfill._support.fingerprints import fingerprint
from tensorfill.penalties import LSP, Nuclear
from tests.refusal import refuses

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(plain, plain)
def test_only_the_same_things_have_the_same_fingerprint(one, other):
    assert fingerprint(one) == fingerprint(one)
    assert (fingerprint(one) == fingerprint(other)) == (repr(one) == repr(other))


def test_a_dictionary_has_no_order():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": 1, "b": 2}) != fingerprint({"a": 2, "b": 1})


class Own:
    def __init__(self, number):
        self.number = number

    @functools.cached_property
    def double(self):
        return 2 * self.number


@dataclass(frozen=True)
class Kept:
    number: int
    known: dict = field(default_factory=dict, init=False)


def scaled(by):
    return lambda value: by * value


DIFFERENT = [
    np.arange(4.0),
    np.arange(4.0, dtype=np.float32),
    np.arange(4.0).reshape(2, 2),
    np.array([0.0, 1.0, 2.0, 3.0 + 1e-15]),
    np.array(["a", "b"]),
    np.array(["a", None], dtype=object),
    np.float64(1.0),
    1.0,
    1,
    True,
    Nort(lam=1.0),
    Nort(lam=2.0),
    LSP(0.5),
    LSP(0.6),
    Nuclear(),
    Nuclear,
    Status.CONVERGED,
    Status.MAX_ITER,
    Own(1),
    Own(2),
    Kept(1),
    Kept(2),
    scaled(2.0),
    scaled(3.0),
    functools.partial(max, 1),
    functools.partial(max, 2),
    Own(1).__init__,
    np.sum,
    {1, 2},
    scipy.sparse.csr_array(np.eye(2)),
    scipy.sparse.csr_array(2 * np.eye(2)),
    np.random.default_rng(0),
    np.random.default_rng(1),
]


def test_different_things_have_different_fingerprints():
    assert len({fingerprint(thing) for thing in DIFFERENT}) == len(DIFFERENT)
    assert [fingerprint(thing) for thing in DIFFERENT] == [fingerprint(thing) for thing in DIFFERENT]


def test_what_is_computed_on_request_does_not_count():
    own, kept = Own(3), Kept(3)
    before = fingerprint(own, kept)
    kept.known["more"] = own.double
    assert fingerprint(own, kept) == before


def test_memory_layout_does_not_count():
    array = np.arange(12.0).reshape(3, 4)
    wide = np.zeros((3, 8))
    wide[:, ::2] = array
    assert len({fingerprint(each) for each in (array, np.asfortranarray(array), wide[:, ::2])}) == 1


def test_the_state_of_random_numbers_counts():
    rng = np.random.default_rng(0)
    before = fingerprint(rng)
    rng.random()
    assert fingerprint(rng) != before


def test_an_object_within_itself_ends():
    own = Own(1)
    own.number = [own]
    assert fingerprint(own) == fingerprint(own)


def test_another_process_has_the_same(tmp_path):
    code = (
        "import numpy as np; from tensorfill import Nort; from tensorfill.penalties import LSP; "
        "from tensorfill._support.fingerprints import fingerprint; "
        "print(fingerprint(Nort(lam=0.5, penalty=LSP(0.3)), {'a', 'b', 'c'}, np.arange(3), np.random.default_rng(0)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = fingerprint(Nort(lam=0.5, penalty=LSP(0.3)), {"a", "b", "c"}, np.arange(3), np.random.default_rng(0))
    assert found.stdout.strip() == here


def test_what_cannot_be_told_from_others_is_refused():
    refuses(TypeError, ["checkpoint", "fingerprint", "iterator"], lambda: fingerprint(iter([1])))


def test_an_object_may_say_itself_what_it_is():
    class Named:
        __slots__ = ("fingerprint",)

    one, other = Named(), Named()
    one.fingerprint, other.fingerprint = "one", "other"
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize("number", [1, 2])
def test_classes_of_the_same_name_differ_by_their_code(number):
    def made(number):
        if number == 1:

            class Loss:
                def value(self):
                    return 1

        else:

            class Loss:
                def value(self):
                    return 2

        return Loss()

    assert fingerprint(made(number)) == fingerprint(made(number))
    assert fingerprint(made(1)) != fingerprint(made(2))
