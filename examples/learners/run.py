"""Runs the suite beside it, with learners of PyTorch and scikit-learn, into a database and a page.

    python3 run.py DB PAGE [SETTING=VALUE | only:KEY=PATTERN ...]

Stopped or killed, it continues when it is started again.  Started twice at once, the two share the
runs: that is faster than two threads, which would take turns at Python.
"""
import os
import sys

import mete
from logistic import Logistic
from torch_maml import TorchMaml

LEARNERS = {"torch-maml": TorchMaml, "logistic": Logistic}
SUITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite.yaml")


def main(db, page, *words):
    only = [word[len("only:"):] for word in words if word.startswith("only:")]
    settings = dict(word.split("=", 1) for word in words if not word.startswith("only:"))
    summary = mete.run(SUITE, db, learners=LEARNERS, settings=settings, only=only, threads=1)
    mete.report(db, page)
    print(mete.tables(db))
    print("%d of %d runs are done" % (summary.done, summary.runs))
    return summary.done < summary.runs


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
