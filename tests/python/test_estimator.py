"""mete.MetaClassifier beside scikit-learn's own checks, and on people."""
import pickle

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

import mete  # noqa: E402
from conftest import people  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402


def checks():
    return list(check_estimator(mete.MetaClassifier(), generate_only=True))


@pytest.mark.parametrize("check", range(len(checks())), ids=lambda i: checks()[i][1].func.__name__)
def test_it_is_a_scikit_learn_classifier(check):
    estimator, function = checks()[check]
    function(estimator)


@pytest.fixture(scope="module")
def fitted():
    x, y, users = people(40, 24, seed=1)
    y = np.array(["still", "moving"])[y]
    return mete.MetaClassifier(steps=60, random_state=0).fit(x, y, users), x, y, users


def test_people(fitted):
    c, x, y, users = fitted
    new, labels, who = people(10, 60, seed=5)
    words = np.array(["still", "moving"])[labels]
    before, after = [], []
    for u in range(10):
        mine = new[who == u], words[who == u]
        before.append((c.predict(mine[0][20:]) == mine[1][20:]).mean())
        c.adapt(mine[0][:20], mine[1][:20])
        after.append(c.score(mine[0][20:], mine[1][20:]))
        assert c.predict_proba(mine[0]).shape == (60, 2)
    assert np.mean(after) > 0.75, (before, after)
    assert set(c.suggest(new[:30], n=4)) <= set(range(30))


def test_pickled_cloned_and_searched(fitted):
    c, x, y, users = fitted
    again = pickle.loads(pickle.dumps(c.adapt(x[:10], y[:10])))
    assert (again.predict_proba(x) == c.predict_proba(x)).all()
    assert clone(c).get_params() == c.get_params() and not hasattr(clone(c), "model_")
    same = clone(c).fit(x, y, users)
    assert (same.adapt(x[:10], y[:10]).predict_proba(x) == c.predict_proba(x)).all()
    search = GridSearchCV(mete.MetaClassifier(steps=8, random_state=0), {"shots": [1, 3]}, cv=2)
    assert search.fit(x[:200], y[:200]).best_score_ > 0.6
    scores = cross_val_score(mete.MetaClassifier(steps=20, random_state=0), x, y, groups=users, cv=GroupKFold(2))
    assert scores.mean() > 0.6


def test_what_is_refused(fitted):
    c, x, y, users = fitted
    for wrong, sentence in ((lambda: c.adapt(x[:2], ["still", "jumping"]), "row 1 is of class 'jumping'"),
                            (lambda: c.adapt(x[:3], y[:2]), "inconsistent numbers"),
                            (lambda: mete.MetaClassifier().fit(x[:40], y[:40], users[:40]), "at least 4"),
                            (lambda: mete.MetaClassifier().fit(x, y, users[:9]), "inconsistent numbers"),
                            (lambda: mete.MetaClassifier(method="mamel").fit(x, y, users), "mamel"),
                            (lambda: mete.MetaClassifier().predict(x), "not fitted")):
        with pytest.raises(ValueError, match=sentence):
            wrong()
