"""Suites with learners and strategies of one's own: results, ledgers, failures, stop and resume."""
import subprocess
import sys
import textwrap

import mete
import numpy as np
import pytest
from conftest import ROOT, SHORT, people

SUITE = """
name: mine
axes:
  bench: ['people:1s@200']
  method: [%s]
  net: [mlp]
  labels: [%s]
seeds: 2
"""


class Nearest(mete.Learner):
    """Nearest class mean in a scaled space; training moves the scales."""

    params = {"rate": (0.5, 0.0, 1.0), "mode": ("plain", "odd")}
    features = 6
    repeatable = True
    seen = []

    def __init__(self, spec):
        super().__init__(spec)
        self.weight = np.ones(spec.shape[0], np.float32)
        self.steps = 0
        type(self).seen.append((spec.settings, spec.ways, spec.x.shape))

    def step(self, tasks):
        for t in tasks:
            x, y = t.support.x, t.support.labels
            assert len(x) == len(y) == len(t.support) and set(y) <= set(range(self.spec.ways))
            assert (t.query.x == self.spec.x[t.query.items]).all()
            between = [x[y == k].mean(0) for k in set(y)]
            self.weight += self.spec.settings["rate"] * np.var(between, axis=0) / len(tasks)
        self.steps += 1
        return 1 / self.steps

    def adapt(self, support):
        self.means = np.zeros((self.spec.ways, len(self.weight)), np.float32)
        for k in set(support.labels):
            self.means[k] = (support.x[support.labels == k] * self.weight).mean(0)

    def predict(self, query):
        with pytest.raises(AttributeError, match="not known"):
            query.labels
        far = ((query.x * self.weight)[:, None] - self.means) ** 2
        p = np.exp(-far.sum(2).clip(0, 50))
        return p / p.sum(1, keepdims=True), query.x * self.weight

    def save(self):
        return self.weight.tobytes()

    def load(self, data):
        self.weight = np.frombuffer(data, np.float32).copy()

    def save_training(self):
        return bytes([self.steps])

    def load_training(self, data):
        self.steps = data[0]


def last_ones(pool, want):
    assert pool.available.dtype == bool and len(pool.known) == pool.n
    return np.flatnonzero(pool.available)[-want:]


@mete.strategy(needs="probs reps", params={"power": 1.5}, version="1")
def unsure(pool, want):
    assert pool.probs.shape == (pool.n, pool.ways) and pool.reps.shape[0] == pool.n
    assert pool.settings == {"power": 1.5} and pool.random.random() < 1
    top = np.where(pool.available, pool.probs.max(1), 2)
    return np.argsort(top)[:want]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y, users = people()
    mete.Dataset.from_arrays(x, y, users=users).save("people")
    Nearest.seen = []
    return tmp_path


def run(methods, labels="random", **more):
    with open("s.yaml", "w") as f:
        f.write(SUITE % (methods, labels))
    return mete.run("s.yaml", "r.db", **{"settings": SHORT, "threads": 1, **more})


def test_in_one_suite_with_ours(place):
    told = []
    s = run("nearest-mean, protonet", "random, mine, unsure", learners={"nearest-mean": Nearest},
            strategies={"mine": last_ones, "unsure": unsure}, progress=told.append)
    assert (s.runs, s.done, s.failed, s.finished) == (12, 12, 0, 12) and s.labels > 0
    assert told[-1].done == told[-1].total == 12 and any("nearest-mean" in p.detail for p in told)
    assert Nearest.seen[0] == ({"rate": 0.5, "mode": "plain"}, 2, (600, 6))
    frame = mete.results("r.db")
    assert set(frame["method"]) == {"nearest-mean", "protonet"} and set(frame["labels"]) == {"random", "mine", "unsure"}
    assert frame["accuracy"].between(0.2, 1).all()
    runs, bought = mete.table("r.db", "runs"), mete.ledger("r.db")
    own = bought.merge(runs[["run", "method", "labels", "seed"]], on="run")
    for labels in ("random", "mine"):  # these look at no learner, so both methods buy the same
        same = [own[(own.method == m) & (own.labels == labels)].sort_values(["seed", "number"])["item"].tolist()
                for m in ("nearest-mean", "protonet")]
        assert same[0] == same[1] and len(same[0]) > 0
    assert "nearest-mean" in mete.tables("r.db")
    mete.report("r.db", "page.html", title="Ours and mine")
    assert "nearest-mean" in open("page.html").read()
    again = run("nearest-mean, protonet", "random, mine, unsure", learners={"nearest-mean": Nearest},
                strategies={"mine": last_ones, "unsure": unsure})
    assert again.finished == 0 and again.done == 12
    with pytest.raises(mete.InvalidError, match="nearest-mean"):
        run("nearest-mean")  # gone with the call


def test_settings_of_a_learner(place):
    run("near", learners={"near": Nearest}, settings={**SHORT, "method.rate": 0.25, "method.mode": "odd"})
    assert Nearest.seen[0][0] == {"rate": 0.25, "mode": "odd"}
    with pytest.raises(mete.InvalidError, match="rate"):
        run("near", learners={"near": Nearest}, settings={"method.rate": 2})


class Broken(Nearest):
    how = None

    def step(self, tasks):
        if self.steps == 6 and self.how == "raises":
            raise ZeroDivisionError("in a learner")
        if self.steps == 6 and self.how == "fails":
            raise mete.DivergedError("the loss is 1e9")
        return float("nan") if self.how == "diverges" else super().step(tasks)

    def predict(self, query):
        probs, reps = super().predict(query)
        if self.how == "nan":
            probs[0, 0] = np.nan
        if self.how == "few":
            return probs[1:], reps
        if self.how == "sums":
            probs *= 2
        if self.how == "alone":
            return probs
        return probs, reps

    def save(self):
        return "text" if self.how == "text" else super().save()


def test_an_exception_comes_out_and_the_run_goes_on_from_its_checkpoint(place):
    whole = run("near", learners={"near": Broken}, seeds=1)
    assert whole.done == 1
    want = mete.results("r.db")["accuracy"].tolist()
    (place / "r.db").unlink()
    Broken.how = "raises"
    try:
        with pytest.raises(ZeroDivisionError, match="in a learner"):
            run("near", learners={"near": Broken}, seeds=1)
    finally:
        Broken.how = None
    assert mete.table("r.db", "runs")["status"].tolist() != ["failed"]
    starts = []

    class Watched(Broken):
        version = mete.learner.version_of(Broken, None)

        def load_training(self, data):
            super().load_training(data)
            starts.append(self.steps)

    assert run("near", learners={"near": Watched}, seeds=1).finished == 1
    assert starts == [4] and mete.results("r.db")["accuracy"].tolist() == want


def test_a_load_that_raises_keeps_the_checkpoint(place):
    class Odd(Broken):
        version = mete.learner.version_of(Broken, None)

        def load(self, data):
            raise EOFError("not my bytes")

    assert run("near", learners={"near": Broken}, seeds=1).done == 1
    want = mete.results("r.db")["accuracy"].tolist()
    (place / "r.db").unlink()
    Broken.how = "raises"
    try:
        with pytest.raises(ZeroDivisionError):
            run("near", learners={"near": Broken}, seeds=1)
    finally:
        Broken.how = None
    with pytest.raises(EOFError, match="not my bytes"):
        run("near", learners={"near": Odd}, seeds=1)
    assert run("near", learners={"near": Broken}, seeds=1).finished == 1
    assert mete.results("r.db")["accuracy"].tolist() == want


@pytest.mark.parametrize("how, sentence", [("fails", "the loss is 1e9"), ("nan", "finite"), ("sums", "they sum to 2"),
                                           ("diverges", "diverge")])
def test_a_run_that_fails_alone(place, how, sentence, caplog):
    Broken.how = how
    try:
        s = run("near, protonet", learners={"near": Broken}, seeds=1)
    finally:
        Broken.how = None
    assert (s.done, s.failed) == (1, 1)
    message = mete.table("r.db", "runs").set_index("method").loc["near", "message"]
    assert sentence in message and any(sentence in r.getMessage() for r in caplog.records)


@pytest.mark.parametrize("how, error, sentence", [("few", ValueError, "of shape"), ("text", TypeError, "expected bytes")])
def test_wrong_answers_come_out(place, how, error, sentence):
    Broken.how = how
    try:
        with pytest.raises(error, match=sentence):
            run("near", learners={"near": Broken}, seeds=1)
    finally:
        Broken.how = None


def test_representations_that_are_missing(place):
    Broken.how = "alone"
    try:
        with pytest.raises(TypeError, match="no representations"):
            run("near", "kmeans", learners={"near": Broken}, seeds=1)
    finally:
        Broken.how = None

    class Without(Nearest):
        features = 0

    assert run("near", "kmeans", learners={"near": Without}, seeds=1).failed == 1
    assert "looks at representations" in mete.table("r.db", "runs")["message"].iloc[-1]


def test_strategies_that_are_wrong(place):
    for choose, error, sentence in ((lambda p, n: [[1]], TypeError, "positions"), (lambda p, n: range(p.n), ValueError, "wanted"),
                                    (lambda p, n: 1 / 0, ZeroDivisionError, "zero")):
        with pytest.raises(error, match=sentence):
            run("protonet", "mine", strategies={"mine": choose}, seeds=1)
    s = run("protonet", "mine", strategies={"mine": lambda p, n: [0] * n}, seeds=1)
    assert s.failed == 1 and "picked" in mete.table("r.db", "runs")["message"].iloc[-1]
    with pytest.raises(ValueError, match="expected probs or reps"):
        run("protonet", "mine", strategies={"mine": mete.strategy(needs="labels")(lambda p, n: [0])})
    with pytest.raises(TypeError, match="derived from mete.Learner"):
        run("near", learners={"near": object})
    with pytest.raises(mete.InvalidError, match="method of this name"):
        run("maml", learners={"maml": Nearest})
    with pytest.raises(TypeError, match="params"):
        run("near", learners={"near": type("P", (Nearest,), {"params": {"a": [1]}})})


def test_killed_and_resumed(place):
    """A process that dies in the midst of a run; another one has its results."""
    program = textwrap.dedent("""
        import os, sys
        sys.path[:0] = [%r, %r]
        import mete, test_run
        class Nearest(test_run.Nearest):
            version = "1"
            def step(self, tasks):
                if self.steps == 9 and sys.argv[1] == "die":
                    os.kill(os.getpid(), 9)
                return super().step(tasks)
        test_run.run("near", learners={"near": Nearest}, seeds=1)
        print(mete.results("r.db")["accuracy"].tolist(), mete.ledger("r.db")["item"].sum())
    """) % (ROOT + "/python", ROOT + "/tests/python")

    def process(word):
        return subprocess.run([sys.executable, "-c", program, word], cwd=place, capture_output=True, text=True)

    assert process("die").returncode == -9
    resumed = process("live")
    assert resumed.returncode == 0, resumed.stderr
    for p in place.glob("r.db*"):
        p.unlink() if p.is_file() else None
    assert process("live").stdout == resumed.stdout != ""


def test_two_suites_at_once_stop_separately(place):
    import threading
    ends, meet = {}, threading.Barrier(2)

    def go(name, steps):
        def watch(p):
            if name not in ends:
                ends[name] = "began"
                meet.wait(20)
            if name == "stops":
                raise mete.Stopped("this one")
        try:
            s = mete.run("s.yaml", name + ".db", settings={**SHORT, "train.steps": steps}, threads=1, seeds=1, progress=watch)
            ends[name] = s.done
        except mete.Stopped as error:
            ends[name] = str(error)

    with open("s.yaml", "w") as f:
        f.write(SUITE % ("protonet", "random"))
    threads = [threading.Thread(target=go, args=a) for a in (("stops", 10**6), ("stays", 300))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert ends == {"stops": "this one", "stays": 1}


def test_tables_and_what_is_refused(place):
    run("protonet", seeds=1)
    columns = mete.results("r.db")
    assert {"bench", "method", "labels", "seed", "accuracy", "half"} <= set(columns)
    assert mete.table("r.db", "outcomes")["labels_used"].dtype == np.int64
    assert len(mete.ledger("r.db")) >= mete.table("r.db", "outcomes")["labels_used"].sum()
    with pytest.raises(mete.InvalidError, match="no_such"):
        mete.table("r.db", "no_such")
    with pytest.raises(mete.MeteError):
        mete.results("none.db")
    with pytest.raises(mete.MeteError, match="tabel"):
        mete.tables("r.db", format="tabel")
    with pytest.raises(mete.MeteError):
        mete.report("r.db", "no/such/folder/page.html")
    with pytest.raises(mete.MeteError):
        mete.run("none.yaml", "r.db")


def test_a_plan_is_a_dict_and_goes_on_where_it_was_stopped(place):
    data = "glyphs-users:classes=4,users=40,images=24"
    options = dict(db="plan.db", net="mlp", methods=["protonet", "nearest"],
                   settings={"net.hidden": 1, "net.units": 8, "train.steps": 30})
    told, seen = [], []

    def stop(p):
        seen.append(p.what)
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        mete.plan(data, 120, before=lambda seconds, steps: told.append(steps), progress=stop, **options)
    assert told == [30] and seen and seen[0].startswith("plan-")
    p = mete.plan(data, 120, target=0.9, page="plan.html", **options)
    assert p["labels"] == 120 and p["recommended"]["method"] in ("protonet", "nearest")
    spend = p["recommended"]["spend"]
    assert spend["low"] <= spend["accuracy"] <= spend["high"] and spend["people"] * spend["each"] == spend["labels"]
    assert "a plan for 120 labels" in open("plan.html", encoding="utf-8").read()
    assert p == mete.plan(data, 120, target=0.9, threads=2, **options)
    with pytest.raises(mete.InvalidError, match="has 40 people"):
        mete.plan(data, 120, people=41, **options)
