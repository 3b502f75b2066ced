"""The programs in examples/: each runs, on less work than it asks for, and what it says holds."""
import os
import subprocess
import sys
import textwrap

import mete
import pytest
from conftest import ROOT

EXAMPLES = os.path.join(ROOT, "examples")
FEW = ["train.validate_every=2", "train.meta_batch=2", "train.val_tasks=4", "test.tasks=4", "test.shots=1"]


def program(path, *words, place, check=True):
    env = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    r = subprocess.run([sys.executable, os.path.join(EXAMPLES, path), *words], cwd=place, env=env, capture_output=True,
                       text=True)
    assert not check or r.returncode == 0, r.stderr
    return r


def bought(db):
    """The items that each run bought, by method, benchmark and seed."""
    frame = mete.ledger(db).merge(mete.table(db, "runs")[["run", "method", "bench", "seed"]], on="run")
    return {key: rows.sort_values("number")["item"].tolist()
            for key, rows in frame.groupby(["method", "bench", "seed"])}


def test_learners_of_pytorch_and_scikit_learn(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    few = [*FEW, "train.steps=4", "only:seed=1"]
    said = program("learners/run.py", "l.db", "l.html", *few, place=tmp_path).stdout
    assert "8 of 8 runs are done" in said
    heading = next(line for line in said.splitlines() if "test shots" in line)
    for method in ("maml", "torch-maml", "protonet", "logistic"):
        assert method in heading
    assert "batch norm" not in heading  # those who have none share the row of those who have
    assert "torch-maml" in (tmp_path / "l.html").read_text()
    ledger = bought(tmp_path / "l.db")
    for bench in ("glyphs:5w-1s@5K", "glyphs-users:1s@5K"):
        ours, *others = (ledger[method, bench, 1] for method in ("maml", "torch-maml", "logistic"))
        assert len(ours) > 0 and all(items == ours for items in others)


def test_the_maml_of_pytorch_is_killed_and_resumed(tmp_path):
    pytest.importorskip("torch")
    dies = textwrap.dedent("""
        import os, sys
        sys.path.insert(0, %r)
        import mete, run, torch_maml
        class Mortal(torch_maml.TorchMaml):
            version = mete.learner.version_of(torch_maml.TorchMaml, None)
            steps = 0
            def step(self, tasks):
                self.steps += 1
                if self.steps == 6:
                    os.kill(os.getpid(), 9)
                return super().step(tasks)
        run.LEARNERS["torch-maml"] = Mortal
        run.main(*sys.argv[1:])
    """ % os.path.join(EXAMPLES, "learners"))
    (tmp_path / "dies.py").write_text(dies)
    few = [*FEW, "train.steps=8", "method.filters=8", "only:method=torch-maml", "only:bench=*5w*", "only:seed=1"]
    assert program(tmp_path / "dies.py", "k.db", "k.html", *few, place=tmp_path, check=False).returncode == -9
    assert mete.table(tmp_path / "k.db", "runs").set_index("seed").loc[1, "status"].tolist()[0] != "done"
    for db in ("k.db", "w.db"):
        program("learners/run.py", db, "page.html", *few, place=tmp_path)
    killed, whole = (mete.table(tmp_path / db, "checkpoints") for db in ("k.db", "w.db"))
    assert killed["accuracy"].tolist() == whole["accuracy"].tolist() and len(whole) == 5
    killed, whole = (mete.results(tmp_path / db)["accuracy"].tolist() for db in ("k.db", "w.db"))
    assert killed == whole


def test_a_strategy_of_ten_lines(tmp_path):
    said = program("strategy/strategy.py", "s.db", "s.html", *FEW, "train.steps=4", "budget.labels=400",
                   place=tmp_path).stdout
    assert all(word in said for word in ("random", "active", "spread"))
    runs = mete.table(tmp_path / "s.db", "runs")
    assert len(runs) == 15 and set(runs["status"]) == {"done"}
    source = open(os.path.join(EXAMPLES, "strategy/strategy.py")).read()
    body = source[source.index('picked."""\n') + len('picked."""\n'):source.index("\n\n\ndef main")]
    assert len(body.splitlines()) <= 10


def test_people_from_a_table_to_predictions(tmp_path):
    pytest.importorskip("pandas")
    for name, more in (("known.csv", ["--people", "60"]), ("new.csv", ["--people", "8", "--first", "200"])):
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/people_table"), tmp_path / name, "--known", "1", *more],
                       check=True)
    said = program("people/people.py", "known.csv", "new.csv", "out.csv", "600", "train.steps=100",
                   place=tmp_path).stdout
    assert "8 new people, 6 labels each" in said
    out = __import__("pandas").read_csv(tmp_path / "out.csv", index_col="row")
    assert len(out) == 8 * 34 and out["sure"].between(0.2, 1).all()
    assert (out["predicted"] == out["activity"]).mean() > 0.7  # of five activities; 86 % when this was written
