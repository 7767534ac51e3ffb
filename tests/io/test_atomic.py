"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

from tensorfill.io import read, write
from tensorfill.io.atomic import PREFIX, check_writable, written_beside

from ..refusal import refuses

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions and locks of POSIX")

WAITS = """
import sys, time
from tensorfill.io.atomic import written_beside
with written_beside(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""
"""A program that begins to write a file and does not end."""


def put(path, content=b"new"):
    with written_beside(path) as file:
        file.write(content)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def writing(tmp_path):
    """Start a process that is writing `file` in a folder, and end it after the test."""
    process = subprocess.Popen([sys.executable, "-c", WAITS, tmp_path / "file"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002, 0o000, 0o222])
def test_a_new_file_gets_the_permissions_of_any_new_file(mask, tmp_path, monkeypatch):
    before = os.umask(mask)
    try:
        (tmp_path / "plain").open("w").close()
        with monkeypatch.context() as during:
            during.setattr(os, "umask", lambda mask: pytest.fail("the umask of all threads was touched"))
            put(tmp_path / "ours")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "ours") == mode_of(tmp_path / "plain")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_an_old_file_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    put(path)
    assert path.read_bytes() == b"new"
    assert mode_of(path) == mode


def test_nobody_else_reads_an_unfinished_file(tmp_path):
    with written_beside(tmp_path / "file"):
        [folder] = tmp_path.iterdir()
        assert mode_of(folder) == 0o700


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed(exists, tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    if exists:
        real.write_bytes(b"old")
    link.symlink_to("there/real")
    put(link)
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert [path.name for path in tmp_path.glob("**/.*")] == []


def test_everything_is_on_the_disk_before_the_file_gets_its_name(tmp_path, monkeypatch):
    order = []
    for name in ("fsync", "replace"):
        whole = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, whole=whole: order.append(name) or whole(*given))
    put(tmp_path / "file")
    assert order == ["fsync", "replace", "fsync"]


def test_the_next_run_removes_what_a_killed_one_left(writing, tmp_path):
    writing.send_signal(signal.SIGKILL)
    writing.wait()
    assert [path.name.startswith(PREFIX) for path in tmp_path.iterdir()] == [True]
    put(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_what_a_living_run_writes_is_left_alone(writing, tmp_path):
    put(tmp_path / "other")
    unfinished = next(path for path in tmp_path.iterdir() if path.name != "other")
    assert (unfinished / "file").read_bytes() == b"half"


def test_a_folder_that_only_looks_alike_is_left_alone(tmp_path):
    (tmp_path / f"{PREFIX}notes").mkdir()
    (tmp_path / f"{PREFIX}notes" / "mine").write_bytes(b"kept")
    put(tmp_path / "file")
    assert (tmp_path / f"{PREFIX}notes" / "mine").read_bytes() == b"kept"


def test_what_cannot_be_written_is_refused_in_a_sentence(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, words in [
        ("", ["it is a folder"]),
        ("pipe", ["it is a device or a pipe"]),
        ("none/file", ["No such file or directory"]),
        ("pipe/file", ["Not a directory"]),
        ("n" * 300, ["File name too long"]),
    ]:
        path = tmp_path / name
        for action in (put, check_writable):
            refuses(OSError, [str(path), "cannot be written", *words], lambda action=action, path=path: action(path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loop", "pipe"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_protected_files_and_folders_are_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o444)
    refuses(OSError, ["write-protected"], lambda: put(tmp_path / "file"))
    (tmp_path / "folder").mkdir(mode=0o500)
    refuses(OSError, ["Permission denied"], lambda: check_writable(tmp_path / "folder" / "file"))


def test_asking_leaves_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    before = (tmp_path / "file").stat()
    check_writable(tmp_path / "file")
    check_writable(tmp_path / "new")
    assert (tmp_path / "file").stat().st_mtime_ns == before.st_mtime_ns
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# Some versions of numpy do not close the archive that they could not write.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "ending", ["npz", "npy", "tns", "tns.gz", "mat", "csv", "csv.gz", "parquet", "nc", "png", "avi"]
)
def test_a_full_disk_leaves_the_old_file(ending, tmp_path):
    resource = pytest.importorskip("resource")
    data = np.random.default_rng(0).integers(0, 255, (40, 30, 3) if ending != "avi" else (4, 40, 30, 3)).astype(float)
    path = tmp_path / f"file.{ending}"
    try:
        write(path, data[:1])
    except ImportError as error:
        pytest.skip(str(error))
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        refuses(OSError, [str(path), "cannot be written"], lambda: write(path, data))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    read(path)
