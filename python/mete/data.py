"""Datasets: arrays in memory, frames, and folders on the disk."""
from __future__ import annotations

import ctypes as C
import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _structs as S
from ._arrays import Array, array_of, coded, items_of, pointer, view
from ._call import Path, check, encode, path_of, settings_of, strings
from ._library import lib

if TYPE_CHECKING:
    import pandas


class Handle:
    """A handle of the library, closed when nobody has it any more."""

    def __init__(self, address: int, close: Callable[[int], None], *keeps: Any) -> None:
        self.address, self.close, self.keeps = address, close, keeps

    def __del__(self) -> None:
        if self.address:
            self.close(self.address)
            self.address = 0


class Dataset:
    """Items with a class each and, where they are people's, a user each.

    Made by `from_arrays`, `from_frame` or `open`.  The arrays of `from_arrays` are borrowed, not copied.
    """

    def __init__(self, handle: Handle, folder: Any = None) -> None:
        self._handle: Optional[Handle] = handle
        self._folder = folder  # a temporary one, which goes with the dataset

    # ---- making one ----

    @classmethod
    def from_arrays(cls, x: Array, y: Any, users: Any = None, part: Any = None, *, name: str = "data",
                    class_names: Optional[Sequence[str]] = None, user_names: Optional[Sequence[str]] = None,
                    feature_names: Optional[Sequence[str]] = None, scale: Optional[float] = None,
                    shift: float = 0.0) -> "Dataset":
        """x: rows (items, features) of float32 or uint8, or images (items, h, w) or (items, h, w, c) of uint8, used
        in place: do not change it while the dataset is used.  y: a class for each item, 0.. or words; -1 or None:
        not known.
        users: a user for each, 0.. or words.  part: 0 or 1 for each, a user's own items for training and
        for tests.  A learner sees value * scale + shift; without them images of uint8 as 0..1, others as
        they are.
        """
        x = items_of(x)
        if x.dtype == np.float32 and x.ndim > 2:
            raise ValueError("x: images are uint8, and a dataset takes float32 as rows alone; give (255 * x).round()"
                             ".astype(np.uint8) for values of 0..1, or x.reshape(len(x), -1)")
        n = len(x)
        labels, classes = coded(y, n, "y", class_names)
        owners, people = (None, None) if users is None else coded(users, n, "users", user_names)
        parts = None if part is None else part_of(part, n)
        if scale is None:
            scale = 1 / 255 if x.dtype == np.uint8 and x.ndim > 2 else 1.0
        if classes is not None and len(labels) and labels.max() >= len(classes):
            raise ValueError("y: class %d, and %d names" % (labels.max(), len(classes)))
        if feature_names is not None and (x.ndim != 2 or len(feature_names) != x.shape[1]):
            raise ValueError("feature_names: %d for items of shape %s" % (len(feature_names), x.shape[1:]))
        described = S.mete_data_parts(
            name=encode(name), x=array_of(x, scale, shift), y=pointer(labels), user=pointer(owners),
            part=pointer(parts), classes=len(classes) if classes else 0, users=len(people) if people else 0,
            class_names=strings(classes), user_names=strings(people), feature_names=strings(feature_names))
        return cls(opened(lambda to: lib.mete_data_make(to, C.byref(described)), x, labels, owners, parts))

    @classmethod
    def from_frame(cls, frame: "pandas.DataFrame", label: str, user: Optional[str] = None, *,
                   ignore: Iterable[str] = (), standardise: Optional[bool] = None, like: Optional["Dataset"] = None,
                   settings: Optional[Mapping[str, Any]] = None, name: str = "frame") -> "Dataset":
        """A pandas frame: a row for each item, every other column a feature.  It is read as
        `mete data import table` reads a CSV file: missing numbers are filled and columns standardised by
        the rows of training users, words become columns of 0 and 1, a blank label is not known.  Without
        `user` nothing is standardised.  `like` is a dataset made this way, for rows that come later: its
        features, fills and classes.
        """
        if not hasattr(frame, "to_csv"):
            raise TypeError("expected a pandas frame, got %s" % type(frame).__name__)
        if like is not None and not isinstance(like, Dataset):
            raise TypeError("like: expected a mete.Dataset, got %s" % type(like).__name__)
        if not name or "/" in name or name in (".", ".."):
            raise ValueError("name: %r cannot be a folder's" % name)
        if label == user:
            raise ValueError("%r is the label, and cannot be the user too" % label)
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise ValueError("the frame has two columns %r" % twice[0])
        folder = tempfile.TemporaryDirectory(prefix="mete-frame-")
        table, target = os.path.join(folder.name, "table.csv"), os.path.join(folder.name, name)
        for column in (label, user):
            if column is not None and column not in frame.columns and not (column == label and like):
                raise KeyError("the frame has no column %r" % column)
        frame.drop(columns=[ignore] if isinstance(ignore, str) else list(ignore)).to_csv(table, index=False)
        own = user is not None if standardise is None else standardise
        chosen: Dict[str, Any] = {"standardise": own} if like is None else {"like": like.path}
        if label in frame.columns:
            chosen["label"] = label
        if user is not None:
            chosen["user"] = user
        chosen.update(settings or {})
        paths = (C.c_char_p * 2)(path_of(table), None)
        options = S.mete_import_options(kind=b"table", paths=paths, dir=path_of(target), settings=settings_of(chosen))
        check(lib.mete_data_import(C.byref(options)))
        os.remove(table)
        return cls(opened(lambda to: lib.mete_data_open(to, path_of(target))), folder)

    @classmethod
    def open(cls, name: Path) -> "Dataset":
        """A folder that was imported or saved, a name under $METE_DATA or data/, or a generated set."""
        return cls(opened(lambda to: lib.mete_data_open(to, path_of(name))))

    def save(self, folder: Path, force: bool = False) -> None:
        """Writes a folder, which is a dataset by its path from then on."""
        check(lib.mete_data_save(self.handle.address, path_of(folder), int(force)))

    # ---- what it is ----

    @property
    def handle(self) -> Handle:
        if self._handle is None:
            raise ValueError("the dataset is closed")
        return self._handle

    def close(self) -> None:
        """Arrays that were taken from it stay valid."""
        self._handle = None

    def __enter__(self) -> "Dataset":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _info(self) -> S.mete_data_info:
        info = S.mete_data_info()
        check(lib.mete_data_describe(self.handle.address, C.byref(info)))
        return info

    def _arrays(self) -> Tuple[S.mete_array, List[Optional[int]]]:
        x, rest = S.mete_array(), [C.c_void_p() for _ in range(3)]
        check(lib.mete_data_arrays(self.handle.address, C.byref(x), *[C.byref(r) for r in rest]))
        return x, [r.value for r in rest]

    @property
    def name(self) -> str:
        return str(self._info().name.decode())

    @property
    def path(self) -> str:
        """Its folder, or "" where it has none."""
        return str(self._info().path.decode())

    def __len__(self) -> int:
        return int(self._info().items)

    @property
    def x(self) -> Array:
        """The items, as they lie in memory."""
        a, _ = self._arrays()
        shape = (a.items, a.c) if a.h == a.w == 1 else (a.items, a.h, a.w, a.c)
        return view(self.handle, a.x, shape, np.float32 if a.is_float else np.uint8)

    @property
    def y(self) -> Array:
        """A class for each item; -1: not known."""
        return view(self.handle, self._arrays()[1][0], (len(self),), np.int32)

    @property
    def users(self) -> Optional[Array]:
        address = self._arrays()[1][1]
        return view(self.handle, address, (len(self),), np.int32) if address else None

    @property
    def part(self) -> Optional[Array]:
        address = self._arrays()[1][2]
        return view(self.handle, address, (len(self),), np.uint8) if address else None

    @property
    def n_classes(self) -> int:
        return int(self._info().classes)

    @property
    def n_users(self) -> int:
        return int(self._info().users)

    @property
    def unlabelled(self) -> int:
        """How many items have no class that is known."""
        return int(self._info().unlabelled)

    @property
    def class_names(self) -> Optional[List[str]]:
        return names_of(self.handle.address, lib.mete_data_class, self.n_classes)

    @property
    def user_names(self) -> Optional[List[str]]:
        return names_of(self.handle.address, lib.mete_data_user, self.n_users)

    def __repr__(self) -> str:
        if self._handle is None:
            return "<mete.Dataset, closed>"
        i = self._info()
        users = ", %d users" % i.users if i.users else ""
        return "<mete.Dataset %s: %d items of %s, %d classes%s>" % (
            i.name.decode(), i.items, "x".join(map(str, i.shape)), i.classes, users)


def opened(make: Callable[[Any], Any], *keeps: Any) -> Handle:
    to = C.c_void_p()
    check(make(C.byref(to)))
    assert to.value is not None
    return Handle(to.value, lib.mete_data_close, *keeps)


def part_of(part: Any, n: int) -> Array:
    a = np.asarray(part)
    if a.shape != (n,):
        raise ValueError("part: its shape is %s, expected (%d,)" % (a.shape, n))
    if not np.isin(a, (0, 1)).all():
        raise ValueError("part: expected 0 (train) or 1 (test) for each item")
    return np.ascontiguousarray(a, np.uint8)


def names_of(address: int, name: Callable[[int, int], Optional[bytes]], n: int) -> Optional[List[str]]:
    names = [name(address, i) for i in range(n)]
    return None if any(w is None for w in names) else [w.decode() for w in names if w is not None]
