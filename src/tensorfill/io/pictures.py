"""Pictures: rows x columns in grey, rows x columns x colours otherwise, with values as stored (0 to 255)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import choice
from .._support.optional import need
from .._support.types import Floats
from ..labels import Labelled, Labels
from .atomic import written_beside
from .common import Content, Mask, dense_labelled
from .source import Source

CHANNELS = {
    2: ("grey", "alpha"),
    3: ("red", "green", "blue"),
    4: ("red", "green", "blue", "alpha"),
}
"""The labels of the colours, by their number."""

BYTES_PER_PIXEL = 24
"""Three colours of 8 bytes each."""

ROOM = 0.5
"""How far a filled picture with values from 0 to 1 may exceed that range."""

_AS = {"1": "L", "PA": "RGBA", "La": "LA", "RGBa": "RGBA"}
_KEPT = ("L", "LA", "RGB", "RGBA")
_FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF", ".png": "PNG", ".bmp": "BMP"}


def read(source: Source, *, missing: str | None = None, mask: Mask | None = None) -> Labelled:
    """Read a picture; pixels are missing only by `missing` or `mask`.

    Parameters
    ----------
    source
        The file.
    missing
        ``"zero"`` if values of 0 are missing; ``"alpha"`` if fully transparent pixels are, which leaves the other
        channels; by default nothing is.
    mask
        An array, of the size of the picture, that is nonzero where pixels were observed.
    """
    array = _pixels(source)
    if missing == "alpha":
        if array.ndim != 3 or array.shape[2] not in (2, 4):
            raise ValueError(f"missing='alpha' needs a picture with an alpha channel, but {source.path} has none.")
        seen = array[..., -1] > 0
        array = array[..., 0] if array.shape[2] == 2 else array[..., :3]
        array = np.where(seen if array.ndim == 2 else seen[..., None], array, np.nan)
        missing = None
    else:
        choice("nan" if missing is None else missing, "missing for a picture", ("nan", "zero", "alpha"))
    labels = picture_labels(array.shape)
    depth = array.dtype if array.dtype == np.uint16 else np.dtype(np.uint8)
    return dense_labelled(array, labels, missing=missing, mask=mask, restore=partial(rounded, depth=depth))


def picture_labels(shape: tuple[int, ...]) -> Labels:
    """Return the names of the modes of a picture, and of its colours."""
    if len(shape) == 2:
        return Labels(("row", "column"), (None, None))
    return Labels(("row", "column", "colour"), (None, None, np.array(CHANNELS[shape[2]])))


def rounded(values: Floats, depth: np.dtype[Any]) -> NDArray[Any]:
    """Return values as whole numbers from 0 to the largest that `depth` holds; those beyond are clipped."""
    return np.clip(np.rint(values), 0, np.iinfo(depth).max).astype(depth)


def in_levels(values: NDArray[Any]) -> NDArray[Any]:
    """Return values from 0 to 255; values from 0 to 1, as in many programs, are scaled.

    They are recognised if none is far outside of 0 to 1 and some are not whole numbers. Without scaling, they would all
    be black.

    Examples
    --------
    >>> in_levels(np.array([0.0, 0.2, 1.04])), in_levels(np.array([0.0, 1.0])), in_levels(np.array([0.2, 250.0]))
    (array([  0. ,  51. , 265.2]), array([0., 1.]), array([2.0e-01, 2.5e+02]))
    """
    if values.dtype.kind != "f" or values.size == 0 or values.min() < -ROOM or values.max() > 1 + ROOM:
        return values
    return values * 255.0 if np.any(values != np.rint(values)) else values


def _pixels(source: Source) -> NDArray[Any]:
    """Return the values of a picture: uint8, or uint16 for 16-bit grey."""
    with source.read_as("a picture"), opened_picture(source, tuple(dict.fromkeys(_FORMATS.values()))) as picture:
        if getattr(picture, "n_frames", 1) > 1:
            raise ValueError(f"it holds {picture.n_frames} pictures; save them as single files, or as a movie or .npy")
        if picture.mode == "F" or picture.mode.startswith("I"):
            return _deep(np.asarray(picture))
        wanted = _AS.get(picture.mode, picture.mode if picture.mode in _KEPT else "RGB")
        if picture.mode == "P" and "transparency" in picture.info:
            wanted = "RGBA"
        return np.asarray(picture if picture.mode == wanted else picture.convert(wanted))


@contextmanager
def opened_picture(source: Source, formats: tuple[str, ...]) -> Iterator[Any]:
    """Open a picture of one of these formats of Pillow, after checking its size.

    Pillow has formats that start other programs, and identifies formats by content, not by extension.
    """
    pillow = need("PIL.Image", "images")
    with warnings.catch_warnings():
        # Pillow warns about many pixels, but max_bytes is the limit here.
        warnings.simplefilter("ignore")
        with source.path.open("rb") as file, pillow.open(file, formats=formats) as picture:
            source.need(picture.width * picture.height * BYTES_PER_PIXEL)
            yield picture


def _deep(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "iu" or array.min() < 0 or array.max() > np.iinfo(np.uint16).max:
        raise ValueError(f"its values are {array.dtype} beyond 16 bits; save them as .npy")
    return array.astype(np.uint16)


def check(path: Path, content: Content) -> None:
    """Raise an error if a picture cannot hold such a tensor."""
    shape = content.shape
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in CHANNELS):
        raise ValueError(
            f"a picture must have shape (rows, columns) or (rows, columns, 2 to 4 colours), but {shape} was "
            "given; write .npy or .npz."
        )
    kind = _kind(path)
    if content.dtype == np.uint16 and (len(shape) == 3 or kind not in ("PNG", "TIFF")):
        raise ValueError(
            f"16 bits are for grey .png and .tif pictures only, but {shape} as {kind} was given; write .npy, "
            "or scale the values to 0..255."
        )
    if kind in ("JPEG", "BMP") and shape[2:] in ((2,), (4,)):
        raise ValueError(f"a {kind} picture holds no alpha channel, but {shape} was given; write .png or .tif.")


def _kind(path: Path) -> str:
    return _FORMATS.get(path.suffix.lower(), "PNG")


def write(path: Path, content: Content) -> None:
    """Write a picture, rounded and clipped to 0..255, or to 0..65535 for an array of uint16.

    Fractional values from 0 to 1 are scaled to 0..255.

    Parameters
    ----------
    path
        The file; its extension determines the format. JPEG changes values.
    content
        What to write: rows x columns, or rows x columns x 2, 3 or 4 colours.
    """
    pillow = need("PIL.Image", "images")
    array = content.whole("a picture")
    depth = np.dtype(np.uint16 if array.dtype == np.uint16 else np.uint8)
    picture = pillow.fromarray(rounded(in_levels(array), depth))
    kind = _kind(path)
    with written_beside(path) as file:
        # The file is a result, not a preview, so a JPEG is written with little loss.
        picture.save(file, format=kind, **({"quality": 95, "subsampling": 0} if kind == "JPEG" else {}))
