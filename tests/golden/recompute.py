#!/usr/bin/env python3
"""Computes the numbers of a results database a second time, with NumPy alone.

  recompute.py make DIR          two small tables: plain.csv and people.csv
  recompute.py check METE DB DATA    every number of DB, from the runs' models and tasks.json

Nothing of mete computes here but `mete tasks`, which says which items are the tasks.  The net is
the mlp; MAML, Reptile, FedAvg and ProtoNets adapt as in their papers.
"""
import json
import math
import os
import sqlite3
import struct
import subprocess
import sys

import numpy as np

FAILED = []


def check(what, got, expected, tolerance):
    """Whether two numbers agree, or two NaNs or NULLs."""
    got = math.nan if got is None else got
    same = math.isnan(got) and math.isnan(expected) or abs(got - expected) <= tolerance
    check.count += 1
    if not same:
        FAILED.append(f"{what} is {got!r}, not {expected!r}")


check.count = 0


# ---- data ----

def make(folder):
    """Classes are blobs that overlap; people have an offset of their own and few classes each."""
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(30, 6)) * 1.5
    with open(f"{folder}/plain.csv", "w") as f:
        f.write("a,b,c,d,e,f,label\n")
        for k in range(30):
            for x in centres[k] + rng.normal(size=(12, 6)):
                f.write(",".join(f"{v:.4f}" for v in x) + f",kind{k:02d}\n")
    with open(f"{folder}/people.csv", "w") as f:
        f.write("who,a,b,c,d,e,f,label\n")
        for u in range(30):
            offset, kinds = rng.normal(size=6), rng.permutation(4)[:2 + u % 3]
            for i in range(12 + u % 7):
                k = kinds[i % len(kinds)]
                x = centres[k] + offset + rng.normal(size=6)
                f.write(f"person {u}," + ",".join(f"{v:.4f}" for v in x) + f",kind{k}\n")


class Data:
    def __init__(self, folder):
        meta = json.load(open(f"{folder}/meta.json"))
        self.x = np.load(f"{folder}/x.npy").astype(np.float64) * meta["scale"] + meta["shift"]
        self.x = self.x.reshape(len(self.x), -1)
        self.y = np.load(f"{folder}/y.npy")
        self.names = meta.get("user_names")
        self.user = np.load(f"{folder}/user.npy") if self.names else None


# ---- models ----

def model(path):
    """Weights and metadata of a safetensors file."""
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    meta = header.pop("__metadata__", {})
    out = {}
    for name, t in header.items():
        assert t["dtype"] == "F32", name
        a, b = t["data_offsets"]
        out[name] = np.frombuffer(raw[8 + size + a:8 + size + b], "<f4").reshape(t["shape"])
    return {k: v.astype(np.float64) for k, v in out.items()}, meta


def features(w, x):
    """Hidden layers, and what each one saw and let through."""
    kept, i = [], 0
    while f"fc{i}.weight" in w:
        z = x @ w[f"fc{i}.weight"].T + w[f"fc{i}.bias"]
        kept.append((x, z > 0))
        x = np.maximum(z, 0)
        i += 1
    return x, kept


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def gradient(w, x, y):
    """Of the mean cross-entropy."""
    h, kept = features(w, x)
    d = softmax(h @ w["head.weight"].T + w["head.bias"])
    d[np.arange(len(y)), y] -= 1
    d /= len(y)
    g = {"head.weight": d.T @ h, "head.bias": d.sum(axis=0)}
    d = d @ w["head.weight"]
    for i in reversed(range(len(kept))):
        x, on = kept[i]
        d = d * on
        g[f"fc{i}.weight"], g[f"fc{i}.bias"] = d.T @ x, d.sum(axis=0)
        d = d @ w[f"fc{i}.weight"]
    return g


def predict(method, s, w, data, task, ways, adapted):
    support, labels = np.array(task["support"], int), np.array(task["support_labels"], int)
    x = data.x[task["query"]]
    if not adapted:
        support, labels = support[:0], labels[:0]
    if method == "protonet":
        q, centre = features(w, x)[0], np.zeros((ways, features(w, x)[0].shape[1]))
        if len(support):
            e = features(w, data.x[support])[0]
            for k in set(labels.tolist()):
                centre[k] = e[labels == k].mean(axis=0)
        near = -((q[:, None, :] - centre[None]) ** 2).sum(axis=2)
        if len(support) and s["method.absent"] == "left-out":
            near[:, [k for k in range(ways) if k not in labels]] = -np.inf
        return softmax(near)
    if method != "fedavg":
        for _ in range(int(s["test.steps"]) if len(support) else 0):
            g = gradient(w, data.x[support], labels)
            w = {k: v - float(s["inner.lr"]) * g.get(k, 0) for k, v in w.items()}
    return softmax(features(w, x)[0] @ w["head.weight"].T + w["head.bias"])


# ---- scores ----

def score(p, y):
    """Accuracy, loss, and each prediction's confidence and whether it is right."""
    best = p.argmax(axis=1)
    loss = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-30)).mean()
    return (best == y).mean(), loss, p.max(axis=1), best == y


def interval(x):
    """The 95 % half width, with t_table."""
    return t_table(len(x) - 1) * np.std(x, ddof=1) / math.sqrt(len(x)) if len(x) > 1 else math.nan


def t_table(df):
    """The 97.5 % point of Student's t: its integral by Simpson's rule, and bisection."""
    def below(t):
        n = 4000
        u = np.linspace(0, math.atan(t / math.sqrt(df)), n + 1)
        f = np.cos(u) ** (df - 1)
        area = (f[0] + f[-1] + 4 * f[1:-1:2].sum() + 2 * f[2:-1:2].sum()) * u[-1] / n / 3
        return 0.5 + area * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)
    low, high = 0.0, 1000.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < 0.975 else (low, middle)
    return low


class Tasks:
    """tasks.json of a part, drawn once for each question."""

    def __init__(self, mete):
        self.mete, self.known = mete, {}

    def __call__(self, s, part, shots, n):
        key = (s["bench"], part, shots, n, s["test.query"], s["test.seed"])
        if key not in self.known:
            name = s["bench"].split("@")[0]
            # a user is tested on the whole test part, whatever a training user's task buys
            query = s["test.query"] if s["val_n"] else "0"
            said = subprocess.run(
                [self.mete, "tasks", name, "--part", part, "--n", str(n), "--seed", s["test.seed"],
                 "--labels", s["test.support"], "--json", "--set", f"shots={shots}",
                 "--set", f"task.query={query}", "--set", f"task.holdout={s['test.holdout']}"], stdout=subprocess.PIPE, check=True).stdout
            self.known[key] = json.loads(said)
        return self.known[key]


def scores(tasks, s, data, w, part, shots, n):
    """Rows of one model on the tasks of a part: before and after adaptation."""
    drawn = tasks(s, part, shots, n)
    rows = []
    for t in drawn["tasks"]:
        y = np.array(t["query_labels"])
        for item, label in zip(t["query"], y):
            assert label == (data.y[item] if "user" in t else t["classes"].index(data.y[item]))
        before = score(predict(s["method"], s, w, data, t, drawn["ways"], False), y)
        after = score(predict(s["method"], s, w, data, t, drawn["ways"], True), y)
        rows.append((t, before, after))
    return rows


def check_test(db, tasks, s, data, w, row):
    what = f"run {row['run']} {s['method']} {row['model']} at {row['shots']} shots"
    n = db.execute("SELECT count(*) FROM task_results WHERE run=? AND test=?",
                   (row["run"], row["test"])).fetchone()[0]
    rows = scores(tasks, s, data, w, "test", row["shots"], n)
    check(f"{what}: tasks", row["tasks"], len(rows), 0)
    kept = db.execute("SELECT * FROM task_results WHERE run=? AND test=? ORDER BY task",
                      (row["run"], row["test"])).fetchall()
    fnv = 0xcbf29ce484222325
    for r, (t, before, after) in zip(kept, rows):
        at = f"{what} task {r['task']}"
        check(f"{at}: number", r["task"], t["task"], 0)
        check(f"{at}: query", r["n_query"], len(t["query"]), 0)
        check(f"{at}: classes", r["classes"], len(set(t["support_labels"])), 0)
        check(f"{at}: accuracy", r["accuracy"], after[0], 1e-9)
        check(f"{at}: accuracy before", r["accuracy_before"], before[0], 1e-9)
        check(f"{at}: loss", r["loss"], after[1], 1e-4)
        check(f"{at}: loss before", r["loss_before"], before[1], 1e-4)
        name = data.names[data.user[t["query"][0]]] if "user" in t else None
        if r["user"] != name:
            FAILED.append(f"{at}: user {r['user']!r}, not {name!r}")
        for items, labels in ((t["support"], t["support_labels"]), (t["query"], t["query_labels"])):
            for item, label in zip(items, labels):
                for v in (item, label):
                    fnv = (fnv ^ v) * 0x100000001b3 % 2 ** 64
    content = db.execute("SELECT value FROM settings WHERE run=? AND key='data.content'",
                         (row["run"],)).fetchone()
    for byte in content[0].encode():  # other data are other tasks
        fnv = (fnv ^ byte) * 0x100000001b3 % 2 ** 64
    if row["tasks_hash"] != f"{fnv:016x}":
        FAILED.append(f"{what}: tasks_hash {row['tasks_hash']}, not {fnv:016x}")
    after = np.array([a[0] for _, _, a in rows])
    before = np.array([b[0] for _, b, _ in rows])
    size = np.array([len(t["query"]) for t, _, _ in rows])
    check(f"{what}: accuracy", row["accuracy"], after.mean(), 1e-9)
    check(f"{what}: half", row["half"], interval(after), 1e-7)
    check(f"{what}: accuracy before", row["accuracy_before"], before.mean(), 1e-9)
    check(f"{what}: half before", row["half_before"], interval(before), 1e-7)
    check(f"{what}: loss", row["loss"], np.mean([a[1] for _, _, a in rows]), 1e-4)
    check(f"{what}: loss before", row["loss_before"], np.mean([b[1] for _, b, _ in rows]), 1e-4)
    check(f"{what}: weighted", row["weighted_accuracy"], (after * size).sum() / size.sum(), 1e-9)
    check(f"{what}: worst", row["worst"], after.min(), 1e-9)
    check(f"{what}: share made worse", row["worse_share"], (after < before - 1e-12).mean(), 1e-9)
    valid = scores(tasks, s, data, w, "val", row["shots"], s["val_n"])
    check(f"{what}: valid", row["valid_accuracy"], np.mean([a[0] for _, _, a in valid]), 1e-9)
    sure = np.concatenate([a[2] for _, _, a in rows])
    right = np.concatenate([a[3] for _, _, a in rows])
    bin_of, ece = np.ceil(sure.astype(np.float32) * 15 - 1e-6).astype(int) - 1, 0.0
    for b in range(15):
        r = db.execute("SELECT * FROM calibration WHERE run=? AND test=? AND bin=?",
                       (row["run"], row["test"], b)).fetchone()
        here = bin_of == b
        check(f"{what}: bin {b}", r["n"] if r else 0, here.sum(), 0)
        check(f"{what}: confidence {b}", r["confidence"] if r else 0, sure[here].sum(), 1e-3)
        check(f"{what}: correct {b}", r["correct"] if r else 0, right[here].sum(), 0)
        ece += abs(sure[here].sum() - right[here].sum())
    check(f"{what}: ece", row["ece"], ece / len(sure), 1e-4)


def check_ledger(db, run, s, data):
    every = db.execute("SELECT * FROM ledger WHERE run=? ORDER BY number", (run,)).fetchall()
    rows = [r for r in every if r["kind"] != 2]
    valid = [r for r in every if r["kind"] == 2]
    done = db.execute("SELECT * FROM outcomes WHERE run=?", (run,)).fetchone()
    check(f"run {run}: labels", done["labels_used"], len(rows), 0)
    check(f"run {run}: cost", done["cost"], sum(r["cost"] for r in every), 1e-9)
    check(f"run {run}: support", done["support_labels"], sum(r["round"] >= 0 for r in rows), 0)
    check(f"run {run}: query", done["query_labels"], sum(r["round"] < 0 for r in rows), 0)
    check(f"run {run}: validation", done["validation_labels"], len(valid), 0)
    check(f"run {run}: unique", done["unique_labels"], len({r["item"] for r in rows}), 0)
    check(f"run {run}: unique validation", done["unique_validation"], len({r["item"] for r in valid}), 0)
    check(f"run {run}: once each", len(valid), len({(r["task"], r["item"]) for r in valid}), 0)
    check(f"run {run}: tasks", done["tasks"], len({r["task"] for r in rows}), 0)
    if any(data.y[r["item"]] != r["class"] for r in every):
        FAILED.append(f"run {run}: a class in the ledger is not the item's")
    for r in db.execute("SELECT * FROM ledger_classes WHERE run=?", (run,)):
        of = [x["round"] for x in rows if x["class"] == r["class"]]
        check(f"run {run}: class {r['class']}", r["support"], sum(x >= 0 for x in of), 0)
        check(f"run {run}: class {r['class']}", r["query"], sum(x < 0 for x in of), 0)
    covered = {}
    for t in {x["task"] for x in rows}:
        n = len({x["class"] for x in rows if x["task"] == t and x["round"] >= 0})
        covered[n] = covered.get(n, 0) + 1
    for r in db.execute("SELECT * FROM ledger_coverage WHERE run=?", (run,)):
        check(f"run {run}: tasks of {r['classes']} classes", r["tasks"], covered.pop(r["classes"], 0), 0)
    check(f"run {run}: coverage left", sum(covered.values()), 0, 0)


def check_best(db, run, best):
    rows = db.execute("SELECT step, accuracy FROM checkpoints WHERE run=? ORDER BY step", (run,)).fetchall()
    top = max(r["accuracy"] for r in rows)
    done = db.execute("SELECT * FROM outcomes WHERE run=?", (run,)).fetchone()
    check(f"run {run}: best step", done["best_step"],
          next(r["step"] for r in rows if r["accuracy"] == top), 0)
    check(f"run {run}: best accuracy", done["best_accuracy"], top, 0)
    check(f"run {run}: steps", done["steps"], rows[-1]["step"], 0)
    check(f"run {run}: the best model's step", best["step"], done["best_step"], 0)


# ---- over runs ----

def check_seeds(db):
    """What the tables print: means over seeds and their intervals; pairs; users."""
    runs = {}
    for r in db.execute("SELECT * FROM accuracy"):
        runs.setdefault((r["variant"], r["model"], r["test_shots"]), []).append(r)
    for r in db.execute("SELECT * FROM accuracy_seeds"):
        of = runs[(r["variant"], r["model"], r["test_shots"])]
        what = f"{r['method']} {r['labels']} {r['model']} at {r['test_shots']}"
        check(f"{what}: seeds", r["seeds"], len(of), 0)
        check(f"{what}: mean", r["accuracy"], np.mean([x["accuracy"] for x in of]), 1e-9)
        check(f"{what}: over seeds", r["half_seeds"], interval([x["accuracy"] for x in of]), 1e-6)
    for r in db.execute("SELECT * FROM paired_labels"):
        d = pair(db, r, r["control_run"])
        what = f"pairs of runs {r['run']}, {r['control_run']}"
        check(f"{what}: difference", r["difference"], d.mean(), 1e-9)
        check(f"{what}: half", r["half"], interval(d), 1e-6)
        check(f"{what}: better", r["better"], (d > 0).sum(), 0)
        check(f"{what}: worse", r["worse"], (d < 0).sum(), 0)
        check_pair.count += 1
    for r in db.execute("SELECT * FROM paired_methods"):
        d = pair(db, r, r["other_run"])
        check(f"methods of runs {r['run']}, {r['other_run']}", r["difference"], d.mean(), 1e-9)
        check("their interval", r["half"], interval(d), 1e-6)
    for r in db.execute("SELECT DISTINCT run, test FROM user_deciles"):
        of = [x[0] for x in db.execute("SELECT accuracy FROM task_results WHERE run=? AND test=? ORDER BY"
                                       " accuracy, task", tuple(r))]
        kept = db.execute("SELECT * FROM user_deciles WHERE run=? AND test=? ORDER BY decile", tuple(r))
        for d, part in zip(kept, np.array_split(of, min(10, len(of)))):
            check(f"decile {d['decile']}: users", d["users"], len(part), 0)
            check(f"decile {d['decile']}: mean", d["mean"], part.mean(), 1e-9)
            check(f"decile {d['decile']}: least", d["least"], part.min(), 1e-12)
            check(f"decile {d['decile']}: most", d["most"], part.max(), 1e-12)


def check_pair():
    """Counts the pairs: a view that is empty checks nothing."""


check_pair.count = 0


def pair(db, r, other):
    query = ("SELECT x.accuracy FROM task_results x JOIN tests t USING (run, test) WHERE x.run=? AND"
             " t.model=? AND t.shots=? ORDER BY x.task")
    a, b = ([x[0] for x in db.execute(query, (run, r["model"], r["test_shots"]))] for run in (r["run"], other))
    return np.array(a) - np.array(b)


def main():
    if sys.argv[1] == "make":
        return make(sys.argv[2])
    mete, path, data_folder = sys.argv[2:]
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    tasks, sets = Tasks(mete), {}
    runs = db.execute("SELECT * FROM runs WHERE status='done' ORDER BY run").fetchall()
    for run in runs:
        if run["dataset"] not in sets:
            sets[run["dataset"]] = Data(os.path.join(data_folder, run["dataset"]))
        data = sets[run["dataset"]]
        for row in db.execute("SELECT * FROM tests WHERE run=? ORDER BY test", (run["run"],)).fetchall():
            w, s = model(f"{path}.runs/{run['id']}/{row['model']}.safetensors")
            s["val_n"] = int(s["train.val_tasks"])
            if data.names:  # all users of the part
                s["val_n"] = 0
            check_test(db, tasks, s, data, w, row)
            if row["model"] == "best":
                check_best(db, run["run"], row)
                # the best validation, from the best model
                valid = scores(tasks, s, data, w, "val", int(s["train.val_shots"]), s["val_n"])
                c = db.execute("SELECT * FROM checkpoints WHERE run=? AND step=?",
                               (run["run"], row["step"])).fetchone()
                after = [a[0] for _, _, a in valid]
                check(f"run {run['run']}: validation", c["accuracy"], np.mean(after), 1e-9)
                check(f"run {run['run']}: its interval", c["half"], interval(after), 1e-7)
                check(f"run {run['run']}: its loss", c["loss"], np.mean([a[1] for _, _, a in valid]), 1e-4)
        check_ledger(db, run["run"], s, data)
    check_seeds(db)
    assert runs and check_pair.count
    for line in FAILED[:20]:
        print(line)
    print(f"{len(runs)} runs, {check.count} numbers, {len(FAILED)} differ")
    return len(FAILED) > 0


if __name__ == "__main__":
    sys.exit(main())
