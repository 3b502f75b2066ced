"""mete: meta-learning on a label budget.

    d = mete.Dataset.from_arrays(x, y, users=u)
    m = mete.train(d, "1s@500", method="protonet", net="mlp", labels="active")
    m.adapt(xs, ys).predict_proba(xq)

docs/python.md is its guide.
"""
from typing import TYPE_CHECKING, Any, List

from ._library import lib
from .data import Dataset
from .errors import (BudgetError, DivergedError, FileError, FormatError, InvalidError, MeteError, MissingError,
                     NoMemoryError, Stopped)
from .events import Event, Test
from .learner import Items, Learner, Pool, Spec, Task, strategy
from .model import Model, ModelInfo
from .planning import plan
from .results import ledger, report, results, table, tables
from .suite import Progress, Summary, run
from .theory import Bound, Note, bound, stability
from .training import evaluate, train

if TYPE_CHECKING:
    from .estimator import MetaClassifier

__version__: str = lib.mete_version().decode()

__all__ = [
    "Bound", "BudgetError", "Dataset", "DivergedError", "Event", "FileError", "FormatError", "InvalidError", "Items",
    "Learner", "MetaClassifier", "MeteError", "MissingError", "Model", "ModelInfo", "NoMemoryError", "Note", "Pool",
    "Progress", "Spec", "Stopped", "Summary", "Task", "Test", "bound", "evaluate", "ledger", "plan", "report", "results",
    "run", "stability", "strategy", "table", "tables", "train",
]



def __getattr__(name: str) -> Any:
    if name == "MetaClassifier":  # scikit-learn is loaded by those who use it alone
        from .estimator import MetaClassifier

        return MetaClassifier
    raise AttributeError("module 'mete' has no attribute %r" % name)


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
