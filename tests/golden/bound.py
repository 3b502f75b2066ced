#!/usr/bin/env python3
"""Makes tests/golden/bound.csv: the bounds of mete_bound() at 60 digits.

    python3 tests/golden/bound.py > tests/golden/bound.csv

Needs mpmath (Debian: python3-mpmath).  Written from the paper's formulas, not from
src/theory: powers are powers here, the appendix's closed form of B' is used where
the library uses Theorem 2, and the best gamma is searched for, not solved for.
The inputs are doubles, taken exactly.
"""
import random
import mpmath
from mpmath import mpf

mpmath.mp.dps = 60
INPUTS = "empirical n m delta M rescale tight L1 gamma1 c1 T1 L gamma c T".split()
OUTPUTS = "C1 beta1 B1 C beta B total".split()


def lemma(L, gamma, c, T, M, rescale, tight):
    """(n - 1) beta of Theorem 3.12 in Hardt et al. (2015)."""
    if L == 0 or c == 0 or T == 0:
        return mpf(0)
    # A loss in [0, M] is M times one in [0, 1] that has L/M, gamma/M and steps M times as long.
    scale = M if rescale else mpf(1)
    L, gamma, c = L / scale, gamma / scale, c * scale
    value = lambda q: (1 + 1 / q) * (2 * c * L**2) ** (1 / (q + 1)) * T ** (1 - 1 / (q + 1))
    if not tight:
        return scale * value(gamma * c)
    # value() falls, then rises: the least one for q >= gamma c, by ternary search on ln q.
    low, high = mpmath.log(max(gamma * c, mpf(10) ** -40)), mpmath.log(mpf(10) ** 60)
    low = min(low, high)
    for _ in range(160):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if value(mpmath.exp(a)) <= value(mpmath.exp(b)):
            high = b
        else:
            low = a
    return scale * value(mpmath.exp(low))


def bound(row):
    empirical, rescale, tight = row["empirical"], row["rescale"], row["tight"]
    n, m, delta, M = (mpf(row[k]) for k in ("n", "m", "delta", "M"))
    C1, C = (lemma(*(mpf(row[k + s]) for k in ("L", "gamma", "c", "T")), M, rescale, tight) for s in ("1", ""))
    log = mpmath.log(1 / delta)
    beta1 = C1 / (n - 1)
    B1 = 2 * beta1 + (4 * n * beta1 + M) * mpmath.sqrt(log / (2 * n))
    if C1:  # the appendix's form, eq. (27)
        form = 2 * C1 / n * (1 + 1 / (n - 1)) + 2 * C1 * mpmath.sqrt(2 * log / n) * (1 + 1 / (n - 1) + M / (4 * C1))
        assert abs(form / B1 - 1) < mpf(10) ** -40, row
        B1 = form
    beta = C / (m - 1)
    B = 2 * beta if empirical else mpf(0)
    return dict(C1=C1, beta1=beta1, B1=B1, C=C, beta=beta, B=B, total=B1 + B)


def grid():
    base = dict(empirical=1, n=1000.0, m=10.0, delta=0.05, M=1.0, rescale=0, tight=0,
                L1=1.0, gamma1=1.0, c1=1.0, T1=1000.0, L=1.0, gamma=1.0, c=0.5, T=5.0)
    yield base
    for n in (2.0, 3.0, 10.0, 1e6, 1e12):
        for m in (2.0, 5.0, 1e12):
            for delta in (1e-12, 0.5, 1.0):
                yield {**base, "n": n, "m": m, "delta": delta}
    for nothing in ("L1", "c1", "T1", "L", "c", "T"):
        yield {**base, nothing: 0.0}
    products = [(1e-9, 1.0), (1e-12, 1e-3), (1e-200, 1e-200), (1e-300, 1.0), (0.1, 1.0), (10.0, 1.0),
                (1e6, 1.0), (1e3, 1e9), (1e200, 1e200), (1.0, 1e-12), (1e12, 1e-12)]
    for gamma, c in products:
        for L in (1e-6, 1.0, 1e6):
            for T in (1.0, 1e9):
                for tight in (0, 1):
                    yield {**base, "gamma1": gamma, "c1": c, "L1": L, "T1": T, "gamma": gamma, "c": c,
                           "L": L, "T": T, "tight": tight}
    for M in (1e-3, 0.5, 2.0, 2.302585092994046, 1e3):
        for rescale in (0, 1):
            for tight in (0, 1):
                yield {**base, "M": M, "rescale": rescale, "tight": tight}
    draw = random.Random(1)
    log_uniform = lambda low, high: 10 ** draw.uniform(low, high)
    for _ in range(150):
        row = dict(empirical=draw.randrange(2), rescale=draw.randrange(2), tight=draw.randrange(2),
                   n=float(round(log_uniform(0.4, 12))), m=float(round(log_uniform(0.4, 6))),
                   delta=log_uniform(-12, 0), M=log_uniform(-2, 2))
        for s in ("1", ""):
            row.update({"L" + s: log_uniform(-4, 4), "gamma" + s: log_uniform(-9, 6),
                        "c" + s: log_uniform(-6, 3), "T" + s: float(round(log_uniform(0, 9)))})
        yield row


if __name__ == "__main__":
    print(",".join(INPUTS + OUTPUTS))
    for row in grid():
        values = bound(row)
        print(",".join([repr(row[k]) for k in INPUTS] + [mpmath.nstr(values[k], 18) for k in OUTPUTS]))
