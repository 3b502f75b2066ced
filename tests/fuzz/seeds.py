#!/usr/bin/env python3
"""Makes the seed inputs of the json, safetensors, npy and grad harnesses.

    python3 tests/fuzz/seeds.py

Small, valid and nearly valid files; the fuzzer does the rest.
"""
import json
import pathlib
import struct

SEEDS = pathlib.Path(__file__).parent / "seeds"


def write(name, data):
    path = SEEDS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def safetensors(tensors, data, meta=None):
    header = {"__metadata__": meta} if meta else {}
    for name, dtype, shape, begin, end in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy(version, descr, order, shape, data):
    text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)
    start = 10 if version == 1 else 12
    text += " " * (-(start + len(text) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data


def task(choice, shapes, x):
    """A task for `mete grad`: the first byte chooses method and net."""
    tensors, data = [], b""
    for name, shape in list(shapes.items()) + [("support.x", [3] + x), ("query.x", [2] + x)]:
        count = 1
        for n in shape:
            count *= n
        values = struct.pack("<%df" % count, *(((i * 37) % 101) / 50 - 1 for i in range(count)))
        tensors.append((name, "F32", shape, len(data), len(data) + len(values)))
        data += values
    for name, labels in (("support.y", (0, 1, 1)), ("query.y", (1, 0))):
        values = struct.pack("<%dq" % len(labels), *labels)
        tensors.append((name, "I64", [len(labels)], len(data), len(data) + len(values)))
        data += values
    return bytes([choice]) + safetensors(tensors, data)


def tasks():
    mlp = {"fc0.weight": [2, 3], "fc0.bias": [2], "fc1.weight": [2, 2], "fc1.bias": [2],
           "head.weight": [2, 2], "head.bias": [2]}
    conv4 = {}
    for i in range(4):
        conv4.update({"conv%d.weight" % i: [1, 1, 3, 3], "conv%d.bias" % i: [1],
                      "bn%d.weight" % i: [1], "bn%d.bias" % i: [1]})
    conv4.update({"head.weight": [2, 1], "head.bias": [2]})
    for method in range(4):
        write("grad/mlp%d" % method, task(method, mlp, [3]))
        write("grad/conv%d" % method, task(4 + method, conv4, [1, 16, 16]))


def main():
    tasks()
    write("json/values", '[1, -2.5e3, 0.1, true, false, null, "a\\u00e9\\ud834\\udd1e\\n", {}]')
    write("json/leaf", '{"users": ["f0001"], "num_samples": [2],\n "user_data": {"f0001": '
          '{"x": [[1.0, 0.9921568627], [0.5, 1e-3]], "y": [3, 61]}}}')
    write("json/deep", "[" * 20 + "]" * 20)
    write("json/long", '{"k": "' + "x" * 300 + '", "n": 12345678901234567890123456789}')
    write("json/broken", '{"a": [1, 2')

    f32 = struct.pack("<6f", 1, 2, 3, 4, 5, 6)
    i64 = struct.pack("<2q", 0, 1)
    write("safetensors/two", safetensors(
        [("head.weight", "F32", [2, 3], 0, 24), ("support.y", "I64", [2], 24, 40)], f32 + i64,
        {"method": "maml"}))
    write("safetensors/empty", safetensors([], b""))
    write("safetensors/types", safetensors(
        [("a", "F16", [1], 0, 2), ("b", "BF16", [1], 2, 4), ("c", "I16", [1], 4, 6),
         ("d", "I8", [], 6, 7), ("e", "BOOL", [1], 7, 8), ("f", "U8", [0], 8, 8)], bytes(8)))
    write("safetensors/overlap", safetensors(
        [("a", "F32", [2], 0, 8), ("b", "F32", [2], 4, 12)], bytes(12)))

    for version in (1, 2):
        write("npy/v%d" % version, npy(version, "'<f4'", "False", "(2, 3)", f32))
    write("npy/u1", npy(1, "'|u1'", "False", "(5,)", b"abcde"))
    write("npy/i8", npy(1, "'<i8'", "False", "()", struct.pack("<q", 7)))
    write("npy/fortran", npy(1, "'<f8'", "True", "(1, 1)", bytes(8)))


main()
