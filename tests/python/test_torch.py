"""mete.torch: the same predictions, and weights that come back bit for bit."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mete  # noqa: E402
import mete.torch  # noqa: E402
from conftest import SHORT, people, pictures  # noqa: E402

KINDS = [("maml", "conv4", {"inner.lr": 0.01}, {}), ("maml", "conv4", {"inner.lr": 0.01}, {"net.bn": "batch"}),
         ("maml", "conv4", {"net.downsample": "pool", "inner.lr": 0.01}, {}), ("protonet", "conv4", {}, {}),
         ("protonet", "mlp", {}, {}), ("protonet", "mlp", {"method.absent": "prior"}, {}),
         ("protonet", "mlp", {"method.absent": "prior-mean"}, {}), ("maml", "mlp", {}, {}),
         ("maml", "linear", {}, {}), ("protonet", "linear", {}, {}), ("fedavg", "mlp", {"net.hidden": 3}, {})]


def made(method, net, training, use):
    x, y, users = pictures() if net == "conv4" else people()
    d = mete.Dataset.from_arrays(x, y, users=users)
    few = {"net.filters": 8} if net == "conv4" else {}
    m = mete.train(d, "1s@200", method=method, net=net, settings={**SHORT, **few, **training}, threads=1)
    return mete.Model.from_bytes(m.to_bytes(), settings=use), x, y


@pytest.mark.parametrize("method, net, training, use", KINDS)
def test_they_agree_and_weights_come_back(method, net, training, use):
    m, x, y = made(method, net, training, use)
    m.adapt(x[:20], y[:20])
    module = mete.torch.module(m)
    with torch.no_grad():
        t = mete.torch.tensor(m, x[40:80])
        probs = torch.softmax(module(t), 1).numpy()
        reps = module.embed(t).numpy()
    assert np.abs(probs - m.predict_proba(x[40:80])).max() < 1e-5
    ours = m.embed(x[40:80])
    if reps.shape == ours.shape:
        assert np.abs(reps - ours).max() < 1e-5 * max(1, np.abs(ours).max())
    before = m.state_dict()
    plain = mete.torch.module(m, task=False)
    for name, a in plain.state_dict().items():
        if name in before:
            assert a.numpy().tobytes() == before[name].tobytes(), name
    assert set(before) <= set(plain.state_dict())
    m.load_state_dict({k: v + 1 for k, v in before.items()})
    mete.torch.load(m, plain)
    assert {k: v.tobytes() for k, v in m.state_dict().items()} == {k: v.tobytes() for k, v in before.items()}


def test_trained_further_in_pytorch():
    m, x, y = made("maml", "mlp", {}, {"test.steps": 0})
    module = mete.torch.module(m).train()
    optimiser = torch.optim.Adam(module.parameters(), 0.01)
    t, labels = mete.torch.tensor(m, x), torch.from_numpy(y)
    for _ in range(60):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(module(t), labels).backward()
        optimiser.step()
    mete.torch.load(m, module)
    assert (m.predict(x) == y).mean() > 0.8


def test_what_is_refused():
    m, x, y = made("protonet", "mlp", {}, {})
    with pytest.raises(RuntimeError, match="was not adapted"):
        mete.torch.module(m)(mete.torch.tensor(m, x[:2]))
    with pytest.raises(ValueError, match="not adapted to a task"):
        mete.torch.module(m, task=True)
    with pytest.raises(ValueError, match="the model takes"):
        mete.torch.tensor(m, x[:2, :3].copy())
    with pytest.raises(ValueError, match="it lacks"):
        mete.torch.load(m, torch.nn.Linear(2, 2))
    m, x, y = made("local", "mlp", {}, {})
    with pytest.raises(ValueError, match="has no net"):
        mete.torch.module(m)
    m, x, y = made("protonet", "conv4", {}, {"net.bn": "support"})
    with pytest.raises(ValueError, match="net.bn=support"):
        mete.torch.module(m)


def test_a_class_without_support():
    m, x, y = made("protonet", "mlp", {}, {})
    m.adapt(x[:20][y[:20] == 1], y[:20][y[:20] == 1])
    with torch.no_grad():
        probs = torch.softmax(mete.torch.module(m)(mete.torch.tensor(m, x[:9])), 1).numpy()
    assert np.abs(probs - m.predict_proba(x[:9])).max() < 1e-6 and (probs[:, 0] == 0).all()
