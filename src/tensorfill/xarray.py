"""The xarray accessor: after ``import tensorfill.xarray`` every DataArray and Dataset has ``.tensorfill``.

>>> import numpy as np, xarray
>>> import tensorfill.xarray
>>> numbers = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
>>> numbers[2, 3] = np.nan
>>> rain = xarray.DataArray(numbers, {"station": list("ABCDEFGH"), "month": np.arange(1, 7)}, name="rain")
>>> filled = rain.tensorfill.complete(rng=0)
>>> round(float(filled.sel(station="C", month=4)), 1)
12.0
"""

from __future__ import annotations

from typing import Any

from ._support.optional import need
from .completion import complete
from .fit import Fit

# The library xarray, not this module of the same name.
_library = need("xarray", "xarray")


class TensorfillAccessor:
    """Fills in the missing entries of a DataArray or Dataset.

    Parameters
    ----------
    data
        The object; the variables of a Dataset must share all their dimensions.
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def complete(self, **settings: Any) -> Any:
        """Return the object with its missing entries filled in.

        Parameters
        ----------
        **settings
            As in `tensorfill.complete`; modes may be named by their dimensions.
        """
        return self.fit(**settings).filled()

    def fit(self, **settings: Any) -> Fit:
        """Return the fit, which can predict any entry and records what was chosen.

        Parameters
        ----------
        **settings
            As in `tensorfill.complete`; modes may be named by their dimensions.
        """
        return complete(self._data, **settings)


_library.register_dataarray_accessor("tensorfill")(TensorfillAccessor)
_library.register_dataset_accessor("tensorfill")(TensorfillAccessor)
