"""Colour pictures from the scikit-image package; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._support.checks import choice, whole_number
from .._support.optional import need
from .._support.types import Floats

PICTURES = {
    "astronaut": "astronaut.png",
    "chelsea": "chelsea.png",
    "coffee": "coffee.png",
    "rocket": "rocket.jpg",
}
"""The pictures by name, and their files inside the scikit-image wheel."""


def picture(name: str = "chelsea", *, rows: int | None = 256) -> Floats:
    """Return a colour picture as a tensor.

    Parameters
    ----------
    name
        ``"astronaut"``, ``"chelsea"`` (a cat), ``"coffee"`` or ``"rocket"``.
    rows
        The picture is scaled to this many rows, keeping its proportions; None keeps the original size.

    Returns
    -------
    ndarray
        Of shape (rows, columns, 3): red, green and blue from 0 to 1.

    Raises
    ------
    ImportError
        If scikit-image is not installed.
    """
    file = PICTURES[choice(name, "name", PICTURES)]
    if rows is not None:
        rows = whole_number(rows, "rows", at_least=1)
    skimage = need("skimage", "demo")
    imread, resize = need("skimage.io", "demo").imread, need("skimage.transform", "demo").resize
    # skimage.data would try to download a file that is not part of the package.
    path = Path(str(skimage.__file__)).parent / "data" / file
    if not path.exists():
        raise FileNotFoundError(f"This scikit-image does not ship {file}; choose another picture.")
    colours: Floats = np.asarray(imread(path), dtype=np.float64)[:, :, :3] / 255.0
    if rows is None or rows == colours.shape[0]:
        return colours
    columns = max(1, round(colours.shape[1] * rows / colours.shape[0]))
    scaled: Floats = resize(colours, (rows, columns, 3), anti_aliasing=rows < colours.shape[0])
    # Rounding in the filter can exceed the range.
    return np.clip(scaled, 0.0, 1.0)
