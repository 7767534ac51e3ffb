"""An imputer for tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.impute import MissingIndicator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from .._support.checks import listed
from .._support.clock import Clock
from .._support.parallel import one_blas_thread
from .._support.types import Floats
from ..methods.base import Method
from ..penalties import Penalty
from .combining import Corrections
from .learning import checked_candidates, learn, low_rank_methods
from .mixed import Encoder, is_mixed
from .projection import Projection
from .settings import gathered_settings


class MatrixImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill the missing entries of a table of samples and features, in the way that is best on held-out entries.

    Samples have no order. Features are centred and scaled first. Then there are three steps, each chosen by its error
    on held-out entries:

    1. A sample is filled by projection on a column space: least squares of its observed entries, with a ridge that is
       weak along directions in which samples vary much. The column space is that of a low-rank completion of the table,
       or, if it is clearly better, that of a normal distribution, which regresses every feature on all others.
    2. The residuals of each feature are predicted from the other features of the sample: by the nearest samples,
       by ridge regression with a Gaussian kernel, and by extremely randomised trees. This captures nonlinear
       relations.
    3. These corrections are added with non-negative weights, if that is clearly better than none. They race: after
       each round of held-out rows, those whose weight cannot be worth their time leave. Forests have few trees until
       the end, and then as many as their weight needs.

    Entries are held out in the way entries go missing. A logistic model of each feature's gaps gives the odds that an
    entry is missing, and held-out entries are weighted by these. So if large values of one feature cause gaps in
    another, samples with such values have more weight.

    In a pandas DataFrame, columns of texts, categories, booleans, dates and durations are encoded as numbers, and
    filled with values of their type.

    A sample is filled in the same way whether it was in the training table or not. One with nothing observed gets the
    means. With fewer than ten observed entries, or a single feature that varies, nothing can be learnt, and
    missing entries get the mean of their feature. Features with fewer than 40 observed entries are not corrected.

    Parameters
    ----------
    method : str or method object
        The method of the low-rank completion: ``"nort"``, ``"grow"``, ``"softimpute"``, ``"tucker_als"`` or ``"cp"``.
    penalty : {"auto", "nuclear", "lsp", "capped_l1", "tnn", "scad", "mcp"}, penalty object or None
        The penalty on singular values, for a method that has one. ``"auto"`` is ``"nuclear"``, or ``"lsp"`` if that is
        clearly better on held-out entries, as it is for tables that are nearly of low rank. A method without a penalty
        needs ``"auto"`` or None.
    lam, theta, max_rank, max_iter, tol
        Settings of the method, for methods that have them; None is the method's default. Settings that are left
        open are chosen on held-out entries.
    settings : dict or None
        Other settings of the method by name, such as ``{"rank": 3}`` for ``method="cp"``.
    centre : bool
        Whether the mean of each feature is subtracted first and added again at the end.
    scale : bool
        Whether features are divided by their root mean square first, so that their units do not matter.
    bounds : (low, high), "observed" or None
        Filled entries are clipped to these: numbers, or one for each feature; ``"observed"`` for the smallest and the
        largest value of each feature in `fit`.
    missing_values : number
        The value that marks a missing entry. If it is not NaN, NaN is refused.
    add_indicator : bool
        Whether to append columns that mark missing entries, as in `sklearn.impute.MissingIndicator`.
    keep_empty_features : bool
        Whether features without any observed entry in `fit` are kept and filled with 0, instead of being dropped.
    candidates : "auto" or list of str
        The candidates to try: ``"low_rank"``, ``"gaussian"``, ``"neighbours"``, ``"kernel"`` and ``"trees"``. At least
        one of the first two is needed. ``"auto"`` is all of them; ``["low_rank"]`` is fast, and trees often need
        most of the time.
    time_limit : float or None
        About how many seconds `fit` may take. It then has the best low-rank fit so far, and corrects the features that
        there is time for; those with most gaps come first.
    random_state : int, RandomState or None
        Seed or generator of the held-out entries and of all other random numbers.

    Attributes
    ----------
    fit_ : tensorfill.Fit or None
        The completion of the scaled training table, restricted to features that vary and samples with any entry.
    path_ : tensorfill.selection.Path or None
        The settings that were tried.
    method_ : method object or None
        The method with its chosen settings.
    penalty_ : penalty object or None
        Its penalty, if it has one.
    base_ : {"low_rank", "gaussian", "mean"}
        The base of the projection.
    projection_ : Projection
        The mean and the directions of the scaled features, and the variance of the noise.
    corrections_ : Corrections
        The corrections of the projection. Its `weights` have the weight of each kind, over all features.
    rank_ : int
        The number of directions.
    mean_, scale_ : arrays of shape (n_features,)
        The means and the scales of the features.
    empty_ : array of bool
        Which features had no observed entry.
    varies_ : array of bool
        Which features have different observed values.
    limits_ : (low, high) or None
        The bounds of filled entries, one for each feature.
    indicator_ : MissingIndicator or None
        Adds the columns of `add_indicator`.
    n_iter_ : int
        Iterations of the last completion.
    encoder_, encoded_
        For a DataFrame with texts, categories or dates: the encoder to numbers, and the imputer of the numbers, which
        the attributes above belong to; otherwise None.
    n_features_in_, feature_names_in_
        As in every estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorfill.sklearn import MatrixImputer
    >>> table = np.outer(np.arange(1.0, 13.0), [1.0, 2.0, 3.0, 4.0])
    >>> table[2, 3] = np.nan
    >>> imputer = MatrixImputer(random_state=0).fit(table)
    >>> imputer.transform([[5.0, 10.0, np.nan, 20.0]]).round(1).tolist()
    [[5.0, 10.0, 15.0, 20.0]]
    """

    def __init__(
        self,
        *,
        method: str | Method = "nort",
        penalty: str | Penalty | None = "auto",
        lam: float | str | None = None,
        theta: float | str | None = None,
        max_rank: int | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        settings: Mapping[str, Any] | None = None,
        centre: bool = True,
        scale: bool = True,
        bounds: Sequence[Any] | str | None = None,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        candidates: Sequence[str] | str = "auto",
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.method = method
        self.penalty = penalty
        self.lam = lam
        self.theta = theta
        self.max_rank = max_rank
        self.max_iter = max_iter
        self.tol = tol
        self.settings = settings
        self.centre = centre
        self.scale = scale
        self.bounds = bounds
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.candidates = candidates
        self.time_limit = time_limit
        self.random_state = random_state

    @one_blas_thread
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn how to fill the rows of a table.

        Parameters
        ----------
        X : (n_samples, n_features)
            The table. In a pandas DataFrame, texts, categories and dates are filled too.
        y
            Ignored.
        """
        self.encoder_: Encoder | None = None
        self.encoded_: MatrixImputer | None = None
        if is_mixed(X):
            return self._fit_encoded(X)
        self._check_flags()
        clock = Clock(self.time_limit)
        table = self._checked(X, reset=True)
        seen = ~np.isnan(table)
        if not seen.any():
            raise ValueError(f"X must have an observed entry, but all {table.size:,} are missing; give some.")
        self.empty_ = ~seen.any(axis=0)
        self._warn_of_empty()
        self.limits_ = self._checked_bounds(table)
        self.indicator_ = MissingIndicator(error_on_new=False).fit(table) if self.add_indicator else None
        self._learn(table, clock)
        return self

    def _fit_encoded(self, X: Any) -> Self:
        """Learn from the columns as numbers."""
        encoder = Encoder.of(X)
        inner = clone(self).set_params(keep_empty_features=True, add_indicator=False).fit(encoder.encoded(X))
        for name, value in vars(inner).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.encoder_, self.encoded_ = encoder, inner
        self.feature_names_in_: NDArray[np.object_] = np.array(encoder.column_names, dtype=np.object_)
        self.n_features_in_ = len(self.feature_names_in_)
        self.empty_ = X.isna().all().to_numpy()
        self._warn_of_empty()
        self.indicator_ = MissingIndicator(error_on_new=False).fit(X) if self.add_indicator else None
        return self

    def _transform_encoded(self, X: Any, encoder: Encoder, inner: MatrixImputer) -> Any:
        """Return a table with its missing entries filled in, with the type of each column."""
        filled = encoder.filled(X, inner.transform(encoder.encoded(X)))
        filled = filled if self.keep_empty_features else filled.loc[:, ~self.empty_]
        if self.indicator_ is None:
            return filled
        names = self.indicator_.get_feature_names_out(self.feature_names_in_)
        return filled.assign(**dict(zip(names, self.indicator_.transform(X).T, strict=True)))

    @one_blas_thread
    def transform(self, X: ArrayLike) -> Any:
        """Return a table with its missing entries filled in.

        Parameters
        ----------
        X : (n_samples, n_features)
            The table, with samples from `fit` or new ones.

        Returns
        -------
        array, or DataFrame
            A DataFrame if `fit` got one with texts, categories or dates; each column keeps its type.
        """
        check_is_fitted(self)
        if self.encoder_ is not None and self.encoded_ is not None:
            return self._transform_encoded(X, self.encoder_, self.encoded_)
        table = self._checked(X, reset=False)
        missing = np.isnan(table)
        rows = ((table - self.mean_) / self.scale_).astype(np.float64)
        filled = self._filled(rows) * self.scale_ + self.mean_
        if self.limits_ is not None:
            filled = np.clip(filled, *self.limits_)
        out = np.where(missing, filled, table).astype(table.dtype)
        out = out if self.keep_empty_features else out[:, ~self.empty_]
        if self.indicator_ is not None:
            out = np.hstack([out, self.indicator_.transform(table).astype(table.dtype)])
        return out

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features
            The names of the features, if they were not given to `fit`.
        """
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)
        kept = names if self.keep_empty_features else names[~self.empty_]
        if self.indicator_ is None:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = _is_nan(self.missing_values)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked(self, X: ArrayLike, *, reset: bool) -> Floats:
        """Return a table as floats, with NaN where an entry is missing."""
        finite = "allow-nan" if _is_nan(self.missing_values) else True
        table: Floats = validate_data(self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite=finite)
        return table if _is_nan(self.missing_values) else np.where(table == self.missing_values, np.nan, table)

    def _check_flags(self) -> None:
        for name in ("centre", "scale", "add_indicator", "keep_empty_features"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise TypeError(f"{name} must be True or False, but {value!r} was given.")

    def _warn_of_empty(self) -> None:
        if self.empty_.any() and not self.keep_empty_features:
            names = listed(OneToOneFeatureMixin.get_feature_names_out(self)[self.empty_].tolist())
            warnings.warn(
                f"The features {names} have no observed entry and are dropped; keep_empty_features=True keeps them.",
                stacklevel=3,
            )

    def _checked_bounds(self, table: Floats) -> tuple[Floats, Floats] | None:
        """Return the smallest and the largest value of each feature, if there are limits."""
        if self.bounds is None:
            return None
        if isinstance(self.bounds, str) and self.bounds == "observed":
            low = np.where(np.isnan(table), np.inf, table).min(axis=0)
            high = np.where(np.isnan(table), -np.inf, table).max(axis=0)
            return np.where(self.empty_, 0.0, low), np.where(self.empty_, 0.0, high)
        allowed = "bounds must be None, 'observed' or (low, high), each a number or one for each feature"
        try:
            low, high = (np.broadcast_to(np.asarray(limit, dtype=float), self.n_features_in_) for limit in self.bounds)
        except (TypeError, ValueError):
            raise ValueError(f"{allowed}, but {self.bounds!r} was given.") from None
        if not (low <= high).all():
            raise ValueError(f"{allowed}, with low at most high, but {self.bounds!r} was given.")
        return low, high

    def _filled(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled rows with their gaps filled."""
        filled = self.projection_.fill(rows)
        # Constant features carry no information about the others.
        some, whole = self.varies_, self.projection_
        filled[:, some] = self.corrections_.fill(
            Projection(whole.mean[some], whole.loadings[some], whole.noise), rows[:, some]
        )
        return filled

    def _learn(self, table: Floats, clock: Clock) -> None:
        """Set the mean and the scale of the features, and learn the projection of those that vary."""
        named = {name: getattr(self, name) for name in ("lam", "theta", "max_rank", "max_iter", "tol")}
        methods = low_rank_methods(self.method, self.penalty, gathered_settings(named, self.settings))
        names = checked_candidates(self.candidates)
        values = np.where(self.empty_, 0.0, table).astype(np.float64)
        means = np.nanmean(values, axis=0)
        self.mean_ = means if self.centre else np.zeros_like(means)
        self.varies_ = varies = np.nanmax(values, axis=0) > np.nanmin(values, axis=0)
        self.scale_ = _spread(values - self.mean_, varies) if self.scale else np.ones_like(means)
        scaled = (values - self.mean_) / self.scale_
        mean, loadings, noise = (means - self.mean_) / self.scale_, np.zeros((len(means), 0)), 0.0
        self.fit_ = self.path_ = self.method_ = self.penalty_ = None
        self.base_, self.corrections_ = "mean", Corrections()
        if varies.any():
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            learnt = learn(scaled[:, varies], methods, np.random.default_rng(seed), names, clock)
            mean[varies], noise = learnt.projection.mean, learnt.projection.noise
            loadings = np.zeros((len(means), learnt.projection.rank))
            loadings[varies] = learnt.projection.loadings
            self.base_, self.corrections_ = learnt.base, learnt.corrections
            self.fit_ = learnt.fit
            self.method_ = None if learnt.fit is None else learnt.fit.method
            self.penalty_ = getattr(self.method_, "penalty", None)
            self.path_ = None if learnt.trial is None else learnt.trial.path
        self.projection_ = Projection(mean, loadings, noise)
        self.rank_ = self.projection_.rank
        self.n_iter_ = 0 if self.fit_ is None else self.fit_.history[-1].iteration


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _spread(values: NDArray[np.float64], varies: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the root mean square of each column, or 1 where it does not vary."""
    # Numbers of magnitude at most one do not overflow when squared.
    largest = np.where(varies, np.nanmax(np.abs(values), axis=0), 1.0)
    return np.where(varies, largest * np.sqrt(np.nanmean((values / largest) ** 2, axis=0)), 1.0)
