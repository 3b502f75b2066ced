"""mete: meta-learning on a label budget.

    d = mete.Dataset.from_arrays(x, y, users=u)
    m = mete.train(d, "1s@500", method="protonet", net="mlp", labels="active")
    m.adapt(xs, ys).predict_proba(xq)

docs/python.md is its guide.
"""
from ._library import lib
from .data import Dataset
from .errors import (BudgetError, DivergedError, FileError, FormatError, InvalidError, MeteError, MissingError,
                     NoMemoryError, Stopped)
from .events import Event, Test
from .learner import Items, Learner, Pool, Spec, Task, strategy
from .model import Model, ModelInfo
from .results import ledger, report, results, table, tables
from .suite import Progress, Summary, run
from .theory import Bound, Note, bound, stability
from .training import evaluate, train

__version__: str = lib.mete_version().decode()

__all__ = [
    "Bound", "BudgetError", "Dataset", "DivergedError", "Event", "FileError", "FormatError", "InvalidError", "Items",
    "Learner", "MeteError", "MissingError", "Model", "ModelInfo", "NoMemoryError", "Note", "Pool",
    "Progress", "Spec", "Stopped", "Summary", "Task", "Test", "bound", "evaluate", "ledger", "report", "results",
    "run", "stability", "strategy", "table", "tables", "train",
]

