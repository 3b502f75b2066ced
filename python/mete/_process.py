"""What the library has once for the whole process: its log, and how long work can be stopped."""
from __future__ import annotations

import atexit
import contextlib
import logging
import threading
from typing import Any, Iterator

from . import _structs as S
from ._call import Guard
from ._library import lib

logger = logging.getLogger("mete")
LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING)


def tell(_: Any, level: int, message: bytes) -> None:
    with contextlib.suppress(Exception):  # a handler that raises is no reason to end work in C
        logger.log(LEVELS[level], message.decode(errors="replace"))


told = S.mete_log_fn(tell)
one_at_a_time = threading.Lock()


@contextlib.contextmanager
def interruptible(guard: Guard) -> Iterator[None]:
    """Work that asks the process's progress function whether to stop; one at a time."""
    asked = S.mete_progress_fn(guard.protect(lambda *_: 0))
    with one_at_a_time:
        lib.mete_progress_to(asked, None)
        try:
            yield
        finally:
            lib.mete_progress_to(S.mete_progress_fn(0), None)


def start() -> None:
    lib.mete_log_to(told, None)
    atexit.register(lib.mete_log_to, S.mete_log_fn(0), None)


start()
