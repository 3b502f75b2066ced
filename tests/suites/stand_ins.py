"""Writes small data sets of noise with the names of the public ones, as .npy files."""
import sys
import numpy as np

random = np.random.default_rng(1)


def write(name, classes, each, side, channels, users=0):
    y = np.repeat(np.arange(classes), each)
    means = random.integers(0, 200, (classes, side, side, channels))
    x = (means[y] + random.integers(0, 56, (len(y), side, side, channels))).astype(np.uint8)
    folder = sys.argv[1]
    np.save(f"{folder}/{name}-x.npy", x[..., 0] if channels == 1 else x)
    np.save(f"{folder}/{name}-y.npy", y)
    if users:
        np.save(f"{folder}/{name}-user.npy", random.integers(0, users, len(y)))


write("omniglot", 400, 20, 16, 1)
write("miniimagenet", 50, 40, 16, 3)
write("femnist", 62, 60, 16, 1, users=60)
