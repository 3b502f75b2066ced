"""What the tests of the Python package have in common: small data, small models."""
import os
import sys

import numpy as np
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))

import mete  # noqa: E402

SHORT = {"train.steps": 12, "train.validate_every": 4, "train.meta_batch": 2, "train.val_tasks": 4, "test.tasks": 4,
         "test.shots": "1"}


def people(n=30, rows=20, features=6, seed=0):
    """Two classes, which each person tells apart along a direction that is nearly the same."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n * rows, features)).astype(np.float32)
    users = np.repeat(np.arange(n), rows)
    offset = random.normal(scale=0.3, size=n)[users]
    y = (x[:, 0] + 0.5 * x[:, 1] + offset > 0).astype(np.int64)
    return x, y, users


def pictures(classes=5, n=300, side=16, seed=0):
    """Noisy bars, one direction and place for each class; 15 users."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    x = random.integers(0, 90, size=(n, side, side), dtype=np.uint8)
    for i in range(n):
        x[i, :, 3 * y[i] % side: 3 * y[i] % side + 2] = 220
    return x, y, (np.arange(n) // classes) % 15


@pytest.fixture(scope="session")
def rows():
    return people()


@pytest.fixture(scope="session")
def saved(rows, tmp_path_factory):
    """The path of a small ProtoNet for people."""
    x, y, users = rows
    d = mete.Dataset.from_arrays(x, y, users=users, class_names=["still", "moving"])
    m = mete.train(d, "1s@200", method="protonet", net="mlp", settings=SHORT, threads=1)
    path = tmp_path_factory.mktemp("model") / "me.safetensors"
    m.save(path)
    return path


@pytest.fixture
def model(saved):
    with mete.Model.load(saved) as m:
        yield m


def train_pictures(method):
    x, y, users = pictures()
    d = mete.Dataset.from_arrays(x, y, users=users)
    more = {"inner.lr": 0.01} if method == "maml" else {}
    return mete.train(d, "1s@200", method=method, settings={**SHORT, "net.filters": 4, **more}, threads=1)


@pytest.fixture(scope="session")
def seeing():
    """A MAML for pictures, with batch norm; tests must leave it as it was learned."""
    return train_pictures("maml")
