"""What to do with B labels (docs/plan.md)."""
from __future__ import annotations

import ctypes as C
import json
from typing import Any, Callable, Mapping, Optional, Sequence

from . import _structs as S
from ._call import Guard, Path, Settings, check, encode, path_of, run_long, settings_of, whole
from ._library import lib
from .suite import Progress


def plan(data: str, labels: float, *, db: Path = "plan.db", target: float = 0.0, price: Optional[str] = None,
         people: int = 0, methods: Optional[Sequence[str]] = None, net: Optional[str] = None,
         settings: Settings = None, seed: int = 1, minutes: float = 0.0, threads: int = 0,
         device: Optional[str] = None, page: Optional[Path] = None,
         before: Optional[Callable[[float, int], Any]] = None,
         progress: Optional[Callable[[Progress], Any]] = None) -> Mapping[str, Any]:
    """Which method, how many people, how many labels each: what `mete plan --json` prints, as a dict.

    data: a data set's name or folder, with ways and shots if wanted ("omniglot:5w-1s").  A plan that was stopped
    goes on in the same db.  before: called once with the seconds that planning takes and the training steps of its
    runs.  progress: called some times a second, from any thread; exceptions in it, and Ctrl-C, stop the plan.
    page: an HTML file to write as well.
    """
    guard, out = Guard(), C.c_void_p()

    def tell(_: Any, p: Any) -> None:
        if progress is not None:
            p = p.contents
            progress(Progress(p.what.decode(), p.done, p.total, p.left, p.detail.decode(errors="replace")))

    def tell_before(_: Any, seconds: float, steps: int) -> None:
        if before is not None:
            before(seconds, steps)

    options = S.mete_plan_options(
        data=encode(data), labels=labels, target=target, price=encode(price),
        methods=encode(",".join(methods)) if methods is not None else None, db=path_of(db), net=encode(net),
        device=encode(device), set=settings_of(settings), minutes=minutes, seed=whole(seed, "seed", 63),
        people=whole(people, "people"), threads=whole(threads, "threads"),
        before=S.plan_before_fn(guard.quietly(tell_before)), progress=S.mete_progress_fn(guard.protect(tell)))

    def work() -> str:
        check(lib.mete_plan(C.byref(options), b"json", C.byref(out)))
        text = C.string_at(out.value or 0).decode()
        lib.mete_free(out)
        if page is not None:
            check(lib.mete_plan_page(path_of(db), path_of(page)))
        return text

    answer: Mapping[str, Any] = json.loads(run_long(guard, work))
    return answer
