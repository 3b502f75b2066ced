"""Pictures and tasks for tests/cli/library.sh: what mete eval says of a model's tasks, from the
answers of examples/device.

    library_tasks.py data FOLDER                      x.npy and y.npy: 18 classes of 20 pictures
    library_tasks.py images FOLDER TASKS OUT          a file of raw images for each task
    library_tasks.py compare TASKS ANSWERS EVAL       accuracy and loss of the answers, and EVAL's
"""
import json
import math
import sys

import numpy


def data(folder):
    rng = numpy.random.default_rng(1)
    y = numpy.repeat(numpy.arange(18), 20)
    ideal = rng.uniform(0, 255, (18, 28, 28, 1))
    x = ideal[y] * 0.4 + rng.uniform(0, 150, (len(y), 28, 28, 1))
    numpy.save(folder + "/x.npy", x.clip(0, 255).astype(numpy.uint8))
    numpy.save(folder + "/y.npy", y.astype(numpy.int32))


def items(task):
    """Support in the order of its classes, then the query."""
    support = [task["support"][task["support_labels"].index(w)] for w in range(5)]
    return support, task["query"], task["query_labels"]


def images(folder, path, out):
    x = numpy.load(folder + "/x.npy")
    for i, task in enumerate(json.load(open(path))["tasks"]):
        support, query, _ = items(task)
        x[support + query].tofile("%s/%d.raw" % (out, i))


def compare(path, answers, said):
    accuracy = loss = 0
    tasks = json.load(open(path))["tasks"]
    for i, task in enumerate(tasks):
        rows = [line.split()[-5:] for line in open("%s/%d.txt" % (answers, i))]
        probs = numpy.array(rows, float)
        _, query, labels = items(task)
        assert probs.shape == (len(query), 5), probs.shape
        accuracy += numpy.mean(probs.argmax(1) == labels) / len(tasks)
        loss -= numpy.mean(numpy.log(probs[numpy.arange(len(labels)), labels])) / len(tasks)
    test = json.loads(open(said).readline())
    print("accuracy %.6f, loss %.6f; mete eval: %.6f, %.6f" % (
        accuracy, loss, test["accuracy"], test["loss"]))
    assert abs(loss - math.log(5)) > 1e-3, "a model that says nothing"
    assert math.isclose(accuracy, test["accuracy"], abs_tol=1e-6)
    assert math.isclose(loss, test["loss"], abs_tol=1e-6)


{"data": data, "images": images, "compare": compare}[sys.argv[1]](*sys.argv[2:])
