"""MAML in PyTorch (Finn et al. 2017), second order, as a learner of mete.

It is the textbook's loop, and takes the settings of mete's own MAML by the same names, so that one
suite can set both.
"""
import io

import mete
import torch
from torch.nn import functional as F

BLOCKS = 4


class TorchMaml(mete.Learner):
    summary = "MAML in PyTorch"
    params = {"filters": (32, 1, 256), "lr": (0.005, 0.0, 1.0), "inner.steps": (5, 1, 100),
              "inner.lr": (0.01, 0.0, 100.0), "test.steps": (10, 0, 1000)}
    features = 0  # it shows no representations, so strategies that look at them refuse it

    def __init__(self, spec):
        super().__init__(spec)
        torch.set_num_threads(1)  # of a few images at a time there is nothing to share
        self.random = torch.Generator().manual_seed(spec.seed % 2**63)
        self.weights = self.initial()
        self.optimiser = torch.optim.Adam(self.weights, self.spec.settings["lr"], betas=(0, 0.999))

    # ---- the net: four convolutions of stride 2 with batch norm, and a head ----

    def initial(self):
        h, w, channels = self.spec.shape
        filters, weights = self.spec.settings["filters"], []
        for _ in range(BLOCKS):
            weights += [self.glorot(filters, channels, 3, 3), torch.ones(filters), torch.zeros(filters)]
            h, w, channels = (h + 1) // 2, (w + 1) // 2, filters
        weights += [self.glorot(self.spec.ways, h * w * filters), torch.zeros(self.spec.ways)]
        return [t.requires_grad_() for t in weights]

    def glorot(self, *shape):
        field = shape[2] * shape[3] if len(shape) == 4 else 1
        most = (6 / (field * (shape[0] + shape[1]))) ** 0.5
        return (2 * torch.rand(*shape, generator=self.random) - 1) * most

    def logits(self, x, weights):
        for i in range(BLOCKS):
            kernel, gamma, beta = weights[3 * i:3 * i + 3]
            x = F.conv2d(x, kernel, stride=2, padding=1)
            x = F.relu(F.batch_norm(x, None, None, gamma, beta, training=True))
        return F.linear(x.flatten(1), *weights[-2:])

    @staticmethod
    def tensors(items):
        """Images as PyTorch has them, (n, c, h, w)."""
        return torch.from_numpy(items.x).permute(0, 3, 1, 2).contiguous()

    # ---- the inner loop, and what a learner does ----

    def adapted(self, support, steps, training):
        x, y, weights = self.tensors(support), torch.from_numpy(support.labels).long(), self.weights
        for _ in range(steps):
            loss = F.cross_entropy(self.logits(x, weights), y)
            gradients = torch.autograd.grad(loss, weights, create_graph=training)
            weights = [w - self.spec.settings["inner.lr"] * g for w, g in zip(weights, gradients)]
        return weights

    def known(self, task):
        """Labels of the query; -1 where the support has none of the class, as method.absent=left-out."""
        y = torch.from_numpy(task.query.labels).long()
        return torch.where(torch.isin(y, torch.from_numpy(task.support.labels).long()), y, -1)

    def step(self, tasks):
        self.optimiser.zero_grad()
        total = 0.0
        for task in tasks:
            weights = self.adapted(task.support, self.spec.settings["inner.steps"], True)
            y = self.known(task)
            if (y < 0).all():
                continue
            loss = F.cross_entropy(self.logits(self.tensors(task.query), weights), y, ignore_index=-1) / len(tasks)
            loss.backward()
            total += loss.item()
        self.optimiser.step()
        return total

    def adapt(self, support):
        steps = self.spec.settings["test.steps"] if len(support) else 0
        self.mine = [w.detach() for w in self.adapted(support, steps, False)]

    def predict(self, query):
        with torch.no_grad():
            return torch.softmax(self.logits(self.tensors(query), self.mine), 1).numpy()

    # ---- checkpoints ----

    def save(self):
        return written([w.detach() for w in self.weights])

    def load(self, data):
        with torch.no_grad():
            for own, w in zip(self.weights, torch.load(io.BytesIO(data))):
                own.copy_(w)

    def save_training(self):
        return written(self.optimiser.state_dict())

    def load_training(self, data):
        self.optimiser.load_state_dict(torch.load(io.BytesIO(data)))


def written(what):
    to = io.BytesIO()
    torch.save(what, to)
    return to.getvalue()
