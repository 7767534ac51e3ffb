"""The search for the ranks and the form of a growing model.

    grow      append the directions of the residuals above the noise, while the held-out error falls
    trim      drop the weakest direction of a mode while the held-out error does not rise
    form      take a sum of outer products instead, if the held-out error is no worse
    sum       if the core becomes too large, continue with a sum of outer products, and drop terms not needed
    terms     append single terms that no single mode shows, while the held-out error falls
    settle    sweep to convergence
    finish    search thoroughly for weaker terms, and settle again

A rich and a simple answer are compared by a regression over the held-out entries; see `slope`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..._support.types import Floats
from ...methods.grow import Grow
from ...methods.grow.cp_form import cp_form
from ...methods.grow.growth import MOST_DIRECTIONS, SWEEPS, Growth
from ...models import CPModel
from .grow_state import GrowState
from .slope import slope_of
from .trials import Trials

BEYOND_DOUBT = 3.0
LIKELY = 2.0
"""How many standard errors the slope must be above zero: for a single term, and for directions above the noise."""

BEYOND_BIAS = 4.0
"""The same for a term from a thorough search. Its start was found with the held-out entries too. The sweeps after that,
without them, remove nearly all of that information: for noise, the slope is biased by at most two standard errors,
usually one."""

SHOWS = 1.0
"""A term whose slope by itself is fewer standard errors above zero is refused: sweeps of all terms together hardly
raise that, and cost as much as a fit."""

BEYOND_REPAIR = 15.0
"""If dropping a direction hurts by this many standard errors, a sweep cannot compensate for it."""

MOST_STAGES = 30
"""The largest number of times that a model grows by directions."""

UNEQUAL = 1.5
"""Ranks whose ratio is above this are trimmed before the model grows further."""

TERMS_REFUSED = 2
"""The number of rejected terms after which no more are tried."""

CP_SWEEPS = 20
CP_TOLERANCE = 1e-5
"""A CP model, whose sweeps are cheap, is swept at most this often, or until the sum of squares falls by less than this
share."""

STILL_AS_GOOD = 1.01
"""Sweeps to convergence may raise the held-out loss by this factor; beyond that, they fit noise."""

TERM_SWEEPS = 4
"""Sweeps of a CP model with one more term, which has been fitted by itself already."""

LAST_SWEEPS = 20
"""Sweeps of the last model."""

LEAST_FALL = 0.1
"""If the best terms lower the held-out loss by less than this share although directions are left far above the noise,
the spectrum decays too slowly for a sum."""

MOST_FORMS = 8
"""The number of CP models that are tried."""

KEPT = 0.75
"""The share of the directions that is kept when a model is cut back."""

OUT_OF_REACH = 2.0
"""If the mean loss is this many times that of a rival, fewer directions cannot bring it below."""

CLEARLY_ABOVE, FAR_ABOVE = 1.25, 1.5
"""Multiples of the edge of noise above which a direction counts as signal, and as far more than the model has."""


MOST_HIDDEN = 0.1
"""A thorough search for terms is made only if one that shows in no mode may have this share of the squares of the
residuals; it would lower the error by half of that share."""


class GrowSearch(GrowState):
    """The search of the growing method.

    Parameters
    ----------
    settings
        The method with its open settings.
    """

    def __init__(self, settings: Grow) -> None:
        super().__init__(settings)
        self._growths = []
        self._conclusive, self._is_settled = False, True
        self._is_low_rank = self._is_cramped = False

    @property
    def conclusive(self) -> bool:
        """Whether the residuals show nothing above the noise, so that no other low-rank method can find more."""
        return self._conclusive

    def run(self, trials: Trials) -> Iterator[None]:
        """Grow a Tucker model, and then look for its simplest form."""
        self._trials = trials
        entries = zip(trials.local_problems, trials.unseen, strict=True)
        self._growths = [Growth(problem, trials.rng, trials.clock, unseen) for problem, unseen in entries]
        if self._settings.rank == "auto":
            yield from self._grow_from_zero()
        else:
            self._keep(trials.run(replace(self._settings, form="tucker"), None, tried={}))
            self._choose_form()
        # Trials keep the model with the lowest error, even if it was rejected here.
        trials.prefer(self._kept)

    def finish(self, trials: Trials) -> None:
        """Search thoroughly for terms beside small modes, and add them if the held-out error falls."""
        # Unless the model is a short sum of outer products, weak terms that only mixtures show are unlikely.
        is_sum = self._is_cp or self._empty or self._settings.form == "tucker"
        if (
            self._growths
            and self._is_low_rank
            and is_sum
            and self._may_hide_a_term
            and self._append_terms(thoroughly=True)
        ):
            self._conclude()
            trials.prefer(self._kept)
        # Their unfoldings are large, and nothing needs them any more.
        self._growths = []

    def final(self, trials: Trials, entries: int) -> Grow:
        """Return the method with the ranks and the form of the best trial.

        The number of sweeps is small if further sweeps raise the held-out error.
        """
        method: Grow = trials.leader.method  # type: ignore[assignment]
        return method if self._is_settled else replace(method, max_iter=min(method.max_iter, SWEEPS))

    def _grow_from_zero(self) -> Iterator[None]:
        """Grow by directions, and then by terms in the form with the lower held-out error."""
        self._keep(self._tried([growth.zero() for growth in self._growths]))
        self._append_directions()
        yield
        if self._has_many_directions and self._kept.losses.mean() > OUT_OF_REACH * self._trials.rival:
            self._is_settled = False
            return
        if self._is_cramped and self._settings.form != "tucker" and self._grown_as_a_sum():
            if self._is_left(FAR_ABOVE):
                self._settle()
                return
            self._keep(self._tried(self._kept.models, CP_SWEEPS, CP_TOLERANCE))
            self._drop_terms()
            self._conclude()
            return
        if self._has_many_directions or self._is_left(FAR_ABOVE):
            # The spectrum decays slowly. Least squares cannot capture the rest, and single directions hardly matter.
            self._cut_back()
            if self._settings.form == "cp":
                self._choose_form()
            self._settle()
            return
        self._trim()
        if self._settings.form != "tucker":
            self._choose_form()
        yield
        self._append_terms(thoroughly=False)
        self._conclude()

    def _conclude(self) -> None:
        """Sweep to convergence, and check whether anything is left to find."""
        self._is_low_rank = True
        self._settle()
        self._conclusive = self._is_exact or (
            not self._empty and self._few_unknowns and self._predicts_as_it_fits and not self._is_left(CLEARLY_ABOVE)
        )

    @property
    def _may_hide_a_term(self) -> bool:
        growth, model = self._growths[0], self._kept.models[0]
        return growth.has_mixtures and growth.hidden_share(model) > MOST_HIDDEN

    @property
    def _has_many_directions(self) -> bool:
        return max(self._ranks[mode] for mode in self._free) > MOST_DIRECTIONS

    # The stages

    def _append_directions(self) -> None:
        """Append the directions above the noise, of all modes at once, while the held-out error falls."""
        for _ in range(MOST_STAGES):
            found = [growth.directions(model) for growth, model in zip(self._growths, self._models, strict=True)]
            counts = {mode: columns.shape[1] for mode, columns in found[0].items()}
            while not self._has_room_for(counts):
                self._is_cramped = True
                if max(counts.values()) <= 1:
                    return
                counts = {mode: max(1, count // 2) for mode, count in counts.items()}
            if not any(counts.values()):
                return
            chosen = [{mode: each[mode][:, :count] for mode, count in counts.items()} for each in found]
            # The first directions need not exceed the noise, because some are needed to begin with.
            if not self._grown_by(chosen, BEYOND_DOUBT if self._empty else LIKELY) or self._has_many_directions:
                return
            self._even_out()

    def _grown_by(self, directions: Sequence[Mapping[int, Floats]], certainty: float) -> bool:
        """Append directions, and keep them if the held-out error falls; return whether it did."""
        steps = zip(self._growths, self._models, directions, strict=True)
        trial = self._tried([growth.appended(model, more) for growth, model, more in steps])
        return self._kept_if_worth_it(trial, certainty)

    def _grown_as_a_sum(self) -> bool:
        """Continue with a sum of outer products, which has no core that could become too large; return if it is better.

        If every direction that can be counted is above the noise, or terms gain little although some are far above it,
        the spectrum decays too slowly for that.
        """
        core = self._kept
        if self._count_left() == MOST_DIRECTIONS:
            return False
        terms = max(self._ranks[mode] for mode in self._free)
        starts = [cp_form(model, terms, self._trials.rng) for model in self._models]
        self._keep(self._tried(starts))
        before = math.inf
        while self._grown_by_a_term(thoroughly=False)[0]:
            if self._kept.losses.mean() > (1 - LEAST_FALL) * before and self._is_left(FAR_ABOVE):
                break
            before = float(self._kept.losses.mean())
        better = self._is_worth_it(self._kept.models, core.models, LIKELY)
        if not better:
            self._keep(core)
        return better

    def _drop_terms(self) -> None:
        """Take the nearest sum with one term fewer while the held-out error does not rise.

        A sum that grew term by term may use several terms where one or two would do.
        """
        while (terms := self._kept.models[0].ranks[0]) > 1:
            sums = [model for model in self._kept.models if isinstance(model, CPModel) and model.has_small_core]
            if not sums:
                return
            starts = [cp_form(each.in_tucker_form(), terms - 1, self._trials.rng) for each in sums]
            trial = self._tried(starts, CP_SWEEPS, CP_TOLERANCE)
            if self._is_worth_it(self._kept.models, trial.models, BEYOND_DOUBT):
                return
            self._keep(trial)

    def _append_terms(self, *, thoroughly: bool) -> bool:
        """Append single terms while the held-out error falls, and return whether it did."""
        grown, look_again = False, True
        while look_again:
            more, may_hide_others = self._grown_by_a_term(thoroughly=thoroughly)
            grown, look_again = grown or more, more and may_hide_others
        if grown and not self._is_cp:
            self._trim()
            if self._settings.form != "tucker":
                self._choose_form()
        return grown

    def _grown_by_a_term(self, *, thoroughly: bool) -> tuple[bool, bool]:
        """Append the best terms that lower the held-out error; return whether there are any, and may hide others."""
        if self._is_exact:
            # Only rounding is left, and every further term explains some of it.
            return False, False
        steps = zip(self._growths, self._kept.models, strict=True)
        looks = [growth.terms(model, thoroughly=thoroughly) for growth, model in steps]
        # The best terms of each split are combined; there may be fewer in one than in another.
        certainty = BEYOND_BIAS if thoroughly else BEYOND_DOUBT
        grown = refused = 0
        for each in zip(*(terms for terms, _ in looks), strict=False):
            if self._shows(each) and self._grown_by_terms(each, certainty):
                grown += 1
            else:
                refused += 1
            if refused == TERMS_REFUSED:
                break
        return grown > 0, any(may_hide_others for _, may_hide_others in looks)

    def _shows(self, terms: Sequence[CPModel]) -> bool:
        """Return whether held-out entries show a term on each split by itself, before all others are fitted with it."""
        left = self._trials.held_out_values - self._trials.predictions(self._kept.models)
        return slope_of(self._trials.predictions(terms), left).certainty >= SHOWS

    def _grown_by_terms(self, terms: Sequence[CPModel], certainty: float) -> bool:
        """Append a term on each split, and keep it if the held-out error falls; return whether it did."""
        if self._is_cp or (self._empty and self._settings.form != "tucker"):
            if not self._has_room_for_a_term:
                return False
            pairs = zip(self._kept.models, terms, strict=True)
            models = [model.plus(term) if isinstance(model, CPModel) else term for model, term in pairs]
            return self._kept_if_worth_it(self._tried(models, TERM_SWEEPS, CP_TOLERANCE), certainty)
        directions = [growth.directions_of(term) for growth, term in zip(self._growths, terms, strict=True)]
        return self._has_room_for(dict.fromkeys(self._free, 1)) and self._grown_by(directions, certainty)

    def _even_out(self) -> None:
        """Drop the weakest direction of the modes whose rank is far above the lowest, while that does not hurt."""

        def trim(mode: int) -> None:
            if self._ranks[mode] > UNEQUAL * min(self._ranks[other] for other in self._free):
                self._trim_mode(mode)

        self._go_round(trim)

    def _trim(self) -> None:
        """Drop the weakest direction of each mode in turn while the held-out error does not rise."""
        if not self._empty:
            self._go_round(self._trim_mode)

    def _go_round(self, shorten: Callable[[int], None]) -> None:
        """Shorten the modes in turn, until each of them has left the answer that was kept last as it is."""
        unchanged = 0
        for mode in itertools.cycle(self._free):
            if unchanged == len(self._free):
                return
            before = self._kept
            shorten(mode)
            unchanged = unchanged + 1 if self._kept is before else 0

    def _trim_mode(self, mode: int) -> None:
        """Drop the weakest direction of a mode, if the held-out error does not rise."""
        if self._ranks[mode] <= 1:
            return
        smaller = [growth.cut(model, mode) for growth, model in zip(self._growths, self._models, strict=True)]
        if self._slope(self._models, smaller).certainty > BEYOND_REPAIR:
            return
        trial = self._tried(smaller, sweeps=1)
        if self._slope(self._models, trial.models).certainty < BEYOND_DOUBT:
            self._keep(trial)

    def _cut_back(self) -> None:
        """Drop the weakest quarter of the directions of each mode in turn while the held-out error falls."""
        self._go_round(self._cut_mode_back)

    def _cut_mode_back(self, mode: int) -> None:
        """Drop the weakest quarter of the directions of a mode, if the held-out error falls."""
        ranks = {each: self._ranks[each] for each in self._free} | {mode: math.floor(KEPT * self._ranks[mode])}
        if ranks[mode] < 1:
            return
        steps = zip(self._growths, self._models, strict=True)
        trial = self._tried([growth.with_core_fitted(model.truncated(ranks)) for growth, model in steps])
        if trial.losses.mean() < self._kept.losses.mean():
            self._keep(trial)

    def _settle(self) -> None:
        """Sweep to convergence, unless the held-out error rises."""
        if self._empty:
            return
        trial = self._tried(self._kept.models, LAST_SWEEPS, self._settings.tol)
        self._is_settled = bool(trial.losses.mean() <= STILL_AS_GOOD * self._kept.losses.mean())
        if trial.losses.mean() <= self._kept.losses.mean():
            self._keep(trial)

    def _choose_form(self) -> None:
        """Take the CP model with the fewest terms that no richer model clearly beats; else keep the Tucker form."""
        if self._empty:
            return
        models, richer = self._models, [] if self._settings.form == "cp" else [self._kept]
        for terms in reversed(self._numbers_of_terms()):
            starts = [cp_form(model, terms, self._trials.rng) for model in models]
            trial = self._tried(starts, CP_SWEEPS, CP_TOLERANCE)
            if any(self._is_worth_it(each.models, trial.models, BEYOND_DOUBT) for each in richer):
                # One with fewer terms is worse still.
                return
            self._keep(trial)
            richer.append(trial)

    def _numbers_of_terms(self) -> Sequence[int]:
        """Return the numbers of terms to try for a CP model of the same tensor."""
        if isinstance(self._settings.rank, int):
            return [self._settings.rank]
        ranks = [self._ranks[mode] for mode in self._free]
        return range(max(1, min(ranks)), max(ranks) + 1)[:MOST_FORMS]
