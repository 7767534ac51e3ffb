"""Fits whose every bit is known: data x method x loss x stages x order, each from a given seed.

A change that only moves code leaves all of them as they are:

    python benchmarks/golden_fits.py --write before.json          with the code as it was
    python benchmarks/golden_fits.py --compare before.json        with the code as it is

A digest covers the predictions of every entry, the ends of the intervals, the ranks, and each trial of the search. The
bits depend on the processor and on the libraries, so the digests are not kept with the code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tensorfill
from tensorfill import Choice, Observations, complete, graphs
from tensorfill.datasets import synthetic
from tensorfill.selection import path

FITS: dict[str, Callable[[], Any]] = {}


def fit(make: Callable[[], Any]) -> Callable[[], Any]:
    FITS[make.__name__.replace("_", " ")] = make
    return make


def sums(shape=(16, 14, 12), share=0.5, seed=0, noise=0.1):
    """A mean, effects, and a low-rank part."""
    random = np.random.default_rng(seed)
    effects = [random.standard_normal(size) for size in shape]
    factors = [random.standard_normal((size, 2)) for size in shape]
    low = np.einsum(*(part for mode, factor in enumerate(factors) for part in (factor, [mode, 9])))
    whole = 5 + low + noise * random.standard_normal(shape)
    for mode, effect in enumerate(effects):
        whole = whole + effect.reshape([-1 if at == mode else 1 for at in range(len(shape))])
    return np.where(random.random(shape) < share, whole, np.nan)


def picture(size=40, share=0.4, seed=0):
    """Waves and edges, with three colours."""
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(0, 1, size), np.linspace(0, 1, size))
    colours = [np.sin(6 * x + phase) * np.cos(5 * y * y) + (x > 0.5) + 0.3 * np.sin(20 * x * y) for phase in (0, 1, 2)]
    whole = np.stack(colours, axis=2)
    return np.where(random.random(whole.shape) < share, whole, np.nan)


def photograph(share=0.15):
    """Rings, which low rank does not describe."""
    random = np.random.default_rng(9)
    x, y = np.meshgrid(np.arange(28.0), np.arange(26.0))
    whole = np.sin(np.hypot(x - 5, y - 20) / 3) + 0.3 * np.cos(np.hypot(x - 25, y) / 2)
    return np.where(random.random(whole.shape) < share, whole, np.nan)


def low_rank(shape=(30, 28, 26), rank=2, **given):
    return synthetic(shape, rank=rank, rng=0, **given).observations


def yes_or_no(uneven=0.0):
    random = np.random.default_rng(3)
    score = np.einsum("ir,jr,kr->ijk", *(random.standard_normal((size, 2)) for size in (15, 14, 13))) - uneven
    drawn = (random.random(score.shape) < 1 / (1 + np.exp(-2 * score))).astype(float)
    return np.where(random.random(score.shape) < 0.6, drawn, np.nan)


def counts():
    random = np.random.default_rng(4)
    rate = np.einsum("ir,jr,kr->ijk", *(random.gamma(1.0, 1.0, (size, 2)) for size in (12, 12, 10)))
    return np.where(random.random(rate.shape) < 0.5, random.poisson(rate), np.nan).astype(float)


def corrupted():
    random, seen = np.random.default_rng(5), low_rank((20, 18, 16))
    values = seen.values.copy()
    wrong = random.random(len(values)) < 0.03
    values[wrong] += 20 * values.std() * random.choice([-1, 1], wrong.sum())
    return seen.with_values(values)


@fit
def auto_low_rank_of_order_three():
    return complete(low_rank(), rng=0)


@fit
def auto_matrix():
    return complete(low_rank((60, 50), rank=3, observed=1500), rng=0)


@fit
def auto_order_four():
    return complete(low_rank((14, 13, 12, 4), observed=4000), rng=0)


@fit
def auto_order_five():
    return complete(low_rank((10, 9, 8, 4, 3), observed=5000), rng=0)


@fit
def auto_few_entries():
    return complete(sums((9, 8, 5)), rng=0)


@fit
def auto_centred():
    return complete(sums(), rng=0)


@fit
def auto_smooth_picture():
    return complete(picture(), rng=0)


@fit
def auto_with_three_splits():
    return complete(sums(seed=1), choose=Choice(splits=3), rng=0)


@fit
def nort_with_everything_open():
    return complete(sums((20, 18, 16)), method="nort", rng=1)


@fit
def nort_centred_and_smooth_as_asked():
    return complete(picture(30), method="nort", centre=True, smooth=[0, 1], rng=0)


@fit
def nort_polished():
    return complete(low_rank((24, 22, 20)), method="nort", refine="tucker", rng=0)


@fit
def nort_polished_centred():
    return complete(sums((20, 18, 16)), method="nort", refine="tucker", centre=True, smooth=None, rng=0)


@fit
def nort_with_a_given_lambda():
    return complete(low_rank(), method="nort", lam=0.05, penalty="capped_l1", theta=0.5, rng=0)


@fit
def nort_huber_of_order_four():
    return complete(sums((10, 9, 8, 4), seed=2), method="nort", loss="huber", rng=0)


@fit
def nort_with_a_graph_and_empty_slices():
    data = sums((20, 12, 10), share=0.6)
    data[[3, 4, 11]] = np.nan
    return complete(data, method="nort", laplacian={0: graphs.chain(20)}, rng=0)


@fit
def softimpute_with_a_kernel_on_two_modes():
    data = sums((18, 12, 10), share=0.6)
    data[5] = np.nan
    where = np.column_stack([np.linspace(0, 9, 18), np.sin(np.arange(18.0))])
    return complete(data, method="softimpute", laplacian={0: graphs.haversine(where), 1: graphs.chain(12)}, rng=0)


@fit
def nort_with_empty_slices():
    data = sums((20, 12, 10), share=0.6)
    data[[3, 4, 19]] = np.nan
    return complete(data, method="nort", rng=0)


@fit
def auto_logistic():
    return complete(yes_or_no(), loss="logistic", rng=0)


@fit
def nort_logistic_uneven_and_centred():
    return complete(yes_or_no(1.5), loss="logistic", method="nort", centre=True, rng=0)


@fit
def auto_poisson():
    return complete(counts(), loss="poisson", rng=0)


@fit
def auto_robust():
    return complete(corrupted(), loss="l1", rng=0)


@fit
def nort_robust_with_a_given_lambda():
    return complete(corrupted(), method="nort", loss="capped_l1", lam=0.5, rng=0)


@fit
def admm_robust():
    return complete(corrupted(), method="admm", loss="l1", rng=0)


@fit
def cp_alone():
    return complete(low_rank((20, 18, 16)), method="cp", rng=0)


@fit
def grow_in_cp_form():
    return complete(low_rank((20, 18, 16), rank=3), method="grow", form="cp", rng=0)


@fit
def tucker_als():
    return complete(sums((14, 12, 10)), method="tucker_als", rng=0)


@fit
def lrtc_and_softimpute_in_a_list():
    return complete(sums((12, 10, 8)), method=["softimpute", "lrtc"], rng=0)


@fit
def tmac_tt_and_trlrf_in_a_list():
    return complete(low_rank((12, 11, 10)), method=["tmac_tt", "trlrf", "ffw"], rng=0)


@fit
def values_of_1e40():
    return complete(1e40 * sums(), rng=0)


@fit
def values_of_1e_minus_35_with_nort_and_a_picture():
    return complete(1e-35 * picture(30), method="nort", rng=0)


@fit
def float32_large():
    return complete(3e8 * sums((14, 12, 10)), dtype="float32", method="nort", rng=0)


@fit
def fibres_held_out():
    random, data = np.random.default_rng(6), sums((16, 14, 12), share=1.0)
    data[random.random((16, 14)) < 0.3] = np.nan
    return complete(data, rng=0)


@fit
def a_long_mode_mostly_empty():
    random = np.random.default_rng(7)
    users = np.sort(random.choice(200_000, 80, replace=False))
    left, right = random.standard_normal((80, 2)), random.standard_normal((60, 2))
    pairs = np.argwhere(random.random((80, 60)) < 0.5)
    values = (left @ right.T)[tuple(pairs.T)] + 0.05 * random.standard_normal(len(pairs))
    return complete(Observations(np.column_stack([users[pairs[:, 0]], pairs[:, 1]]), values, (200_000, 60)), rng=0)


@fit
def given_validation_entries():
    seen = low_rank((20, 18, 16))
    some = np.arange(len(seen)) % 7 == 0
    return complete(seen.select(~some), method="nort", choose=Choice(validation=seen.select(some)), rng=0)


@fit
def started_from_an_earlier_fit():
    first = complete(low_rank(), method="nort", lam=0.1, rng=0)
    return complete(low_rank(), method="nort", lam=0.05, start=first, rng=0)


@fit
def same_modes():
    random = np.random.default_rng(8)
    factor, core = random.standard_normal((14, 2)), random.standard_normal((2, 2, 5))
    whole = np.einsum("ia,jb,abk->ijk", factor, factor, core) + 0.05 * random.standard_normal((14, 14, 5))
    return complete(np.where(random.random(whole.shape) < 0.5, whole, np.nan), same=(0, 1), rng=0)


@fit
def auto_photograph_of_few_pixels():
    return complete(photograph(), rng=0)


@fit
def grow_on_a_photograph_with_a_field():
    return complete(photograph(0.3), method="grow", smooth=[0, 1], rng=0)


@fit
def updated_low_rank():
    seen = low_rank()
    late = seen.coords[:, 0] >= 27
    return complete(seen.select(~late), method="nort", rng=0).update(seen.select(late), rng=0)


@fit
def updated_centred_with_new_indices():
    data = sums((16, 14, 12))
    return complete(data[:14], method="nort", centre=True, smooth=None, rng=0).update(data, rng=0)


@fit
def updated_logistic():
    data = yes_or_no(1.0)
    return complete(data[:, :12], loss="logistic", rng=0).update(data, rng=0)


@fit
def updated_with_a_smooth_field():
    data = photograph(0.3)
    return complete(data[:, :24], method="nort", smooth=[0, 1], rng=0).update(data, rng=0)


@fit
def compared():
    return tensorfill.compare(sums((14, 12, 10)), rng=0)


@fit
def a_path():
    return path(low_rank((20, 18, 16)), rng=0)


def digest(answer: Any) -> str:
    """Return what tells the bits of an answer from others."""
    made = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, np.ndarray):
            made.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, list | tuple):
            for each in value:
                add(each)
        else:
            made.update((value.hex() if isinstance(value, float) else repr(value)).encode())

    if isinstance(answer, tensorfill.Fit):
        add([answer.method.name, answer.ranks, answer.status.name, answer.history["objective"]])
        coords = np.argwhere(np.ones(answer.shape)) if np.prod(answer.shape) < 1e6 else answer.observations.coords
        add(answer.predict(coords))
        if answer.error_bars is not None:
            add(list(answer.predict(coords[::7], interval=0.9)))
            add(answer.held_out_error)
        add([] if answer.path is None else [answer.path["held_out"], answer.path["iterations"]])
        add([(each.kind, each.error) for each in answer.baselines])
    else:
        add([answer["held_out"], answer["ranks"].tolist()])
    return made.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, help="keep the digests in this file")
    parser.add_argument("--compare", type=Path, help="compare with the digests in this file")
    parser.add_argument("--only", help="the fits whose name has this in it")
    asked = parser.parse_args()
    before = json.loads(asked.compare.read_text()) if asked.compare else {}
    found, differ = {}, []
    for name, make in FITS.items():
        if asked.only and asked.only not in name:
            continue
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = make()
        found[name] = digest(answer)
        same = "" if name not in before else "the same bits" if before[name] == found[name] else "DIFFERS"
        differ += [name] if same == "DIFFERS" else []
        error = "" if not isinstance(answer, tensorfill.Fit) else f"{answer.method.name:12} {answer.held_out_error:.6g}"
        print(f"{name:48} {found[name]} {time.process_time() - began:6.1f} s  {error:28} {same}", flush=True)
    print(f"{len(found)} fits" + (f", {len(differ)} differ" if before else ""))
    if asked.write:
        asked.write.write_text(json.dumps(found, indent=1))
    if differ:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
