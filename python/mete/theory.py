"""The paper's bounds, and the quantities they assume, measured (docs/theory.md)."""
from __future__ import annotations

import ctypes as C
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional

from . import _structs as S
from ._call import Guard, Settings, check, encode, run_long, settings_of
from ._library import lib
from ._process import interruptible

Loop = Mapping[str, float]


@dataclass(frozen=True)
class Note:
    """How a setting meets the theory's assumptions; broken: the bound is not proved for it."""

    id: str
    broken: bool
    text: str


@dataclass(frozen=True)
class Bound:
    """transfer risk - meta-training objective <= total."""

    n: float
    m: float
    outer_c: float
    outer_beta: float
    inner_c: float
    inner_beta: float
    outer: float
    inner: float
    total: float
    vacuous: bool
    notes: List[Note]


def plain(struct: Any) -> Any:
    """A struct's values as dicts and numbers."""
    if isinstance(struct, C.Structure):
        return {name: plain(getattr(struct, name)) for name, *_ in struct._fields_}
    return struct


def fill(struct: Any, values: Mapping[str, Any], what: str) -> None:
    for name, value in values.items():
        if name not in {field for field, *_ in struct._fields_}:
            raise TypeError("%s: there is no %r" % (what, name))
        setattr(struct, name, value)


def bound(method: Optional[str] = None, *, outer: Loop = {}, inner: Loop = {}, **values: Any) -> Bound:
    """The bound for n tasks of m points.  method says which of the paper's estimators it minimises.
    outer and inner: {"lipschitz": 0.3, "smooth": 1, "c": 1, "steps": 100, "lr": 0.01}; others: n, m, delta,
    max_loss, rescale, tight.  Every constant is 1 unless it is said."""
    setting, out, estimator = lib.mete_bound_defaults(), S.mete_bound(), C.c_int()
    if method is not None:
        check(lib.mete_bound_method(encode(method), C.byref(estimator)))
        setting.estimator = estimator.value
    fill(setting.outer, outer, "outer")
    fill(setting.inner, inner, "inner")
    fill(setting, values, "bound")
    check(lib.mete_bound(C.byref(setting), C.byref(out)))
    return Bound(notes=notes(setting), **plain(out))


def notes(setting: Any) -> List[Note]:
    found: List[Note] = []
    word, broken, text = C.c_char_p(), C.c_bool(), C.create_string_buffer(1024)
    while lib.mete_bound_note(C.byref(setting), len(found), C.byref(word), C.byref(broken), text, len(text)):
        found.append(Note((word.value or b"").decode(), broken.value, text.value.decode()))
    return found


def stability(bench: str, *, method: Optional[str] = None, net: Optional[str] = None, labels: Optional[str] = None,
              device: Optional[str] = None, settings: Settings = None, **values: Any) -> Mapping[str, Any]:
    """Measures what the bounds assume, and the gap they bound: trains with and without a task or a point.
    Others: seed, threads, tasks, fresh, removals, probed, max_loss, delta.  The dict has the fields of
    struct mete_stability (include/mete_theory.h)."""
    study, out, guard = lib.mete_study_defaults(), S.mete_stability(), Guard()
    texts = {"bench": encode(bench), "method": encode(method), "net": encode(net), "labels": encode(labels),
             "device": encode(device)}
    fill(study, {k: v for k, v in texts.items() if v is not None}, "stability")
    keep = settings_of(settings)
    if keep is not None:
        study.set = keep
    fill(study, values, "stability")
    with interruptible(guard):
        run_long(guard, lambda: check(lib.mete_stability(C.byref(study), C.byref(out))))
    found: Mapping[str, Any] = plain(out)
    return found
