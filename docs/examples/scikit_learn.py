"""
A table for scikit-learn
========================

``MatrixImputer`` fills a table of samples and features, as a step of a ``Pipeline``. It learns from the training
samples only, and uses that to fill other samples. It tries low rank, a regression of every feature on all others, and
corrections of these by nearest samples, kernels and trees, and combines what predicts held-out entries best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tensorfill.sklearn import MatrixImputer

# %%
# The breast cancer data of scikit-learn has 569 samples of 30 measurements. We remove half of the entries at random.

X, y = load_breast_cancer(return_X_y=True)
lost = np.random.default_rng(0).random(X.shape) < 0.5
holes = np.where(lost, np.nan, X)

# %%
# Three imputers in the same pipeline
# -----------------------------------
# The accuracy is that of the classifier, over three folds. The error is that of the filled entries, in standard
# deviations of their feature. Features are scaled first, which the nearest neighbours need; ``MatrixImputer`` also
# scales them itself. Trees need most of its time, and are left out here.

candidates = ["low_rank", "gaussian", "kernel"]

imputers = {
    "mean": SimpleImputer(),
    "nearest neighbours": KNNImputer(),
    "MatrixImputer": MatrixImputer(candidates=candidates, random_state=0),
}
folds = StratifiedKFold(3, shuffle=True, random_state=0)
results = {}
for name, imputer in imputers.items():
    pipeline = make_pipeline(StandardScaler(), imputer, LogisticRegression(max_iter=1000))
    accuracy = cross_val_score(pipeline, holes, y, cv=folds)
    scaler = StandardScaler().fit(holes)
    wrong = imputer.fit_transform(scaler.transform(holes)) - scaler.transform(X)
    results[name] = accuracy, np.sqrt(np.mean(wrong[lost] ** 2))
    print(f"{name:20} accuracy {accuracy.mean():.3f}   error {results[name][1]:.2f}")

fig, axes = plt.subplots(1, 2, figsize=(9.5, 2.6), layout="constrained", sharey=True)
colours = ["0.75", "0.75", "#0072B2"]
for ax, label, bars in (
    (axes[0], "accuracy of the classifier", [accuracy.mean() for accuracy, _ in results.values()]),
    (axes[1], "error of the filled entries", [error for _, error in results.values()]),
):
    drawn = ax.barh(list(results), bars, color=colours, height=0.6)
    ax.bar_label(drawn, fmt="%.3f", padding=4)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel=label, xlim=(0, 1.2))
axes[0].invert_yaxis()

# %%
# The complete table, for comparison:

complete = cross_val_score(make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), X, y, cv=folds)
print(f"nothing missing      accuracy {complete.mean():.3f}")

# %%
# What it has learned
# -------------------
# It says what was chosen: where the linear part is from, and the weights of the corrections.

imputer = MatrixImputer(candidates=candidates, random_state=0).fit(holes)
print(f"{imputer.base_}, {imputer.rank_} directions, corrections {imputer.corrections_.weights}")

# %%
# A new sample is filled from its own observed measurements.

sample = X[:1].copy()
sample[0, 10:] = np.nan
new = imputer.transform(sample)[0]
print("filled:", new[[20, 21, 22]].round(1), " true:", X[0, [20, 21, 22]])

# %%
# If entries go missing depending on other features, as when a test is made only of some patients, observed entries are
# not like missing ones. So a logistic model of the gaps of each feature gives the odds of each entry to be missing, and
# held-out entries count by these. To choose what is tried, use ``candidates``; ``time_limit`` ends the search for
# corrections, features with most gaps first.

# %%
# For tensors of more than two modes there is ``tensorfill.sklearn.TensorCompleter``. It takes coordinates as features
# and values as target, so it works with ``GridSearchCV`` and similar tools.
