"""A label strategy of one's own against `active` and `random`, into a database and a page.

    python3 strategy.py DB PAGE [SETTING=VALUE...]
"""
import os
import sys

import mete
import numpy as np

SUITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite.yaml")


@mete.strategy(needs="probs reps")
def spread(pool, want):
    """The most uncertain point, weighed by how far it is from all that are bought or picked."""
    unsure = -(pool.probs * np.log(pool.probs + 1e-9)).sum(1)
    taken, picks = list(np.flatnonzero(pool.known >= 0)), []
    for _ in range(want):
        far = np.min([((pool.reps - r) ** 2).sum(1) for r in pool.reps[taken]], 0) if taken else 1
        score = np.where(pool.available, unsure * far, -1)
        score[picks] = -1
        picks.append(int(score.argmax()))
        taken.append(picks[-1])
    return picks


def main(db, page, *settings):
    mete.run(SUITE, db, strategies={"spread": spread}, settings=dict(s.split("=", 1) for s in settings))
    mete.report(db, page)
    print(mete.tables(db))


if __name__ == "__main__":
    main(*sys.argv[1:])
