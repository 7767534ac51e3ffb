"""Completion of tensors as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._support.types import Floats
from ..completion import complete
from ..fit import Fit
from ..losses import Loss
from ..losses.robust import Robust
from ..methods.base import Method
from ..observations import Observations
from ..penalties import Penalty


class TensorCompleter(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Fill the missing entries of a tensor of any order.

    It is `tensorfill.complete` as an estimator, so that its settings can be cloned, searched and cross-validated. To
    scikit-learn it is a regressor whose samples are entries: their coordinates are the features, their values the
    target. Folds of entries must be shuffled, as in ``cv=KFold(shuffle=True)``, else they take whole slices away.

    It has no `transform`: a table can get more rows, but a tensor has no part of which more could come later. The
    completed tensor is `filled_`; for tables there is `MatrixImputer`.

    Parameters
    ----------
    shape : sequence of int or None
        The sizes of the modes, where `fit` is given coordinates; by default as large as these need. Give it for
        cross-validation, since the coordinates of a fold may not reach all indices.
    method, loss, penalty, lam, theta, modes, laplacian, smooth, max_rank, tau, momentum, max_iter, tol, time_limit
        As in `tensorfill.complete`.
    validation, holdout, splits, centre, refine, bounds
        As in `tensorfill.complete`.
    random_state : int, RandomState or None
        Decides everything that is random.

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
        method: str | Method = "nort",
        loss: str | Loss | Robust = "square",
        penalty: str | Penalty = "lsp",
        lam: float | Sequence[float] | str = "auto",
        theta: float | Sequence[float] | str = "auto",
        modes: Sequence[int] | None = None,
        laplacian: Mapping[int, Any] | None = None,
        smooth: Sequence[int] | str | None = "auto",
        max_rank: int | Sequence[int] | None = None,
        tau: float | None = None,
        momentum: bool | str = True,
        max_iter: int = 500,
        tol: float = 1e-4,
        time_limit: float | None = None,
        validation: float | Observations = 0.1,
        holdout: str | Sequence[Any] = "auto",
        splits: int = 1,
        centre: bool | str = "auto",
        refine: str | None = None,
        bounds: tuple[float, float] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.shape = shape
        self.method = method
        self.loss = loss
        self.penalty = penalty
        self.lam = lam
        self.theta = theta
        self.modes = modes
        self.laplacian = laplacian
        self.smooth = smooth
        self.max_rank = max_rank
        self.tau = tau
        self.momentum = momentum
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.validation = validation
        self.holdout = holdout
        self.splits = splits
        self.centre = centre
        self.refine = refine
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Complete a tensor.

        Parameters
        ----------
        X
            What `tensorfill.complete` takes, such as an array in which NaN is missing; or, together with `y`, the
            coordinates of the observed entries, of shape (n, ndim).
        y : (n,)
            The observed values, where `X` is coordinates.
        """
        settings = self.get_params(deep=False)
        del settings["shape"], settings["random_state"]
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        data = X if y is None else Observations(X, y, self._shape_for(X))
        self.fit_: Fit = complete(data, rng=int(seed), **settings)
        self.n_iter_ = self.fit_.history[-1].iteration
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the entries at coordinates.

        Parameters
        ----------
        X : (n, ndim)
            The coordinates, counted from 0.
        """
        check_is_fitted(self)
        return self.fit_.predict(X)

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
            How much each entry counts.
        """
        return float(super().score(X, y, sample_weight))

    @property
    def filled_(self) -> Any:
        """The data with only its missing entries filled in, as the kind of object that it was; made when asked for."""
        check_is_fitted(self)
        return self.fit_.filled()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    def _shape_for(self, coords: Any) -> Sequence[int]:
        if self.shape is not None:
            return self.shape
        indices = np.asarray(coords)
        if indices.ndim != 2 or len(indices) == 0:
            raise ValueError(
                "X must be coordinates of shape (n, ndim) where y is given, one row for each entry, "
                f"but an array of shape {indices.shape} was given."
            )
        return tuple(int(size) + 1 for size in indices.max(axis=0))
