"""Calling the library: error codes become exceptions, long calls can be interrupted, and exceptions
of callbacks come out of the call that made them."""
from __future__ import annotations

import ctypes as C
import operator
import os
import threading
from typing import Any, Callable, List, Mapping, Optional, Sequence, TypeVar, Union

from ._library import lib
from .errors import MeteError, Stopped, error_of

T = TypeVar("T")
Path = Union[str, "os.PathLike[str]"]
Settings = Optional[Mapping[str, Any]]


def check(code: int) -> int:
    """Raises what a negative code means.  In the thread of the call, whose sentence it is."""
    if code < 0:
        sentence = lib.mete_errmsg() or lib.mete_errtext(code)
        raise error_of(code, sentence.decode(errors="replace"), lib.mete_errname(code).decode())
    return code


def encode(text: Optional[str]) -> Optional[bytes]:
    if text is None:
        return None
    if not isinstance(text, str):
        raise TypeError("expected a str, got %r" % (text,))
    if "\0" in text:
        raise ValueError("a text with a NUL character: %r" % text)
    return text.encode()


def whole(value: Any, what: str, bits: int = 31) -> int:
    """A number that is not negative and that C can hold."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError("%s: expected a whole number, got %r" % (what, value)) from None
    if not 0 <= number < 2**bits:
        raise ValueError("%s: expected 0 to %d, got %d" % (what, 2**bits - 1, number))
    return number


def path_of(path: Path) -> bytes:
    return os.fsencode(path)


def strings(words: Optional[Sequence[str]]) -> Any:
    """A list of C strings that ends with NULL; None stays None."""
    if words is None:
        return None
    return (C.c_char_p * (len(words) + 1))(*[encode(w) for w in words], None)


def written(value: Any) -> str:
    """A setting's value as the library reads it."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(written(v) for v in value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError("a setting is a text, a number, a bool or a list of them, not %r" % (value,))


def settings_of(settings: Settings) -> Any:
    if settings is None:
        return None
    if not isinstance(settings, Mapping):
        raise TypeError("settings are a dict, such as {'train.steps': 500}, not %r" % (settings,))
    return strings(["%s=%s" % (key, written(value)) for key, value in settings.items()])


class Guard:
    """The callbacks of one call: the first exception in them, which stops the work."""

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None

    def keep(self, error: BaseException) -> None:
        if self.error is None:
            self.error = error

    def protect(self, function: Callable[..., Optional[int]]) -> Callable[..., int]:
        """A function that C may call: no exception leaves it."""

        def call(*arguments: Any) -> int:
            if self.error is not None:
                return Stopped.code
            try:
                return function(*arguments) or 0
            except BaseException as error:
                self.keep(error)
                return Stopped.code

        return call

    def quietly(self, function: Callable[..., None]) -> Callable[..., None]:
        """The same for one that returns nothing."""
        protected = self.protect(function)

        def call(*arguments: Any) -> None:
            protected(*arguments)

        return call


def run_long(guard: Guard, work: Callable[[], T]) -> T:
    """Does work that calls back.  On the main thread, which alone hears Ctrl-C and hears it only
    between instructions of Python, the work goes to a thread beside it."""
    if threading.current_thread() is threading.main_thread():
        return beside(guard, work)
    result: Any = None
    try:
        result = work()
    except MeteError as error:
        guard.keep(error)
    if guard.error is not None:
        raise guard.error
    return result  # type: ignore[no-any-return]


def beside(guard: Guard, work: Callable[[], T]) -> T:
    results: List[T] = []
    failures: List[BaseException] = []
    ended = threading.Event()  # join() takes a thread that goes on for ended when Ctrl-C interrupts it (3.11)

    def main() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    threading.Thread(target=main, name="mete").start()
    while not ended.is_set():
        try:
            ended.wait()
        except BaseException as error:  # KeyboardInterrupt: the next callback stops the work
            guard.keep(error)
    if guard.error is not None:
        raise guard.error
    if failures:
        raise failures[0]
    return results[0]
