"""Models at work: adapt, predict, embed, suggest, save, weights; two threads; what is refused."""
import copy
import gc
import pickle
import threading
import tracemalloc

import mete
import numpy as np
import pytest
from conftest import pictures, train_pictures


def test_it_adapts_and_predicts(model, rows):
    x, y, _ = rows
    probs = model.adapt(x[:20], y[:20]).predict_proba(x[20:40])
    assert probs.dtype == np.float32 and probs.shape == (20, 2)
    assert np.allclose(probs.sum(1), 1, atol=1e-6)
    assert (model.predict(x[20:40]) == probs.argmax(1)).all()
    assert model.embed(x[:3]).shape == (3, model.info.features)
    assert model.info.adapted and model.info.labelled == 20
    assert model.adapt(None).info.adapted is False
    assert model.predict_proba(x[:0]).shape == (0, 2)


def test_class_names(model, rows):
    x, y, _ = rows
    assert model.class_names == ["still", "moving"]
    words = np.array(["still", "moving"])[y[:10]]
    by_words = model.adapt(x[:10], words).predict_proba(x[10:20])
    assert (by_words == model.adapt(x[:10], y[:10]).predict_proba(x[10:20])).all()
    with pytest.raises(ValueError, match="'running' is none of still, moving"):
        model.adapt(x[:1], ["running"])
    model.class_names = ["a", "b"]
    assert model.class_names == ["a", "b"]
    with pytest.raises(ValueError, match="3 for 2"):
        model.class_names = ["a", "b", "c"]


def test_items_are_not_copied(model):
    x = np.zeros((200_000, 6), np.float32)  # 4.8 MB
    model.adapt(x[:4], np.array([0, 1, 0, 1]))
    tracemalloc.start()
    model.predict_proba(x)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size < 200_000 * 2 * 4 + 50_000  # the probabilities alone


def test_saved_pickled_and_copied_with_its_task(model, rows, tmp_path):
    x, y, _ = rows
    want = model.adapt(x[:20], y[:20]).predict_proba(x[20:60])
    model.save(tmp_path / "mine")
    others = [mete.Model.load(tmp_path / "mine"), mete.Model.from_bytes(model.to_bytes()),
              pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for other in others:
        assert (other.predict_proba(x[20:60]) == want).all()
        assert other.info == model.info and other.class_names == model.class_names
    others[0].close()
    assert (others[1].predict_proba(x[20:60]) == want).all()


def test_options_go_with_a_pickle(seeing):
    m = mete.Model.from_bytes(seeing.to_bytes(), settings={"test.steps": 2, "net.bn": "batch"})
    again = pickle.loads(pickle.dumps(m))
    assert again.info.bn == m.info.bn == "batch"


def test_a_state_dict_makes_the_round_trip(seeing):
    m = mete.Model.from_bytes(seeing.to_bytes())
    state = m.state_dict()
    assert state["conv0.weight"].shape == (4, 1, 3, 3) and len(state) == m._info().tensors
    other = train_pictures("maml")
    other.load_state_dict({k: v + 1 for k, v in state.items()})
    other.load_state_dict(state)
    for name, a in other.state_dict().items():
        assert a.tobytes() == state[name].tobytes()
    x, y, _ = pictures()
    assert (m.adapt(x[:10], y[:10]).predict_proba(x[10:20]) == other.adapt(x[:10], y[:10]).predict_proba(x[10:20])).all()
    bad = dict(state)
    bad["conv0.weight"] = bad["conv0.weight"][:1]
    for wrong, sentence in ((bad, "conv0.weight has the shape"), ({**state, "x": np.zeros(1)}, "no 'x'"),
                            ({"conv0.weight": state["conv0.weight"]}, "it lacks"),
                            ({**state, "conv0.weight": state["conv0.weight"] * np.nan}, "not finite")):
        with pytest.raises(ValueError, match=sentence):
            other.load_state_dict(wrong)
    assert other.state_dict()["conv0.weight"].tobytes() == state["conv0.weight"].tobytes()


def test_suggestions(model, rows):
    x, y, _ = rows
    known = np.full(40, -1)
    known[:6] = y[:6]
    for labels in ("random", "active", "kmeans", "entropy", None):
        picks = model.suggest(x[:40], known, n=8, labels=labels, seed=3)
        assert len(set(picks.tolist())) == 8 and (picks >= 6).all() and (picks < 40).all()
        assert (picks == model.suggest(x[:40], known, n=8, labels=labels, seed=3)).all()
    assert len(model.suggest(x[:4], n=9, labels="random")) == 4
    assert len(model.suggest(x[:2], y[:2], n=3, labels="random")) == 0
    for bad, sentence in (({"labels": "stratified"}, "true labels"), ({"labels": "activ"}, "activ"),
                          ({"known": known + 5}, "known as"), ({"n": -1}, "n: expected 0 to"),
                          ({"seed": -1}, "seed: expected 0 to")):
        with pytest.raises(ValueError, match=sentence):
            model.suggest(x[:40], **{"known": known, **bad})
    for bad in ({"n": "5"}, {"n": 2.5}, {"seed": "a"}):
        with pytest.raises(TypeError, match="expected a whole number"):
            model.suggest(x[:40], **bad)


def test_floats_for_a_model_of_bytes(seeing):
    m = mete.Model.from_bytes(seeing.to_bytes())
    x, y, _ = pictures()
    want = m.adapt(x[:10], y[:10]).predict_proba(x[10:20])
    f = x.astype(np.float32) / 255
    with pytest.raises(ValueError, match="trained on uint8"):
        m.predict_proba(f)
    with pytest.raises(TypeError, match="dtype is float64, expected whole numbers or words"):
        m.adapt(x[:10], y[:10].astype(float))
    got = m.adapt(f[:10], y[:10], scale=1).predict_proba(f[10:20], scale=1)
    assert np.abs(got - want).max() < 1e-4


def test_what_is_refused(model, rows, saved, tmp_path):
    x, y, _ = rows
    bad = x[:4].copy()
    bad[2, 1] = np.nan
    for items, labels, error, sentence in (
            (x[:4].astype(float), y[:4], TypeError, "astype"), (x[:4].T, y[:6], ValueError, "strides"),
            (x[:4, :3].copy(), y[:4], ValueError, "the model takes 1 x 1 x 6"), (bad, y[:4], ValueError, "item 2, value 1"),
            (x[:4], y[:4] + 5, ValueError, "label"), (x[:4], y[:3], ValueError, "3 of them for 4"),
            (x[:4], None, ValueError, "no labels"), (x[:4], y[:4].astype(float), TypeError, "whole numbers"),
            (x[0], y[:1], ValueError, "shape"), ("x", y[:1], TypeError, "NumPy array")):
        with pytest.raises(error, match=sentence):
            model.adapt(items, labels)
    with pytest.raises(mete.InvalidError, match="-5 ways") as caught:
        mete.Model.load(saved, ways=-5)
    assert caught.value.code == -1 and caught.value.name == "EINVAL"
    for path, error in ((tmp_path / "none", mete.FileError), (__file__, mete.MeteError)):
        with pytest.raises(error):
            mete.Model.load(path)
    with pytest.raises(mete.FormatError):
        mete.Model.from_bytes(model.to_bytes()[:-1])
    with pytest.raises(TypeError, match="expected bytes"):
        mete.Model.from_bytes("text")
    with pytest.raises(mete.FileError):
        model.save(tmp_path / "no" / "folder")
    with pytest.raises(mete.InvalidError):
        mete.Model.load(saved, settings={"test.step": 5})
    with pytest.raises(TypeError, match="settings are a dict"):
        mete.Model.load(saved, settings=["test.steps=5"])
    model.close()
    model.close()
    for use in (lambda: model.predict(x[:2]), lambda: model.adapt(x[:2], y[:2]), lambda: model.info,
                lambda: model.state_dict(), lambda: model.save(tmp_path / "x"), lambda: model.class_names):
        with pytest.raises(ValueError, match="the model is closed"):
            use()
    assert repr(model) == "<mete.Model, closed>"


def test_two_threads_with_two_models(seeing):
    data = seeing.to_bytes()
    x, y, _ = pictures()
    found = [[], []]

    def use(which):
        with mete.Model.from_bytes(data) as m:
            for i in range(30):
                found[which].append(m.adapt(x[i:i + 10], y[i:i + 10]).predict_proba(x[50:75]))

    threads = [threading.Thread(target=use, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found[0]) == 30 and all((a == b).all() for a, b in zip(*found))


def test_one_model_in_two_threads_answers_one_at_a_time(saved, rows):
    x, y, _ = rows
    m = mete.Model.load(saved)
    want = m.adapt(x[:20], y[:20]).predict_proba(x)
    wrong = []

    def use():
        for _ in range(50):
            wrong.append((m.predict_proba(x) != want).any())

    threads = [threading.Thread(target=use) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(wrong) == 100 and not any(wrong)


def test_many_models_leak_nothing(saved):
    import resource
    data = saved.read_bytes()

    def open_and_close(n):
        for _ in range(n):
            mete.Model.from_bytes(data)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = open_and_close(200)
    assert open_and_close(1000) - before < 2000  # kB
