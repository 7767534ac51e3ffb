"""The accessor of xarray."""

import numpy as np
import xarray

import tensorfill.xarray
from tensorfill import Fit


def rain():
    numbers = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
    numbers[2, 3] = np.nan
    coords = {"station": list("ABCDEFGH"), "month": np.arange(1, 7)}
    return xarray.DataArray(numbers, coords, name="rain", attrs={"units": "mm"})


def test_a_data_array_fills_itself():
    data = rain()
    filled = data.tensorfill.complete(lam=0.1, modes=["station"], rng=0)
    xarray.testing.assert_identical(filled.where(data.notnull()), data)
    assert abs(float(filled.sel(station="C", month=4)) - 12) < 0.5
    fit = data.tensorfill.fit(lam=0.1, modes=["station"], rng=0)
    assert isinstance(fit, Fit)
    assert fit.modes == (0,)
    xarray.testing.assert_identical(fit.filled(), filled)


def test_a_dataset_fills_itself():
    data = xarray.Dataset({"rain": rain(), "snow": 2 * rain()})
    filled = data.tensorfill.complete(lam=0.1, rng=0)
    assert list(filled.data_vars) == ["rain", "snow"]
    assert not bool(filled.to_dataarray().isnull().any())
    assert filled["rain"].attrs == {"units": "mm"}


def test_the_module_is_part_of_the_package():
    assert "xarray" in dir(tensorfill)
    assert tensorfill.xarray.TensorfillAccessor.__doc__
