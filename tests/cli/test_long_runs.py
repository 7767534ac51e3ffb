"""Long runs of the command: checkpoints and SIGTERM."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from tensorfill._support.progress import Display

from .examples import said

GIVEN = ("--method", "nort", "--no-smooth", "--quiet")


def refused(capsys, *arguments):
    """Run the command, which refuses what was given, and return the sentence."""
    return said(capsys, *arguments, code=2).err


def test_sigterm_writes_the_best_so_far_and_a_checkpoint_to_go_on_from(files, tmp_path, monkeypatch, capsys):
    out, kept = tmp_path / "b.npy", tmp_path / "run.npz"
    said(capsys, "complete", files / "a.npz", "-o", tmp_path / "whole.npy", *GIVEN)
    before, tried = signal.getsignal(signal.SIGTERM), Display.tried

    def terminated(self, number, held_out):
        tried(self, number, held_out)
        if number == 9:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(Display, "tried", terminated)
        words = said(capsys, "complete", files / "a.npz", "-o", out, "--checkpoint", kept, *GIVEN, code=143)
    assert "best answer so far" in words.err
    assert np.isfinite(np.load(out)).all()
    assert kept.exists()
    assert signal.getsignal(signal.SIGTERM) is before
    said(capsys, "complete", files / "a.npz", "-o", out, "--checkpoint", kept, *GIVEN)
    np.testing.assert_array_equal(np.load(out), np.load(tmp_path / "whole.npy"))


def test_a_checkpoint_of_another_run_is_refused_or_replaced(files, tmp_path, capsys):
    kept, out = tmp_path / "run.npz", tmp_path / "b.npy"
    run = ("complete", files / "a.npz", "-o", out, "--no-smooth", "--quiet", "--checkpoint", kept)
    said(capsys, *run, "--lam", "1")
    assert "other settings" in refused(capsys, *run, "--lam", "2")
    assert "--start-over" in refused(capsys, *run, "--lam", "2")
    said(capsys, *run, "--lam", "2", "--start-over")


@pytest.mark.usefixtures("no_work")
def test_a_checkpoint_is_a_file_of_its_own(files, tmp_path, capsys):
    run = ("complete", files / "a.npz", "-o", tmp_path / "b.npz")
    assert "a separate file" in refused(capsys, *run, "--checkpoint", tmp_path / "b.npz")
    assert "--checkpoint" in refused(capsys, *run, "--checkpoint", tmp_path / "no" / "run.npz")
    assert "--checkpoint" in refused(capsys, *run, "--start-over")
