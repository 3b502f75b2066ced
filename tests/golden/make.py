#!/usr/bin/python3
"""Writes the golden tensors, tests/golden/*.safetensors, with PyTorch in float64.

    tests/golden/make.py [CASE]...  (needs python3-torch; all take about a minute)

Each file holds a task and weights as `mete grad` reads them, the expected
outputs as expect.NAME, expect.loss and expect.logits, and in __metadata__ the
method, the net and the settings, one "key=value" per line.  The nets are small,
so that all files together stay below 3 MB; perf/verify_torch checks the full
shapes.  Seeds are tried until no activation lies near a kink (see Kinks).
"""
import pathlib
import sys

import torch

import reference as ref

HERE = pathlib.Path(__file__).parent
MARGIN = 2e-6  # rounding in float32 stays well below this

GREY, COLOUR, SMALL, ODD = (1, 28, 28), (3, 20, 20), (3, 16, 16), (2, 17, 21)
ONE_SHOT = ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0])
UNEQUAL = ([0, 0, 1, 2, 2, 2, 3], [0, 1, 2, 3, 4, 4, 1, 0, 3, 2, 4])  # class 4 has no support
POOL = {"net.downsample": "pool"}
SECOND = {"first_order": False}
SUM = {"inner.loss": "sum"}
ONE_IMAGE = ([2], [0, 1, 2, 3, 4])
PROX = {"inner.prox": 1.5, "inner.lr": 0.1, "inner.steps": 5}
EMPIRICAL = {"objective": "empirical"}
BLEND = {"objective": "blend", "blend_labels": 30}
LEFT_OUT = {"absent": "left-out"}
ADAM = {"inner.optimiser": "adam", "inner.eps": 0.01, "inner.steps": 5}  # else a step is the sign of rounding errors
PRIOR = {"absent": "prior"}
PRIOR_MEAN = {"absent": "prior-mean"}
ROWS = {"net": "mlp", "net.hidden": 2, "net.units": 12}


def case(method, image=GREY, labels=ONE_SHOT, filters=8, **settings):
    return method, image, labels, dict(said(method), **dict({"net.filters": filters}, **settings))


def rows(method, **settings):
    return method, (24,), UNEQUAL, dict(said(method), **dict(ROWS, **settings))


def said(method):
    """The settings that have another default than ours (reference.DEFAULTS)."""
    return {"absent": "origin"} if method in ("maml", "protonet") else {}


CASES = {
    "protonet": case("protonet"),
    "protonet-joint": case("protonet", joint=True),
    "protonet-pool": case("protonet", COLOUR, filters=5, **POOL),
    "protonet-support": case("protonet", labels=UNEQUAL, **{"net.bn": "support"}),
    "protonet-running": case("protonet", SMALL, UNEQUAL, **{"net.bn": "running"}),
    "protonet-missing": case("protonet", labels=UNEQUAL, filters=5),
    "protonet-left-out": case("protonet", labels=UNEQUAL, filters=5, **LEFT_OUT),
    "protonet-left-out-joint": case("protonet", labels=UNEQUAL, joint=True, **LEFT_OUT),
    "protonet-left-out-support": case("protonet", SMALL, UNEQUAL, **LEFT_OUT,
                                      **{"net.bn": "support"}),
    "protonet-left-out-mlp": rows("protonet", **LEFT_OUT),
    "protonet-prior": case("protonet", SMALL, UNEQUAL, filters=5, **PRIOR),
    "protonet-prior-joint": case("protonet", SMALL, UNEQUAL, filters=3, joint=True, **PRIOR),
    "protonet-prior-pool": case("protonet", SMALL, UNEQUAL, filters=5, **PRIOR, **POOL),
    "protonet-prior-running": case("protonet", SMALL, UNEQUAL, filters=3, **PRIOR,
                                   **{"net.bn": "running"}),
    "protonet-prior-mlp": rows("protonet", **PRIOR),
    "protonet-prior-mean": case("protonet", SMALL, UNEQUAL, filters=5, **PRIOR_MEAN),
    "protonet-prior-mean-joint": case("protonet", SMALL, UNEQUAL, filters=3, joint=True, **PRIOR_MEAN),
    "protonet-prior-mean-mlp": rows("protonet", **PRIOR_MEAN),
    "protonet-mlp": rows("protonet"),
    "fomaml": case("maml", first_order=True),
    "fomaml-pool": case("maml", COLOUR, filters=5, first_order=True, **POOL),
    "maml": case("maml", **SECOND),
    "maml-rate": case("maml", **SECOND, **{"inner.lr": 0.1}),
    "maml-sum": case("maml", **SECOND, **SUM, **{"inner.lr": 0.1}),
    "maml-pool": case("maml", COLOUR, filters=5, **SECOND, **POOL),
    "maml-odd": case("maml", ODD, UNEQUAL, filters=5, **SECOND, **{"inner.lr": 0.05}),
    "maml-odd-pool": case("maml", ODD, UNEQUAL, filters=5, **SECOND, **POOL),
    "maml-support": case("maml", labels=UNEQUAL, **SECOND, **{"net.bn": "support"}),
    "maml-support-pool": case("maml", COLOUR, filters=5, **SECOND, **POOL, **{"net.bn": "support"}),
    "maml-running": case("maml", SMALL, UNEQUAL, **SECOND, **{"net.bn": "running"}),
    "maml-eps": case("maml", COLOUR, filters=16, **SECOND, **{"net.bn_eps": 0.001}),
    "maml-left-out": case("maml", SMALL, UNEQUAL, **SECOND, **LEFT_OUT, **{"inner.lr": 0.1}),
    "maml-left-out-support": case("maml", SMALL, UNEQUAL, filters=5, **SECOND, **LEFT_OUT,
                                  **{"net.bn": "support"}),
    "maml-repeated": case("maml", SMALL, ONE_IMAGE, filters=3, **SECOND, **SUM,
                          **{"inner.batching": "shuffled", "inner.batch": 7}),
    "fomaml-adam-mlp": rows("maml", first_order=True, **ADAM, **{"inner.lr": 0.03}),
    "reptile-adam": case("reptile", SMALL, UNEQUAL, filters=3, **ADAM, **{"inner.lr": 0.01}),
    "reptile-adam-mlp": rows("reptile", **ADAM, **{"inner.lr": 0.03, "inner.beta1": 0.9}),
    "reptile-adam-prox-mlp": rows("reptile", **ADAM, **{"inner.lr": 0.03, "inner.prox": 1.5}),
    "maml-prox": case("maml", SMALL, UNEQUAL, filters=5, **SECOND, **PROX),
    "maml-prox-running": case("maml", SMALL, UNEQUAL, filters=3, **SECOND, **PROX,
                              **{"net.bn": "running"}),
    "maml-prox-mlp": rows("maml", **SECOND, **PROX),
    "fomaml-prox-mlp": rows("maml", first_order=True, **PROX),
    "reptile-prox": case("reptile", SMALL, UNEQUAL, filters=3, **PROX),
    "reptile-prox-mlp": rows("reptile", **PROX),
    "fedavg-prox-mlp": rows("fedavg", **PROX),
    "maml-empirical-mlp": rows("maml", **SECOND, **LEFT_OUT, **EMPIRICAL, **{"inner.lr": 0.1}),
    "maml-empirical": case("maml", SMALL, UNEQUAL, filters=3, **SECOND, **EMPIRICAL,
                           **{"inner.lr": 0.1, "net.bn": "support"}),
    "fomaml-empirical-mlp": rows("maml", first_order=True, **EMPIRICAL, **{"inner.lr": 0.1}),
    "maml-blend-mlp": rows("maml", **SECOND, **LEFT_OUT, **BLEND, **PROX),
    "maml-blend": case("maml", SMALL, UNEQUAL, filters=3, **SECOND, **LEFT_OUT, **BLEND,
                       **{"inner.lr": 0.1}),
    "fomaml-blend-mlp": rows("maml", first_order=True, **BLEND, **{"inner.lr": 0.1}),
    "maml-mlp": rows("maml", **SECOND, **{"inner.lr": 0.1}),
    "reptile": case("reptile", **{"inner.steps": 10, "inner.lr": 0.001}),
    "reptile-pool": case("reptile", SMALL, UNEQUAL, filters=5, **POOL,
                         **{"inner.steps": 10, "inner.lr": 0.01}),
    "reptile-running": case("reptile", SMALL, UNEQUAL,
                            **{"inner.steps": 10, "inner.lr": 0.01, "net.bn": "running"}),
    "reptile-mlp": rows("reptile", **{"inner.steps": 10, "inner.lr": 0.1}),
    "fedavg": case("fedavg", labels=UNEQUAL, filters=5,
                   **{"inner.steps": 10, "inner.lr": 0.01}),
    "fedavg-sum": case("fedavg", COLOUR, **SUM, **{"inner.steps": 10, "inner.lr": 0.002}),
}


def make(name, method, image, labels, settings):
    ways = 5
    for seed in range(1, 100):
        generator = torch.Generator().manual_seed(seed)
        p = ref.draw_weights(settings, image, ways, generator)
        task = ref.draw_task(image, ways, *labels, generator)
        grads, loss, logits, kink = ref.meta_gradient(method, p, task, settings)
        if kink > MARGIN:
            break
    else:
        raise SystemExit("%s: no seed keeps away from the kinks" % name)
    tensors = ref.inputs(p, task, method)
    for key, value in dict(grads, loss=loss, logits=logits).items():
        tensors["expect." + key] = ("F64", value)
    meta = {"method": method, "net": settings.get("net", "conv4"),
            "set": "\n".join(ref.assignments(settings))}
    path = HERE / (name + ".safetensors")
    ref.write_safetensors(path, tensors, meta)
    print("%-20s %6d bytes  loss %.6f  nearest kink %.1e  seed %d"
          % (name, path.stat().st_size, loss, kink, seed))
    return path.stat().st_size


def main():
    total = sum(make(name, *spec) for name, spec in CASES.items() if name in (sys.argv[1:] or CASES))
    print("%d cases, %.2f MB" % (len(CASES), total / 1e6))
    assert total < 3e6


main()
