"""Meta-gradients in PyTorch, float64: what `mete grad` must agree with.

Plain autograd throughout: nothing here shares an idea with the C code but the
definitions.  Weights and tasks are drawn in float32 precision, so that both
sides start from the same numbers.

A task is a dict with support.x (n, c, h, w), or (n, d) for the mlp, support.y,
query.x, query.y; `p` is a dict of weights by their PyTorch names; `s` is a dict of settings as written
after --set, with DEFAULTS below.
"""
import json
import struct

import numpy
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)

DEFAULTS = {
    "net": "conv4", "net.downsample": "stride", "net.bn": "batch", "net.bn_eps": 1e-5,
    "net.filters": 64, "net.hidden": 2, "net.units": 64, "first_order": True, "joint": False, "absent": "origin",
    "inner.steps": 5, "inner.lr": 0.01, "inner.loss": "mean",
    "inner.prox": 0, "inner.batching": "full", "inner.batch": 0, "inner.optimiser": "sgd",
    "inner.beta1": 0, "inner.eps": 1e-8, "objective": "heldout", "blend_labels": 100,
}


class Kinks:
    """How near a task comes to a kink of its net.

    ReLU and max-pooling have kinks, and a value nearer to one than its rounding in
    float32 may fall on the other side there: the gradient then differs by that
    value's whole share, which says nothing about the code.  The distances are in
    units of the normalised activations.
    """

    def __init__(self):
        self.nearest = float("inf")

    def relu(self, y):
        self.note(y.detach().abs().min() / y.detach().std())
        return F.relu(y)

    def pool(self, a):
        pad = (0, a.shape[3] % 2, 0, a.shape[2] % 2)
        windows = F.pad(a.detach(), pad, value=-1.0).unfold(2, 2, 2).unfold(3, 2, 2).flatten(4)
        top = windows.topk(2, dim=-1).values
        gap = (top[..., 0] - top[..., 1])[top[..., 0] > 0]  # where all are 0 nothing flows
        if gap.numel():
            self.note(gap.min() / a.detach().std())
        return F.max_pool2d(a, 2, ceil_mode=True)

    def note(self, distance):
        self.nearest = min(self.nearest, float(distance))


def normalise(z, p, i, s, stat):
    """Batch norm by the statistics of the first `stat` images, or by running averages."""
    if s["net.bn"] == "running":
        mean, var = p["bn%d.running_mean" % i], p["bn%d.running_var" % i]
    else:
        mean = z[:stat].mean(dim=(0, 2, 3))
        var = z[:stat].var(dim=(0, 2, 3), unbiased=False)
    shape = (1, -1, 1, 1)
    xh = (z - mean.view(shape)) / torch.sqrt(var.view(shape) + s["net.bn_eps"])
    return xh * p["bn%d.weight" % i].view(shape) + p["bn%d.bias" % i].view(shape)


def features(p, x, s, kinks, stat):
    if s["net"] == "mlp":
        for i in range(s["net.hidden"]):
            x = kinks.relu(F.linear(x, p["fc%d.weight" % i], p["fc%d.bias" % i]))
        return x
    pool = s["net.downsample"] == "pool"
    for i in range(4):
        x = F.conv2d(x, p["conv%d.weight" % i], p["conv%d.bias" % i], stride=1 if pool else 2,
                     padding=1)
        x = kinks.relu(normalise(x, p, i, s, stat))
        if pool:
            x = kinks.pool(x)
    return x.flatten(1)


def logits(p, x, s, kinks, stat):
    return F.linear(features(p, x, s, kinks, stat), p["head.weight"], p["head.bias"])


def query_logits(p, task, s, kinks):
    """The query by its own statistics, by the support's (one pass over both), or by running."""
    xs, xq = task["support.x"], task["query.x"]
    if s["net.bn"] == "support" and s["net"] == "conv4":
        return logits(p, torch.cat([xs, xq]), s, kinks, len(xs))[len(xs):]
    return logits(p, xq, s, kinks, len(xq))


def trained(p):
    return {k: v for k, v in p.items() if "running" not in k}


class Adam:
    """torch.optim.Adam on one tensor, from zero moments."""

    def __init__(self, s):
        self.s, self.weight, self.optimiser = s, None, None

    def step(self, w, g):
        if self.weight is None:
            self.weight = w.detach().clone()
            self.optimiser = torch.optim.Adam([self.weight], lr=self.s["inner.lr"], eps=self.s["inner.eps"],
                                              betas=(self.s["inner.beta1"], 0.999))
        self.weight.grad = g
        self.optimiser.step()
        return self.weight.detach().clone()


def inner_steps(p, x, y, s, kinks, keep_graph):
    """The weights after the inner loop."""
    fast, adam = dict(p), {name: Adam(s) for name in p}
    if s["inner.batch"]:  # the order of repeated images is ours alone, but for a single one
        assert len(x) == 1
        x, y = x.expand(s["inner.batch"], *x.shape[1:]), y.expand(s["inner.batch"])
    for _ in range(s["inner.steps"]):
        moved = trained(fast)
        loss = F.cross_entropy(logits(fast, x, s, kinks, len(x)), y, reduction=s["inner.loss"])
        loss = loss + s["inner.prox"] / 2 * sum((w - p[n]).square().sum() for n, w in moved.items())
        grads = torch.autograd.grad(loss, list(moved.values()), create_graph=keep_graph)
        for (name, w), g in zip(moved.items(), grads):
            fast[name] = w - s["inner.lr"] * g if s["inner.optimiser"] == "sgd" else adam[name].step(w, g)
            if not keep_graph:
                fast[name] = fast[name].detach().requires_grad_()
    return fast


def asked(task, s):
    """Which query points are in the loss: those of classes with support, or all."""
    present = torch.isin(task["query.y"], task["support.y"])
    return present if s["absent"] == "left-out" else torch.ones_like(present)


def term(p, xs, ys, score, s, kinks):
    """The gradient of score(weights adapted to xs, ys), which gives a loss first."""
    fast = inner_steps(p, xs, ys, s, kinks, not s["first_order"])
    loss, z = score(fast)
    at = trained(fast if s["first_order"] else p)
    return dict(zip(at, torch.autograd.grad(loss, list(at.values())))), loss, z


def maml(p, task, s, kinks):
    """L_Q: adapt to the support, score the query; L_emp: adapt to all labels, score all."""
    x = torch.cat([task["support.x"], task["query.x"]])
    y = torch.cat([task["support.y"], task["query.y"]])

    def query_loss(fast):
        z, kept = query_logits(fast, task, s, kinks), asked(task, s)
        return F.cross_entropy(z[kept], task["query.y"][kept]), z

    def whole_loss(fast):
        z = logits(fast, x, s, kinks, len(x))
        return F.cross_entropy(z, y), z[len(task["support.y"]):]

    if s["objective"] != "empirical":
        grads, loss, z = term(p, task["support.x"], task["support.y"], query_loss, s, kinks)
    if s["objective"] == "empirical":
        return term(p, x, y, whole_loss, s, kinks)
    if s["objective"] == "blend":
        w = len(y) / (len(y) + s["blend_labels"])
        other = term(p, x, y, whole_loss, s, kinks)[0]
        grads = {k: (1 - w) * g + w * other[k] for k, g in grads.items()}
    return grads, loss, z


def reptile(p, task, s, kinks):
    """theta0 - thetaT over support and query together; the loss is the query's at thetaT."""
    x = torch.cat([task["support.x"], task["query.x"]])
    y = torch.cat([task["support.y"], task["query.y"]])
    fast = inner_steps(p, x, y, s, kinks, False)
    grads = {k: (p[k] - fast[k]).detach() for k in trained(p)}
    z = query_logits(fast, task, s, kinks)
    return grads, F.cross_entropy(z, task["query.y"]), z


def protonet(p, task, s, kinks):
    xs, ys, xq, yq = (task[k] for k in ("support.x", "support.y", "query.x", "query.y"))
    one_pass = s["net.bn"] == "support" or (s["net.bn"] == "batch" and s["joint"])
    if one_pass:
        stat = len(xs) if s["net.bn"] == "support" else len(xs) + len(xq)
        z = features(p, torch.cat([xs, xq]), s, kinks, stat)
        zs, zq = z[:len(xs)], z[len(xs):]
    else:
        zs, zq = features(p, xs, s, kinks, len(xs)), features(p, xq, s, kinks, len(xq))
    one_hot = F.one_hot(ys, task["ways"]).to(zs)
    counts = one_hot.sum(0).unsqueeze(1)
    if s["absent"].startswith("prior"):
        extra = p["prior.log_count"].exp().unsqueeze(1)
        prototypes = (one_hot.t() @ zs + extra * p["prior.mean"]) / (counts + extra)
    else:
        prototypes = one_hot.t() @ zs / counts.clamp(min=1)  # no support: the origin
    z = -((zq.unsqueeze(1) - prototypes.unsqueeze(0)) ** 2).sum(-1)
    if s["absent"].startswith("prior"):
        z = z + p["prior.log_odds"]
    kept = asked(task, s)
    if s["absent"] == "left-out":
        z = z.masked_fill(one_hot.sum(0) == 0, -torch.inf)
    loss = F.cross_entropy(z[kept], yq[kept])
    body = {k: v for k, v in trained(p).items() if not k.startswith("head")}
    grads = dict(zip(body, torch.autograd.grad(loss, list(body.values()))))
    if s["absent"] == "prior-mean":  # it follows the class means of those who have some
        means = one_hot.t() @ zs / counts.clamp(min=1)
        grads["prior.mean"] = (p["prior.mean"] - means) * (counts > 0)
    return grads, loss, z


METHODS = {"maml": maml, "reptile": reptile, "fedavg": reptile, "protonet": protonet}


def meta_gradient(method, p, task, settings):
    """({name: gradient}, loss, query logits, distance to the nearest kink)"""
    s = dict(DEFAULTS, **settings)
    kinks = Kinks()
    p = {k: v.detach().clone().requires_grad_("running" not in k) for k, v in p.items()}
    grads, loss, z = METHODS[method](p, task, s, kinks)
    return {k: g.detach() for k, g in grads.items()}, loss.detach(), z.detach(), kinks.nearest


def draw(generator, shape, scale=1.0, shift=0.0):
    """Normal numbers that float32 holds exactly."""
    return (torch.randn(shape, generator=generator) * scale + shift).float().double()


def draw_weights(settings, image, ways, generator):
    s = dict(DEFAULTS, **settings)
    p = {}
    if s["net"] == "mlp":
        wide, = image
        for i in range(s["net.hidden"]):
            p["fc%d.weight" % i] = draw(generator, (s["net.units"], wide), (2 / wide) ** 0.5)
            p["fc%d.bias" % i] = draw(generator, (s["net.units"],), 0.1)
            wide = s["net.units"]
    else:
        (c, h, w), f = image, s["net.filters"]
        for i in range(4):
            p["conv%d.weight" % i] = draw(generator, (f, c, 3, 3), (2 / (9 * c)) ** 0.5)
            p["conv%d.bias" % i] = draw(generator, (f,), 0.1)
            p["bn%d.weight" % i] = draw(generator, (f,), 0.1, 1.0)
            p["bn%d.bias" % i] = draw(generator, (f,), 0.1)
            if s["net.bn"] == "running":
                p["bn%d.running_mean" % i] = draw(generator, (f,), 0.1)
                var = torch.rand((f,), generator=generator) + 0.5
                p["bn%d.running_var" % i] = var.float().double()
            c, h, w = f, (h + 1) // 2, (w + 1) // 2
        wide = c * h * w
    p["head.weight"] = draw(generator, (ways, wide), 0.3 / wide ** 0.5)
    p["head.bias"] = draw(generator, (ways,), 0.1)
    if s["absent"].startswith("prior"):
        p["prior.mean"] = draw(generator, (ways, wide), 0.5, 0.5)
        p["prior.log_count"] = draw(generator, (ways,), 0.5)
        p["prior.log_odds"] = draw(generator, (ways,), 0.5)
    return p


def draw_task(image, ways, support_y, query_y, generator):
    """Very noisy copies of one picture per class: something to learn, but not yet solved.

    On a solved task a float32 gradient of ProtoNets is bound to be off: its logits
    are squared distances of some hundreds, and where the loss is next to nothing
    the relative error of the gradient is the absolute error of the logits.
    """
    kinds = draw(generator, (ways,) + tuple(image), 0.25)

    def pictures(labels):
        y = torch.tensor(labels)
        x = kinds[y] + torch.randn((len(labels),) + tuple(image), generator=generator)
        return x.float().double(), y

    sx, sy = pictures(support_y)
    qx, qy = pictures(query_y)
    return {"ways": ways, "support.x": sx, "support.y": sy, "query.x": qx, "query.y": qy}


TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8"}


def write_safetensors(path, tensors, meta=None):
    """tensors: {name: (dtype, array)}"""
    header, offset, pieces = ({"__metadata__": meta} if meta else {}), 0, []
    for name, (dtype, array) in tensors.items():
        data = numpy.ascontiguousarray(array.numpy().astype(TYPES[dtype])).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
        pieces.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(pieces))


def read_safetensors(path):
    """({name: float64 or int64 tensor}, metadata)"""
    with open(path, "rb") as f:
        data = f.read()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    meta = header.pop("__metadata__", {})
    out = {}
    for name, e in header.items():
        begin, end = (8 + length + o for o in e["data_offsets"])
        array = numpy.frombuffer(data[begin:end], TYPES[e["dtype"]]).reshape(e["shape"])
        out[name] = torch.tensor(array.astype("<i8" if e["dtype"] == "I64" else "<f8"))
    return out, meta


def inputs(p, task, method):
    """What `mete grad` reads, as write_safetensors wants it."""
    out = {k: ("F32", v) for k, v in p.items() if method != "protonet" or "head" not in k}
    for part in ("support", "query"):
        out[part + ".x"] = ("F32", task[part + ".x"])
        out[part + ".y"] = ("I64", task[part + ".y"])
    return out


def assignments(settings):
    """The settings as `--set` takes them; net is an option of its own."""
    words = {True: "yes", False: "no"}
    return ["%s=%s" % (k, words.get(v, v) if isinstance(v, bool) else v)
            for k, v in settings.items() if k != "net"]
