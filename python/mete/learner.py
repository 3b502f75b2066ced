"""Learners and label strategies of one's own, under the library's budget, ledger and tests."""
from __future__ import annotations

import ctypes as C
import hashlib
import inspect
import itertools
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

import numpy as np

from . import _structs as S
from ._arrays import Array, Floats, Ints, view
from ._call import Guard, check, encode
from ._library import lib
from .errors import MeteError

Params = Mapping[str, Any]
INT, REAL, BOOL, CHOICE, TEXT = range(5)


# ---- settings ----

def params_of(params: Params) -> Any:
    """{"lr": 0.1, "mode": ("slow", "fast"), "steps": (5, 1, 100)} as a table.  A default's type is the
    setting's; a tuple of words is a choice, whose first is the default; of numbers: default, least, most."""
    rows = [param_of(name, value) for name, value in params.items()]
    return (S.mete_param * (len(rows) + 1))(*rows)


def param_of(name: str, value: Any) -> S.mete_param:
    key = encode(name)
    if isinstance(value, bool):
        return S.mete_param(key, BOOL, value, 0, 1, None, b"")
    if isinstance(value, str):
        return S.mete_param(key, TEXT, 0, 0, 0, encode(value), b"")
    if isinstance(value, tuple) and value and all(isinstance(v, str) for v in value):
        return S.mete_param(key, CHOICE, 0, 0, 0, encode("|".join(value)), b"")
    numbers = value if isinstance(value, tuple) else (value, -1e9, 1e9)
    if len(numbers) != 3 or not all(isinstance(v, (int, float)) for v in numbers):
        raise TypeError("params: %s is %r, expected a number, (default, least, most), a bool, a text or a tuple "
                        "of words" % (name, value))
    kind = INT if isinstance(numbers[0], int) else REAL
    return S.mete_param(key, kind, *map(float, numbers), None, b"")


def values_of(given: Any, params: Params) -> Dict[str, Any]:
    """The settings of a run, each of its default's type."""
    out: Dict[str, Any] = {}
    for i in itertools.count():
        v = given[i]
        if v.name is None:
            return out
        name = v.name.decode()
        declared = params.get(name)
        if declared is None:
            continue  # "version", which is the library's
        first = declared[0] if isinstance(declared, tuple) else declared
        out[name] = (v.text or b"").decode() if isinstance(first, str) else type(first)(v.number)
    return out


def version_of(thing: Any, version: Optional[str]) -> str:
    """Part of the identity of its runs.  Where nobody says one: a hash of its source."""
    if version is not None:
        return version
    try:
        return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()[:12]
    except (OSError, TypeError):
        return ""


# ---- learners ----

class Spec:
    """What a run asks of a learner."""

    def __init__(self, spec: Any, params: Params) -> None:
        for name in ("ways", "meta_batch", "support", "query", "threads", "seed", "scale", "shift"):
            setattr(self, name, getattr(spec, name))
        shape = (spec.items, spec.c) if spec.h == spec.w == 1 else (spec.items, spec.h, spec.w, spec.c)
        self.x: Array = view(None, spec.x, shape, np.float32 if spec.is_float else np.uint8)
        self.settings = values_of(spec.settings, params)

    ways: int        # classes of a task
    meta_batch: int  # tasks of a step, at most
    support: int     # points of the largest training task
    query: int
    threads: int     # that it may use; 0: one per core
    seed: int
    scale: float
    shift: float
    # x: all items of the data set, as they lie in memory; valid as long as the learner
    settings: Dict[str, Any]

    @property
    def shape(self) -> Tuple[int, ...]:
        """Of an item: (features,) or (h, w, c)."""
        return self.x.shape[1:]

    def read(self, items: Ints) -> Floats:
        """Items as the library's learners see them: value * scale + shift."""
        x = self.x[items].astype(np.float32, copy=False)
        if self.scale != 1 or self.shift != 0:
            x = x * np.float32(self.scale) + np.float32(self.shift)
        return x


class Items:
    """Some items of the data set: their numbers, their labels (None: to be predicted), and `x`."""

    def __init__(self, given: Any, spec: Spec) -> None:
        n = given.n
        self.items: Ints = np.array(given.item[:n], np.int32)
        self._labels: Optional[Ints] = np.array(given.label[:n], np.int32) if given.label or n == 0 else None
        self._spec = spec

    def __len__(self) -> int:
        return len(self.items)

    @property
    def x(self) -> Floats:
        return self._spec.read(self.items)

    @property
    def labels(self) -> Ints:
        """0..ways-1."""
        if self._labels is None:
            raise AttributeError("the labels of a query that is to be predicted are not known")
        return self._labels


@dataclass(frozen=True)
class Task:
    """A labelled task: the support and the query, with the labels that were bought."""

    support: Items
    query: Items
    number: int


class Learner:
    """Derive from it, and give the class to `mete.run(..., learners={"mine": Mine})`.

    One is made for each run.  An exception in a method ends the call and comes out of it, and the run
    goes on from its last checkpoint when it is called again; a MeteError fails this run alone.
    """

    summary: str = "a learner of Python"
    version: Optional[str] = None       # None: a hash of the class's source
    params: Params = {}                 # settings, as method.NAME in a suite
    same_classes: bool = False          # only for people, whose classes are the same
    features: int = 0                   # of a representation; 0: it has none
    repeatable: bool = False            # the same seed gives the same bytes
    last_is_best: bool = False          # training only gathers labels

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def step(self, tasks: Sequence[Task]) -> Optional[float]:
        """One meta-update over labelled tasks; returns the loss, or None."""
        raise NotImplementedError("a learner needs step(tasks)")

    def adapt(self, support: Items) -> None:
        """Adapts to labelled items, from where training left it; to none: the model as it was learned."""
        raise NotImplementedError("a learner needs adapt(support)")

    def predict(self, query: Items) -> Any:
        """Class probabilities (n, ways) by the model of the last adapt; with `features`, a pair of them
        and representations (n, features)."""
        raise NotImplementedError("a learner needs predict(query)")

    def save(self) -> bytes:
        """What adapts and predicts."""
        raise NotImplementedError("a learner needs save()")

    def load(self, data: bytes) -> None:
        raise NotImplementedError("a learner needs load(data)")

    def save_training(self) -> bytes:
        """All else that training needs to continue: the state of an optimiser, of random numbers."""
        return b""

    def load_training(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def rows_of(a: Any, shape: Tuple[int, int], what: str) -> Floats:
    out = np.ascontiguousarray(a, np.float32)
    if out.shape != shape:
        raise ValueError("predict returned %s of shape %s, expected %s" % (what, out.shape, shape))
    return out


class Added:
    """A learner's class under a name, while a call lasts."""

    def __init__(self, name: str, learner: Type[Learner], guard: Guard) -> None:
        if not (isinstance(learner, type) and issubclass(learner, Learner)):
            raise TypeError("learner '%s': expected a class derived from mete.Learner, got %r" % (name, learner))
        self.name, self.learner, self.guard = name, learner, guard
        self.numbers = itertools.count(1)
        self.states: Dict[int, Learner] = {}
        f = self.protect
        self.ops = S.mete_learner_ops(
            name=encode(name), summary=encode(learner.summary), version=encode(version_of(learner, learner.version)),
            params=params_of(learner.params), same_classes=learner.same_classes, open=S.open_fn(f(self.open)),
            step=S.step_fn(f(self.step)), adapt=S.adapt_fn(f(self.adapt)), predict=S.predict_fn(f(self.predict)),
            save=S.save_fn(f(self.save)), load=S.load_fn(f(self.load)), close=S.close_fn(guard_free(self.close)))

    def add(self) -> None:
        check(lib.mete_learner_add(C.byref(self.ops), None))

    def remove(self) -> None:
        check(lib.mete_learner_remove(encode(self.name)))

    def protect(self, function: Callable[..., None]) -> Callable[..., int]:
        def answer(*arguments: Any) -> int:
            try:
                function(*arguments)
            except MeteError as error:  # this run's failure, not the call's
                return failed(error)
            return 0

        return self.guard.protect(answer)

    # ---- what C calls ----

    def open(self, _: Any, spec: Any, facts: Any, state: Any) -> None:
        learner = self.learner(Spec(spec.contents, self.learner.params))
        number = next(self.numbers)
        self.states[number] = learner
        facts.contents.features = learner.features
        facts.contents.repeatable = learner.repeatable
        facts.contents.last_is_best = learner.last_is_best
        state[0] = number

    def step(self, state: int, tasks: Any, n: int, loss: Any) -> None:
        learner = self.states[state]
        made = [Task(Items(tasks[i].support, learner.spec), Items(tasks[i].query, learner.spec), tasks[i].number)
                for i in range(n)]
        value = learner.step(made)
        loss[0] = 0.0 if value is None else float(value)

    def adapt(self, state: int, support: Any) -> None:
        learner = self.states[state]
        learner.adapt(Items(support.contents, learner.spec))

    def predict(self, state: int, query: Any, probs: int, reps: Optional[int]) -> None:
        learner, n = self.states[state], query.contents.n
        answer = learner.predict(Items(query.contents, learner.spec))
        probabilities, representations = answer if isinstance(answer, tuple) else (answer, None)
        put_rows(rows_of(probabilities, (n, learner.spec.ways), "probabilities"), probs)
        if reps:
            if representations is None:
                raise TypeError("predict returned no representations, and the learner has %d features"
                                % learner.features)
            put_rows(rows_of(representations, (n, learner.features), "representations"), reps)

    def save(self, state: int, part: int, put: Any, to: int) -> None:
        learner = self.states[state]
        data = learner.save_training() if part else learner.save()
        if not isinstance(data, bytes):
            raise TypeError("save returned %s, expected bytes" % type(data).__name__)
        put(to, data, len(data))

    def load(self, state: int, part: int, data: Optional[int], n: int) -> None:
        learner = self.states[state]
        taken = C.string_at(data or 0, n) if n else b""
        learner.load_training(taken) if part else learner.load(taken)

    def close(self, state: int) -> None:
        learner = self.states.pop(state, None)
        if learner is not None:
            learner.close()


def put_rows(rows: Floats, to: int) -> None:
    C.memmove(to, rows.ctypes.data, rows.nbytes)


def failed(error: MeteError) -> int:
    return int(lib.mete_fail(error.code, str(error).encode(errors="replace")))


def guard_free(function: Callable[..., None]) -> Callable[..., None]:
    """Closing goes on after an exception elsewhere, and raises none."""

    def call(*arguments: Any) -> None:
        try:
            function(*arguments)
        except Exception:
            pass

    return call


# ---- label strategies ----

class Pool:
    """All that a strategy sees of a task: positions, and no labels but those bought."""

    def __init__(self, p: Any, params: Params) -> None:
        n = p.n
        self.n, self.ways, self.shots, self.round = n, p.ways, p.shots, p.round
        self.available: Array = np.ctypeslib.as_array(p.available, (n,)).astype(bool)
        self.known: Ints = np.ctypeslib.as_array(p.known, (n,)).copy()
        self.probs: Floats = rows_at(p.probs, n, p.ways)
        self.reps: Floats = rows_at(p.reps, n, p.features)
        self.settings = values_of(p.settings, params) if p.settings else {}
        self.random = np.random.default_rng(p.seed)
        self.memo: Ints = np.ctypeslib.as_array(p.memo, (n,))

    n: int           # points
    ways: int
    shots: int       # labels for each class; 0: any number
    round: int       # 0, 1, ...
    available: Array  # (n) True: not bought yet
    known: Ints      # (n) the label bought, or -1
    probs: Floats    # (n, ways), where the strategy needs "probs"
    reps: Floats     # (n, features), where it needs "reps"
    settings: Dict[str, Any]
    random: np.random.Generator  # another one for each task and round
    memo: Ints       # (n) the strategy's own, kept between rounds; -1 at first


def rows_at(p: Any, n: int, width: int) -> Floats:
    return np.ctypeslib.as_array(p, (n, width)).copy() if p else np.empty((n, 0), np.float32)


Choose = Callable[[Pool, int], Any]


def strategy(*, needs: str = "", params: Params = {}, version: Optional[str] = None,
             summary: str = "a strategy of Python") -> Callable[[Choose], Choose]:
    """Says what a strategy needs to see: "probs", "reps" or both, and its settings."""

    def mark(choose: Choose) -> Choose:
        choose.mete = {"needs": needs, "params": params, "version": version,  # type: ignore[attr-defined]
                       "summary": summary}
        return choose

    return mark


NEEDS = {"probs": 1, "reps": 2}


class AddedStrategy:
    """A function choose(pool, want) -> positions, under a name, while a call lasts."""

    def __init__(self, name: str, choose: Choose, guard: Guard) -> None:
        if not callable(choose):
            raise TypeError("strategy '%s': expected a function of a pool and a number, got %r" % (name, choose))
        about = getattr(choose, "mete", {})
        words = about.get("needs", "").replace(",", " ").split()
        for word in words:
            if word not in NEEDS:
                raise ValueError("strategy '%s' needs %r, expected probs or reps" % (name, word))
        self.name, self.choose, self.params = name, choose, about.get("params", {})
        self.ops = S.mete_strategy_ops(
            name=encode(name), summary=encode(about.get("summary", "a strategy of Python")),
            version=encode(version_of(choose, about.get("version"))), params=params_of(self.params),
            needs=sum(NEEDS[w] for w in words), choose=S.choose_fn(guard.protect(self.answer)))

    def add(self) -> None:
        check(lib.mete_strategy_add(C.byref(self.ops), None))

    def remove(self) -> None:
        check(lib.mete_strategy_remove(encode(self.name)))

    def answer(self, _: Any, pool: Any, want: int, picks: Any) -> int:
        try:
            chosen = np.asarray(self.choose(Pool(pool.contents, self.params), want))
        except MeteError as error:
            return failed(error)
        if chosen.ndim != 1 or (len(chosen) and chosen.dtype.kind not in "iu"):
            raise TypeError("strategy '%s' returned %r, expected positions of the pool" % (self.name, chosen))
        if len(chosen) > want:
            raise ValueError("strategy '%s' returned %d positions, and %d were wanted"
                             % (self.name, len(chosen), want))
        for i, position in enumerate(chosen.tolist()):
            picks[i] = position
        return len(chosen)


class Registry:
    """Learners and strategies that are there while a call lasts."""

    def __init__(self, learners: Optional[Mapping[str, Type[Learner]]], strategies: Optional[Mapping[str, Choose]],
                 guard: Guard) -> None:
        self.things: List[Union[Added, AddedStrategy]] = [
            *(Added(name, learner, guard) for name, learner in (learners or {}).items()),
            *(AddedStrategy(name, choose, guard) for name, choose in (strategies or {}).items())]
        self.added: List[Union[Added, AddedStrategy]] = []

    def __enter__(self) -> "Registry":
        try:
            for thing in self.things:
                thing.add()
                self.added.append(thing)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        while self.added:
            self.added.pop().remove()
