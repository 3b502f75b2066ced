"""NumPy arrays as the library takes them: checked, and never copied behind anybody's back."""
from __future__ import annotations

import ctypes as C
from typing import Any, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._structs import mete_array

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
UINT8, FLOAT32, INT32 = np.dtype(np.uint8), np.dtype(np.float32), np.dtype(np.int32)


def items_of(x: Any, what: str = "x") -> Array:
    """x as it is, if the library can read it in place."""
    if not isinstance(x, np.ndarray):
        raise TypeError("%s: expected a NumPy array, got %s" % (what, type(x).__name__))
    if x.dtype != UINT8 and x.dtype != FLOAT32:
        raise TypeError("%s: its dtype is %s, expected uint8 or float32; give %s.astype(np.float32)"
                        % (what, x.dtype.str if x.dtype.kind in "fiu" else x.dtype, what))
    if not 2 <= x.ndim <= 4:
        raise ValueError("%s: its shape is %s, expected (items, features), (items, height, width) or "
                         "(items, height, width, channels)" % (what, x.shape))
    flags = x.flags
    if not flags.c_contiguous:
        raise ValueError("%s: its items do not lie one after the other (strides %s); give "
                         "np.ascontiguousarray(%s)" % (what, x.strides, what))
    if not flags.aligned:
        raise ValueError("%s: its memory is not aligned; give %s.copy()" % (what, what))
    return x


def shape_of(x: Array) -> Tuple[int, int, int]:
    """h, w, c."""
    if x.ndim == 2:
        return 1, 1, x.shape[1]
    return x.shape[1], x.shape[2], x.shape[3] if x.ndim == 4 else 1


def array_of(x: Array, scale: Optional[float] = None, shift: float = 0.0) -> mete_array:
    """The struct that points at x, which must outlive it."""
    if scale is not None and scale == 0:
        raise ValueError("scale is 0, and a learner would see the same of all items")
    h, w, c = shape_of(x)
    return mete_array(address_of(x), len(x), h, w, c, x.dtype == FLOAT32, 0 if scale is None else scale, shift)


def address_of(x: Array) -> int:
    address: int = x.__array_interface__["data"][0]  # as x.ctypes.data, in a quarter of the time
    return address


def ints(values: Any, n: int, what: str) -> Ints:
    """n whole numbers."""
    a = np.asarray(values)
    if a.ndim != 1:
        raise ValueError("%s: its shape is %s, expected (%d,)" % (what, a.shape, n))
    if len(a) != n:
        raise ValueError("%s: %d of them for %d items" % (what, len(a), n))
    if a.dtype.kind not in "iu" and len(a):
        raise TypeError("%s: its dtype is %s, expected whole numbers" % (what, a.dtype))
    if a.dtype == INT32:
        return np.ascontiguousarray(a)
    whole: Ints = a.astype(np.int32)
    if (whole != a).any():
        raise ValueError("%s: numbers from %d to %d are too large" % (what, a.min(), a.max()))
    return whole


def missing(value: Any) -> bool:
    return value is None or value != value  # NaN, NaT


def coded(values: Any, n: int, what: str, names: Optional[Sequence[str]] = None) -> Tuple[Ints, Optional[list[str]]]:
    """Numbers as they are; words as numbers, with their names in order."""
    a = np.asarray(values)
    if a.dtype.kind in "iu":
        return ints(a, n, what), list(names) if names is not None else None
    if a.dtype.kind not in "OUSb":
        raise TypeError("%s: its dtype is %s, expected whole numbers or words" % (what, a.dtype))
    if a.ndim != 1 or len(a) != n:
        raise ValueError("%s: its shape is %s, expected (%d,)" % (what, a.shape, n))
    words = [None if missing(v) else v.decode() if isinstance(v, bytes) else str(v) for v in a.tolist()]
    order = list(names) if names is not None else sorted({w for w in words if w is not None})
    number = {word: i for i, word in enumerate(order)}
    unknown = next((w for w in words if w is not None and w not in number), None)
    if unknown is not None:
        raise ValueError("%s: '%s' is none of %s" % (what, unknown, ", ".join(order)))
    return np.array([-1 if w is None else number[w] for w in words], np.int32), order


def pointer(a: Optional[Array]) -> Optional[int]:
    return None if a is None else address_of(a)


def view(owner: Any, address: Optional[int], shape: Tuple[int, ...], dtype: Any) -> Array:
    """Memory of the library, read-only, as an array that keeps `owner` alive."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if not address or size == 0:
        return np.empty(shape, kind)
    memory = (C.c_char * size).from_address(address)
    memory._owner = owner  # type: ignore[attr-defined]
    a: Array = np.frombuffer(memoryview(memory), kind).reshape(shape)
    a.flags.writeable = False
    return a
