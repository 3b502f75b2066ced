"""What a results database holds, as frames, text and a page."""
from __future__ import annotations

import ctypes as C
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np

from . import _structs as S
from ._call import Path, check, encode, path_of
from ._library import lib

if TYPE_CHECKING:
    import pandas


def columns(db: Path, name: str) -> Dict[str, Any]:
    """A table or view of the database, column by column: arrays of numbers (NaN where there is none) and
    lists of texts.  docs/results.md has the tables and their columns."""
    to, rows = C.c_void_p(), C.c_int64()
    check(lib.mete_table_open(C.byref(to), path_of(db), encode(name)))
    try:
        out: Dict[str, Any] = {}
        for i in range(lib.mete_table_columns(to, C.byref(rows))):
            numbers, texts = C.POINTER(C.c_double)(), S.texts()
            key = lib.mete_table_column(to, i, C.byref(numbers), C.byref(texts)).decode()
            out[key] = column(numbers, texts, rows.value)
        return out
    finally:
        lib.mete_table_close(to)


def column(numbers: Any, texts: Any, n: int) -> Any:
    if n == 0:
        return np.empty(0)
    if texts:
        words: List[Optional[bytes]] = texts[:n]
        return [None if w is None else w.decode(errors="replace") for w in words]
    a = np.ctypeslib.as_array(numbers, (n,)).copy()
    whole = np.isfinite(a).all() and (a == np.floor(a)).all() and (np.abs(a) < 2**53).all()
    return a.astype(np.int64) if whole else a


def table(db: Path, name: str) -> "pandas.DataFrame":
    """A table or view of the database as a frame: "runs", "tests", "checkpoints", "accuracy", ..."""
    import pandas

    return pandas.DataFrame(columns(db, name))


def results(db: Path) -> "pandas.DataFrame":
    """A row for each run and test: benchmark, method, labels, seed, shots, accuracy and its interval."""
    return table(db, "accuracy")


def ledger(db: Path) -> "pandas.DataFrame":
    """A row for each label bought: run, task, item, class, round, cost, kind."""
    return table(db, "ledger")


def tables(db: Path, *, format: str = "table", suite: Optional[str] = None, last: bool = False, width: int = 0) -> str:
    """The suite's tables as text: "table", "summary", "paper", "csv", "json", "latex" or "markdown"."""
    to = C.c_void_p()
    options = S.mete_results_options(db=path_of(db), suite=encode(suite), format=encode(format), last=last, width=width)
    check(lib.mete_results(C.byref(options), C.byref(to)))
    try:
        return C.string_at(to.value or 0).decode()
    finally:
        lib.mete_free(to)


def report(db: Path, path: Path, *, suite: Optional[str] = None, title: Optional[str] = None,
           tensorboard: Optional[Path] = None) -> None:
    """Writes the page: one HTML file that works offline."""
    options = S.mete_report_options(db=path_of(db), path=path_of(path), suite=encode(suite), title=encode(title),
                                    tensorboard=None if tensorboard is None else path_of(tensorboard))
    check(lib.mete_report(C.byref(options)))
