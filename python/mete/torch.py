"""A model as a PyTorch module with the same weights, and back.  Imports torch: `import mete.torch`."""
from __future__ import annotations

import json
import struct
from typing import Any, Dict, Optional, Tuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ._arrays import Array, Floats, array_of, items_of
from .model import Model


class MetaModule(nn.Module):  # type: ignore[misc]
    """The net of a model.  Its state_dict has the names of `Model.state_dict`.

    forward(x): logits (n, ways), whose softmax is `Model.predict_proba`; embed(x): representations.  x is what
    `tensor` makes of items.  ProtoNets compare with the prototypes of the task that the model was adapted to.
    In eval mode batch norm uses the statistics of the file, in train mode those of the batch.
    """

    def __init__(self, weights: Dict[str, Floats], says: Dict[str, str]) -> None:
        super().__init__()
        self.pool = says.get("net.downsample") == "pool"
        self.blocks = 0
        while "conv%d.weight" % self.blocks in weights:
            self._add_conv(self.blocks, weights, float(says.get("net.bn_eps", 1e-5)))
            self.blocks += 1
        self.denses = [name[:-len(".weight")] for name in sorted(weights)
                       if name.startswith("fc") and name.endswith(".weight")]
        for name in self.denses + ["head"] * ("head.weight" in weights):
            out, into = weights[name + ".weight"].shape
            self.add_module(name, nn.Linear(into, out))
        self.curved = says["net"] != "linear"  # a linear net has no ReLU
        for name in ("prior.mean", "prior.log_count", "prior.log_odds"):
            if name in weights:
                self._put(name, weights[name])
        self.prototypes: Any = None
        self.odds: Any = None  # (ways) log odds of the classes; -inf: left out, since nobody gave an example

    def _put(self, name: str, values: Floats) -> None:
        """A parameter of a name with a dot, as state_dict has it."""
        inner = getattr(self, "prior", None)
        if inner is None:
            inner = nn.Module()
            self.add_module("prior", inner)
        inner.register_parameter(name.split(".")[1], nn.Parameter(torch.from_numpy(values.copy())))

    def _add_conv(self, i: int, weights: Dict[str, Floats], eps: float) -> None:
        out, into = weights["conv%d.weight" % i].shape[:2]
        self.add_module("conv%d" % i, nn.Conv2d(into, out, 3, 1 if self.pool else 2, 1))
        self.add_module("bn%d" % i, nn.BatchNorm2d(out, eps=eps))

    def embed(self, x: Any) -> Any:
        for i in range(self.blocks):
            x = F.relu(getattr(self, "bn%d" % i)(getattr(self, "conv%d" % i)(x)))
            if self.pool:
                x = F.max_pool2d(x, 2, ceil_mode=True)
        x = x.flatten(1)
        for name in self.denses:
            x = getattr(self, name)(x)
            x = F.relu(x) if self.curved else x
        return x

    def forward(self, x: Any) -> Any:
        x = self.embed(x)
        if hasattr(self, "head"):
            return self.head(x)
        if self.prototypes is None:
            raise RuntimeError("the model compares with prototypes, and was not adapted; use embed")
        far = ((x[:, None] - self.prototypes) ** 2).sum(2)
        return self.odds - far


def contents(data: bytes) -> Tuple[Dict[str, Floats], Dict[str, str]]:
    """The tensors of a safetensors file, and what it says."""
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    says = head.pop("__metadata__", {})
    out = {}
    for name, t in head.items():
        if t["dtype"] == "F32":
            first, last = (8 + n + at for at in t["data_offsets"])
            out[name] = np.frombuffer(data[first:last], np.float32).reshape(t["shape"])
    return out, says


def module(model: Model, task: Optional[bool] = None) -> MetaModule:
    """The module of a model.  task: with the weights of the task it is adapted to; None: if it is."""
    info = model.info
    if info.bn == "support":
        raise ValueError("net.bn=support normalises with the support of a task, which a module does not have; load "
                         "the model with settings={'net.bn': 'running'}")
    tensors, says = contents(model.to_bytes())
    task = info.adapted if task is None else task
    if task and not info.adapted:
        raise ValueError("the model is not adapted to a task")
    weights = {k: v for k, v in tensors.items() if not k.startswith("task.")}
    if "baseline" in weights:
        raise ValueError("a model of method %s has no net" % info.method)
    if task and "task.prototypes" not in tensors:
        weights.update({k[len("task."):]: v for k, v in tensors.items() if k.startswith("task.")})
    made = MetaModule(weights, says)
    fill(made, weights)
    if task and "task.prototypes" in tensors:
        give_prototypes(made, tensors, says)
    return made.train(info.bn == "batch")  # type: ignore[no-any-return]


def fill(made: MetaModule, weights: Dict[str, Floats]) -> None:
    own = made.state_dict()
    made.load_state_dict({**{k: v for k, v in own.items() if k.endswith(("tracked", "running_mean", "running_var"))},
                          **{k: torch.from_numpy(v.copy()) for k, v in weights.items()}})


def give_prototypes(made: MetaModule, tensors: Dict[str, Floats], says: Dict[str, str]) -> None:
    prototypes, count = tensors["task.prototypes"], tensors["task.count"]
    left_out = says.get("method.absent") == "left-out"
    odds = np.where((count > 0) | (not left_out), np.float32(0), np.float32(-np.inf))
    if "prior.mean" in tensors:
        odds = tensors["prior.log_odds"]
        worth = np.exp(tensors["prior.log_count"].astype(np.float64))
        share = (count / (count + worth))[:, None]
        prototypes = (prototypes * share + tensors["prior.mean"] * (1 - share)).astype(np.float32)
    made.prototypes, made.odds = torch.from_numpy(prototypes.copy()), torch.from_numpy(odds.copy())


def load(model: Model, trained: nn.Module) -> None:
    """Gives a model the weights of a module.  It is as it was learned, with them."""
    state = {name: t.detach().cpu().numpy() for name, t in trained.state_dict().items()}
    own = model.state_dict()
    aside = {name for name in state if name.endswith(("num_batches_tracked", "running_mean", "running_var"))}
    model.load_state_dict({name: a for name, a in state.items() if name in own or name not in aside})


def tensor(model: Model, x: Array) -> Any:
    """Items as the module takes them: scaled as in training, (n, c, h, w) or (n, features)."""
    info = model.info
    a = array_of(items_of(x))
    if (a.h, a.w, a.c) != ((1, 1) + info.shape if len(info.shape) == 1 else info.shape):
        raise ValueError("items of %d x %d x %d, and the model takes %s" % (a.h, a.w, a.c, info.shape))
    t = torch.from_numpy(np.array(x, np.float32)) * info.scale + info.shift
    return t if x.ndim == 2 else t.reshape(len(x), a.h, a.w, a.c).permute(0, 3, 1, 2).contiguous()
