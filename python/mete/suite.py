"""Suites: grids of runs, with learners and strategies of one's own among them."""
from __future__ import annotations

import ctypes as C
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence, Type

from . import _structs as S
from ._call import Guard, Path, Settings, check, encode, path_of, run_long, settings_of, strings, whole
from ._library import lib
from .errors import DivergedError
from .learner import Choose, Learner, Registry


@dataclass(frozen=True)
class Summary:
    """What became of a suite's runs."""

    runs: int
    done: int
    failed: int
    running: int       # by another process
    finished: int      # of `done`: by this call
    labels: int        # that those bought
    out_of_time: bool  # stopped because `minutes` were over


@dataclass(frozen=True)
class Progress:
    """How far a suite is, in runs."""

    what: str
    done: float
    total: float
    left: float        # seconds; NaN: not known
    detail: str


def run(suite: Path, db: Path, *, learners: Optional[Mapping[str, Type[Learner]]] = None,
        strategies: Optional[Mapping[str, Choose]] = None, settings: Settings = None,
        only: Optional[Sequence[str]] = None, seeds: int = 0, threads: int = 0, device: Optional[str] = None,
        retry: bool = False, minutes: float = 0.0,
        progress: Optional[Callable[[Progress], Any]] = None) -> Summary:
    """Runs a suite into a results database; one that was stopped or killed continues.

    learners: {"mine": Mine} makes `method: mine` a method of the suite, a class derived from mete.Learner.
    strategies: {"mine": choose} the same for labels, a function of a mete.Pool and how many.  settings are
    for all runs, as --set; only: "key=pattern" words that a run must fit; seeds: instead of the suite's.
    progress: called some times a second, from any thread.  Exceptions in it, and Ctrl-C, stop the runs,
    which keep their checkpoints, and come out here.  A run that fails is logged, and the others go on: the
    summary counts them, and "message" of the table "runs" says why.
    """
    guard, summary = Guard(), S.mete_run_summary()

    def tell(_: Any, p: Any) -> None:
        if progress is not None:
            p = p.contents
            progress(Progress(p.what.decode(), p.done, p.total, p.left, p.detail.decode(errors="replace")))

    options = S.mete_run_options(
        suite=path_of(suite), db=path_of(db), device=encode(device), set=settings_of(settings), only=strings(only),
        seeds=whole(seeds, "seeds"), threads=whole(threads, "threads"), retry=retry, minutes=minutes,
        summary=C.pointer(summary),
        progress=S.mete_progress_fn(guard.protect(tell)))

    def work() -> int:
        code = lib.mete_run(C.byref(options))
        return 0 if code == DivergedError.code and summary.failed else check(code)

    with Registry(learners, strategies, guard):
        run_long(guard, work)
    return Summary(summary.runs, summary.done, summary.failed, summary.running, summary.finished, summary.n_labels,
                   summary.out_of_time)
