"""What perf/library_speed.c measures, by the Python package: library_speed.py MODEL REPEATS"""
import sys
import time

import mete
import numpy as np

ITEMS, SUPPORT, SIDE = 25, 5, 28


def show(what, ms):
    ms.sort()
    print("%s %.4f %.4f" % (what, ms[0], ms[len(ms) // 2]))


def main(path, repeats):
    i = np.arange(ITEMS * SIDE * SIDE)
    images = (i * 31 % 251 + i // (SIDE * SIDE)).astype(np.uint8).reshape(ITEMS, SIDE, SIDE)
    y = np.arange(SUPPORT)
    ms = []
    for _ in range(repeats):
        start = time.process_time_ns()
        m = mete.Model.load(path)
        ms.append((time.process_time_ns() - start) / 1e6)
        m.close()
    show("load", ms)
    m, ms = mete.Model.load(path), []
    for k in range(-5, repeats):
        start = time.process_time_ns()
        m.adapt(images[:SUPPORT], y)
        m.predict_proba(images[SUPPORT:])
        if k >= 0:
            ms.append((time.process_time_ns() - start) / 1e6)
    show("task", ms)


main(sys.argv[1], int(sys.argv[2]))
