"""Datasets of arrays, frames and folders: nothing copied, and what cannot be is refused."""
import gc
import tracemalloc

import mete
import numpy as np
import pytest
from conftest import SHORT, people, pictures


def test_arrays_are_borrowed(rows):
    x, y, users = rows
    d = mete.Dataset.from_arrays(x, y, users=users, class_names=["a", "b"])
    assert d.x.ctypes.data == x.ctypes.data and d.x.shape == x.shape
    assert not d.x.flags.writeable
    assert (d.y == y).all() and (d.users == users).all() and d.part is None
    assert len(d) == len(x) and d.n_classes == 2 and d.n_users == 30 and d.unlabelled == 0
    assert d.class_names == ["a", "b"] and d.user_names is None
    assert "600 items" in repr(d)


def test_a_large_array_costs_no_memory():
    x = np.zeros((2000, 64, 64), np.uint8)  # 8 MB
    tracemalloc.start()
    d = mete.Dataset.from_arrays(x, np.arange(2000) % 7)
    m = d.x
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size < 100_000 and m.base is not None


def test_arrays_live_as_long_as_they_are_used(tmp_path):
    x, y, users = people()
    mete.Dataset.from_arrays(x, y, users=users).save(tmp_path / "d")
    d = mete.Dataset.open(tmp_path / "d")
    seen = d.x
    d.close()
    del d
    gc.collect()
    assert (seen == x).all()


def test_words_become_classes_and_users():
    x = np.zeros((4, 3), np.float32)
    d = mete.Dataset.from_arrays(x, ["b", "a", None, "b"], users=np.array(["mia", "ali", "ali", "mia"]))
    assert d.y.tolist() == [1, 0, -1, 1] and d.class_names == ["a", "b"]
    assert d.users.tolist() == [1, 0, 0, 1] and d.user_names == ["ali", "mia"]
    assert d.unlabelled == 1


def test_saved_and_opened(tmp_path):
    x, y, users = pictures()
    part = (np.arange(len(x)) % 4 == 0).astype(int)
    mete.Dataset.from_arrays(x, y, users=users, part=part, name="bars").save(tmp_path / "bars")
    with mete.Dataset.open(tmp_path / "bars") as d:
        assert d.x.shape == (*x.shape, 1) and (d.x[..., 0] == x).all()
        assert (d.part == part).all() and d.path.endswith("bars")
    with pytest.raises(ValueError, match="closed"):
        len(d)
    with pytest.raises(mete.MeteError):
        mete.Dataset.from_arrays(x, y).save(tmp_path / "bars")


@pytest.mark.parametrize("x, y, error, sentence", [
    ([[1, 2]], [0], TypeError, "expected a NumPy array, got list"),
    (np.zeros((2, 3)), [0, 1], TypeError, "dtype is <f8, expected uint8 or float32"),
    (np.zeros((2, 3), ">f4"), [0, 1], TypeError, "dtype is >f4"),
    (np.zeros((2, 3), complex), [0, 1], TypeError, "complex128"),
    (np.zeros(3, np.float32), [0, 1, 0], ValueError, "its shape is"),
    (np.zeros((2, 3, 1, 1, 1), np.uint8), [0, 1], ValueError, "its shape is"),
    (np.zeros((3, 2), np.float32).T, [0, 1], ValueError, "strides"),
    (np.zeros((4, 3), np.float32)[::2], [0, 1], ValueError, "strides"),
    (np.frombuffer(bytes(25)[1:], np.float32).reshape(2, 3), [0, 1], ValueError, "aligned"),
    (np.array([[1, 2], [np.nan, 4]], np.float32), [0, 1], ValueError, "item 1, value 0"),
    (np.zeros((2, 3), np.float32), [0, -3], ValueError, "class -3"),
    (np.zeros((2, 4, 4), np.float32), [0, 1], ValueError, "images are uint8"),
    (np.zeros((2, 3), np.float32), [0, 2**40], ValueError, "too large"),
    (np.zeros((2, 3), np.float32), [0.5, 1], TypeError, "dtype is float64"),
    (np.zeros((2, 3), np.float32), [0, 1, 1], ValueError, "3 of them for 2 items"),
    (np.zeros((0, 3), np.float32), [], ValueError, "no items"),
])
def test_what_cannot_be_is_refused(x, y, error, sentence):
    if sentence == "aligned":
        x = np.ndarray((2, 3), np.float32, bytearray(25), 1)
    with pytest.raises(error, match=sentence):
        mete.Dataset.from_arrays(x, np.array(y) if y else np.zeros(0, int))


def test_other_wrong_arguments():
    x = np.zeros((2, 3), np.float32)
    for wrong, sentence in (({"part": [0, 2]}, "0 \\(train\\) or 1"), ({"feature_names": ["a"]}, "feature_names"),
                            ({"class_names": ["a"]}, "class 1, and 1 names"), ({"scale": 0}, "scale is 0")):
        with pytest.raises(ValueError, match=sentence):
            mete.Dataset.from_arrays(x, [0, 1], **wrong)
    with pytest.raises(mete.MeteError, match="nowhere"):
        mete.Dataset.open("nowhere")


def frame_of_people(n=12, rows=15, seed=0):
    pandas = pytest.importorskip("pandas")
    x, y, users = people(n, rows, 3, seed)
    frame = pandas.DataFrame(x * 20 + 50, columns=["pulse", "steps", "heat"])
    frame["place"] = np.array(["hand", "foot"])[np.arange(len(x)) % 2]
    frame.loc[3, "pulse"] = np.nan
    frame["activity"] = np.array(["still", "moving"])[y]
    frame.loc[5, "activity"] = None
    frame["person"] = ["p%02d" % u for u in users]
    return frame


def test_a_frame_is_read_as_a_table_is():
    frame = frame_of_people()
    d = mete.Dataset.from_frame(frame, "activity", "person")
    assert len(d) == len(frame) and d.n_users == 12 and d.unlabelled == 1
    assert sorted(d.class_names) == ["moving", "still"]
    assert np.isfinite(d.x).all() and abs(d.x[:, 0].mean()) < 0.3  # filled, standardised
    later = mete.Dataset.from_frame(frame_of_people(4, seed=9), "activity", "person", like=d)
    assert later.x.shape[1] == d.x.shape[1] and later.class_names == d.class_names
    unknown = mete.Dataset.from_frame(frame.drop(columns="activity"), "activity", "person", like=d)
    assert unknown.unlabelled == len(frame) and np.allclose(unknown.x, d.x)
    m = mete.train(d, "1s@100", method="protonet", net="mlp", settings=SHORT, threads=1)
    assert m.class_names == d.class_names and m.feature_names[0] == "pulse"
    with pytest.raises(KeyError, match="no column 'colour'"):
        mete.Dataset.from_frame(frame, "colour")


def test_a_frame_without_people():
    frame = frame_of_people().drop(columns="person")
    frame = frame[frame.pulse.notna()]
    d = mete.Dataset.from_frame(frame, "activity")
    assert d.n_users == 0 and len(d) == len(frame)
    assert np.allclose(d.x[:, 0], frame.pulse)  # as it is


def test_frames_that_cannot_be():
    pandas = pytest.importorskip("pandas")
    frame = frame_of_people()
    twice = pandas.concat([frame, frame[["pulse"]]], axis=1)
    for wrong, more, error, sentence in (
            (frame.values, {}, TypeError, "a pandas frame, got ndarray"), (frame, {"like": 3}, TypeError, "like: expected"),
            (frame, {"name": "a/b"}, ValueError, "name: 'a/b'"), (twice, {}, ValueError, "two columns 'pulse'"),
            (frame, {"user": "activity"}, ValueError, "the label, and cannot be the user")):
        with pytest.raises(error, match=sentence):
            mete.Dataset.from_frame(wrong, "activity", **{"user": "person", **more})
    assert mete.Dataset.from_frame(frame, "activity", "person", ignore="place").x.shape[1] == 3
