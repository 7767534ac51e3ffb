"""Tables with texts, categories and dates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tensorfill.sklearn import MatrixImputer

from ..refusal import refuses

FAST = {"candidates": ["gaussian"], "random_state": 0}


def people(count=80, seed=0):
    """Return a table in which everything follows from one number, and the same with holes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=count)
    whole = pd.DataFrame(
        {
            "height": 170 + 10 * x + 0.1 * rng.normal(size=count),
            "size": pd.Categorical(np.where(x < -0.5, "S", np.where(x < 0.5, "M", "L")), categories=["S", "M", "L"]),
            "tall": x > 0,
            "colour": np.where(x > 0, "red", "blue"),
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(np.round(1000 * x), unit="D"),
            "years": np.round(20 + 5 * x).astype(int),
        }
    )
    return whole, whole.mask(rng.random(whole.shape) < 0.1)


def test_every_column_is_filled_with_values_of_its_own_type():
    whole, holes = people()
    imputer = MatrixImputer(**FAST).fit(holes)
    filled = imputer.transform(holes)
    assert list(filled.columns) == list(whole.columns)
    assert not filled.isna().any().any()
    pd.testing.assert_frame_equal(filled.where(holes.notna()), holes, check_dtype=False)
    assert filled["size"].dtype == holes["size"].dtype
    assert set(filled["colour"]) == {"red", "blue"}
    assert filled["born"].dtype.kind == "M"
    for name in ("colour", "tall"):
        missing = holes[name].isna()
        assert (filled[name][missing] == whole[name][missing]).mean() > 0.8
    missing = holes["born"].isna()
    assert (filled["born"] - whole["born"])[missing].abs().max() < pd.Timedelta(days=1500)
    assert imputer.n_features_in_ == 6
    assert imputer.get_feature_names_out().tolist() == list(whole.columns)


def test_new_rows_and_new_levels():
    _, holes = people()
    imputer = MatrixImputer(**FAST).fit(holes)
    new = holes.iloc[:3].copy()
    new["colour"] = ["green", None, "red"]
    filled = imputer.transform(new)
    assert filled["colour"].tolist()[0] == "green"
    assert filled["colour"].tolist()[1] in ("red", "blue")
    refuses(ValueError, ["columns that it had in fit", "'colour'"], lambda: imputer.transform(new[["colour"]]))


def test_indicators_and_empty_columns():
    _, holes = people()
    holes["nothing"] = np.nan
    with pytest.warns(UserWarning, match="'nothing'"):
        imputer = MatrixImputer(add_indicator=True, **FAST).fit(holes)
    filled = imputer.transform(holes)
    assert "nothing" not in filled
    assert filled["missingindicator_colour"].sum() == holes["colour"].isna().sum()


def test_what_cannot_be_encoded_is_refused_by_name():
    _, holes = people()
    holes["name"] = [f"person {number}" for number in range(len(holes))]
    holes["parts"] = [[1, 2]] * len(holes)
    refuses(ValueError, ["'name', 'parts'", "drop or encode"], lambda: MatrixImputer(**FAST).fit(holes))
    table = pl.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})
    refuses(TypeError, ["polars", "to_pandas()"], lambda: MatrixImputer(**FAST).fit(table))


def test_tables_of_numbers_are_arrays_as_before():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc"))
    assert isinstance(MatrixImputer(**FAST).fit_transform(table), np.ndarray)
