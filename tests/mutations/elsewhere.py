"""Mistakes in penalties, losses, other methods, algebra and files."""

from __future__ import annotations

from . import Mutant

ELEMENTWISE = "penalties/elementwise.py"
PENALTY = "penalties/base.py"
THRESHOLDS = "penalties/thresholds.py"
FAMILY = "penalties/family.py"
TRUNCATED = "penalties/truncated.py"
SMOOTH = "losses/smooth.py"
ROBUST = "losses/robust.py"
LINKS = "losses/links.py"
CALIBRATED = "methods/calibrated.py"
SQUARES_FIRST = "methods/squares_first.py"
GROWTH = "methods/grow/growth.py"
TERMS = "methods/grow/terms.py"
CP_FORM = "methods/grow/cp_form.py"
SVD = "algebra/svd.py"
EXTRAPOLATION = "algebra/extrapolation.py"
ROUGHNESS = "algebra/roughness.py"
UNFOLDING = "algebra/unfolding.py"
STORAGE = "algebra/storage.py"
ATOMIC = "io/atomic.py"
METRICS = "metrics.py"
PENALTIES = "penalties/test_penalties.py"
SLOPES = "penalties/test_slopes.py"
LOSSES = "losses/test_losses.py"
OF_ROBUST = "losses/test_robust.py"
OF_LINKS = "losses/test_links.py"
OF_SCORES = "choosing/test_scores.py"
OF_GROWTH = "methods/grow/test_growth.py"

MUTANTS = (
    # Penalties
    Mutant(
        "LSP returns the other root",
        ELEMENTWISE,
        "0.5 * (np.abs(s - theta) + spread)",
        "0.5 * (np.abs(s - theta) - spread)",
        (PENALTIES,),
    ),
    Mutant(
        "capped l1 is never flat", ELEMENTWISE, "np.minimum(s - weight, self.theta), s]", "s - weight]", (PENALTIES,)
    ),
    Mutant(
        "MCP bends half as much",
        ELEMENTWISE,
        "curved * (1.0 - 0.5 * (curved / self.theta))",
        "curved * (1.0 - 0.25 * (curved / self.theta))",
        (PENALTIES, SLOPES),
    ),
    Mutant(
        "SCAD bends too late",
        ELEMENTWISE,
        "np.clip((self.theta - s / self.unit) / (self.theta - 1.0), 0.0, 1.0)",
        "np.clip((self.theta - s / self.unit) / self.theta, 0.0, 1.0)",
        (SLOPES,),
    ),
    Mutant(
        "the proximal operator returns the larger of two minimisers",
        PENALTY,
        "better = gain < 0",
        "better = gain <= 0",
        (PENALTIES, "penalties/test_thresholds.py"),
    ),
    Mutant(
        "the proximal operator is not sorted",
        PENALTY,
        "np.maximum.accumulate(y[order])",
        "y[order]",
        (f"{PENALTIES}::test_prox_is_sorted_although_rounding_alone_would_not_keep_the_order",),
    ),
    Mutant(
        "the free singular values are penalised",
        TRUNCATED,
        "return Nuclear().value(s[self.theta :])",
        "return Nuclear().value(s)",
        (PENALTIES,),
    ),
    Mutant(
        "the weight of a cut is twice too large",
        THRESHOLDS,
        "    return enough\n",
        "    return 2 * enough\n",
        ("penalties/test_thresholds.py",),
    ),
    Mutant("the theta of SCAD", FAMILY, "SCAD_THETA = 3.7", "SCAD_THETA = 5.0", ("penalties/test_family.py",)),
    # Losses
    Mutant(
        "Huber is the square loss",
        SMOOTH,
        "np.clip(prediction - observed, -self.delta, self.delta)",
        "prediction - observed",
        (LOSSES,),
    ),
    Mutant("a link ignores its width", LINKS, "rate * (self.slope / self.width)", "rate * self.slope", (OF_LINKS,)),
    Mutant("a link ends at the other bound", LINKS, "min(mean - low, high - mean)", "mean - low", (OF_LINKS,)),
    Mutant("a calibration may turn the order", LINKS, "max(float(at[1]), 0.0)", "float(at[1])", (OF_LINKS,)),
    Mutant(
        "a calibration forgets the offset",
        LINKS,
        "scores = point @ columns + offset",
        "scores = point @ columns",
        (OF_LINKS,),
    ),
    Mutant(
        "the curve is not chosen", CALIBRATED, "intercept=self.intercept, slope=self.slope", "slope=1.0", (OF_SCORES,)
    ),
    Mutant(
        "least squares have no constant",
        SQUARES_FIRST,
        "np.array([link.intercept], scaled.dtype)",
        "np.array([0.0], scaled.dtype)",
        (OF_SCORES,),
    ),
    Mutant("the logistic loss bends more", SMOOTH, "return 0.25\n", "return 0.2\n", (LOSSES,)),
    Mutant(
        "the mean of a logistic score is a probability",
        SMOOTH,
        "self.low + (1.0 - self.low) * self.probability(prediction)",
        "self.probability(prediction)",
        (LOSSES,),
    ),
    Mutant("rates are limited too soon", SMOOTH, "limit=highest + math.log(2.0)", "limit=highest", (LOSSES,)),
    Mutant(
        "the kink is not rounded off",
        ROBUST,
        "within = np.maximum(1.0 - size / self.delta, 0.0)",
        "within = 0.0 * size",
        (OF_ROBUST,),
    ),
    Mutant("the noise is its median", ROBUST, "return SIGMA_PER_MEDIAN * median", "return median", (OF_ROBUST,)),
    Mutant("an envelope without its square", ROBUST, "0.5 * rest * rest + self.weight", "self.weight", (OF_ROBUST,)),
    # Growing
    Mutant(
        "the second part of the entries is not summed",
        "algebra/cp_entries.py",
        "for part in sums[1:]:",
        "for part in sums[2:]:",
        ("algebra/test_cp_entries.py",),
    ),
    Mutant(
        "the diagonal stays in products with a block",
        "algebra/compiled/gram.py",
        "others = plus_scaled(high, -value, load(block, i, h))",
        "others = high",
        ("algebra/test_sparse_unfoldings.py::test_products_with_a_block_are_those_of_the_dense_matrix",),
    ),
    Mutant(
        "new vectors of a Krylov space are not orthogonal to the others",
        "algebra/sparse_unfoldings.py",
        "made -= known.T @ part",
        "made -= 0",
        ("algebra/test_sparse_unfoldings.py",),
    ),
    Mutant(
        "noise makes directions",
        GROWTH,
        "strength > margin * self._unfoldings.edge(mode, residuals, self._rng)",
        "strength > 0",
        (f"{OF_GROWTH}::test_directions_above_the_noise_are_those_of_the_truth",),
    ),
    Mutant(
        "the only direction of a mode is dropped",
        GROWTH,
        "max(model.ranks[each] - (each == mode), 1)",
        "model.ranks[each] - (each == mode)",
        (f"{OF_GROWTH}::test_the_only_direction_of_a_mode_is_not_dropped",),
    ),
    Mutant(
        "gross errors make directions",
        GROWTH,
        "clip(self.residuals(model), CLIPPED_AT)",
        "self.residuals(model)",
        (f"{OF_GROWTH}::test_gross_errors_do_not_make_directions",),
    ),
    Mutant(
        "no single terms",
        GROWTH,
        "found = self.directions_of(terms[0])",
        "break",
        (f"{OF_GROWTH}::test_ranks_of_pure_noise_are_reached_by_terms",),
    ),
    Mutant(
        "terms that are alike are kept",
        TERMS,
        "np.all(cosines[term, found] <= ALIKE)",
        "True",
        ("methods/grow/test_terms.py::test_the_best_comes_first_and_each_once",),
    ),
    Mutant(
        "no eigenvector starts",
        CP_FORM,
        "EIGENVECTOR_STARTS = 3",
        "EIGENVECTOR_STARTS = 0",
        ("methods/grow/test_cp_form.py",),
    ),
    # Algebra
    Mutant(
        "dependent directions are kept",
        SVD,
        "keep = eigenvalues > 100 * np.finfo(gram.dtype).eps * max(1, len(eigenvalues))",
        "keep = eigenvalues > -1.0",
        ("algebra/test_svd.py",),
    ),
    Mutant(
        "singular values of rounding are kept",
        SVD,
        "keep = s > 10 * np.sqrt(np.finfo(matrix.dtype).eps) * s.max(initial=0)",
        "keep = s > 0",
        ("algebra/test_svd.py",),
    ),
    Mutant(
        "an extrapolation against the last step",
        EXTRAPOLATION,
        "s, old_s = (1 + gamma) * now.s, -gamma * before.s\n    # The right",
        "s, old_s = (1 + gamma) * now.s, gamma * before.s\n    # The right",
        ("algebra/test_extrapolation.py",),
    ),
    Mutant(
        "the explicit form has half its weight",
        ROUGHNESS,
        "scaled = (2 * mu) * graph",
        "scaled = mu * graph",
        ("algebra/test_roughness.py", "methods/nort/test_algorithm_2.py"),
    ),
    Mutant(
        "the resolvent has another curvature",
        ROUGHNESS,
        "steepest * ratio * largest / (1 + ratio * largest)",
        "steepest * ratio * largest",
        ("algebra/test_roughness.py",),
    ),
    Mutant(
        "columns run in another order",
        UNFOLDING,
        "index *= shape[axis]\n            index +=",
        "index *= shape[axis - 1]\n            index +=",
        ("algebra/test_unfolding.py",),
    ),
    Mutant(
        "the energy of a graph in sparse storage",
        STORAGE,
        "roughness.of_terms(point.terms, self._shape), self._shape)",
        "point.terms, self._shape)",
        ("methods/nort/test_algorithm_2.py::test_the_energy_of_a_graph_is_a_part_of_the_objective",),
    ),
    # Files and metrics
    Mutant(
        "a file is not flushed before it gets its name",
        ATOMIC,
        "os.fsync(file.fileno())",
        "pass",
        ("io/test_atomic.py::test_everything_is_on_the_disk_before_the_file_gets_its_name",),
    ),
    Mutant(
        "a living run is taken for a killed one",
        ATOMIC,
        "fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        ("io/test_atomic.py::test_what_a_living_run_writes_is_left_alone",),
    ),
    Mutant(
        "leftovers of killed runs stay",
        ATOMIC,
        "    _remove_strays(parent)\n    folder",
        "    folder",
        ("io/test_atomic.py::test_the_next_run_removes_what_a_killed_one_left",),
    ),
    Mutant(
        "the peak is not squared", METRICS, "20.0 * (math.log10(peak)", "10.0 * (math.log10(peak)", ("test_metrics.py",)
    ),
    Mutant(
        "the limit is that of one entry",
        METRICS,
        "noise * math.sqrt(free_parameters / observed)",
        "noise * free_parameters / observed",
        ("test_metrics.py",),
    ),
)
