"""Completion of tensors as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._support.types import Floats, Integers
from ..choosing.holdout.splits import Choice
from ..completion import complete
from ..fit import Fit
from ..losses import Loss
from ..losses.robust import Robust
from ..methods.base import Method
from ..observations import Observations
from ..penalties import Penalty
from .settings import gathered_settings


class TensorCompleter(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Fill the missing entries of a tensor of any order.

    It is `tensorfill.complete` as an estimator, so its settings can be cloned, searched and cross-validated. For
    scikit-learn it is a regressor whose samples are entries: their coordinates are the features, their values the
    target. Folds of entries must be shuffled, as in ``cv=KFold(shuffle=True)``; otherwise they remove whole slices.

    It has no `transform`: rows can be added to a table, but nothing can be added to a tensor later. The completed
    tensor is `filled_`; for tables there is `MatrixImputer`.

    Parameters
    ----------
    shape : sequence of int or None
        The sizes of the modes, if `fit` is given coordinates; by default inferred from these. Give it for
        cross-validation, because the coordinates of a fold may not reach all indices.
    method, loss, laplacian, smooth, centre, refine, bounds, choose, time_limit
        As in `tensorfill.complete`.
    lam, penalty, theta, modes, max_rank, max_iter, tol
        Settings of the method, for methods that have them; None is the method's default.
    settings : dict or None
        Other settings of the method by name, such as ``{"rank": 3}`` for ``method="cp"``.
    random_state : int, RandomState or None
        Seed or generator of the random numbers.

    Attributes
    ----------
    fit_ : tensorfill.Fit
        The completed tensor.
    filled_
        The data with only its missing entries filled in.
    n_iter_ : int
        Iterations of the final fit.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorfill.sklearn import TensorCompleter
    >>> cube = np.einsum("i,j,k", np.arange(1.0, 7.0), np.arange(1.0, 6.0), np.arange(1.0, 5.0))
    >>> cube[2, 3, 1] = np.nan
    >>> completer = TensorCompleter(random_state=0).fit(cube)
    >>> completer.predict([[2, 3, 1]]).round(1).tolist()
    [24.0]
    """

    def __init__(
        self,
        *,
        shape: Sequence[int] | None = None,
        method: str | Method | Sequence[str | Method] = "auto",
        loss: str | Loss | Robust = "auto",
        lam: float | Sequence[float] | str | None = None,
        penalty: str | Penalty | Sequence[str | Penalty] | None = None,
        theta: float | Sequence[float] | str | None = None,
        modes: Sequence[int] | None = None,
        max_rank: int | Sequence[int] | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        settings: Mapping[str, Any] | None = None,
        laplacian: Mapping[Any, Any] | None = None,
        smooth: Sequence[int | str] | str | None = "auto",
        centre: bool | str = "auto",
        refine: str | None = None,
        bounds: tuple[float | None, float | None] | None = None,
        choose: Choice | None = None,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.shape = shape
        self.method = method
        self.loss = loss
        self.lam = lam
        self.penalty = penalty
        self.theta = theta
        self.modes = modes
        self.max_rank = max_rank
        self.max_iter = max_iter
        self.tol = tol
        self.settings = settings
        self.laplacian = laplacian
        self.smooth = smooth
        self.centre = centre
        self.refine = refine
        self.bounds = bounds
        self.choose = choose
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Complete a tensor.

        Parameters
        ----------
        X
            What `tensorfill.complete` takes, such as an array in which NaN is missing; or, together with `y`, the
            coordinates of the observed entries, of shape (n, ndim): whole numbers from 0, as integers or floats.
        y : (n,)
            The observed values, if `X` is coordinates. Repeated entries are averaged.
        """
        named = ("lam", "penalty", "theta", "modes", "max_rank", "max_iter", "tol")
        settings = gathered_settings({name: getattr(self, name) for name in named}, self.settings)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        data = X if y is None else self._observed(X, y)
        self.fit_: Fit = complete(
            data,
            method=self.method,
            loss=self.loss,
            laplacian=self.laplacian,
            smooth=self.smooth,
            centre=self.centre,
            refine=self.refine,
            bounds=self.bounds,
            choose=self.choose,
            time_limit=self.time_limit,
            rng=int(seed),
            **settings,
        )
        self.n_iter_ = self.fit_.history[-1].iteration
        self.n_features_in_ = len(self.fit_.shape)
        self._from_coordinates = y is not None
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the entries at coordinates.

        Parameters
        ----------
        X : (n, ndim)
            The coordinates, counted from 0; or, if `fit` was given data with labels, a table of these.
        """
        check_is_fitted(self)
        if not self._from_coordinates:
            return self.fit_.predict(X)
        return self.fit_.predict(_whole(validate_data(self, X, reset=False)))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R^2, the share of the variance of some entries that is predicted.

        It is what scikit-learn's regressors return: larger is better, 1 is perfect, and it does not depend on the units
        of the data. For another score give, for example, ``scoring="neg_root_mean_squared_error"`` to a search.

        Parameters
        ----------
        X : (n, ndim)
            The coordinates.
        y : (n,)
            The values there.
        sample_weight : (n,)
            The weight of each entry.
        """
        return float(super().score(X, y, sample_weight))

    @property
    def filled_(self) -> Any:
        """The data with only its missing entries filled in, as an object of the input's kind; computed on request."""
        check_is_fitted(self)
        return self.fit_.filled()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Coordinates are categorical: they have no order and no distance.
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.three_d_array = True
        # The entries of a tensor determine others only if it has low rank.
        tags.regressor_tags.poor_score = True
        return tags

    def _observed(self, X: ArrayLike, y: ArrayLike) -> Observations:
        """Return the observations at coordinates."""
        coords, values = validate_data(self, X, y, y_numeric=True, ensure_min_features=2)
        indices = _whole(coords)
        shape = (indices.max(axis=0) + 1).tolist() if self.shape is None else self.shape
        return Observations(indices, values, shape, duplicates="mean")


def _whole(coords: NDArray[Any]) -> Integers:
    """Return coordinates as integers; scikit-learn may have converted them to floats."""
    indices = coords.astype(np.int64)
    if not np.array_equal(indices, coords):
        raise ValueError(
            "X must be coordinates, whole numbers from 0, if y is given, but it has others; give a tensor alone as X, "
            "or a table to MatrixImputer."
        )
    if indices.min() < 0:
        raise ValueError(
            "Negative values in data passed to TensorCompleter: coordinates count from 0, but "
            f"{indices.min()} was given."
        )
    return indices
