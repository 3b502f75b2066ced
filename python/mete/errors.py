"""What goes wrong, as exceptions."""
from __future__ import annotations

from typing import Dict, Optional, Tuple, Type


class MeteError(Exception):
    """The library refused or failed: `code` (-1), `name` ("EINVAL") and one sentence.

    Raised inside a learner or a strategy of one's own it fails the run at hand, and the suite goes on;
    any other exception ends the suite and comes out of the call.
    """

    code, name = -5, "EDEVICE"

    def __init__(self, sentence: str, code: Optional[int] = None, name: Optional[str] = None) -> None:
        super().__init__(sentence)
        if code is not None:
            self.code = code
        if name is not None:
            self.name = name


class InvalidError(MeteError, ValueError):
    """An argument, a setting or an array that cannot be."""

    code, name = -1, "EINVAL"


class NoMemoryError(MeteError, MemoryError):
    """Memory whose size a file or a setting names was refused."""

    code, name = -2, "ENOMEM"


class FileError(MeteError):
    """A file that could not be read or written."""

    code, name = -3, "EIO"


class FormatError(MeteError, ValueError):
    """A file, or bytes, that do not hold what they should."""

    code, name = -4, "EFORMAT"


class DivergedError(MeteError):
    """Training diverged."""

    code, name = -6, "EDIVERGE"


class BudgetError(MeteError):
    """The label budget does not allow it."""

    code, name = -7, "EBUDGET"


class MissingError(MeteError):
    """The library was built without what this needs."""

    code, name = -8, "EMISSING"


class Stopped(MeteError):
    """Work was stopped on request.  A progress function raises it to stop."""

    code, name = -9, "ESTOPPED"

    def __init__(self, sentence: str = "stopped on request", code: Optional[int] = None,
                 name: Optional[str] = None) -> None:
        super().__init__(sentence, code, name)


ALL: Tuple[Type[MeteError], ...] = (InvalidError, NoMemoryError, FileError, FormatError, MeteError, DivergedError,
                                    BudgetError, MissingError, Stopped)
KINDS: Dict[int, Type[MeteError]] = {kind.code: kind for kind in ALL}


def error_of(code: int, sentence: str, name: str) -> MeteError:
    return KINDS.get(code, MeteError)(sentence, code, name)
