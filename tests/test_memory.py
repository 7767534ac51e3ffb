"""How much memory there is to use."""

import math
import subprocess
import sys

import pytest

from tensorfill._support import memory


@pytest.mark.parametrize(("text", "expected"), [("1000000\n", 1e6), ("max\n", math.inf)])
def test_the_limit_of_a_container_counts(monkeypatch, tmp_path, text, expected):
    (tmp_path / "memory.max").write_text(text)
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path / "memory.max")
    monkeypatch.setattr(memory, "_of_machine", lambda: 1e12)
    monkeypatch.setattr(memory, "_of_process", lambda: math.inf)
    assert memory.physical_bytes() == min(expected, 1e12)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are those of Linux")
def test_the_limit_of_a_process_counts():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31));"
        "from tensorfill._support.memory import physical_bytes; assert physical_bytes() <= 2**31"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
