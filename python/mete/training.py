"""Training and testing from a program."""
from __future__ import annotations

import ctypes as C
from typing import Any, Callable, List, Optional, Union

from . import _structs as S
from ._call import Guard, Path, Settings, check, encode, path_of, run_long, settings_of, whole
from ._library import lib
from ._process import interruptible
from .data import Dataset
from .events import Event, Test, event_of, test_of
from .model import Model


def train(data: Union[Dataset, str], bench: str, *, method: Optional[str] = None, labels: Optional[str] = None,
          net: Optional[str] = None, device: Optional[str] = None, settings: Settings = None, seed: int = 1,
          threads: int = 0, folder: Optional[Path] = None,
          progress: Optional[Callable[[Event], Any]] = None) -> Model:
    """Trains and tests, and returns the model that validated best, with its `tests` and `history`.

    data: a Dataset, or the name of one.  bench: "5w-1s@2K", or "1s@500" where tasks are people.
    method, labels, net: maml, random and conv4 unless said (`mete list`); settings: {"train.steps": 500}
    (`mete show run`).  folder: where checkpoints, the ledger and models are kept, so that a training that
    was stopped continues; None: nothing stays on the disk.  progress: called with an Event, many times a
    second and on another thread; an exception in it (mete.Stopped, say) stops the training and comes out
    here.  So does Ctrl-C.
    """
    guard = Guard()
    tests: List[Test] = []
    history: List[Event] = []

    def tell(_: Any, e: Any) -> None:
        quiet = progress is None and e.contents.kind not in (1, 2)
        if quiet:
            return
        event = event_of(e.contents)
        if event.kind == "valid":
            history.append(event)
        if event.test is not None:
            tests.append(event.test)
        if progress is not None:
            progress(event)

    named = data if isinstance(data, Dataset) else None
    if named is None and not isinstance(data, str):
        raise TypeError("data: expected a mete.Dataset or the name of one, got %s" % type(data).__name__)
    options = S.mete_fit_options(
        data=named.handle.address if named else None, bench=encode(bench if named else "%s:%s" % (data, bench)),
        method=encode(method), labels=encode(labels), net=encode(net), device=encode(device),
        set=settings_of(settings), seed=whole(seed, "seed", 63), threads=whole(threads, "threads"),
        no_folder=folder is None, folder=None if folder is None else path_of(folder), event=S.mete_event_fn(guard.protect(tell)))
    to = C.c_void_p()
    keep = named.handle if named else None  # until the call ends, whoever closes it
    try:
        run_long(guard, lambda: check(lib.mete_fit(C.byref(options), C.byref(to))))
    except BaseException:
        if to.value:
            lib.mete_model_close(to)
        raise
    finally:
        del keep
    assert to.value is not None
    model = Model(to.value, (device, None, 0))
    model.tests, model.history = tests, history
    return model


def evaluate(model: Path, bench: Optional[str] = None, *, tasks: Optional[Path] = None, device: Optional[str] = None,
             settings: Settings = None, threads: int = 0) -> List[Test]:
    """Tests a model's file on its own benchmark, another one ("omniglot:5w-1s"), or the tasks of a file."""
    found: List[Test] = []
    guard = Guard()

    def tell(_: Any, t: Any) -> None:
        found.append(test_of(t.contents))

    options = S.mete_eval_options(
        model=path_of(model), bench=encode(bench), tasks=None if tasks is None else path_of(tasks),
        device=encode(device), set=settings_of(settings), threads=whole(threads, "threads"),
        test=S.mete_test_fn(guard.quietly(tell)))
    with interruptible(guard):
        run_long(guard, lambda: check(lib.mete_eval(C.byref(options))))
    return found


