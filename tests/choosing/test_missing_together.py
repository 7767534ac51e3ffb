"""How many neighbours go missing together: whole fibres, from half of the way between chance and always; and blocks."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Observations
from tensorfill.choosing.holdout.kinds import LONG_RUN, make_holdout, missing_together


def mixed(whole, seed=0, shape=(60, 50, 12), density=0.2):
    """Return which entries are observed: fibres along the last mode as a whole, in a share of them, and others singly.

    The density is the same in both kinds.
    """
    rng = np.random.default_rng(seed)
    fibres = np.broadcast_to(rng.random((*shape[:2], 1)) < density, shape)
    single = rng.random(shape) < density
    return np.where(rng.random((*shape[:2], 1)) < whole, fibres, single)


def strength(seen):
    """Return how far the observed entries of a fibre are from chance (0), and how near they are to all of it (1)."""
    size, density = seen.shape[-1], seen.mean()
    counts = seen.sum(axis=-1)
    observed = counts[counts > 0].mean()
    # A binomial number of entries, given that it is not zero.
    chance = size * density / (1 - (1 - density) ** size)
    return (observed - chance) / (size - chance)


@pytest.mark.parametrize(("size", "density"), [(12, 0.2), (4, 0.05)])
def test_fibres_count_as_a_whole_from_half_of_the_way_to_always(size, density):
    sides = []
    for whole in np.linspace(0, 1, 21):
        seen = mixed(whole, shape=(120, 100, size), density=density)
        found = missing_together(Observations.from_dense(np.ones(seen.shape), seen), 2)
        sides.append(strength(seen))
        assert (found == size) == (sides[-1] > 0.5)
    # The cases lie on both sides of the half, and near it.
    assert abs(sides[0]) < 0.02
    assert sides[-1] == pytest.approx(1.0)
    assert any(0.4 < side < 0.5 for side in sides)
    assert any(0.5 < side < 0.6 for side in sides)


@pytest.mark.parametrize(("share", "mode"), [(0.7, 0), (0.7, 2), (0.93, 1)])
def test_sparse_fibres_are_told_from_chance(share, mode):
    """Where most is missing, chance leaves one entry in a fibre that has any; whole fibres have all."""
    rng, shape = np.random.default_rng(0), (30, 25, 20)
    others = tuple(1 if axis == mode else size for axis, size in enumerate(shape))
    whole = np.broadcast_to(rng.random(others) > share, shape)
    single = rng.random(shape) > share
    assert make_holdout("auto", Observations.from_dense(np.ones(shape), whole)).block[mode] == shape[mode]
    assert make_holdout("auto", Observations.from_dense(np.ones(shape), single)).block == (1, 1, 1)


@pytest.mark.parametrize("length", [2, 8])
def test_blocks_have_the_length_of_gaps_and_short_ones_are_chance(length):
    rng = np.random.default_rng(0)
    seen = np.repeat(rng.random((40, 60)) < 0.4, length, axis=1)
    found = missing_together(Observations.from_dense(np.ones(seen.shape), seen), 1)
    gaps = []
    for row in seen:
        places = np.flatnonzero(row)
        gaps += [gap - 1 for gap in np.diff(places) if gap > 1]
    expected = np.mean(gaps) * seen.mean()
    assert expected == pytest.approx(length, rel=0.15)
    assert found == (round(expected) if length > LONG_RUN else 1)
    assert LONG_RUN == 3.0


def test_empty_slices_do_not_make_whole_fibres():
    """Nine of ten rows have no entry, and the others single ones: seen from afar, fibres are observed or not."""
    rng = np.random.default_rng(0)
    seen = rng.random((200, 15, 10)) < 0.6
    seen[np.arange(200) % 10 > 0] = False
    assert make_holdout("auto", Observations.from_dense(np.ones(seen.shape), seen)).block == (1, 1, 1)
