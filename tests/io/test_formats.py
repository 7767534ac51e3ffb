"""Files of every format: what is written comes back, and what is bad is refused in a sentence."""

from __future__ import annotations

import gzip
import pickle
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations
from tensorfill.io import read, write
from tensorfill.io.formats import FORMATS, format_of
from tensorfill.labels import Labelled, Labels
from tests.refusal import refuses
from tests.strategies import observed, shapes

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")

few = settings(max_examples=15)
values = st.one_of(st.floats(-1e6, 1e6), st.integers(-5, 5).map(float))


@st.composite
def tensors(draw, max_order=4):
    """Sparse observations with labels of any kind, some modes without."""
    shape = draw(shapes(max_order=max_order, max_entries=60, max_size=6))
    coords = draw(observed(shape))
    numbers = draw(st.lists(values, min_size=len(coords), max_size=len(coords)))
    keys = [draw(st.sampled_from([None, *_keys_of(size)])) for size in shape]
    names = tuple(f"mode {letter}" for letter in "abcdef"[: len(shape)])
    return Labelled(Observations(coords, numbers, shape), Labels(names, tuple(keys)))


def _keys_of(size):
    yield np.array([f"näme {number}, x" for number in range(size)])
    yield np.arange(size) * 3 - 4
    yield np.datetime64("2024-02-27") + np.arange(size)


def round_trip(name, data, format=None, reading=None, **options):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, data, format=format, **options)
        assert [each.name for each in Path(folder).iterdir()] == [name]
        return read(path, format=format, **(reading or {}))


def by_label(data):
    """Return the entries of a tensor by their labels as texts."""
    keys = [
        [str(key)[:10] for key in (range(size) if own is None else own)]
        for own, size in zip(data.labels.keys, data.observations.shape, strict=True)
    ]
    entries = zip(data.observations.coords.tolist(), data.observations.values.tolist(), strict=True)
    return {tuple(own[place] for own, place in zip(keys, coords, strict=True)): value for coords, value in entries}


def same(one, other):
    assert one.observations.shape == other.observations.shape
    np.testing.assert_array_equal(one.observations.coords, other.observations.coords)
    np.testing.assert_array_equal(one.observations.values, other.observations.values)


def same_labels(one, other):
    assert one.labels.names == other.labels.names
    for mine, yours in zip(one.labels.keys, other.labels.keys, strict=True):
        assert (mine is None) == (yours is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, yours.astype(mine.dtype))


@pytest.mark.filterwarnings("ignore:.* holds no labels")
class TestRoundTrips:
    @few
    @given(tensors(), st.sampled_from(["a.tns", "a.tns.gz"]), st.integers(0, 1))
    def test_tns(self, data, name, base):
        same(data, round_trip(name, data, base=base))

    @few
    @given(tensors())
    def test_sparse_npz(self, data):
        again = round_trip("a.npz", data)
        same(data, again)
        same_labels(data, again)
        assert not again.observations.is_dense

    @few
    @given(tensors(), st.sampled_from(["a.npy", "a.npz", "a.mat"]))
    def test_arrays(self, data, name):
        dense = Labelled(Observations.from_dense(data.observations.to_dense()), data.labels)
        again = round_trip(name, dense, reading={"name": "array"} if name == "a.npz" else _named(name))
        same(data, again)
        if name == "a.npz":
            same_labels(data, again)

    @settings(max_examples=5)
    @given(tensors())
    def test_netcdf(self, data):
        again = round_trip("a.nc", data, reading={"name": "value"})
        same(data, again)
        same_labels(data, again)

    @few
    @given(tensors(), st.sampled_from(["a.csv", "a.tsv", "a.csv.gz", "a.parquet"]))
    def test_tables(self, data, name):
        again = round_trip(name, data)
        assert again.observations.shape == data.observations.shape
        assert again.labels.names == data.labels.names
        assert by_label(again) == by_label(data)

    @few
    @given(
        st.sampled_from([(5, 4), (5, 4, 2), (5, 4, 3), (1, 1, 4)]),
        st.sampled_from(["png", "tif", "bmp"]),
        st.integers(0, 99),
    )
    def test_pictures(self, shape, ending, seed):
        array = np.random.default_rng(seed).integers(0, 256, shape).astype(float)
        if ending == "bmp" and shape[2:] in [(2,), (4,)]:
            refuses(ValueError, ["alpha", ".png"], lambda: round_trip("a.bmp", array))
            return
        again = round_trip(f"a.{ending}", array)
        np.testing.assert_array_equal(again.observations.to_dense(), array)
        assert again.labels.names == ("row", "column", "colour")[: len(shape)]
        assert again.restore(array + 0.4).dtype == np.uint8

    @pytest.mark.parametrize("ending", ["png", "tif"])
    def test_grey_pictures_of_16_bits(self, ending):
        array = np.array([[0, 65535, 256], [1, 2, 3]], dtype=np.uint16)
        again = round_trip(f"a.{ending}", array)
        np.testing.assert_array_equal(again.observations.to_dense(), array)
        assert again.restore(again.observations.to_dense()).dtype == np.uint16

    @pytest.mark.parametrize("ending", ["avi", "gif", "mp4"])
    @pytest.mark.parametrize("shape", [(4, 6, 8, 3), (3, 5, 7, 3), (2, 4, 4)])
    def test_movies(self, shape, ending):
        if ending != "gif":
            pytest.importorskip("av")
        # Few colours and no fine detail, which .mp4 would smooth.
        array = np.broadcast_to(40.0 * np.arange(1, shape[0] + 1).reshape(-1, *[1] * (len(shape) - 1)), shape)
        again = round_trip(f"a.{ending}", array, rate=12.5)
        coloured = array if len(shape) == 4 else np.repeat(array[..., None], 3, axis=3)
        np.testing.assert_allclose(again.observations.to_dense(), coloured, atol=3 if ending == "mp4" else 0)
        np.testing.assert_allclose(again.labels.keys[0], np.arange(shape[0]) / 12.5)
        # The labels carry the rate on.
        twice = round_trip(f"a.{ending}", again)
        np.testing.assert_allclose(twice.labels.keys[0], again.labels.keys[0])

    @few
    @given(st.lists(st.tuples(*[st.sampled_from(["Ann", "Bob Å", "01"])] * 3), min_size=1, max_size=8, unique=True))
    def test_triples(self, facts):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "facts.txt"
            path.write_text("".join("\t".join(fact) + "\n" for fact in facts), encoding="utf-8")
            data = read(path, format="triples")
            write(path, data, format="triples")
            again = read(path, format="triples")
        assert data.labels.names == ("head", "tail", "relation")
        assert by_label(again) == by_label(data) == {(head, tail, link): 1.0 for head, link, tail in facts}


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.nc", "a.npz", "a.npy", "a.mat", "a.png", "a.gif", "a.avi"])
def test_the_way_back_to_the_object_can_be_pickled(name, tmp_path):
    array = np.random.default_rng(0).integers(0, 255, (4, 6, 5) if name in ("a.gif", "a.avi") else (6, 5)).astype(float)
    if name == "a.avi":
        pytest.importorskip("av")
    write(tmp_path / name, array)
    restore = read(tmp_path / name).restore
    back = pickle.loads(pickle.dumps(restore))
    if restore is not None:
        shape = read(tmp_path / name).observations.shape
        one, other = restore(np.ones(shape)), back(np.ones(shape))
        assert type(one) is type(other)
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def _named(name):
    return {"name": "tensor"} if name == "a.mat" else {}


def test_every_format_has_a_round_trip_here():
    assert set(FORMATS) == {
        "tns", "npz", "npy", "mat", "netcdf", "csv", "tsv", "parquet", "picture", "movie", "gif", "triples",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "format"),
    [("A.TNS.GZ", "tns"), ("b.JPEG", "picture"), ("c.nc", "netcdf"), ("d.tsv.gz", "tsv"), ("e.avi", "movie")],
)
def test_the_ending_says_the_format(name, format):
    assert format_of(Path(name)) == format


class TestMissing:
    array = np.array([[0, 1, 2], [3, 0, 5]])

    @pytest.mark.parametrize("name", ["a.npy", "a.mat", "a.png", "a.npz", "a.nc"])
    def test_a_zero_is_missing_only_where_that_is_said(self, name, tmp_path):
        write(tmp_path / name, self.array)
        assert len(read(tmp_path / name).observations) == 6
        assert len(read(tmp_path / name, missing="nan").observations) == 6
        assert len(read(tmp_path / name, missing="zero").observations) == 4

    @pytest.mark.parametrize("name", ["a.tns", "a.csv", "a.parquet", "s.npz"])
    def test_a_listed_zero_is_observed_unless_zeros_are_missing(self, name, tmp_path):
        write(tmp_path / name, Observations([[0, 0], [1, 2]], [0.0, 5.0], (2, 3)))
        assert read(tmp_path / name).observations.values.tolist() == [0.0, 5.0]
        assert read(tmp_path / name, missing="absent").observations.values.tolist() == [0.0, 5.0]
        assert read(tmp_path / name, missing="zero").observations.values.tolist() == [5.0]

    def test_nan_is_never_observed(self, tmp_path):
        (tmp_path / "a.tns").write_text("1 1 nan\n2 2 4\n")
        assert read(tmp_path / "a.tns").observations.values.tolist() == [4.0]

    @pytest.mark.parametrize("name", ["a.npy", "a.mat", "a.png"])
    def test_nothing_is_absent_from_a_file_with_every_entry(self, name, tmp_path):
        write(tmp_path / name, self.array)
        refuses(ValueError, ["missing", "'nan', 'zero'", "'absent'"], lambda: read(tmp_path / name, missing="absent"))

    def test_transparent_pixels_are_missing_where_that_is_said(self, tmp_path):
        pixels = np.full((2, 3, 4), 200.0)
        pixels[0, 1, 3] = 0
        write(tmp_path / "a.png", pixels)
        seen = read(tmp_path / "a.png", missing="alpha").observations
        assert seen.shape == (2, 3, 3)
        assert len(seen) == 15
        assert len(read(tmp_path / "a.png").observations) == 24
        write(tmp_path / "b.png", pixels[..., :3])
        refuses(ValueError, ["alpha channel", "b.png"], lambda: read(tmp_path / "b.png", missing="alpha"))

    def test_a_mask_says_what_was_observed(self, tmp_path):
        write(tmp_path / "a.png", np.full((2, 3, 3), 7.0))
        write(tmp_path / "mask.png", np.array([[255, 0, 1], [0, 0, 9]]))
        seen = read(tmp_path / "a.png", mask=tmp_path / "mask.png").observations
        assert seen.mask.all(axis=2).tolist() == [[True, False, True], [False, False, True]]
        assert len(read(tmp_path / "a.png", mask=np.eye(2, 3)).observations) == 6
        refuses(ValueError, ["mask", "(2, 3, 3)", "(5, 5)"], lambda: read(tmp_path / "a.png", mask=np.eye(5)))
        refuses(ValueError, ["JPEG", "PNG"], lambda: read(tmp_path / "a.png", mask="mask.jpg"))

    @pytest.mark.parametrize("name", ["a.png", "a.gif"])
    def test_pictures_and_movies_hold_nothing_missing(self, name, tmp_path):
        refuses(ValueError, ["cannot hold missing", "2 of 24"], lambda: write(tmp_path / name, _with_two_nan()))
        assert not list(tmp_path.iterdir())


def _with_two_nan():
    array = np.ones((2, 4, 3))
    array[0, :2, 0] = np.nan
    return array


class TestTns:
    def write(self, folder, text):
        path = folder / "a.tns"
        path.write_text(text)
        return path

    def test_indices_count_from_1_unless_a_0_occurs(self, tmp_path):
        assert read(self.write(tmp_path, "1 2 5\n3 1 6\n")).observations.coords.tolist() == [[0, 1], [2, 0]]
        assert read(self.write(tmp_path, "0 2 5\n3 1 6\n")).observations.coords.tolist() == [[0, 2], [3, 1]]
        path = self.write(tmp_path, "1 2 5\n3 1 6\n")
        assert read(path, base=0).observations.shape == (4, 3)
        assert read(path, shape=(9, 9)).observations.shape == (9, 9)

    def test_comments_and_blank_lines_are_passed_over(self, tmp_path):
        path = self.write(tmp_path, "# shape: 3 4\n# flights\n\n1 2 5.5 # here\n\n3 1 -6e-1\n")
        seen = read(path).observations
        assert seen.shape == (3, 4)
        assert seen.values.tolist() == [5.5, -0.6]

    @pytest.mark.parametrize("bad", ["1 x 5", "1 2", "1 2 3 4", "1.5 2 3", "1 2 five", "99999999999999999999 1 1"])
    def test_a_bad_line_is_named_by_its_number(self, bad, tmp_path):
        path = self.write(tmp_path, f"# shape: 3 4\n1 2 5\n\n{bad}\n")
        refuses(ValueError, ["line 4", repr(bad), "2 whole numbers and a value"], lambda: read(path))

    def test_what_cannot_be(self, tmp_path):
        path = self.write(tmp_path, "0 2 5\n3 1 6\n")
        refuses(ValueError, ["at least 1", "base=0"], lambda: read(path, base=1))
        refuses(ValueError, ["base must be 0 or 1", "7"], lambda: read(path, base=7))
        refuses(ValueError, ["none"], lambda: read(self.write(tmp_path, "# nothing\n")))
        refuses(ValueError, ["2 columns"], lambda: read(self.write(tmp_path, "1 2\n")))
        refuses(ValueError, ["(0, 1)"], lambda: read(self.write(tmp_path, "1 2 5\n1 2 6\n")))
        assert read(path.with_name("a.tns"), duplicates="mean").observations.values.tolist() == [5.5]
        zipped = tmp_path / "b.tns.gz"
        zipped.write_bytes(gzip.compress(b"1 1 1\n" * 999)[:-20])
        refuses(ValueError, ["b.tns.gz", "damaged"], lambda: read(zipped))

    def test_many_lines_are_read_fast_enough_to_be_tried(self, tmp_path):
        count = 50_000
        coords = np.stack([np.arange(count), np.arange(count) % 7], axis=1)
        write(tmp_path / "a.tns", Observations(coords, np.arange(count), (count, 7)))
        assert len(read(tmp_path / "a.tns").observations) == count


class TestWhichArray:
    def test_npz(self, tmp_path):
        np.savez(tmp_path / "a.npz", X=np.ones((2, 3)), places=np.ones((2, 2)), words=np.array(["a"]), n=np.arange(3))
        refuses(ValueError, ["name", "'X' (2, 3)", "'places' (2, 2)"], lambda: read(tmp_path / "a.npz"))
        refuses(ValueError, ["'words'", "'X' (2, 3)"], lambda: read(tmp_path / "a.npz", name="words"))
        assert read(tmp_path / "a.npz", name="X").observations.shape == (2, 3)
        np.savez(tmp_path / "b.npz", X=np.ones((2, 3)), n=np.arange(3))
        assert read(tmp_path / "b.npz").observations.shape == (2, 3)

    def test_npz_with_a_pickle_is_never_unpickled(self, tmp_path):
        np.savez(tmp_path / "a.npz", X=np.ones((2, 3)), o=np.array([{}, None], dtype=object))
        assert read(tmp_path / "a.npz").observations.shape == (2, 3)
        refuses(ValueError, ["'o'"], lambda: read(tmp_path / "a.npz", name="o"))
        np.save(tmp_path / "a.npy", np.array([{}, None], dtype=object), allow_pickle=True)
        refuses(ValueError, ["a.npy"], lambda: read(tmp_path / "a.npy"))

    def test_mat(self, tmp_path):
        from scipy import io, sparse

        io.savemat(tmp_path / "a.mat", {"tensor": np.ones((2, 3, 2)), "n": 5.0, "row": np.arange(4), "w": "text"})
        assert read(tmp_path / "a.mat").observations.shape == (2, 3, 2)
        io.savemat(tmp_path / "b.mat", {"x": np.ones((2, 3)), "y": np.ones((2, 3))})
        refuses(ValueError, ["'x' (2, 3)", "'y' (2, 3)"], lambda: read(tmp_path / "b.mat"))
        io.savemat(tmp_path / "c.mat", {"x": sparse.csc_matrix(np.eye(3))})
        refuses(ValueError, ["'absent'"], lambda: read(tmp_path / "c.mat"))
        assert len(read(tmp_path / "c.mat", missing="absent").observations) == 3
        head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
        (tmp_path / "d.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n")
        refuses(ValueError, ["v7.3", "'-v7'"], lambda: read(tmp_path / "d.mat"))

    def test_netcdf(self, tmp_path):
        import xarray

        one = xarray.DataArray(np.ones((2, 3)), dims=("station", "month"), attrs={"units": "mm"}, name="rain")
        one.to_netcdf(tmp_path / "a.nc")
        data = read(tmp_path / "a.nc")
        assert data.labels.names == ("station", "month")
        write(tmp_path / "b.nc", data.restore(np.zeros((2, 3))))
        with xarray.open_dataset(tmp_path / "b.nc") as again:
            assert again["rain"].attrs["units"] == "mm"
        xarray.Dataset({"rain": one, "snow": one}).to_netcdf(tmp_path / "c.nc")
        refuses(ValueError, ["'rain' (2, 3)", "'snow' (2, 3)"], lambda: read(tmp_path / "c.nc"))
        assert read(tmp_path / "c.nc", name="snow").observations.shape == (2, 3)

    def test_columns(self, tmp_path):
        (tmp_path / "a.csv").write_text("rain,station,month\n1.5,NA,1\n,B,1\n0,NA,2\n")
        data = read(tmp_path / "a.csv", value="rain")
        assert data.labels.names == ("station", "month")
        assert by_label(data) == {("NA", "1"): 1.5, ("NA", "2"): 0.0}
        refuses(ValueError, ["'snow'", "'rain'"], lambda: read(tmp_path / "a.csv", value="snow"))


class TestRefusals:
    @pytest.mark.parametrize(
        "name", ["a.npy", "a.npz", "a.mat", "a.nc", "a.parquet", "a.png", "a.gif", "a.mp4", "a.csv"]
    )
    @pytest.mark.parametrize("content", [b"", b"\x00\xffnot a file of this kind at all\n" * 9])
    def test_damaged_files(self, name, content, tmp_path):
        if name == "a.mp4":
            pytest.importorskip("av")
        path = tmp_path / name
        path.write_bytes(content)
        refuses(ValueError, ["a."] if name != "a.csv" else [], lambda: read(path))

    def test_paths(self, tmp_path):
        refuses(FileNotFoundError, ["no.tns"], lambda: read(tmp_path / "no.tns"))
        (tmp_path / "folder.npy").mkdir()
        refuses(IsADirectoryError, ["folder.npy"], lambda: read(tmp_path / "folder.npy"))
        refuses(ValueError, ["'a.xyz'", ".tns.gz", "'parquet'"], lambda: read("a.xyz"))
        refuses(ValueError, ["'zip'", "'tns'"], lambda: read("a.tns", format="zip"))

    def test_options_of_other_formats(self, tmp_path):
        refuses(TypeError, ["tns", "'value'", "'base'"], lambda: read("a.tns", value="x"))
        refuses(TypeError, ["picture", "'rate'", "none"], lambda: write("a.png", np.ones((2, 2)), rate=3))

    def test_shapes_that_a_format_cannot_hold(self, tmp_path):
        refuses(ValueError, ["picture", "(2, 2, 7)"], lambda: write(tmp_path / "a.png", np.ones((2, 2, 7))))
        refuses(ValueError, ["movie", "(2, 2)"], lambda: write(tmp_path / "a.gif", np.ones((2, 2))))
        huge = Observations([[0, 0, 0]], [1.0], (10**6, 10**6, 10))
        refuses(ValueError, ["bytes", ".tns"], lambda: write(tmp_path / "a.npy", huge))
        write(tmp_path / "a.npz", huge)
        assert read(tmp_path / "a.npz").observations.shape == huge.shape
        refuses(ValueError, ["triples", "(2, 2)"], lambda: write(tmp_path / "a", np.ones((2, 2)), format="triples"))

    def test_a_model_is_no_data(self, tmp_path):
        np.savez(tmp_path / "a.npz", header=np.array("{}"), **{"model.u": np.ones((2, 2))})
        refuses(ValueError, ["model", "tensorfill.load"], lambda: read(tmp_path / "a.npz"))

    def test_an_error_leaves_what_was_there(self, tmp_path):
        write(tmp_path / "a.png", np.zeros((2, 2)))
        before = (tmp_path / "a.png").read_bytes()
        with pytest.raises(ValueError):
            write(tmp_path / "a.png", np.full((2, 2), np.nan))
        assert (tmp_path / "a.png").read_bytes() == before

    @pytest.mark.parametrize(
        ("name", "module", "packages"),
        [
            ("a.nc", "xarray", "pandas pyarrow xarray netcdf4"),
            ("a.csv", "pandas", "pandas pyarrow xarray netcdf4"),
            ("a.png", "PIL.Image", "pillow"),
            ("a.mp4", "av", "pillow av"),
        ],
    )
    def test_what_is_not_installed_is_named(self, name, module, packages, tmp_path, monkeypatch):
        (tmp_path / name).write_bytes(b"x")
        monkeypatch.setitem(sys.modules, module, None)
        refuses(ImportError, [f"pip install {packages}."], lambda: read(tmp_path / name))


def test_labels_that_get_lost_are_named(tmp_path):
    data = Labelled(Observations([[0, 1]], [1.0], (2, 2)), Labels(("place", "day"), (np.array(["a", "b"]), None)))
    with pytest.warns(UserWarning, match="'place' are left out"):
        write(tmp_path / "a.tns", data)


def test_importing_tensorfill_stays_light():
    program = (
        "import sys, tensorfill, tensorfill.io; "
        "print([m for m in ('numba', 'pandas', 'xarray', 'PIL', 'av', 'scipy') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
