"""Runs torch_gpu.py, which measures PyTorch, such that it may compile beside others but uses the
GPU only when it is its turn:

    python3 torch_turns.py PATH/torch_gpu.py      (settings in the environment, as for that)

Before a way is tried it says "ready" and waits for a line on stdin; its turn ends with the line
that says how fast the way was, or that it failed.  A compiled way is ready when its kernels have
been made: what is tuned by running it is tuned in its turn.
"""
import sys
import types

state = {"mine": False, "compiled": False}


def take_turn():
    if state["mine"]:
        return
    print("ready", flush=True)
    if not sys.stdin.readline():
        raise SystemExit("nobody gives turns")
    state["mine"] = True


def compile_only(graph, inputs):
    """A backend of torch.compile: inductor, but the first run waits for its turn."""
    from torch._inductor.compile_fx import compile_fx
    run = compile_fx(graph, inputs)

    def in_turn(*args):
        take_turn()
        return run(*args)
    return in_turn


def main(path):
    with open(path) as f:
        body, call, _ = f.read().rpartition("main()")
    if not call:
        raise SystemExit("%s does not end in main()" % path)
    module = types.ModuleType("torch_gpu")
    sys.modules[module.__name__] = module  # torch.compile imports what it compiles by name
    scope = module.__dict__
    exec(compile(body, path, "exec"), scope)
    make, graph, timeit = scope["init"], scope["graph"], scope["timeit"]
    compile_fn = scope["torch"].compile

    def init(*args):  # the first thing done for a way
        state.update(mine=False, compiled=False)
        return make(*args)

    def compile_later(fn):
        state["compiled"] = True
        return compile_fn(fn, backend=compile_only)

    def graph_in_turn(f):
        if not state["compiled"]:
            take_turn()
        return graph(f)

    def timeit_in_turn(f, budget):
        if not state["compiled"]:
            take_turn()
        return timeit(f, budget)

    scope["torch"].compile = compile_later
    scope.update(init=init, graph=graph_in_turn, timeit=timeit_in_turn)
    scope["main"]()


if len(sys.argv) != 2:
    raise SystemExit("usage: torch_turns.py PATH/torch_gpu.py")
main(sys.argv[1])
