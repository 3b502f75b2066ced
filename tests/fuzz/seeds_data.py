#!/usr/bin/env python3
"""Makes the seed inputs of the importers' harnesses.

    python3 tests/fuzz/seeds_data.py

Small, valid and nearly valid files; the fuzzer does the rest.  JPEG files are kept as
text, since the standard library cannot make them.
"""
import base64
import gzip
import io
import lzma
import pathlib
import struct
import tarfile
import zipfile
import zlib

SEEDS = pathlib.Path(__file__).parent / "seeds"
JPEG_GREY = (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNy"
    "wtQFdBRkxOUlNSMj5aYVpQYEpRUk//wgALCAAIAAkBAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAgT/2gAIAQEAAAAB"
    "gf8A/8QAFRABAQAAAAAAAAAAAAAAAAAAEDL/2gAIAQEAAQUCk//EABYQAAMAAAAAAAAAAAAAAAAAABBhsf/aAAgBAQ"
    "AGPwJQf//EABYQAQEBAAAAAAAAAAAAAAAAAPAQMf/aAAgBAQABPyEmT//aAAgBAQAAABB//8QAGBAAAgMAAAAAAAAA"
    "AAAAAAAAAPAxceH/2gAIAQEAAT8QdYqD/9k=")
JPEG_COLOUR = (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNy"
    "wtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09P"
    "T09PT09PT09PT09PT09PT09PT09PT0//wgARCAAIAAkDASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAAEC/8"
    "QAFQEBAQAAAAAAAAAAAAAAAAAAAwX/2gAMAwEAAhADEAAAAZoCV//EABUQAQEAAAAAAAAAAAAAAAAAABAx/9oACAEB"
    "AAEFAof/xAAXEQEAAwAAAAAAAAAAAAAAAAACAAEh/9oACAEDAQE/AVppT//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2g"
    "AIAQIBAT8Bf//EABUQAQEAAAAAAAAAAAAAAAAAABBh/9oACAEBAAY/Aof/xAAWEAADAAAAAAAAAAAAAAAAAAAQUfD/"
    "2gAIAQEAAT8hpD//2gAMAwEAAgADAAAAEAP/xAAaEQACAgMAAAAAAAAAAAAAAAABIRFxMVFh/9oACAEDAQE/EHDJJB"
    "7EO293JP8A/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAgEBPxB//8QAGBAAAgMAAAAAAAAAAAAAAAAAMfAAcbH/"
    "2gAIAQEAAT8QRDKE/9k=")


def write(name, data):
    path = SEEDS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour, rows, extra=b"", interlace=0):
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))
            + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def npy(descr, shape, data):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def zipped(files, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in files.items():
            z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def tarred(files, form=tarfile.USTAR_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, bufsize=512) as t:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()[:len(files) * 1024 + 1024]


def idx(kind, shape, data):
    return bytes([0, 0, kind, len(shape)]) + b"".join(struct.pack(">I", n) for n in shape) + data


def main():
    pngs = {
        "grey8": png(3, 2, 8, 0, bytes(8)),
        "bits1": png(9, 2, 1, 0, b"\x00\xaa\x80\x00\x55\x00"),
        "rgb": png(2, 2, 8, 2, b"\x00abcdef\x01ghijkl"),
        "palette": png(2, 1, 8, 3, b"\x00\x00\x01", chunk(b"PLTE", b"abcdef") + chunk(b"tRNS", b"\x80")),
        "grey_alpha16": png(1, 1, 16, 4, b"\x00\x12\x34\x80\x00"),
        "rgba": png(1, 2, 8, 6, b"\x00abcd\x00efgh"),
        "interlaced": png(3, 3, 8, 0, b"\x00a\x00b\x00c\x00d\x00e\x00fgh" + bytes(8), interlace=1),
        "cut": png(3, 2, 8, 0, bytes(8))[:40],
    }
    for name, data in pngs.items():
        write("png/" + name, data)
    jpegs = {"grey": base64.b64decode(JPEG_GREY), "colour": base64.b64decode(JPEG_COLOUR)}
    for name, data in jpegs.items():
        write("jpeg/" + name, data)
    write("jpeg/cut", jpegs["grey"][:300])

    tree = {"a/1.png": pngs["grey8"], "b/2.png": pngs["grey8"]}
    people = {"ann/a/1.png": pngs["rgb"], "bob/a/1.jpg": jpegs["colour"]}
    for name in ("zip", "folder"):
        write(name + "/deflated.zip", zipped(tree))
        write(name + "/stored.zip", zipped(people, zipfile.ZIP_STORED))
    write("zip/cut.zip", zipped(tree)[:-30])
    for name in ("tar", "folder"):
        write(name + "/plain.tar", tarred(tree))
        write(name + "/gzip.tar", gzip.compress(tarred(people), mtime=0))
        write(name + "/xz.tar", lzma.compress(tarred(tree)))
    write("tar/pax.tar", tarred({"é" * 60 + "/1.png": b"x"}, tarfile.PAX_FORMAT))

    table = "a,b,u,y\n1,2.5,ann,no\n-1e3,0,\"b \"\"ob\",yes\r\n"
    for name in ("csv", "table"):
        write(name + "/quoted", table)
        write(name + "/plain", "u,x,y\nq,1,2\nr,3,4\n")
        write(name + "/broken", "y,x\n1,\"2\n")
    image = "[" + ", ".join(["1.0", "0.996078431372549"] * 32) + "]"
    write("leaf/pixels", '{"users": ["u"], "num_samples": [3], "user_data": {"u": {"x": [%s, %s, %s], '
          '"y": [1, 1, 61]}}}' % (image, image, image.replace("1.0", "0.0")))
    write("leaf/rows", '{"user_data": {"a": {"y": [0, 1], "x": [[1, 2], [1, 2]]}, "b": {"x": [], "y": []}},'
          '"users": ["a", "b"], "num_samples": [2, 0], "hierarchies": ["h"]}')
    images = idx(8, (2, 2, 2), b"abcdefgh")
    labels = idx(8, (2,), b"\x01\x07")
    pair = images + labels
    write("idx/pair", bytes([255 * len(images) // len(pair) + 1]) + pair)
    wide = idx(8, (1, 1, 2, 3), b"abcdef") + idx(12, (1,), b"\xff\xff\xff\xfe")
    write("idx/wide", bytes([255 * 26 // len(wide) + 1]) + wide)
    arrays = {"x.npy": npy("|u1", "(2, 2, 2)", b"abcdefgh"),
              "y.npy": npy("<i8", "(2,)", struct.pack("<2q", 3, -1)),
              "user.npy": npy("<i4", "(2,)", struct.pack("<2i", 5, 5)),
              "part.npy": npy("|u1", "(2,)", b"\x00\x01")}
    write("arrays/images", zipped(arrays))
    arrays["x.npy"] = npy("<f8", "(2, 1)", struct.pack("<2d", 1, 2))
    write("arrays/rows", zipped(arrays, zipfile.ZIP_STORED))
    write("meta/users", '{"format": 1, "name": "n", "items": 3, "classes": 2, "users": 2, "shape": [2, 2, 1],'
          '"dtype": "uint8", "scale": 0.5, "shift": 0, "source": "", "licence": "", "sha256": "",'
          '"arrays": ["x", "y", "user", "part"], "class_names": ["a", "b"], "class_groups": ["g", "g"],'
          '"class_split": ["train", "test"], "user_names": ["u", "v"], "notes": {"k": "v"}}')
    write("meta/plain", '{"format": 1, "items": 3, "classes": 2, "users": 0, "shape": [2, 2, 1],'
          '"dtype": "uint8", "scale": 1, "shift": 0, "arrays": ["x", "y"]}')


main()
