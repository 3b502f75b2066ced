"""read_events.py DB DIR - reads event files back, with Python's own library only, and
holds them against the database: framing, checksums, tags, steps and values."""
import glob
import os
import sqlite3
import struct
import sys

TABLE = []
for n in range(256):
    for _ in range(8):
        n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


assert crc32c(b'123456789') == 0xE3069283  # the check value of CRC-32C


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    with open(path, 'rb') as f:
        data = f.read()
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        (length,), (check,) = struct.unpack('<Q', head), struct.unpack_from('<I', data, at + 8)
        assert check == masked(head), f'{path}: bad checksum of a length at {at}'
        body = data[at + 12:at + 12 + length]
        assert len(body) == length, f'{path}: cut short'
        (check,) = struct.unpack_from('<I', data, at + 12 + length)
        assert check == masked(body), f'{path}: bad checksum at {at}'
        yield body
        at += 16 + length


def fields(data):
    """(number, value) pairs of a protocol buffer message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                assert kind == 2, f'wire type {kind}'
                size = varint()
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def scalars(path):
    first = True
    for record in records(path):
        event = dict(fields(record))
        if first:
            assert event[3] == b'brain.Event:2', 'the first event tells the version'
            first = False
            continue
        value = dict(fields(dict(fields(event[5]))[1]))
        yield value[1].decode(), event[2], struct.unpack('<f', value[2])[0], struct.unpack('<d', event[1])[0]


def main():
    db, folder = sqlite3.connect(sys.argv[1]), sys.argv[2]
    runs = db.execute("SELECT run, substr(id, 1, 8) FROM runs WHERE status = 'done'").fetchall()
    assert runs
    for run, name in runs:
        paths = glob.glob(os.path.join(folder, f'*-{name}', '*tfevents*'))
        assert len(paths) == 1, f'{len(paths)} files of run {name}'
        found = {(tag, step): value for tag, step, value, _ in scalars(paths[0])}
        times = [time for _, _, _, time in scalars(paths[0])]
        assert times == sorted(times)
        expected = {}
        for step, shots, accuracy, loss in db.execute(
                'SELECT step, shots, accuracy, loss FROM checkpoints WHERE run = ?', (run,)):
            expected[f'validation/accuracy, {shots}-shot', step] = accuracy
            expected[f'validation/loss, {shots}-shot', step] = loss
        for step, shots, support, bn, accuracy in db.execute(
                "SELECT step, shots, support, bn, accuracy FROM tests WHERE run = ? AND model = 'best'", (run,)):
            expected[f'test/accuracy, {shots}-shot, {support}, bn {bn}', step] = accuracy
        assert expected
        for key, value in expected.items():
            assert abs(found[key] - value) <= 1e-6 * max(1, abs(value)), (key, found[key], value)
    print(f'{len(runs)} runs')


main()
