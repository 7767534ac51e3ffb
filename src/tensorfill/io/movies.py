"""Movies: time x row x column x colour, with values from 0 to 255; .mp4, .avi and .gif."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import real_number
from .._support.optional import need
from ..labels import Labelled, Labels
from .atomic import written_beside
from .common import Content, Mask, dense_labelled
from .pictures import BYTES_PER_PIXEL, CHANNELS, in_levels, opened_picture, rounded
from .source import Source

RATE = 25.0
"""The default number of frames per second."""

COLOURS = CHANNELS[3]

CONTAINERS = {".mp4": "mp4", ".avi": "avi"}
"""FFmpeg's name of the format, by file extension."""

MOST_PIXELS = 2**31 - 1
"""The largest number of pixels of a frame that FFmpeg supports."""


def read(source: Source, *, missing: str | None = None, mask: Mask | None = None) -> Labelled:
    """Read a movie; entries are missing only by `missing` or `mask`. Frames are labelled by their time.

    Parameters
    ----------
    source
        The file.
    missing
        ``"zero"`` if values of 0 are missing; by default nothing is.
    mask
        An array that is nonzero where entries were observed.
    """
    frames, times = _from_gif(source) if source.path.suffix.lower() == ".gif" else _from_video(source)
    labels = Labels(("time", "row", "column", "colour"), (times, None, None, np.array(COLOURS)))
    depth = np.dtype(np.uint8)
    return dense_labelled(frames, labels, missing=missing, mask=mask, restore=partial(rounded, depth=depth))


def _from_video(source: Source) -> tuple[NDArray[Any], NDArray[Any]]:
    av = need("av", "movies")
    # The extension determines the format. FFmpeg would inspect the content, and accept a list of other files as a
    # movie.
    form = CONTAINERS.get(source.path.suffix.lower(), "mp4")
    most_pixels = min(source.max_bytes / BYTES_PER_PIXEL, MOST_PIXELS)
    with source.read_as(f"a movie in {form}"), source.path.open("rb") as raw, av.open(raw, format=form) as file:
        stream = file.streams.video[0]
        stream.codec_context.options = {"max_pixels": str(int(most_pixels))}
        rate = float(stream.average_rate or RATE)
        frames: list[NDArray[Any]] = []
        for frame in file.decode(stream):
            _check_room(frames, source, (frame.height, frame.width))
            frames.append(frame.to_ndarray(format="rgb24"))
        return _stacked(frames), _times(len(frames), rate)


def _from_gif(source: Source) -> tuple[NDArray[Any], NDArray[Any]]:
    sequence = need("PIL.ImageSequence", "images")
    frames: list[NDArray[Any]] = []
    milliseconds = []
    with source.read_as("a GIF"), opened_picture(source, ("GIF",)) as file:
        for frame in sequence.Iterator(file):
            milliseconds.append(float(frame.info.get("duration", 1000 / RATE)) or 1000 / RATE)
            _check_room(frames, source, (frame.height, frame.width))
            frames.append(np.asarray(frame.convert("RGB")))
        return _stacked(frames), _times(len(frames), 1000 / float(np.mean(milliseconds)))


def _check_room(frames: list[NDArray[Any]], source: Source, size: tuple[int, int]) -> None:
    """Raise an error if another frame takes too much memory, or differs in size from the others."""
    if frames and frames[0].shape[:2] != size:
        raise ValueError(f"its frames differ in size: {frames[0].shape[:2]} and {size}")
    source.spend(math.prod(size) * BYTES_PER_PIXEL)


def _stacked(frames: list[NDArray[Any]]) -> NDArray[Any]:
    if not frames:
        raise ValueError("it has no frames")
    return np.stack(frames)


def _times(count: int, rate: float) -> NDArray[Any]:
    return np.arange(count) / rate


def check(path: Path, content: Content) -> None:
    """Raise an error if a movie cannot hold such a tensor."""
    shape = content.shape
    if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] != 3):
        raise ValueError(
            f"a movie must have shape (frames, rows, columns, 3) or (frames, rows, columns), but {shape} was "
            "given; write .npy or .npz."
        )


def write(path: Path, content: Content, *, rate: float | None = None) -> None:
    """Write a movie, rounded and clipped to 0..255; fractional values from 0 to 1 are scaled to that.

    Parameters
    ----------
    path
        The file: .mp4 (H.264, small, changes values), .avi (FFV1, large, keeps them), or .gif (256 colours per frame).
    content
        What to write: time x row x column x 3 colours, or time x row x column in grey.
    rate
        Frames per second; by default taken from the labels of the frames, else 25.
    """
    array = content.whole("a movie")
    array = in_levels(array)
    speed = _rate(content.labels) if rate is None else real_number(rate, "rate", above=0)
    if path.suffix.lower() == ".gif":
        _write_gif(path, array, speed)
    else:
        _write_video(path, array, speed)


def _rate(labels: Labels) -> float:
    """Return the frames per second according to the labels of the frames."""
    times = labels.keys[0]
    if labels.names[0] != "time" or times is None or times.dtype.kind != "f" or len(times) < 2:
        return RATE
    step = float(times[-1] - times[0]) / (len(times) - 1)
    return 1.0 / step if step > 0 else RATE


def _frames(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield each frame in colour."""
    for frame in array:
        pixels = rounded(frame, np.dtype(np.uint8))
        yield np.ascontiguousarray(pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2))


def _write_gif(path: Path, array: NDArray[Any], rate: float) -> None:
    pillow = need("PIL.Image", "images")
    first, *others = (pillow.fromarray(frame).quantize(256) for frame in _frames(array))
    with written_beside(path) as file:
        # GIF counts time in hundredths of a second, and players treat fewer than two as ten.
        first.save(
            file, format="GIF", save_all=True, append_images=others, duration=max(round(1000 / rate), 20), loop=0
        )


def _write_video(path: Path, array: NDArray[Any], rate: float) -> None:
    av = need("av", "movies")
    lossless = path.suffix.lower() == ".avi"
    rows, columns = array.shape[1:3]
    # Players expect colours at half the resolution, which requires even numbers of rows and columns.
    halved = rows % 2 == 0 and columns % 2 == 0
    with written_beside(path) as file, av.open(file, "w", format="avi" if lossless else "mp4") as movie:
        stream = movie.add_stream("ffv1" if lossless else "libx264", rate=Fraction(rate).limit_denominator(1001))
        stream.width, stream.height = columns, rows
        stream.pix_fmt = "bgr0" if lossless else "yuv420p" if halved else "yuv444p"
        if not lossless:
            stream.options = {"crf": "16"}
        for frame in _frames(array):
            movie.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        movie.mux(stream.encode())
