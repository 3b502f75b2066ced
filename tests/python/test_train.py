"""Training from Python: events, stopping by Ctrl-C and by exceptions, folders, two at a time."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import mete
import pytest
from conftest import ROOT, SHORT

LONG = {**SHORT, "train.steps": 10**6, "train.validate_every": 1000}


def data(rows):
    x, y, users = rows
    return mete.Dataset.from_arrays(x, y, users=users)


def test_events_and_the_same_model_for_the_same_seed(rows):
    seen = []
    models = [mete.train(data(rows), "1s@200", method="protonet", net="mlp", settings=SHORT, threads=t,
                         progress=seen.append if t == 1 else None) for t in (1, 2)]
    assert models[0].to_bytes() == models[1].to_bytes()
    kinds = [e.kind for e in seen]
    assert kinds.count("valid") == 4 and kinds.count("test") == 2 and "step" in kinds
    assert [e.done for e in seen] == sorted(e.done for e in seen)
    assert [e.step for e in models[1].history] == [0, 4, 8, 12]
    assert models[1].history[-1].labels > 0
    assert [t.model for t in models[1].tests] == ["best", "last"] and models[1].tests[0].tasks == 4
    assert [t.accuracy for t in models[0].tests] == [t.accuracy for t in models[1].tests]


def test_a_folder_is_kept_and_a_stopped_training_continues(rows, tmp_path):
    def stop(e):
        if e.kind == "valid" and e.step == 8:
            raise mete.Stopped("enough")

    how = dict(method="protonet", net="mlp", settings=SHORT, threads=1)
    whole = mete.train(data(rows), "1s@200", folder=tmp_path / "whole", **how)
    with pytest.raises(mete.Stopped, match="enough"):
        mete.train(data(rows), "1s@200", folder=tmp_path / "parts", progress=stop, **how)
    steps = []
    again = mete.train(data(rows), "1s@200", folder=tmp_path / "parts", progress=lambda e: steps.append(e.step), **how)
    assert min(s for s in steps if s) >= 4 and again.to_bytes() == whole.to_bytes()
    assert (tmp_path / "whole/ledger.csv").read_bytes() == (tmp_path / "parts/ledger.csv").read_bytes()


def test_nothing_is_left_on_the_disk(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mete.train(data(rows), "1s@200", method="protonet", net="mlp", settings=SHORT, threads=1)
    assert os.listdir(tmp_path) == []


def test_an_exception_in_a_callback_comes_out(rows):
    class Mine(Exception):
        pass

    for kind in ("step", "valid", "test", "work"):
        def fail(e, kind=kind):
            if e.kind == kind:
                raise Mine(kind)
        with pytest.raises(Mine, match=kind):
            mete.train(data(rows), "1s@200", method="protonet", net="mlp", settings=SHORT, threads=1, progress=fail)


def test_evaluate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    m = mete.train("glyphs:classes=60,drawers=10", "5w-1s@200", method="protonet", threads=1,
                   settings={**SHORT, "net.filters": 4, "test.tasks": 10}, folder="run")
    tests = mete.evaluate("run/best.safetensors", threads=1)
    assert tests[0].accuracy == m.tests[0].accuracy and tests[0].model == "given"
    with pytest.raises(mete.MeteError):
        mete.evaluate("nothing.safetensors")


def test_what_is_refused(rows):
    for bench, more, sentence in (("1s@2K@", {}, "1s@2K@"), ("1s@200", {"method": "mamel"}, "mamel"),
                                  ("1s@200", {"settings": {"train.stepz": 4}}, "train.stepz"),
                                  ("1s@200", {"net": "a\0b"}, "NUL"), ("1s@200", {"settings": {"train.steps": -4}}, "-4")):
        with pytest.raises(ValueError, match=sentence):
            mete.train(data(rows), bench, **more)
    with pytest.raises(TypeError, match="mete.Dataset"):
        mete.train(rows[0], "1s@200")
    closed = data(rows)
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        mete.train(closed, "1s@200")


@pytest.mark.parametrize("what", ["train", "run", "learner"])
def test_ctrl_c_stops_within_a_second(what, tmp_path):
    """In a process of its own, as a person would."""
    program = """
        import sys, time
        import numpy as np
        sys.path[:0] = [%r, %r]
        import mete
        from conftest import people
        x, y, users = people()
        d = mete.Dataset.from_arrays(x, y, users=users)
        d.save("people")
        print("ready", flush=True)
        class Slow(mete.Learner):
            def step(self, tasks):
                time.sleep(0.01)
            def adapt(self, support):
                pass
            def predict(self, query):
                return np.full((len(query), 2), 0.5)
            def save(self):
                return b""
        open("s.yaml", "w").write("name: s\\naxes: {bench: ['people:1s@200'], method: [protonet], net: [mlp]}\\nseeds: 4\\n")
        what, settings = %r, %r
        try:
            if what == "train":
                mete.train(d, "1s@200", method="protonet", net="mlp", settings=settings)
            elif what == "run":
                mete.run("s.yaml", "r.db", settings=settings, threads=2)
            else:
                mete.run("s.yaml", "r.db", settings={**settings, "method": "slow"}, learners={"slow": Slow}, threads=1)
            print("ended", flush=True)
        except KeyboardInterrupt:
            print("stopped", flush=True)
    """ % (os.path.join(ROOT, "python"), os.path.dirname(__file__), what, LONG)
    p = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert p.stdout.readline() == "ready\n"
        time.sleep(1)
        start = time.time()
        p.send_signal(signal.SIGINT)
        assert p.stdout.readline() == "stopped\n"
        took = time.time() - start
        assert p.wait(5) == 0
    finally:
        p.kill()
        p.stdout.close()
    assert took < 1, "it took %.1f s" % took


def test_two_trainings_stop_separately(rows):
    ends, ready = {}, threading.Barrier(2)

    def train(name, steps, stop_at):
        def watch(e):
            if e.step == 1:
                ready.wait(20)  # both are under way
            if stop_at is not None and e.step >= stop_at:
                raise mete.Stopped(name)
        try:
            m = mete.train(data(rows), "1s@200", method="protonet", net="mlp", threads=1, progress=watch,
                           settings={**SHORT, "train.steps": steps})
            ends[name] = m.history[-1].step
        except mete.Stopped as error:
            ends[name] = str(error)

    threads = [threading.Thread(target=train, args=a) for a in (("a", 10**6, 30), ("b", 400, None))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert ends == {"a": "a", "b": 400}


def test_the_log_is_pythons(rows, caplog):
    with caplog.at_level("INFO", logger="mete"):
        mete.train(data(rows), "1s@200", method="protonet", net="mlp", settings=SHORT, threads=1)
    assert any("labels" in r.message for r in caplog.records)
