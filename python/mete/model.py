"""A model at work: it adapts to one task at a time and predicts, in memory."""
from __future__ import annotations

import ctypes as C
import threading
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _structs as S
from ._arrays import Array, Floats, Ints, address_of, array_of, coded, ints, items_of
from ._call import Path, Settings, check, encode, path_of, settings_of, strings, whole
from ._library import lib
from .events import Event, Test


@dataclass(frozen=True)
class ModelInfo:
    """What a model takes, and what it is adapted to."""

    ways: int
    shape: Tuple[int, ...]  # of an item: (features,) or (h, w, c)
    dtype: str              # of the items it was trained on
    features: int           # of a representation; 0: it has none
    adapted: bool
    labelled: int           # labels it is adapted to
    scale: float
    shift: float
    method: str
    net: str
    bn: str                 # batch norm: "frozen", "batch", "support", "running" or "none"
    bench: str              # that it was trained on


class Model:
    """A meta-learned model.  `mete.train` returns one, `Model.load` reads one.

    It may be used from several threads, one call at a time; for work at once load it several times.
    """

    def __init__(self, address: int, options: Tuple[Optional[str], Settings, int] = (None, None, 0)) -> None:
        self._address: Optional[int] = address
        self._options = options
        self._lock = threading.RLock()
        self._n_ways = 0  # of this model; 0: not asked yet
        self.tests: List[Test] = []
        self.history: List[Event] = []

    # ---- loading and saving ----

    @classmethod
    def load(cls, path: Path, *, device: Optional[str] = None, settings: Settings = None, ways: int = 0) -> "Model":
        """A file that training, `save` or the command line left.  settings: {"test.steps": 5}.
        ways: another number of classes, for methods without a head."""
        options = model_options(device, settings, ways)
        to = C.c_void_p()
        check(lib.mete_model_load(C.byref(to), path_of(path), C.byref(options)))
        assert to.value is not None
        return cls(to.value, (device, settings, ways))

    @classmethod
    def from_bytes(cls, data: bytes, *, device: Optional[str] = None, settings: Settings = None,
                   ways: int = 0) -> "Model":
        """The bytes of such a file."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError("expected bytes, got %s" % type(data).__name__)
        options, data, to = model_options(device, settings, ways), bytes(data), C.c_void_p()
        check(lib.mete_model_load_bytes(C.byref(to), data, len(data), C.byref(options)))
        assert to.value is not None
        return cls(to.value, (device, settings, ways))

    def save(self, path: Path) -> None:
        """Writes it, with the task it is adapted to."""
        with self._lock:
            check(lib.mete_model_save(self.address, path_of(path)))

    def to_bytes(self) -> bytes:
        to, n = C.c_void_p(), C.c_size_t()
        with self._lock:
            check(lib.mete_model_bytes(self.address, C.byref(to), C.byref(n)))
        try:
            return C.string_at(to.value or 0, n.value)
        finally:
            lib.mete_free(to)

    @property
    def address(self) -> int:
        if self._address is None:
            raise ValueError("the model is closed")
        return self._address

    def close(self) -> None:
        with self._lock:
            address, self._address = self._address, None
        if address:
            lib.mete_model_close(address)

    def __del__(self) -> None:
        if getattr(self, "_address", None):
            self.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __getstate__(self) -> Dict[str, Any]:
        return {"bytes": self.to_bytes(), "options": self._options, "tests": self.tests, "history": self.history}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        device, settings, ways = state["options"]
        other = Model.from_bytes(state["bytes"], device=device, settings=settings, ways=ways)
        self.__init__(other.address, state["options"])  # type: ignore[misc]
        other._address = None
        self.tests, self.history = state["tests"], state["history"]

    # ---- a task ----

    def adapt(self, x: Optional[Array], y: Any = None, *, scale: Optional[float] = None, shift: float = 0.0) -> "Model":
        """Adapts to labelled items, from where training left it.  y: 0..ways-1, or class names.
        Without items: as it was learned.  scale and shift: what is to be seen of items of another type than
        those of training."""
        with self._lock:
            if x is None:
                check(lib.mete_adapt(self.address, None, None))
                return self
            array = array_of(items_of(x), scale, shift)
            if y is None:
                raise ValueError("adapt: the items have no labels")
            labels = self._labels(y, len(x))
            check(lib.mete_adapt(self.address, C.byref(array), address_of(labels)))
        return self

    def _labels(self, y: Any, n: int) -> Ints:
        if isinstance(y, np.ndarray) and y.dtype.kind in "iu":
            return ints(y, n, "y")
        names = self.class_names
        if names is None and np.asarray(y).dtype.kind in "OUSb":
            raise ValueError("y: words, and the classes of the model have no names; set class_names first")
        return coded(y, n, "y", names)[0]

    def predict_proba(self, x: Array, *, scale: Optional[float] = None, shift: float = 0.0) -> Floats:
        """Class probabilities, (items, ways)."""
        array = array_of(items_of(x), scale, shift)
        with self._lock:
            probs = np.empty((len(x), self._ways()), np.float32)
            check(lib.mete_predict(self.address, C.byref(array), address_of(probs)))
        return probs

    def predict(self, x: Array, *, scale: Optional[float] = None, shift: float = 0.0) -> Ints:
        """The most probable class of each item, 0..ways-1."""
        classes: Ints = np.argmax(self.predict_proba(x, scale=scale, shift=shift), axis=1).astype(np.int32)
        return classes

    def embed(self, x: Array, *, scale: Optional[float] = None, shift: float = 0.0) -> Floats:
        """Representations, (items, features)."""
        array = array_of(items_of(x), scale, shift)
        with self._lock:
            reps = np.empty((len(x), self.info.features), np.float32)
            check(lib.mete_embed(self.address, C.byref(array), address_of(reps)))
        return reps

    def suggest(self, pool: Array, known: Any = None, n: int = 5, labels: Optional[str] = None, seed: int = 0, *,
                scale: Optional[float] = None, shift: float = 0.0) -> Ints:
        """Which items of a pool to label next, the most wanted first.  known: the class of each, or -1.
        labels: a strategy of `mete list labels`; None: the one it was trained with.  The model is adapted
        to what is known."""
        array = array_of(items_of(pool, "pool"), scale, shift)
        n, seed = whole(n, "n"), whole(seed, "seed", 64)
        told = None if known is None else coded(known, len(pool), "known", self.class_names)[0]
        picks, found = np.empty(min(n, len(pool)) or 1, np.int32), C.c_int32()
        with self._lock:
            check(lib.mete_suggest(self.address, encode(labels), C.byref(array),
                                   None if told is None else told.ctypes.data, min(n, len(pool)), seed,
                                   picks.ctypes.data, C.byref(found)))
        return picks[:found.value]

    # ---- what it is ----

    def _info(self) -> S.mete_model_info:
        info = S.mete_model_info()
        check(lib.mete_model_info(self.address, C.byref(info)))
        return info

    def _ways(self) -> int:
        if not self._n_ways:
            self._n_ways = int(self._info().ways)
        return self._n_ways

    @property
    def info(self) -> ModelInfo:
        with self._lock:
            i = self._info()
        return ModelInfo(i.ways, (i.c,) if i.h == i.w == 1 else (i.h, i.w, i.c), "float32" if i.is_float else "uint8",
                         i.features, bool(i.adapted), i.labelled, i.scale, i.shift, i.method.decode(), i.net.decode(),
                         i.bn.decode(), i.bench.decode())

    def says(self, key: str) -> Optional[str]:
        """What its file says under a key: a setting ("inner.lr"), "bench", "method"."""
        with self._lock:
            said = lib.mete_model_says(self.address, encode(key))
        return None if said is None else str(said.decode())

    @property
    def class_names(self) -> Optional[List[str]]:
        with self._lock:
            names = [lib.mete_model_class(self.address, i) for i in range(self._ways())]
        return None if any(w is None for w in names) else [w.decode() for w in names]

    @class_names.setter
    def class_names(self, names: Sequence[str]) -> None:
        with self._lock:
            if len(names) != self._ways():
                raise ValueError("class_names: %d for %d classes" % (len(names), self._ways()))
            check(lib.mete_model_name_classes(self.address, strings(names)))

    @property
    def feature_names(self) -> Optional[List[str]]:
        with self._lock:
            names = [lib.mete_model_feature(self.address, i) for i in range(self._info().c)]
        return None if any(w is None for w in names) else [w.decode() for w in names]

    # ---- weights ----

    def state_dict(self) -> Dict[str, Floats]:
        """The learned weights, by PyTorch's names; copies."""
        out: Dict[str, Floats] = {}
        with self._lock:
            for i in range(self._info().tensors):
                t = S.mete_tensor()
                check(lib.mete_model_tensor(self.address, i, C.byref(t), None))
                a = np.empty(tuple(t.shape[:t.dims]), np.float32)
                check(lib.mete_model_tensor(self.address, i, None, a.ctypes.data))
                out[t.name.decode()] = a
        return out

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Other weights, of the same names and shapes.  The model is as it was learned, with them."""
        with self._lock:
            own = self.state_dict()
            new = {name: np.ascontiguousarray(a, np.float32) for name, a in state.items()}
            for name in [*own, *new]:
                if name not in new or name not in own:
                    raise ValueError("state_dict: %s %r" % ("it lacks" if name in own else "the model has no", name))
            for name, a in new.items():
                if a.shape != own[name].shape:
                    raise ValueError("state_dict: %s has the shape %s, expected %s" % (name, a.shape, own[name].shape))
                if not np.isfinite(a).all():
                    raise ValueError("state_dict: %s has numbers that are not finite" % name)
            for name, a in new.items():
                check(lib.mete_model_set_tensor(self.address, encode(name), a.ctypes.data, a.size))

    def __repr__(self) -> str:
        if self._address is None:
            return "<mete.Model, closed>"
        i = self.info
        return "<mete.Model %s, %s: %d ways of %s%s>" % (
            i.method, i.net, i.ways, "x".join(map(str, i.shape)),
            ", adapted to %d labels" % i.labelled if i.adapted else "")


def model_options(device: Optional[str], settings: Settings, ways: int) -> S.mete_model_options:
    return S.mete_model_options(device=encode(device), set=settings_of(settings), ways=ways)
