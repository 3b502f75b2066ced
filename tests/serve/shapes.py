"""shapes.py FOLDER [N [KNOWN]] - draws N pictures (60) of discs, squares, triangles and rings: the
first KNOWN (0) into FOLDER/CLASS, the others into FOLDER/unlabelled; FOLDER.truth has all."""
import math
import pathlib
import random
import struct
import sys
import zlib

SIDE = 40
KINDS = ('disc', 'ring', 'square', 'triangle')


def inside(kind, x, y, r):
    if kind == 'disc':
        return math.hypot(x, y) < r
    if kind == 'ring':
        return 0.6 * r < math.hypot(x, y) < r
    if kind == 'square':
        return max(abs(x), abs(y)) < 0.8 * r
    return -0.8 * r < y < 0.8 * r and abs(x) < (y + 0.8 * r) * 0.6


def draw(kind, rng):
    r, turn = rng.uniform(9, 16), rng.uniform(-0.5, 0.5)
    cx, cy = rng.uniform(17, 23), rng.uniform(17, 23)
    paper, ink = [[rng.randint(*span) for _ in range(3)] for span in ((205, 255), (20, 150))]
    rows = []
    for i in range(SIDE):
        row = bytearray([0])
        for j in range(SIDE):
            hits = 0
            for u in (-0.25, 0.25):
                for v in (-0.25, 0.25):
                    x, y = j + u - cx, i + v - cy
                    hits += inside(kind, x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn), r)
            row += bytes((p * (4 - hits) + k * hits) // 4 for p, k in zip(paper, ink))
        rows.append(bytes(row))
    return b''.join(rows)


def png(rows):
    def chunk(name, data):
        return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
    head = struct.pack('>IIBBBBB', SIDE, SIDE, 8, 2, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


folder, n, known = pathlib.Path(sys.argv[1]), int((sys.argv[2:] or [60])[0]), int((sys.argv[3:] or [0])[0])
rng = random.Random(7)
truth = []
for i in range(n):
    kind = KINDS[i % 4] if i < known else rng.choice(KINDS)
    place = folder / (kind if i < known else 'unlabelled') / f'{i:04}.png'
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(png(draw(kind, rng)))
    truth.append(f'{place.parent.name}/{place.name},{kind}\n')
folder.with_suffix('.truth').write_text(''.join(truth))
