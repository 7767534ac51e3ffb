"""Fits in files."""

import json

import numpy as np
import pytest

from tensorfill import Choice, Nort, SmoothedNort, TuckerAls, complete, load
from tensorfill.io.atomic import written_beside
from tensorfill.io.typed import Unsaved
from tensorfill.losses import Square
from tensorfill.losses.robust import Robust
from tensorfill.penalties import Nuclear


def tensor():
    """Return a tensor of rank 1 with missing entries."""
    rng = np.random.default_rng(0)
    array = np.multiply.outer(rng.standard_normal((9, 1)) @ rng.standard_normal((1, 8)), rng.standard_normal(10))
    array[rng.random(array.shape) < 0.3] = np.nan
    return array


@pytest.fixture(scope="module", params=["nort", "grow"])
def fit(request):
    return complete(tensor(), method=request.param, bounds=(-2, 2), rng=0)


def test_a_fit_comes_back_as_it_was(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    assert (again.status, again.ranks, again.lam, again.theta) == (fit.status, fit.ranks, fit.lam, fit.theta)
    assert again.recipe == fit.recipe
    assert again.bounds == fit.bounds
    np.testing.assert_array_equal(again.history["f_tau"], fit.history["f_tau"])
    assert list(again.history)[-1].ranks == list(fit.history)[-1].ranks
    assert list(again.path) == list(fit.path)


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 0.1},
        {"lam": [0.1, 0.2], "modes": [0, 2], "penalty": ["lsp", Nuclear()], "theta": [0.3, "auto"]},
        {"method": TuckerAls(rank=2)},
        {"method": ["nort", TuckerAls(rank=2)], "choose": Choice(splits=2, holdout=("fibre", 1))},
        {"method": SmoothedNort(lam=0.1), "loss": "l1"},
        {"lam": 0.1, "loss": Robust(Nuclear())},
        {"lam": 0.1, "smooth": [0], "centre": True, "refine": "tucker"},
        {"lam": 0.1, "bounds": (-1, 1), "dtype": np.float32},
    ],
    ids=lambda options: ", ".join(options),
)
def test_a_recipe_comes_back_with_its_types(options, tmp_path):
    fit = complete(tensor(), rng=0, **options)
    fit.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz")
    assert again.recipe == fit.recipe
    assert type(again.method) is type(fit.method)
    assert (again.modes, again.lam, again.theta, again.penalties) == (fit.modes, fit.lam, fit.theta, fit.penalties)
    assert again.seed == 0


class Own:
    """A square loss by another name."""

    curvature = 1.0

    def value(self, prediction, observed):
        return Square().value(prediction, observed)

    def derivative(self, prediction, observed):
        return Square().derivative(prediction, observed)


class OwnPenalty:
    """The nuclear norm by another name."""

    def value(self, s):
        return Nuclear().value(s)

    def prox(self, s, weight):
        return Nuclear().prox(s, weight)

    def __repr__(self):
        return "OwnPenalty(strength=1)"


def test_an_object_of_ones_own_leaves_its_text(tmp_path):
    fit = complete(tensor(), loss=Own(), penalty=OwnPenalty(), lam=0.1, rng=0)
    fit.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    assert isinstance(again.loss, Unsaved)
    assert "Own" in again.loss.text
    assert again.penalties == (Unsaved("OwnPenalty(strength=1)"),) * 3
    assert again.penalties[0].name == "OwnPenalty"
    assert isinstance(again.method, Nort)
    assert again.lam == fit.lam
    # A second file holds the same text.
    again.save(tmp_path / "again.npz")
    assert load(tmp_path / "again.npz").recipe == again.recipe


def test_a_fit_is_resumed_from_a_file(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    loaded = load(tmp_path / "fit.npz")
    again = complete(fit.observations, method=loaded.method, start=loaded, rng=0)
    # It begins where the other ended, up to the rounding of data without noise.
    assert again.history[0].objective == pytest.approx(fit.history[-1].objective, rel=1e-3, abs=1e-9)


def test_the_file_holds_no_pickle_and_names_its_version(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        assert all(file[name].dtype != object for name in file.files)
    assert (header["format"], header["version"]) == ("tensorfill-fit", 11)


def test_a_fit_from_a_file_has_no_data_to_fill(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    with pytest.raises(ValueError, match=r"does not hold the data; use to_dense"):
        load(tmp_path / "fit.npz").filled()


def test_bad_files_get_one_sentence(fit, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*Fit\.save"):
        load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match=r"not a file that Fit\.save wrote"):
        load(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", header=np.array(json.dumps({"format": "other"})))
    with pytest.raises(ValueError, match=r"not a file that Fit\.save wrote"):
        load(tmp_path / "other.npz")
    np.savez(tmp_path / "new.npz", header=np.array(json.dumps({"format": "tensorfill-fit", "version": 99})))
    with pytest.raises(ValueError, match=r"version 99 .* install a newer"):
        load(tmp_path / "new.npz")
    np.savez(tmp_path / "old.npz", header=np.array(json.dumps({"format": "tensorfill-fit", "version": 2})))
    with pytest.raises(ValueError, match=r"old.npz has version 2 .* reads version 11; fit the data again\.$"):
        load(tmp_path / "old.npz")
    fit.save(tmp_path / "cut.npz")
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        load(tmp_path / "cut.npz")


def test_an_unwritable_path_gets_one_sentence(fit, tmp_path):
    with pytest.raises(OSError, match=r"fit\.npz cannot be written: No such file or directory; choose another path\."):
        fit.save(tmp_path / "nowhere" / "fit.npz")
    with pytest.raises(OSError, match=r"cannot be written: it is a folder; add the name of a file\."):
        fit.save(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def fail():
        with written_beside(target) as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
