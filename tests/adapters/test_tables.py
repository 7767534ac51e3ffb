"""Long tables of pandas and polars."""

import datetime
import itertools

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations, load
from tensorfill.adapters import take_in
from tensorfill.adapters.tables import UnknownLabelWarning
from tensorfill.choosing.error_bars import ErrorBars

from ..refusal import refuses
from .examples import fit_of, labelled_arrays, names_of, same_observations

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def columns_of(array, keys, names):
    """Return the columns of the long table of an array."""
    grid = np.indices(array.shape).reshape(array.ndim, -1)
    return {name: own[places] for name, own, places in zip(names, keys, grid, strict=True)} | {"rain": array.ravel()}


def equal(one, other):
    if isinstance(one, pd.DataFrame | pd.Series):
        testing = pd.testing.assert_frame_equal if isinstance(one, pd.DataFrame) else pd.testing.assert_series_equal
        testing(one, other)
    else:
        pl.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("library", sorted(LIBRARIES))
@given(drawn=labelled_arrays(), seed=st.integers(0, 1000), nulls=st.booleans())
def test_a_table_is_read_as_its_array_and_comes_back_with_all_combinations(library, drawn, seed, nulls):
    array, keys = drawn
    keys = [np.sort(own) for own in keys]
    names = names_of(array)
    columns = columns_of(array, keys, names)
    whole = LIBRARIES[library](columns)
    # Rows in any order; those without a value are there or not, as long as each key is somewhere.
    order = np.random.default_rng(seed).permutation(array.size)
    needed = np.isfinite(array.ravel()) | nulls
    if any(len(np.unique(column[needed])) < len(np.unique(column)) for column in list(columns.values())[:-1]):
        needed[:] = True
    table = LIBRARIES[library]({name: column[order][needed[order]] for name, column in columns.items()})
    taken = take_in(table)
    same_observations(taken.observations, Observations.from_dense(array))
    assert taken.labels.names == tuple(names)
    assert taken.labels.value == "rain"
    for own, found in zip(keys, taken.labels.keys, strict=True):
        np.testing.assert_array_equal(own, found)
    equal(taken.restore(array), whole)


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_the_column_of_values_can_be_named_and_keeps_its_place(library):
    table = LIBRARIES[library]({"a": ["x", "y"], "n": [1.0, 2.0], "b": [3, 4]})
    taken = take_in(table, value="n")
    assert taken.labels.names == ("a", "b")
    assert list(taken.restore(np.zeros((2, 2))).columns) == ["a", "n", "b"]
    assert take_in(table).labels.names == ("a", "n")


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_row_without_a_value_has_keys_and_its_entry_is_missing(library):
    table = LIBRARIES[library]({"a": ["x", "y", "z"], "b": [1, 1, 2], "n": [1, None, 0]})
    taken = take_in(table)
    assert taken.labels.keys[0].tolist() == ["x", "y", "z"]
    assert taken.observations.coords.tolist() == [[0, 0], [2, 1]]
    for same in ("nan", "absent"):
        same_observations(take_in(table, missing=same).observations, taken.observations)
    assert take_in(table, missing="zero").observations.coords.tolist() == [[0, 0]]


def test_categories_keep_their_order_in_pandas():
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    table = pd.DataFrame({"size": pd.Series(["large", "small"], dtype=sizes), "b": [1, 2], "n": [1.0, 2.0]})
    taken = take_in(table)
    assert taken.labels.keys[0].tolist() == ["small", "medium", "large"]
    assert taken.observations.coords.tolist() == [[0, 1], [2, 0]]
    restored = taken.restore(np.zeros((3, 2)))
    assert restored["size"].dtype == sizes
    assert restored["size"].tolist()[::2] == ["small", "medium", "large"]


def test_categories_keep_their_order_in_polars():
    sizes = pl.Enum(["small", "medium", "large"])
    words = ["large", "small"]
    table = pl.DataFrame(
        {"size": pl.Series(words, dtype=sizes), "b": pl.Series(words, dtype=pl.Categorical), "n": [1, 2]}
    )
    taken = take_in(table)
    assert taken.labels.keys[0].tolist() == ["small", "medium", "large"]
    assert taken.labels.keys[1].tolist() == words
    assert taken.restore(np.zeros((3, 2))).dtypes == [sizes, pl.Categorical(), pl.Float64]


def special_tables():
    """Tables whose keys have types that numpy has not."""
    moments = pd.date_range("2020-03-28", periods=3, tz="Europe/Berlin")
    other = list("abc")
    numbers = [1.0, 2.0, 3.0]
    yield "pandas zone", pd.DataFrame({"t": moments, "b": other, "n": numbers})
    yield (
        "pandas Int64",
        pd.DataFrame({"t": pd.array([3, 1, 2], "Int64"), "b": other, "n": pd.array([1, None, 3], "Int64")}),
    )
    yield (
        "pandas category",
        pd.DataFrame({"t": pd.Categorical(["q", "p", "q"], ["q", "r", "p"]), "b": other, "n": numbers}),
    )
    yield (
        "pandas dates",
        pd.DataFrame({"t": [datetime.date(2020, 1, day) for day in (3, 1, 2)], "b": other, "n": numbers}),
    )
    yield "pandas mixed", pd.DataFrame({"t": pd.Series([1, "x", (2, 3)], dtype=object), "b": other, "n": numbers})
    utc = pl.Series(moments.tz_convert(None).to_numpy()).dt.replace_time_zone("UTC")
    zoned = utc.dt.convert_time_zone("Europe/Berlin")
    yield "polars zone", pl.DataFrame({"t": zoned, "b": other, "n": numbers})
    yield (
        "polars dates",
        pl.DataFrame({"t": [datetime.date(2020, 1, day) for day in (3, 1, 2)], "b": other, "n": numbers}),
    )
    yield (
        "polars Enum",
        pl.DataFrame({"t": pl.Series(list("qpq"), dtype=pl.Enum(list("qrp"))), "b": other, "n": numbers}),
    )
    yield (
        "polars Categorical",
        pl.DataFrame({"t": pl.Series(list("qpq"), dtype=pl.Categorical), "b": other, "n": numbers}),
    )


@pytest.mark.parametrize("table", [pytest.param(table, id=name) for name, table in special_tables()])
def test_keys_keep_their_type_on_the_answer_and_in_predictions(table, tmp_path):
    taken = take_in(table)
    fit = fit_of(taken)
    restored = fit.to_dense()
    for column in ("t", "b"):
        assert restored[column].dtype == table[column].dtype
    asked = table[["b", "t"]]
    dense = fit.model.to_dense()
    coords = [taken.labels.positions(mode, _plain(table[name])) for mode, name in enumerate("tb")]
    assert fit.predict(asked)["n"].to_list() == dense[tuple(coords)].tolist()


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(table, id=name)
        for name, table in special_tables()
        if "mixed" not in name and name != "pandas dates"
    ],
)
def test_a_fit_in_a_file_gives_back_the_table_and_predicts_for_tables(table, tmp_path):
    fit = fit_of(take_in(table))
    fit.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz")
    equal(again.to_dense(), fit.to_dense())
    equal(again.predict(table[["t", "b"]]), fit.predict(table[["t", "b"]]))


def test_labels_that_are_no_arrays_survive_in_a_file(tmp_path):
    table = dict(special_tables())["pandas mixed"]
    fit = fit_of(take_in(table))
    fit.save(tmp_path / "fit.npz")
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    assert (
        load(tmp_path / "fit.npz").predict(table[["t", "b"]])["n"].tolist()
        == fit.predict(table[["t", "b"]])["n"].tolist()
    )


@pytest.mark.parametrize("library", sorted(LIBRARIES))
@settings(max_examples=10)
@given(drawn=labelled_arrays())
def test_every_table_survives_in_a_file(library, drawn, tmp_path_factory):
    array, keys = drawn
    path = tmp_path_factory.mktemp("fits") / "fit.npz"
    fit = fit_of(take_in(LIBRARIES[library](columns_of(array, keys, names_of(array)))))
    fit.save(path)
    equal(load(path).to_dense(), fit.to_dense())


def test_a_file_is_read_where_the_library_is_not_installed(tmp_path, monkeypatch):
    fit = fit_of(take_in(pd.DataFrame({"a": list("xy"), "b": [1, 2], "n": [1.0, 2.0]})))
    fit.save(tmp_path / "fit.npz")
    monkeypatch.setattr("tensorfill.adapters.registry.find_spec", lambda name: None)
    again = load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.to_dense(), fit[...])
    assert again.labels.names == ("a", "b")


def _plain(column):
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert(None)
    return column.to_numpy()


def test_named_levels_of_an_index_are_keys_and_come_back_as_such():
    keys = pd.MultiIndex.from_product([list("xy"), [1, 2]], names=["a", "b"])
    series = pd.Series([1.0, np.nan, 3.0, 4.0], index=keys, name="n")
    for data in (series, series.to_frame()):
        taken = take_in(data)
        assert (taken.labels.names, taken.labels.value) == (("a", "b"), "n")
        equal(taken.restore(np.array([[1.0, np.nan], [3.0, 4.0]])), data)
    assert take_in(series.rename(None)).labels.value == "value"
    unnamed = series.reset_index().set_index(np.array([7, 7, 8, 9]))
    assert take_in(unnamed).labels.names == ("a", "b")


def test_a_series_and_a_frame_with_levels_survive_in_a_file(tmp_path):
    keys = pd.MultiIndex.from_product([list("xy"), [1, 2]], names=["a", "b"])
    series = pd.Series([1.0, 2.0, 3.0, 4.0], index=keys, name="n")
    for data in (series, series.to_frame()):
        fit = fit_of(take_in(data))
        fit.save(tmp_path / "fit.npz")
        equal(load(tmp_path / "fit.npz").to_dense(), fit.to_dense())


def table_of(library, rows=(("x", 1, 1.0), ("y", 2, 2.0)), names=("a", "b", "n")):
    return LIBRARIES[library](dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_bad_tables_get_one_sentence(library):
    twice = table_of(library, [("x", 1, 1.0), ("y", 2, 2.0), ("x", 1, None)])
    refuses(ValueError, ["a='x', b=1", "2 rows", "1 of 3", "group", "mean("], lambda: take_in(twice))
    good = table_of(library)
    refuses(ValueError, ["value", "['a', 'b', 'n']", "'rain'"], lambda: take_in(good, value="rain"))
    refuses(TypeError, ["must hold numbers", "'a' does not"], lambda: take_in(good, value="a"))
    refuses(ValueError, ["at least two columns of keys", "['a', 'b']"], lambda: take_in(good[["a", "b"]]))
    null = table_of(library, [("x", None, 1.0), ("y", 2, 2.0)])
    refuses(ValueError, ["all its keys", "'b' has none in row 0", "layout='wide'"], lambda: take_in(null))
    nan = table_of(library, [("x", 1.5, 1.0), ("y", np.nan, 2.0)])
    refuses(ValueError, ["all its keys", "'b' has none in row 1"], lambda: take_in(nan))
    refuses(ValueError, ["no rows"], lambda: take_in(good[:0]))
    refuses(ValueError, ["'zero', 'nan', 'absent'"], lambda: take_in(good, missing="null"))
    refuses(ValueError, ["at least one"], lambda: take_in(table_of(library, [("x", 1, np.nan), ("y", 2, np.nan)])))
    refuses(ValueError, ["finite"], lambda: take_in(table_of(library, [("x", 1, np.inf), ("y", 2, 1.0)])))


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_blank_label_is_a_missing_one(library):
    blank = table_of(library, [("x", 1, 1.0), (" ", 2, 2.0), ("", 3, 1.0)])
    refuses(ValueError, ["all its keys", "'a' has none in row 1"], lambda: take_in(blank))


@pytest.mark.parametrize("library", sorted(LIBRARIES))
@pytest.mark.parametrize("keyed", [[[1, 2], [3]], [{"p": 1}, {"p": 2}]], ids=["lists", "mappings"])
def test_labels_that_hold_several_things_get_one_sentence(library, keyed):
    table = LIBRARIES[library]({"a": keyed, "b": [1, 2], "n": [1.0, 2.0]})
    refuses(TypeError, ["'a'", "numbers, texts or dates", "row 0"], lambda: take_in(table))


def panel():
    """Firms by years with three columns of measurements, as Grunfeld's: firm and year are the labels."""
    rng = np.random.default_rng(0)
    firms, years = np.repeat([f"firm {n}" for n in range(5)], 8), np.tile(np.arange(1935, 1943), 5)
    measured = {name: rng.normal(100, 30, 40).round(2) for name in ("invest", "value", "capital")}
    return measured | {"firm": firms, "year": years}


@pytest.mark.parametrize("library", sorted(LIBRARIES))
@pytest.mark.parametrize("order", ["invest value capital firm year", "firm year value capital invest"])
def test_columns_that_may_hold_values_are_asked_about(library, order):
    table = LIBRARIES[library]({name: panel()[name] for name in order.split()})
    refuses(ValueError, ["two ways", "'value', 'capital'", "layout='wide'", "value="], lambda: take_in(table))
    # Named values leave the other measurements, which are no labels either.
    refuses(ValueError, ["'value', 'capital'", "leave out", "layout='long'"], lambda: take_in(table, value="invest"))
    assert take_in(table[["firm", "year", "invest"]]).observations.shape == (5, 8)
    assert take_in(table, value="invest", layout="long").observations.ndim == 4


@pytest.mark.parametrize("library", sorted(LIBRARIES))
@pytest.mark.parametrize("cells", [
    np.random.default_rng(0).standard_normal((60, 60)),
    np.random.default_rng(0).standard_normal((60, 4)),
    np.random.default_rng(0).integers(0, 1000, (60, 3)),
    np.random.default_rng(0).integers(0, 9, (60, 60)),
], ids=["60 x 60", "60 x 4", "whole numbers", "small whole numbers"])  # fmt: skip
def test_numbers_without_labels_are_asked_about(library, cells):
    table = LIBRARIES[library]({f"x{place}": column for place, column in enumerate(cells.T)})
    refuses(ValueError, ["two ways", "'x0', 'x1'", "layout='wide'", "layout='long'"], lambda: take_in(table))
    assert take_in(table, layout="wide").observations.shape == cells.shape


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_numbers_that_repeat_and_few_whole_numbers_are_labels(library):
    lat, lon = (axis.ravel() for axis in np.meshgrid(np.linspace(47.1, 48.3, 6), np.linspace(8.2, 9.9, 5)))
    grid = LIBRARIES[library]({"lat": lat, "lon": lon, "rain": np.random.default_rng(0).random(30)})
    assert take_in(grid).observations.shape == (6, 5)
    # A sparse list with few entries in each slice.
    coords = np.random.default_rng(0).permutation(1000)[:60].reshape(20, 3)
    counts = LIBRARIES[library](dict(zip("abc", coords.T, strict=True)) | {"n": np.arange(20) % 4})
    assert take_in(counts).observations.ndim == 3
    # Many modes of whole numbers, and a value that is none; and a table with the names that tensorfill writes.
    sixth = {f"m{mode}": np.arange(64) // 2**mode % 2 for mode in range(6)}
    assert take_in(LIBRARIES[library](sixth | {"n": np.arange(64) / 8})).observations.ndim == 6
    written = {name.replace("m", "mode_"): column for name, column in sixth.items()}
    assert take_in(LIBRARIES[library](written | {"value": np.arange(64)})).observations.ndim == 6


def test_bad_frames_of_pandas_get_one_sentence():
    good = table_of("pandas")
    refuses(ValueError, ["different names"], lambda: take_in(good.rename(columns={"b": "a"})))
    refuses(ValueError, ["'a' is both"], lambda: take_in(good.set_index("a", drop=False)))
    refuses(ValueError, ["Series", "no name", "rename_axis"], lambda: take_in(good["n"]))
    refuses(TypeError, ["must hold numbers"], lambda: take_in(good.assign(n=[1j, 2j])))
    refuses(TypeError, ["must hold numbers"], lambda: take_in(good.assign(n=pd.Series(["1", "2"], dtype=object))))


def test_other_tables_get_one_sentence():
    good = table_of("polars")
    refuses(TypeError, ["LazyFrame", "data.collect()"], lambda: take_in(good.lazy()))
    refuses(TypeError, ["Table", "data.to_pandas()"], lambda: take_in(good.to_arrow()))


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_predictions_are_further_columns_of_the_table_that_asks(library):
    fit = fit_of(take_in(table_of(library)), error_bars=ErrorBars(np.linspace(0, 1, 99)))
    asked = LIBRARIES[library]({"note": ["p", "q"], "b": [2, 1], "a": ["x", "y"]})
    answer = fit.predict(asked)
    assert list(answer.columns) == ["note", "b", "a", "n"]
    assert answer["n"].to_list() == [1.0, 2.0]
    assert list(asked.columns) == ["note", "b", "a"]
    wide = fit.predict(asked, interval=0.9)
    assert list(wide.columns)[-3:] == ["n", "n_low", "n_high"]
    assert (wide["n_high"] > wide["n_low"]).all()
    equal(fit.predict(asked), answer)
    assert len(fit.predict(asked[:0])) == 0
    refuses(
        ValueError,
        ["'a' has no label 'z'", "'x', 'y'"],
        lambda: fit.predict(LIBRARIES[library]({"a": ["x", "z"], "b": [1, 1]})),
    )
    refuses(ValueError, ["'a', 'b'", "no 'b'"], lambda: fit.predict(asked[["note", "a"]]))
    refuses(ValueError, ["column 'n'", "drop or rename"], lambda: fit.predict(answer))


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_unknown_labels_get_nan_on_request(library):
    fit = fit_of(take_in(table_of(library)), error_bars=ErrorBars(np.linspace(0, 1, 99)))
    asked = LIBRARIES[library]({"a": ["x", "z", "y", "x"], "b": [1, 1, 2, 7]})
    with pytest.warns(UnknownLabelWarning, match="2 of 4 rows have a label that the fit does not know"):
        answer = fit.predict(asked, interval=0.9, unknown="nan")
    np.testing.assert_array_equal(answer["n"].to_numpy(), [0.0, np.nan, 3.0, np.nan])
    for end in ("n_low", "n_high"):
        assert np.isnan(answer[end].to_numpy()).tolist() == [False, True, False, True]
    equal(fit.predict(asked[:1], unknown="nan"), fit.predict(asked[:1]))
    refuses(ValueError, ["no label 'z'"], lambda: fit.predict(asked))
    refuses(ValueError, ["unknown", "'error', 'nan'", "'zero'"], lambda: fit.predict(asked, unknown="zero"))
    refuses(ValueError, ["table of labels"], lambda: fit.predict([[0, 0]], unknown="nan"))


def test_unknown_indices_get_nan_on_request():
    plain = fit_of(take_in(np.ones((2, 3))))
    with pytest.warns(UnknownLabelWarning, match="1 of 2 rows"):
        answer = plain.predict(pd.DataFrame({"mode_0": [1, 0], "mode_1": [2, 9]}), unknown="nan")
    np.testing.assert_array_equal(answer["value"], [5.0, np.nan])


def test_a_table_asks_any_fit():
    plain = fit_of(take_in(np.ones((2, 3))))
    answer = plain.predict(pd.DataFrame({"mode_1": [2, 0], "mode_0": [1, 0]}, index=[7, 9]))
    assert answer["value"].tolist() == [5.0, 0.0]
    assert answer.index.tolist() == [7, 9]
    refuses(
        ValueError, ["no 'mode_0'", "array of whole numbers"], lambda: plain.predict(pd.DataFrame({"i": [0], "j": [0]}))
    )
    refuses(TypeError, ["'mode_0' has no labels", "'x'"],
            lambda: plain.predict(pd.DataFrame({"mode_0": ["x"], "mode_1": [0]})))  # fmt: skip
    refuses(ValueError, ["from 0 to 2"], lambda: plain.predict(pd.DataFrame({"mode_0": [0], "mode_1": [9]})))
    refuses(TypeError, ["Series", "reset_index()"], lambda: plain.predict(pd.Series([1, 2])))
    refuses(TypeError, ["LazyFrame", "collect()"], lambda: plain.predict(pl.LazyFrame({"mode_0": [0], "mode_1": [0]})))


def test_one_entry_by_its_labels():
    fit = fit_of(take_in(table_of("pandas")))
    assert fit.at(a="y", b=1) == 2.0
    assert fit.at(a="y").iloc[:, -1].tolist() == [2.0, 3.0]
    assert fit.at(a="y")["a"].tolist() == ["y", "y"]
    refuses(ValueError, ["no mode 'c'"], lambda: fit.at(c=1))
    refuses(ValueError, ["no label 5"], lambda: fit.at(b=5))


def test_columns_may_have_numbers_for_names(tmp_path):
    fit = fit_of(take_in(pd.DataFrame(list(itertools.product("xy", [1, 2], [0.5])))))
    assert fit.labels.names == ("0", "1")
    assert list(fit.to_dense().columns) == [0, 1, 2]
    fit.save(tmp_path / "fit.npz")
    assert list(load(tmp_path / "fit.npz").to_dense().columns) == ["0", "1", "2"]
