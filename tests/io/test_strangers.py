"""Files from strangers: they run nothing, open no other files, and take no more memory than they may."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import sys
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tensorfill import Observations, complete, load
from tensorfill._support.memory import PeakMemory
from tensorfill.io import read, write
from tensorfill.labels import Labelled, Labels
from tests.fuzz.attempts import attempt
from tests.refusal import refuses

pytest.importorskip("pandas")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return the members of a saved fit."""
    rng = np.random.default_rng(0)
    array = np.outer(rng.uniform(1, 2, 7), rng.uniform(1, 2, 6))
    array[rng.random(array.shape) < 0.3] = np.nan
    path = tmp_path_factory.mktemp("fit") / "fit.npz"
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(array, index=[f"s{row}" for row in range(7)], columns=list("abcdef"))
    complete(table, lam=0.1, bounds=(0, 9), rng=0).save(path, data=True)
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture
def forged(model, tmp_path):
    """Return a function that changes the header, or arrays, of the fit, and returns the path of the new file."""

    def forge(change=lambda header: None, **changed):
        header = json.loads(str(np.load(io.BytesIO(model["header.npy"]))))
        change(header)
        members = dict(model)
        for name, array in {"header": np.array(json.dumps(header)), **changed}.items():
            made = io.BytesIO()
            np.save(made, array)
            members[f"{name}.npy"] = made.getvalue()
        path = tmp_path / "forged.npz"
        with zipfile.ZipFile(path, "w") as file:
            for name, content in members.items():
                file.writestr(name, content)
        return path

    return forge


class TestModels:
    def test_a_sound_one_is_loaded(self, forged):
        assert load(forged()).shape == (7, 6)

    def test_a_method_of_ones_own_is_known_by_its_text(self, forged):
        own = {"class": "Unsaved", "text": "Own(3)"}
        assert repr(load(forged(lambda header: header["recipe"].update(method=own))).method) == "Own(3)"

    @pytest.mark.parametrize("name", ["intruder", "intruder.inside", "tensorfill.intruder"])
    def test_no_module_that_it_names_is_imported(self, name, forged, tmp_path, monkeypatch):
        (tmp_path / "intruder").mkdir()
        (tmp_path / "intruder" / "__init__.py").write_text("raise SystemExit('imported')")
        (tmp_path / "intruder" / "inside.py").write_text("")
        monkeypatch.syspath_prepend(tmp_path)
        path = forged(lambda header: header["restore"].update(library=name))
        refuses(ValueError, [str(path), "intruder"], lambda: load(path))
        assert "intruder" not in sys.modules

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("kind", "os"), ("kind", 5), ("shape", [7]), ("shape", [7, 7]), ("shape", [7, -6]), ("shape", ["7", 6]),
            ("shape", None), ("bounds", {"tuple": [9.0, 0.0]}), ("bounds", {"tuple": [float("nan"), 1.0]}),
            ("bounds", {"tuple": [1.0]}), ("history", []), ("history", [1]), ("status", {"status": "FINE"}),
            ("recipe", None), ("recipe", {"class": "os.system"}), ("path", 5), ("baselines", [1]), ("timing", "long"),
            ("slices", [[5, 1]]), ("labels", {"names": ["a"], "value": "v"}), ("labels", {"names": [1, 2]}),
            ("restore", {"kind": "os", "library": "os"}), ("restore", {"kind": "wide table"}), ("more", 1),
            ("timing", {"class": "Timing", "stages": {"tuple": [{"class": "Unsaved", "text": "x"}]}}),
            ("core", "nothing"), ("version", "5"), ("version", None), ("format", 5),
        ],
    )  # fmt: skip
    def test_every_field_is_checked(self, field, value, forged):
        path = forged(lambda header: header.update({field: value}))
        refuses(ValueError, [str(path), "not a file that Fit.save wrote"], lambda: load(path))

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("model.u0", np.full((7, 1), np.nan)), ("model.s0", np.array([np.inf])), ("model.u0", np.ones((6, 1))),
            ("model.u0", np.array([["a"]])), ("model.modes", np.array([0, 9])), ("model.weights", np.ones(5)),
            ("labels.0", np.array(["a", "b"])), ("data.coords", np.array([[-1, 0]])),
            ("restore.rows", np.array([[99]])), ("data.coords", np.array([[0.5, 0]])),
            ("labels.1", np.array(["a"] * 6)),
        ],
    )  # fmt: skip
    def test_every_array_is_checked(self, name, array, forged):
        path = forged(**{name: array})
        refuses(ValueError, [str(path), "not a file that Fit.save wrote"], lambda: load(path))

    def test_a_deep_header_is_refused(self, forged):
        path = forged(header=np.array("[" * 100_000))
        refuses(ValueError, [str(path)], lambda: load(path))

    def test_a_large_one_is_refused(self, forged):
        path = forged(**{"model.u0": np.zeros((10_000, 200))})
        refuses(ValueError, [str(path), "max_bytes=1,048,576"], lambda: load(path, max_bytes=MEGABYTE))


SECRETS = {
    "external storage": "c-rgqaB<`1lHy|G;9!7(|4{Iq5yCfsiqC426Z7|Q31VWXU=l)B2m@S93_vYxJPbgJv0^jKJP!t{fy|#WHDD(IEnrk(U|?cmWMqcQu|R1Iz6b-Opn^RE#DfkDCfp1r|AC5Ffv#odV%Gqg!~k|N!+xlTInZoPfYKa5Uo$hpd<zq0C}9{7P<f%@kcX>d0EjIC6@z+!;XWg(+TzsYqSO+-q|7`B9{>bLH|h",  # noqa: E501
    "external storage, as older files have it": "c-rgqaB<`1lHy_j0S*oZ76t(ZWbhvfHn5`dVe$!3nh{EOK<O1sFmXn(oCH){5NbZUx{x4OSCH!eXaHtU1`CAdU>F4>5qP*d27u@YC?A$ePcWgXt3XSS9u(Tk$iN0MixI}xfY3}30cNN=X!69umjG)ORIrDpT?YmeZU&S8P=%~OQII?n6U0Dvp!tkY>p(fj07trq<vR{&&SGYS<(LHYkfTXFNT7vt01K+R;?(4#)Dpd<%sdD`*w5bu<R6$n6qrZTG&ukOsD3>a",  # noqa: E501
    "an external link": "c-rgqaB<`1lHy|G;9!7(|4^_Q$~S=0?de(?{vIwtObiuFLdXhXfQyNNk%56tl!1Yf!-27akAa~$HMuCYL@zIyLBE25!JdIqu;|h6-vFYsCQJ",  # noqa: E501
    "a virtual dataset": "c-rgqaB<`1lHy|K;9!7(|4_gn0pS}!#T`34+5J6Sf|wX8n1qlO!T=W&10w?i8xI4JVyxH<GtYy8Y9RBcObyrxifjUZvXC(YBclof0}~S?BQsPj3zWv-i!d+>D%dkXJnX<=!p&gvAE<~G=z3;u4nCktW~d~{I}8j<7={G+c#|=KVHAvlQ7{Td!6+aGxI6p%fGarxqzVrR0$~bZ0>!DxMX4ovdC3eF;2M<?$q*(az62T{CJ)lHzi`DgH2XXFN8?}=jDk@x3P!;w7zLwX6pVsVFbYP&D4;a}0GakR`2",  # noqa: E501
}
"""NetCDF-4 files whose variable x lies in another file, made with h5py 3.16."""

PLAIN = "c-rgqaB<`1lHy|G;9!7(|4@(s6*7Q|FI%))#NWduh>4+sNeEdX3~(_qFfuT(@h|`>#){1_^E?=+1~Pxj)PS7;w182Cfq{vMk&ziH#{#7>_#zC9f(rHw5Z^d3m~b<g{0Ayx1-h1*iv#ErW=5zaLjugA1q_28lz+37U>F6XU=)mkQ7{T92OsRA3<n6s0i^|?v<Q@zfYLHhS^-KcL1`5zt>yp#%CaoH"  # noqa: E501
"""The same with the numbers inside."""


class TestOtherFiles:
    @pytest.mark.parametrize("what", SECRETS)
    def test_netcdf(self, what, tmp_path):
        (tmp_path / "a.nc").write_bytes(zlib.decompress(base64.b85decode(SECRETS[what])))
        refuses(ValueError, ["a.nc", what.partition(",")[0], "other files"], lambda: read(tmp_path / "a.nc"))

    def test_plain_netcdf_is_read(self, tmp_path):
        (tmp_path / "a.nc").write_bytes(zlib.decompress(base64.b85decode(PLAIN)))
        np.testing.assert_array_equal(read(tmp_path / "a.nc").observations.to_dense(), np.arange(12.0).reshape(3, 4))

    def test_a_picture_that_is_a_program(self, tmp_path):
        (tmp_path / "a.png").write_bytes(
            b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
        )
        refuses(ValueError, ["a.png", "picture"], lambda: read(tmp_path / "a.png"))

    @pytest.mark.parametrize("ending", ["mp4", "avi"])
    @pytest.mark.parametrize("content", ["ffconcat version 1.0\nfile inner.mp4\n", "#EXTM3U\n#EXTINF:1,\ninner.mp4\n"])
    def test_a_movie_that_is_a_list_of_others(self, ending, content, tmp_path):
        pytest.importorskip("av")
        write(tmp_path / "inner.mp4", np.full((3, 16, 16, 3), 90.0))
        (tmp_path / f"a.{ending}").write_text(content)
        refuses(ValueError, [f"a.{ending}", "movie"], lambda: read(tmp_path / f"a.{ending}"))


class TestBombs:
    """Small files that unpack to much, or say that they do; none of them may be unpacked."""

    def refuses(self, path, **options):
        with PeakMemory() as peak:
            refuses(ValueError, [str(path), "max_bytes"], lambda: read(path, max_bytes=MEGABYTE, **options))
        assert not peak.bytes > 60 * MEGABYTE

    def test_npz(self, tmp_path):
        np.savez_compressed(tmp_path / "a.npz", array=np.zeros((1000, 9000)))
        self.refuses(tmp_path / "a.npz")

    @pytest.mark.parametrize("name", ["a.npy", "a.npz"])
    def test_an_array_that_says_it_is_large(self, name, tmp_path):
        made = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
        np.lib.format.write_array_header_1_0(made, header)
        if name == "a.npy":
            (tmp_path / name).write_bytes(made.getvalue())
        else:
            with zipfile.ZipFile(tmp_path / name, "w") as file:
                file.writestr("array.npy", made.getvalue())
        refuses(
            ValueError,
            [name, "promises 8,000,000,000,000 bytes, but 0 follow"],
            lambda: read(tmp_path / name, max_bytes=np.inf),
        )

    @pytest.mark.parametrize(
        ("name", "line", "options"),
        [
            ("a.tns.gz", b"1 1 1\n", {}), ("a.csv.gz", b"a,b,1\n", {}), ("a.tsv.gz", b"a\tb\t1\n", {}),
            ("facts.gz", b"a\tb\tc\n", {"format": "triples"}), ("a.tns.gz", b"# comment", {}), ("a.csv.gz", b"a", {}),
        ],
    )  # fmt: skip
    def test_text(self, name, line, options, tmp_path):
        first = b"a,b,c\n" if "csv" in name else b"a\tb\tc\n" if "tsv" in name else b""
        (tmp_path / name).write_bytes(gzip.compress(first + line * (30 * MEGABYTE // len(line))))
        with PeakMemory() as peak, pytest.raises(ValueError, match=r"max_bytes|letters or more"):
            read(tmp_path / name, max_bytes=MEGABYTE, **options)
        assert not peak.bytes > 60 * MEGABYTE

    def test_a_sparse_tensor_with_a_long_mode(self, tmp_path):
        (tmp_path / "a.tns").write_text("# shape: 100000000 2 2\n1 1 1 5\n")
        self.refuses(tmp_path / "a.tns")

    @pytest.mark.parametrize("name", ["a.tif", "a.png", "a.bmp"])
    def test_pictures(self, name, tmp_path):
        from PIL import Image

        Image.new("L", (9000, 9000)).save(tmp_path / name, **({"compression": "tiff_lzw"} if name == "a.tif" else {}))
        self.refuses(tmp_path / name)

    @pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
    def test_movies(self, name, tmp_path):
        if name == "a.mp4":
            pytest.importorskip("av")
        write(tmp_path / name, np.broadcast_to(np.arange(40.0).reshape(40, 1, 1, 1) * 6, (40, 64, 64, 3)))
        self.refuses(tmp_path / name)

    def test_mat(self, tmp_path):
        from scipy import io as scipy_io

        scipy_io.savemat(tmp_path / "a.mat", {"x": np.zeros((1000, 9000))}, do_compression=True)
        self.refuses(tmp_path / "a.mat")

    def test_parquet(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        rows = 2_000_000
        pandas.DataFrame({"a": np.zeros(rows), "b": np.zeros(rows), "v": np.zeros(rows)}).to_parquet(tmp_path / "a.pq")
        self.refuses(tmp_path / "a.pq")

    def test_netcdf(self, tmp_path):
        import netCDF4

        with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
            file.createDimension("a", 10**6)
            file.createDimension("b", 10**6)
            file.createVariable("x", "f8", ("a", "b"), chunksizes=(100, 100))
        self.refuses(tmp_path / "a.nc")

    def test_the_default_is_a_share_of_the_memory(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tensorfill.io.source.physical_bytes", lambda: 1000.0)
        write(tmp_path / "a.npy", np.ones((10, 10)))
        refuses(ValueError, ["max_bytes=500"], lambda: read(tmp_path / "a.npy"))
        assert read(tmp_path / "a.npy", max_bytes=np.inf).observations.shape == (10, 10)
        refuses(ValueError, ["max_bytes", "-1"], lambda: read(tmp_path / "a.npy", max_bytes=-1))


class TestDamage:
    @pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF3_64BIT_DATA"])
    def test_a_netcdf_file_that_is_cut_off_has_no_zeros(self, form, tmp_path):
        import xarray

        array = xarray.DataArray(np.arange(1.0, 61.0).reshape(4, 15), dims=("a", "b"), name="x")
        array.to_netcdf(tmp_path / "a.nc", format=form, engine="netcdf4")
        assert read(tmp_path / "a.nc").observations.values.tolist() == list(range(1, 61))
        whole = (tmp_path / "a.nc").read_bytes()
        for length in (len(whole) - 1, len(whole) - 200, 60, 5):
            (tmp_path / "a.nc").write_bytes(whole[:length])
            refuses(ValueError, ["a.nc", "cut off"], lambda: read(tmp_path / "a.nc"))

    def test_a_netcdf_file_with_records(self, tmp_path):
        import netCDF4

        with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("time", None)
            file.createDimension("b", 3)
            file.createVariable("x", "i2", ("time", "b"))[:] = np.arange(21).reshape(7, 3)
            file.createVariable("y", "f8", ("time",))[:] = np.arange(7)
        assert read(tmp_path / "a.nc").observations.shape == (7, 3)
        whole = (tmp_path / "a.nc").read_bytes()
        (tmp_path / "a.nc").write_bytes(whole[:-30])
        refuses(ValueError, ["a.nc", "cut off"], lambda: read(tmp_path / "a.nc"))

    @pytest.mark.parametrize(
        ("doing", "words"),
        [("import os; os.abort()", "ends the process"), ("import time; time.sleep(9)", "does not come to an end")],
    )
    def test_a_library_that_crashes_or_loops_does_so_elsewhere(self, doing, words, tmp_path, monkeypatch):
        (tmp_path / "a.nc").write_bytes(zlib.decompress(base64.b85decode(PLAIN)))
        monkeypatch.setattr("tensorfill.io.netcdf.OPENING", doing)
        monkeypatch.setattr("tensorfill.io.netcdf.PATIENCE", 0.5 if "sleep" in doing else 60)
        refuses(ValueError, ["a.nc", words], lambda: read(tmp_path / "a.nc"))

    def test_nothing_beside_the_file_is_imported(self, tmp_path, monkeypatch):
        (tmp_path / "a.nc").write_bytes(zlib.decompress(base64.b85decode(PLAIN)))
        (tmp_path / "netCDF4.py").write_text("import os; os.abort()")
        monkeypatch.chdir(tmp_path)
        assert read("a.nc").observations.shape == (3, 4)

    def test_memory_that_does_not_suffice_is_a_sentence(self, tmp_path, monkeypatch):
        def fail(*_, **__):
            raise MemoryError

        write(tmp_path / "a.npy", np.ones((2, 2)))
        monkeypatch.setattr("tensorfill.io.common.Observations.from_dense", fail)
        refuses(ValueError, ["a.npy", "memory"], lambda: read(tmp_path / "a.npy"))

    def test_an_error_of_tensorfill_itself_is_not_hidden(self, tmp_path, monkeypatch):
        write(tmp_path / "a.npy", np.ones((2, 2)))
        monkeypatch.setattr("tensorfill.io.common.Labels", None)
        with pytest.raises(AttributeError):
            read(tmp_path / "a.npy")

    def test_an_unreadable_file_is_a_sentence(self, tmp_path):
        (tmp_path / "a.npy").symlink_to(tmp_path / "a.npy")
        with pytest.raises(OSError, match=r"a\.npy"):
            read(tmp_path / "a.npy")


class TestMatlab:
    """Our own reader against scipy's."""

    @settings(max_examples=40)
    @given(
        arrays.arrays(
            st.sampled_from([np.float64, np.float32, np.int8, np.uint8, np.int16, np.int32, np.int64, np.bool_]),
            arrays.array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=5),
            elements={"allow_nan": False, "allow_infinity": False},
        ),
        st.booleans(),
    )
    def test_arrays(self, array, packed):
        from scipy import io as scipy_io

        made = io.BytesIO()
        scipy_io.savemat(made, {"x": array, "words": "text", "n": 5.0, "z": 1j, "c": {"a": 1}}, do_compression=packed)
        np.testing.assert_array_equal(_read_mat(made.getvalue()).to_dense(), array.astype(float))

    @settings(max_examples=20)
    @given(st.integers(0, 99), st.booleans(), st.sampled_from(["4", "5"]))
    def test_sparse_matrices(self, seed, packed, form):
        from scipy import io as scipy_io
        from scipy import sparse

        matrix = sparse.random(6, 5, 0.4, "csc", rng=np.random.default_rng(seed))
        made = io.BytesIO()
        scipy_io.savemat(made, {"x": matrix}, format=form, **({"do_compression": packed} if form == "5" else {}))
        found = _read_mat(made.getvalue(), missing="absent")
        np.testing.assert_array_equal(found.to_dense(fill=0.0), matrix.toarray())

    def test_version_4(self):
        from scipy import io as scipy_io

        made = io.BytesIO()
        scipy_io.savemat(made, {"x": np.arange(6.0).reshape(2, 3), "w": "text"}, format="4")
        np.testing.assert_array_equal(_read_mat(made.getvalue()).to_dense(), np.arange(6.0).reshape(2, 3))

    def test_the_other_order_of_bytes(self):
        def element(kind, content):
            return kind.to_bytes(4, "big") + len(content).to_bytes(4, "big") + content.ljust(-(-len(content) // 8) * 8)

        inside = (
            element(6, np.array([6, 0], ">u4").tobytes())
            + element(5, np.array([2, 3], ">i4").tobytes())
            + element(1, b"x")
            + element(9, np.arange(6, dtype=">f8").tobytes())
        )
        content = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI" + element(14, inside)
        np.testing.assert_array_equal(_read_mat(content).to_dense(), np.arange(6.0).reshape(3, 2).T)

    def test_no_flipped_bit_is_more_than_a_sentence(self, tmp_path):
        from scipy import io as scipy_io
        from scipy import sparse

        made = io.BytesIO()
        scipy_io.savemat(made, {"x": np.ones((2, 3)), "s": sparse.eye(3, format="csc"), "c": {"a": 1.0}})
        whole = made.getvalue()
        path = tmp_path / "a.mat"
        for place in range(8 * 124, 8 * len(whole), 13):
            changed = bytearray(whole)
            changed[place // 8] ^= 1 << place % 8
            path.write_bytes(changed)
            assert attempt(path, "mat") is None


def _read_mat(content, **options):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.mat"
        path.write_bytes(content)
        return read(path, name="x", **options).observations


def test_pictures_from_0_to_1_are_not_black(tmp_path):
    values = np.linspace(0, 1, 12).reshape(3, 4)
    write(tmp_path / "a.png", values)
    np.testing.assert_allclose(read(tmp_path / "a.png").observations.to_dense(), 255 * values, atol=0.5)
    # A fit may leave the range a little, and whole numbers are levels as they are.
    write(tmp_path / "a.png", values * 1.2 - 0.1)
    assert read(tmp_path / "a.png").observations.to_dense().max() == 255
    write(tmp_path / "a.png", np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert read(tmp_path / "a.png").observations.to_dense().max() == 1
    write(tmp_path / "a.gif", np.broadcast_to(values, (2, 3, 4)))
    assert read(tmp_path / "a.gif").observations.to_dense().max() == 255


def test_what_is_sparse_is_not_limited_by_the_size_of_the_tensor(tmp_path):
    write(tmp_path / "a.npz", Observations([[0, 0, 0]], [1.0], (10_000, 10_000, 10_000)))
    assert read(tmp_path / "a.npz", max_bytes=MEGABYTE).observations.shape == (10_000, 10_000, 10_000)


class TestSparseArrays:
    """A sparse tensor as .npz, of which a part is lost."""

    DATA = Labelled(
        Observations([[0, 1, 0], [3, 2, 1], [1, 0, 1]], [1.0, 2.0, 3.0], (4, 3, 2)),
        Labels(("a", "b", "c"), (np.array(list("wxyz")), np.arange(3), None)),
    )

    def test_a_damaged_directory_hides_nothing(self, tmp_path):
        write(tmp_path / "a.npz", self.DATA)
        sound = (tmp_path / "a.npz").read_bytes()
        entries = [found.start() for found in re.finditer(b"PK\x01\x02", sound)]
        assert len(entries) == 6
        for entry in entries:
            # The lengths of the name, of what is added to it and of the comment, and the end of the name.
            length = int.from_bytes(sound[entry + 28 : entry + 30], "little")
            for place in [*range(entry + 28, entry + 34), entry + 46 + length - 5]:
                for bit in range(8):
                    damaged = bytearray(sound)
                    damaged[place] ^= 1 << bit
                    (tmp_path / "b.npz").write_bytes(damaged)
                    try:
                        found = read(tmp_path / "b.npz")
                    except ValueError:
                        continue
                    # What follows the name of the last entry is not needed.
                    assert entry == entries[-1]
                    assert found.labels.keys[0].tolist() == list("wxyz")
                    np.testing.assert_array_equal(found.observations.coords, self.DATA.observations.coords)

    @pytest.mark.parametrize("lost", ["values", "shape"])
    def test_coordinates_alone_are_no_tensor(self, tmp_path, lost):
        write(tmp_path / "a.npz", self.DATA)
        with np.load(tmp_path / "a.npz") as file:
            arrays = {name: file[name] for name in file.files if name != lost}
        np.savez(tmp_path / "b.npz", **arrays)
        refuses(ValueError, ["b.npz", "'coords'", f"lacks '{lost}'", "name="], lambda: read(tmp_path / "b.npz"))
        assert read(tmp_path / "b.npz", name="coords").observations.shape == (3, 3)
