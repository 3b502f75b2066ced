"""mete.MetaClassifier: a scikit-learn estimator that learns from many people, or tasks, and adapts to another."""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ._arrays import Array
from .data import Dataset
from .model import Model
from .training import train

SAMPLES, ROWS = 24, 40  # a plain fit: random samples of the rows stand for people, each of so many
SUPPORT = 2000          # of the rows that were fitted: what the model is adapted to before anybody's `adapt`


def validated(estimator: Any, X: Any, **more: Any) -> Any:
    """X, or X and y, as scikit-learn checks them, in the versions before and after 1.6."""
    more["dtype"] = np.float64
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return estimator._validate_data(X, **more)
    return validate_data(estimator, X, **more)


class MetaClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that `fit` teaches to learn from few labels, and that `adapt` makes somebody's own.

    fit(X, y, groups): groups is the person, or the task, of each row; the classes are the same for all.  The
    model is then for all of them, and `adapt(X, y)` fits it to a few labelled rows of another one.
    fit(X, y) without groups is a plain classifier: random samples of the rows stand for people.

    method, net, labels: as in mete.train.  shots: labels of each class that a person gives in training.
    budget: the cap on labels bought in training; None: none.  steps: meta-updates.  settings: any others.
    """

    def __init__(self, method: str = "protonet", net: str = "mlp", labels: str = "random", shots: int = 5,
                 budget: Optional[int] = None, steps: int = 200, settings: Optional[Dict[str, Any]] = None,
                 n_threads: int = 1, random_state: Any = None) -> None:
        self.method = method
        self.net = net
        self.labels = labels
        self.shots = shots
        self.budget = budget
        self.steps = steps
        self.settings = settings
        self.n_threads = n_threads
        self.random_state = random_state

    # ---- training ----

    def fit(self, X: Any, y: Any, groups: Any = None) -> "MetaClassifier":
        """Learns from labelled rows; groups: the person, or the task, of each."""
        X, y = validated(self, X, y=y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(column_or_1d(y), return_inverse=True)
        self.mean_, deviation = X.mean(0), X.std(0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        self.model_: Optional[Model] = None
        if len(self.classes_) == 1:
            return self  # there is nothing to tell apart
        rows = self._rows(X)
        at, users = resampled(codes, random) if groups is None else grouped(groups, rows)
        data = Dataset.from_arrays(np.ascontiguousarray(rows[at]), codes[at], users=users,
                                   class_names=[str(c) for c in range(len(self.classes_))])
        n = int(users.max()) + 1
        self.model_ = train(data, "%ds%s" % (self.shots, "" if self.budget is None else "@%d" % self.budget),
                            method=self.method, net=self.net, labels=self.labels, seed=seed, threads=self.n_threads,
                            settings={**self._usual(n, groups is None), **(self.settings or {})})
        some = random.permutation(len(rows))[:SUPPORT]
        self.model_.adapt(rows[some], codes[some])
        return self

    def _usual(self, people: int, plain: bool) -> Dict[str, Any]:
        """All people but one are for training and validation: whoever fits keeps their own for tests."""
        validating = max(1, people // 6)
        return {"data.split": "%d/%d/1" % (people - validating - 1, validating), "train.steps": self.steps,
                "train.validate_every": max(1, self.steps // 4), "train.val_tasks": validating,
                "train.val_shots": self.shots, "train.meta_batch": 8 if plain else 16, "test.tasks": 1,
                "test.shots": self.shots}

    def _rows(self, X: Array) -> Array:
        return np.ascontiguousarray((X - self.mean_) / self.scale_, np.float32)

    # ---- somebody's own ----

    def adapt(self, X: Any, y: Any) -> "MetaClassifier":
        """Adapts to labelled rows of one person or task, from what was learned of all; forgets the last one."""
        check_is_fitted(self)
        X, codes = validated(self, X, reset=False), self._codes(y)
        check_consistent_length(X, codes)
        if self.model_ is not None:
            self.model_.adapt(self._rows(X), codes)
        return self

    def _codes(self, y: Any) -> Array:
        y = column_or_1d(y)
        at = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        wrong = np.flatnonzero(self.classes_[at] != y)
        if len(wrong):
            raise ValueError("adapt: row %d is of class %r, which was not there in fit" % (wrong[0], y[wrong[0]]))
        return np.asarray(at, np.int32)

    def predict_proba(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        if self.model_ is None:
            return np.ones((len(X), 1))
        probs: Array = self.model_.predict_proba(self._rows(X)).astype(np.float64)
        probs /= probs.sum(1, keepdims=True)
        return probs

    def predict(self, X: Any) -> Array:
        probs = self.predict_proba(X)
        classes: Array = self.classes_[probs.argmax(1)]
        return classes

    def suggest(self, X: Any, n: int = 5, labels: Optional[str] = None, seed: int = 0) -> Array:
        """Which rows of a new person to label first; labels: a strategy, None: that of training."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        if self.model_ is None:
            return np.arange(min(n, len(X)), dtype=np.int32)
        return self.model_.suggest(self._rows(X), None, n, labels, seed)


def grouped(groups: Any, rows: Array) -> Tuple[Array, Array]:
    """All rows, and their people as numbers."""
    names, users = np.unique(column_or_1d(np.asarray(groups)), return_inverse=True)
    check_consistent_length(rows, users)
    if len(names) < 4:
        raise ValueError("groups: %d people or tasks, expected at least 4 (some train, some validate)" % len(names))
    return np.arange(len(rows)), users


def resampled(codes: Array, random: Any) -> Tuple[Array, Array]:
    """Rows of random samples, of each class as many, and the number of the sample."""
    classes = int(codes.max()) + 1
    each = max(4, ROWS // classes)
    at = [random.choice(np.flatnonzero(codes == k), each) for _ in range(SAMPLES) for k in range(classes)]
    return np.concatenate(at), np.repeat(np.arange(SAMPLES), classes * each)
