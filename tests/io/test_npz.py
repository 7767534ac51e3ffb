"""Fits in files."""

import json

import numpy as np
import pytest

from tensorfill import complete, load
from tensorfill.io.atomic import written_beside


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    array = np.multiply.outer(rng.standard_normal((9, 1)) @ rng.standard_normal((1, 8)), rng.standard_normal(10))
    array[rng.random(array.shape) < 0.3] = np.nan
    return complete(array, bounds=(-2, 2), rng=0)


def test_a_fit_comes_back_as_it_was(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    assert (again.status, again.ranks, again.lam, again.theta) == (fit.status, fit.ranks, fit.lam, fit.theta)
    assert dict(again.settings) == dict(fit.settings)
    assert again.bounds == fit.bounds
    np.testing.assert_array_equal(again.history["f_tau"], fit.history["f_tau"])
    assert list(again.history)[-1].ranks == list(fit.history)[-1].ranks
    assert list(again.path) == list(fit.path)


def test_a_fit_can_be_taken_up_again(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    data = fit.observations
    again = complete(data, lam=fit.lam, theta=fit.theta, start=load(tmp_path / "fit.npz"), rng=0)
    assert again.history[-1].iteration <= 3


def test_the_file_holds_no_pickle_and_names_its_version(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        assert all(file[name].dtype != object for name in file.files)
    assert (header["format"], header["version"]) == ("tensorfill-fit", 2)


def test_a_fit_without_its_data_cannot_tell_what_was_observed(fit, tmp_path):
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
