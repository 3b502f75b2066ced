#!/usr/bin/env python3
"""What commands print, as it was when somebody last looked at it.

  exact.py check METE        compares; prints what differs
  exact.py write METE        keeps what is printed now, after you have looked at the difference

With METE_EXACT_FIRST=report or theory (or empty) that group comes first and the first difference
ends it.

The outputs are in tests/golden/exact/NAME.txt.  Words must be the same; a number may differ by
a millionth, which is more than another instruction set makes of doubles.  Large outputs are kept
as a hash for each part (a page's sections, a table's columns): that says where it changed.
"""
import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KEPT = os.path.join(HERE, "exact")

GLYPHS = "glyphs:classes=60,drawers=10,size=16"
STUDY = "--net mlp --set net.units=8 --probed 2 --threads 1 --device ref64 --set train.steps=5"
STABILITY = f"stability {GLYPHS}:5w-1s {STUDY} --fresh 4 --removals 3"
SMALL = ("--set train.steps=6 --set train.validate_every=3 --set train.val_tasks=5 --set test.tasks=6"
         " --set train.meta_batch=3 --threads 1 --device ref64")
MLP = f"{SMALL} --net mlp --set net.units=8 --set net.hidden=1"
CONV = f"{SMALL} --set net.filters=3"
PLAN = ("plan glyphs-users:classes=4,users=40,images=24 --labels 120 --target 60% --net mlp --set net.units=8"
        " --set train.steps=40 --methods protonet,reptile,tuned,nearest --device ref64 --threads 1 --db plan.db")

# name: (command, kind).  Kinds: text, words and numbers; parts, by hash; quiet, nothing (times are in it).
COMMANDS = {
    "tasks": (f"tasks {GLYPHS}:5w-2s --n 4 --json", "text"),
    "tasks-users": ("tasks glyphs-users:classes=4,users=30,images=10:1s --part val --json", "text"),
    # the theory
    "bound-maml": ("bound --method maml --sweep n=10:1e5:log:6 --outer-L 0.7 --outer-gamma 2 --outer-T 50"
                   " --outer-lr 0.01 --json", "text"),
    "bound-reptile": ("bound --method reptile --m 10 --sweep n=10:1000:log:3 --sweep m=5:60:4 --inner-T 7"
                      " --inner-lr 0.03 --inner-L 2 --inner-gamma 3 --csv", "text"),
    "bound-tight": ("bound --method fedavg --m 8 --n 400 --tight --outer-gamma 0.001 --inner-gamma 0.002"
                    " --M 3 --rescale --json", "text"),
    "bound-broken": ("bound --method maml --n 10 --M 2 --outer-adam --outer-T 10 --outer-lr 1 --outer-c 1"
                     " --json", "text"),
    "bound-budget": ("bound --method reptile --budget 20000 --query 3 --task-cost 2.5 --inner-T 5 --json", "text"),
    "bound-table": ("bound --method protonet --n 300 --loss-seen 0.8 --outer-batch 8", "text"),
    "stability-maml": (f"{STABILITY} --tasks 8 --json", "text"),
    "stability-protonet": (f"{STABILITY} --tasks 8 --method protonet --json", "text"),
    "stability-reptile": (f"{STABILITY} --tasks 8 --method reptile --json", "text"),
    "stability-fedavg": (f"{STABILITY} --tasks 6 --method fedavg --labels active --json", "text"),
    "stability-conv": (f"stability {GLYPHS}:5w-1s --set net.filters=3 --probed 1 --threads 1 --device ref64"
                       " --set train.steps=3 --fresh 3 --removals 2 --tasks 5", "text"),
    "stability-sum": (f"{STABILITY} --tasks 5 --method reptile --set inner.loss=sum --M 2 --delta 0.2", "text"),
    "drift": (f"drift {GLYPHS}:5w-1s {STUDY} --tasks 8 --lr 0.001,0.1 --steps 1,2,5", "text"),
    "drift-trained": (f"drift {GLYPHS}:5w-2s {STUDY} --tasks 6 --lr 0.01 --steps 1,3 --trained --json", "text"),
    # training, in doubles
    "train-maml": (f"train {GLYPHS}:5w-1s@120 --method maml --set inner.lr=0.1 {MLP} -o train-maml --json", "text"),
    "train-maml-second": (f"train {GLYPHS}:5w-1s@120 --method maml --set first_order=no --set inner.lr=0.1"
                          f" --labels margin {CONV} -o train-second --json", "text"),
    "train-reptile": (f"train {GLYPHS}:5w-2s@150 --method reptile --set inner.batching=shuffled --labels entropy"
                      f" {MLP} -o train-reptile --json", "text"),
    "train-protonet": (f"train {GLYPHS}:5w-1s@120 --method protonet --labels badge --set net.bn=support {CONV}"
                       " -o train-protonet --json", "text"),
    "train-active": (f"train {GLYPHS}:5w-2s@150 --method protonet --labels active {MLP} -o train-active --json", "text"),
    "train-kcenter": (f"train {GLYPHS}:5w-2s@150 --method fedavg --labels kcenter --set net.bn=running {CONV}"
                      " -o train-kcenter --json", "text"),
    "train-kmeans": (f"train glyphs-users:classes=4,users=30,images=10:2s@90 --method reptile --labels kmeans"
                     f" --set task.cap=present --set budget.unit=unique {MLP} -o train-kmeans --json", "text"),
    "eval": ("eval train-maml/best.safetensors --device ref64 --threads 1 --set test.shots=2,3 --json", "text"),
    "tasks-file": (f"tasks {GLYPHS}:5w-3s --n 6 --seed 0 -o tasks.json", "text"),
    "eval-tasks": ("eval train-maml/best.safetensors --device ref64 --threads 1 --tasks tasks.json --json", "text"),
    "metrics": (["cat", "train-maml/metrics.jsonl", "train-second/metrics.jsonl", "train-reptile/metrics.jsonl",
                 "train-protonet/metrics.jsonl", "train-active/metrics.jsonl", "train-kcenter/metrics.jsonl",
                 "train-kmeans/metrics.jsonl"], "text"),
    "ledgers": (["cat", "train-maml/ledger.csv", "train-second/ledger.csv", "train-reptile/ledger.csv",
                 "train-protonet/ledger.csv", "train-active/ledger.csv", "train-kcenter/ledger.csv",
                 "train-kmeans/ledger.csv"], "parts"),
    # a plan, and its page
    "plan": (PLAN, "text"),
    "plan-json": (f"{PLAN} --json", "text"),
    "page-plan": (f"{PLAN} -o plan.html", "plan.html"),
    # people, and what a table says of baselines
    "run-people": (f"run {ROOT}/tests/suites/baselines.yaml --db people.db --threads 1 --device ref64", "quiet"),
    "results-people": ("results people.db", "text"),
    # reports: a database of made-up runs, and those that are kept
    "results": ("results made-up.db", "text"),
    "results-summary": ("results made-up.db --format summary", "text"),
    "results-csv": ("results made-up.db --format csv", "parts"),
    "results-json": ("results made-up.db --format json", "parts"),
    "results-latex": ("results made-up.db --format latex", "text"),
    "results-markdown": ("results made-up.db --format markdown", "text"),
    "results-last": ("results made-up.db --last --format csv", "parts"),
    "results-one-seed": ("results one-seed.db", "text"),
    "results-omniglot": ("results table1-omniglot.db", "text"),
    "results-resplit": ("results resplit.db --format markdown", "text"),
    "fit": ("stability fit theory.db --json", "text"),
    "page-one-seed": ("report one-seed.db -o one-seed.html", "one-seed.html"),
    "page-omniglot": ("report table1-omniglot.db -o omniglot.html", "omniglot.html"),
    "page-resplit": ("report resplit.db -o resplit.html", "resplit.html"),
    "page": ("report made-up.db -o made-up.html", "made-up.html"),
    "page-theory": ("report theory.db -o theory.html", "theory.html"),
    "tensorboard": ("report one-seed.db -o x.html --tensorboard events", "events"),
}
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def part_hashes(text):
    """A line for each part: a page's sections, or a table's columns."""
    if "<section" in text:
        parts = text.split("<section")
        names = [(re.search(r'id="([\w-]+)"', p) or [0, "part"])[1] for p in parts]
    elif text.count(",") > text.count("\n"):
        rows = [line.split(",") for line in text.splitlines()]
        parts = [",".join(r[i] if i < len(r) else "" for r in rows) for i in range(max(map(len, rows)))]
        names = [rows[0][i] if i < len(rows[0]) else str(i) for i in range(len(parts))]
    else:
        parts, names = [text], ["all"]
    return "".join(f"{n} {hashlib.sha256(p.encode()).hexdigest()[:16]}\n" for n, p in zip(names, parts))


def event_hashes(folder):
    """Every record of the event files, but for clock times and machine names."""
    out = ""
    for top, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            raw = open(os.path.join(top, name), "rb").read()
            out += f"{os.path.relpath(top, folder)} {hashlib.sha256(raw).hexdigest()[:16]}\n"
    return out


def said(mete, command, kind):
    words = command if isinstance(command, list) else [mete, *command.split()]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.decode(errors='replace')}"
    text = done.stdout.decode()
    if kind == "quiet":
        return ""
    if kind == "events":
        return event_hashes("events")
    if kind.endswith(".html"):
        text = open(kind).read()
    version = subprocess.run([mete, "--version"], stdout=subprocess.PIPE, text=True).stdout.split()[-1]
    text = text.replace(version, "VERSION")
    return part_hashes(text) if kind != "text" else text


def same(a, b):
    """Words alike, numbers within a millionth."""
    if NUMBER.split(a) != NUMBER.split(b):
        return False
    for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)):
        if x != y and abs(float(x) - float(y)) > 1e-6 * max(abs(float(x)), abs(float(y)), 1e-3):
            return False
    return True


GROUPS = {"report": ("results", "page", "tensorboard"), "theory": ("bound", "stability", "drift", "fit")}


def in_order():
    """All commands, those of a group that METE_EXACT_FIRST names before the others."""
    first = GROUPS.get(os.environ.get("METE_EXACT_FIRST"), ())
    return sorted(COMMANDS.items(), key=lambda c: not c[0].startswith(first) if first else 0)


def main():
    what, mete = sys.argv[1], os.path.abspath(sys.argv[2])
    passed, failed = 0, 0
    os.makedirs(KEPT, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("table1-omniglot.db", "resplit.db", "theory.db"):
            shutil.copy(os.path.join(ROOT, "results", name), scratch)
        os.chdir(scratch)
        fixture = os.path.join(os.path.dirname(mete), "fixture_db")
        for name, seeds in (("made-up.db", "3"), ("one-seed.db", "1")):
            subprocess.run([fixture, name, seeds], check=True)
        for name, (command, kind) in in_order():
            path = os.path.join(KEPT, name + ".txt")
            now = said(mete, command, kind)
            if what == "write":
                open(path, "w").write(now)
                continue
            was = open(path).read() if os.path.exists(path) else ""
            if (same if kind == "text" else str.__eq__)(was, now):
                passed += 1
                continue
            failed += 1
            shown = command if isinstance(command, str) else " ".join(command)
            print(f"FAILED {name}: 'mete {shown}' printed something else before:")
            lines = difflib.unified_diff(was.splitlines(), now.splitlines(), "before", "now", lineterm="", n=0)
            print("\n".join(list(lines)[:12]))
            if "METE_EXACT_FIRST" in os.environ:  # one is enough
                break
    if failed:
        print("if that is right: python3 tests/golden/exact.py write build-release/mete")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
