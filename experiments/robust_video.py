"""Videos with gross errors (Section 5.4 of the paper): how near the clean video is to what each method makes of it.

Every entry of a video between 0 and 1 is corrupted with probability 1%, by a number drawn uniformly from 0 to 1 and
multiplied by 5 times the largest value. Everything is chosen on the first frames of the corrupted video, and the error
is that of the last half of the frames, as in the paper; its own videos are not on this machine.

The cut (the singular value below which everything goes) is the one of a falling path that predicts held-out entries of
the first `--choose` frames best by mean absolute error. Singular values grow with the root of the number of frames, and
so does the cut for the whole video. The noise, from which on an entry counts as an outlier, is measured on the same
entries. Algorithm 3 runs twice: until delta is 1.345 times the noise, and until it is a tenth of it (its `floor`).
TensorLy gets the weight of its sparse part from the theory of robust principal components, summed over the modes.

python experiments/robust_video.py hall
python experiments/robust_video.py carphone --frames 30 --skip tensorly
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from tensorfill import Clock, Nort, Observations
from tensorfill.losses.robust import EFFICIENT, Robust, noise_scale
from tensorfill.methods.nort import SmoothedNort
from tensorfill.methods.nort.descent import largest_cut
from tensorfill.methods.problem import Problem
from tensorfill.penalties import LSP, Nuclear, Penalty

sys.path.insert(0, str(Path(__file__).parent))
import data

SHARE, SIZE = 0.01, 5.0
"""How many entries are corrupted, and by how much at most, in units of the largest value."""

RATIO = 0.7
"""Each cut of a path is this much of the last."""

REDESCENDING = 3.0
"""The theta of the loss, in widths of what counts as noise."""

MODES = (0, 1, 3)
"""All but the colours."""

METHODS = ["lsp", "algorithm3", "nuclear", "tensorly"]

Video = NDArray[np.float32]


@dataclass(frozen=True)
class Choice:
    """What the first frames say: the cut for one frame, and the noise beside the outliers."""

    cut: float
    noise: float
    seconds: float


def corrupted(clean: Video, rng: np.random.Generator) -> Video:
    """Return the video with gross errors."""
    errors = SIZE * clean.max() * rng.random(clean.shape, dtype=np.float32)
    return np.where(rng.random(clean.shape, dtype=np.float32) < SHARE, clean + errors, clean)


def method(cut: float, penalty: Callable[[float], Penalty], modes: Sequence[int], **settings: object) -> Nort:
    """Return NORT with this cut: lambda times D / tau is the cut of the nuclear norm, and its square that of LSP."""
    made = penalty(cut)
    weight = cut**2 if isinstance(made, LSP) else cut
    return Nort(lam=1.01 * weight / len(modes), penalty=made, modes=modes, **settings)  # type: ignore[arg-type]


def choose(video: Video, penalty: Callable[[float], Penalty], modes: Sequence[int], seed: int) -> Choice:
    """Return the best of a path of falling cuts."""
    began, rng = time.perf_counter(), np.random.default_rng(seed)
    fitted, held_out = Observations.from_dense(video).split(0.05, rng=rng)
    noise = noise_scale(held_out.values)
    task = Problem(fitted, Robust(Nuclear()).cut_at(EFFICIENT * noise))
    cut = largest_cut(method(1.0, penalty, modes), task, rng)
    best, score, worse, model = Choice(cut, noise, 0.0), math.inf, 0, None
    while worse < 2:
        cut *= RATIO
        result = method(cut, penalty, modes, max_iter=20, tol=2e-3).solve(task, start=model, rng=rng)
        model = result.model
        errors = model.predict(held_out.coords) - held_out.values
        noise, now = noise_scale(errors), float(np.mean(np.abs(errors)))
        worse = 0 if now < score else worse + 1
        if now < score:
            best, score = Choice(cut / math.sqrt(video.shape[-1]), noise, 0.0), now
        task = replace(task, loss=Robust(Nuclear()).cut_at(EFFICIENT * noise))
    return replace(best, seconds=time.perf_counter() - began)


def tensorly_robust_pca(video: Video, iterations: int) -> tuple[Video, str] | None:
    """Return the low-rank part that TensorLy finds, or None where it is not installed."""
    try:
        from tensorly.decomposition import robust_pca
    except ImportError:
        return None
    weight = sum(1 / math.sqrt(max(size, video.size // size)) for size in video.shape)
    largest = np.linalg.norm(video.reshape(video.shape[0], -1), 2)
    low_rank, _ = robust_pca(
        video, reg_E=weight, mu_init=1.25 / largest, learning_rate=1.3, n_iter_max=iterations, verbose=0
    )
    return low_rank, f"at most {iterations} iterations"


class Report:
    """The table of one video."""

    def __init__(self, name: str, clean: Video, dirty: Video, console: Console) -> None:
        self._name, self._clean, self._dirty, self._console = name, clean, dirty, console
        self.table = Table("method", "RMSE", "only outliers replaced", "seconds", "to choose", "how", title=name)

    def add(self, label: str, answer: Video, seconds: float = 0.0, choosing: float = 0.0, how: str = "") -> None:
        """Add the errors, on the last half of the frames, of an answer as it is and of the data with its outliers."""
        beyond = math.sqrt(2 * math.log(answer.size)) * noise_scale((self._dirty - answer).ravel())
        kept = np.where(np.abs(self._dirty - answer) > beyond, answer, self._dirty)
        half = answer.shape[-1] // 2
        errors = [
            float(np.sqrt(np.mean((each[..., half:] - self._clean[..., half:]) ** 2, dtype=np.float64)))
            for each in (answer, kept)
        ]
        row = [label, f"{errors[0]:.4f}", f"{errors[1]:.4f}", f"{seconds:.0f}", f"{choosing:.0f}", how]
        self.table.add_row(*row)
        self._console.print(f"{self._name}: {', '.join(row)}")


def run_nort(report: Report, dirty: Video, label: str, arguments: argparse.Namespace, console: Console) -> None:
    """Choose the cut for one penalty on singular values, and run Algorithm 3 to each floor."""
    penalty: Callable[[float], Penalty] = LSP if label == "LSP" else lambda cut: Nuclear()
    ways = {"lsp": EFFICIENT, "algorithm3": 0.1} if label == "LSP" else {"nuclear": EFFICIENT}
    floors = [floor for way, floor in ways.items() if way not in arguments.skip]
    if not floors:
        return
    chosen = choose(dirty[..., : arguments.choose], penalty, MODES, arguments.seed)
    cut, width = chosen.cut * math.sqrt(dirty.shape[-1]), EFFICIENT * chosen.noise
    robust = Robust(LSP(REDESCENDING * width) if label == "LSP" else Nuclear())
    console.print(f"{label}: cut {cut:.3g}, noise {chosen.noise:.3g}, {robust}")
    square = method(cut, penalty, MODES)
    # Lambda is weighed against kappa, and the weight of kappa against squares is this.
    lam = float(square.lam) / robust.cut_at(width).weight  # type: ignore[arg-type]
    for floor in floors:
        began = time.perf_counter()
        settings = SmoothedNort(
            lam=lam, penalty=square.penalty, modes=MODES, floor=floor, tol=arguments.tol
        )  # fmt: skip
        clock = Clock(arguments.time_limit)
        problem = Problem(Observations.from_dense(dirty), robust)  # type: ignore[arg-type]
        result = settings.solve(problem, rng=0, clock=clock)
        seconds = time.perf_counter() - began
        how = f"ranks {result.model.ranks}, {result.history[-1].iteration} iterations, {result.status.name.lower()}"
        title = f"NORT, {label}, loss {type(robust.penalty).__name__}, floor {floor:g}"
        report.add(title, result.model.to_dense(max_bytes=math.inf), seconds, chosen.seconds, how)


def main() -> None:
    """Run every method on every video and print a table of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("videos", nargs="*", default=list(data.VIDEOS), help="which videos (default: all)")
    parser.add_argument("--frames", type=int, help="take only so many of the first frames")
    parser.add_argument("--choose", type=int, default=6, help="frames on which the cut is chosen (default: 6)")
    parser.add_argument("--time-limit", type=float, default=200.0, help="seconds for each run of NORT (default: 200)")
    parser.add_argument("--tensorly-iterations", type=int, default=25)
    parser.add_argument("--skip", nargs="*", default=[], choices=METHODS)
    parser.add_argument("--tol", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    console = Console(width=150)
    for name in arguments.videos:
        clean = data.video(name)[..., : arguments.frames].astype(np.float32) / np.float32(255)
        dirty = corrupted(clean, np.random.default_rng(arguments.seed))
        report = Report(name, clean, dirty, console)
        report.add("the corrupted video", dirty)
        with threadpool_limits(1, user_api="blas"):
            for label in ("LSP", "nuclear norm"):
                run_nort(report, dirty, label, arguments, console)
            if "tensorly" not in arguments.skip:
                began = time.perf_counter()
                found = tensorly_robust_pca(dirty, arguments.tensorly_iterations)
                if found is None:
                    console.print("TensorLy is not installed, and its row is left out; pip install tensorly adds it.")
                else:
                    report.add("TensorLy robust_pca", found[0], time.perf_counter() - began, 0, found[1])
        console.print(report.table)


if __name__ == "__main__":
    main()
