"""What training tells while it works."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from . import _structs as S

KINDS = ("step", "valid", "test", "work")


@dataclass(frozen=True)
class Test:
    """One model on one set of test tasks.  NaN and None: there is no such thing here."""

    __test__ = False  # pytest: this is no test

    model: str            # "best" by validation, "last", or "given"
    shots: int            # labels per class of a support; 0: `labels` in all
    support: str          # who chose the supports
    bn: str
    tasks: int
    accuracy: float
    half: float           # half the width of its 95 % interval
    before: float         # accuracy without adaptation
    loss: float
    ece: float            # expected calibration error
    valid_accuracy: float
    labels: int
    users: int
    worse: float          # share of tasks that adaptation made worse
    kept: float
    adapted: float
    adapted_worse: float


def test_of(t: Any) -> Test:
    values = {name: getattr(t, name) for name, _ in S.mete_test._fields_}
    return Test(**{k: v.decode() if isinstance(v, bytes) else v for k, v in values.items()})


@dataclass(frozen=True)
class Event:
    """kind: "step" (a meta-update was done), "valid", "test", or "work" (tasks are bought or tested)."""

    kind: str
    step: int
    steps: int
    done: float           # of all work: 0..1
    tasks: int            # "valid": bought until then
    labels: int
    accuracy: float       # "valid"
    half: float
    loss: float           # "valid": of training, since the last one
    test: Optional[Test]  # "test"


def event_of(e: Any) -> Event:
    return Event(KINDS[e.kind], e.step, e.steps, e.done, e.tasks, e.labels, e.accuracy, e.half, e.loss,
                 test_of(e.test.contents) if e.test else None)
