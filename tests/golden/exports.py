#!/usr/bin/env python3
"""Holds exported models against `mete predict`, on 1,000 inputs each: NAME.onnx as onnx's checker
and OpenCV's dnn see it, and NAME.c as compilers see it.

    exports.py METE MODEL.safetensors...       beside each MODEL.onnx and MODEL.c

Prints one line for each model; the exit status is 1 where one disagrees.
"""
import csv
import json
import os
import shutil
import subprocess
import sys

import cv2
import numpy as np
import onnx

INPUTS = 1000
ONNX_LIMIT, C_LIMIT = 1e-4, 1e-5


def drawings(shape, r):
    """Strokes of ink on white paper."""
    h, w, c = shape
    x = np.full((INPUTS, h, w, c), 255, "u1")
    for item in x:
        for _ in range(r.integers(1, 6)):
            row, column = r.integers(0, h), r.integers(0, w)
            for _ in range(r.integers(5, 30)):
                item[row, column] = r.integers(0, 120)
                row, column = (row + r.integers(-1, 2)) % h, (column + r.integers(-1, 2)) % w
    return x


def rows(d, r, missing):
    x = r.normal(0, 1.5, (INPUTS, d)).astype("f4")
    if missing:
        x[r.random(x.shape) < 0.1] = np.nan
    return x


def predict(mete, model, x, scratch):
    np.save(scratch + ".npy", x[..., 0] if x.ndim == 4 and x.shape[3] == 1 else x)
    subprocess.run([mete, "predict", model, scratch + ".npy", "-o", scratch + ".csv"], check=True,
                   stdout=subprocess.DEVNULL)
    with open(scratch + ".csv") as f:
        table = list(csv.reader(f))
    assert len(table) == INPUTS + 1
    return np.array([[float(v) for v in row[3:]] for row in table[1:]]), [n[2:] for n in table[0][3:]]


def about(path):
    """The ONNX file, checked; the shape of its input and what its metadata say."""
    m = onnx.load(path)
    onnx.checker.check_model(m, full_check=True)
    shape = [d.dim_value for d in m.graph.input[0].type.tensor_type.shape.dim]
    return shape, {p.key: json.loads(p.value) for p in m.metadata_props}


def by_opencv(path, x, fill):
    net = cv2.dnn.readNetFromONNX(path)
    y = []
    for item in x.astype("f4"):
        item = np.where(np.isnan(item), fill, item).astype("f4") if fill is not None else item
        net.setInput((item.transpose(2, 0, 1) if item.ndim == 3 else item)[None])
        y.append(net.forward().ravel().copy())
    return np.array(y)


def symbols(object_file):
    lines = subprocess.run(["nm", "-u", object_file], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in lines.splitlines()} - {"_GLOBAL_OFFSET_TABLE_"}


def by_compiler(compiler, path, x, scratch):
    """What the C file says, as it stands in a program."""
    name = os.path.basename(path)[:-2]
    flags = [compiler, "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", path]
    subprocess.run(flags + ["-c", "-o", scratch + ".o"], check=True)
    beyond = symbols(scratch + ".o") - {"expf", "memcpy", "memset"}
    assert not beyond, "%s needs %s" % (path, ", ".join(beyond))
    subprocess.run(flags + ["-D%s_MAIN" % name, "-o", scratch + ".run", "-lm"], check=True)
    text = "\n".join(",".join("%.9g" % v for v in item.ravel()) for item in x)
    out = subprocess.run([scratch + ".run"], input=text, check=True, capture_output=True, text=True).stdout
    return np.array([[float(v) for v in line.split(",")] for line in out.splitlines()])


def judge(mete, model, number):
    base = os.path.abspath(model)[: -len(".safetensors")]
    scratch = base + ".scratch"
    shape, says = about(base + ".onnx")
    r = np.random.default_rng(number)
    fill = np.array(says["fill"], "f4") if "fill" in says else None
    x = drawings((shape[2], shape[3], shape[1]), r) if len(shape) == 4 else rows(shape[1], r, fill is not None)
    ours, classes = predict(mete, model, x, scratch)
    assert classes == says["classes"], "other class names"
    apart = {"onnx": (np.abs(by_opencv(base + ".onnx", x, fill) - ours).max(), ONNX_LIMIT)}
    for compiler in filter(shutil.which, ("gcc", "clang")):
        apart[compiler] = (np.abs(by_compiler(compiler, base + ".c", x, scratch) - ours).max(), C_LIMIT)
    doubtful = (ours.max(1) < 0.99).mean()
    print("%-12s %s; %.0f %% of the predictions below 0.99" % (
        os.path.basename(base), ", ".join("%s %.1e" % (k, v) for k, (v, _) in apart.items()), 100 * doubtful))
    return doubtful > 0.05 and all(v <= limit for v, limit in apart.values())


def main():
    good = [judge(sys.argv[1], model, i) for i, model in enumerate(sys.argv[2:])]
    sys.exit(0 if good and all(good) else 1)


main()
