"""The memory of the machine, and the peak memory of a piece of work."""

from __future__ import annotations

import ctypes
import functools
import math
import os
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")

_CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""The file in which Linux reports the memory limit of a container."""


def physical_bytes() -> float:
    """Return the memory of the machine in bytes, or the limit of the container or process if that is lower.

    It is infinite if it is unknown.
    """
    return min(_of_machine(), _of_container(_CONTAINER), _of_process())


def _of_machine() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


@functools.cache
def _of_container(file: Path) -> float:
    try:
        # The file says "max" if there is no limit.
        return float(int(file.read_text()))
    except (OSError, ValueError):
        return math.inf


def _of_process() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else float(limit)


class PeakMemory:
    """Measures the peak memory of a piece of work above that of the process before, in bytes; on Linux only.

    Examples
    --------
    >>> with PeakMemory() as peak:
    ...     buffer = bytearray(50_000_000)
    >>> bool(math.isnan(peak.bytes) or peak.bytes > 40_000_000)
    True
    """

    bytes: float = math.nan

    def __enter__(self) -> PeakMemory:
        try:
            # Memory that was freed but not returned to the system would hide what the work needs.
            ctypes.CDLL(None).malloc_trim(0)
            _RESET.write_text("5")
            self._before = _read("VmRSS")
        except (AttributeError, OSError, KeyError, ValueError):
            self._before = math.nan
        return self

    def __exit__(self, *error: object) -> None:
        if not math.isnan(self._before):
            self.bytes = max(_read("VmHWM") - self._before, 0.0)


def _read(name: str) -> float:
    """Return a field of the process's status, in bytes."""
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines() if ":" in line)
    return 1024.0 * int(lines[name].split()[0])
