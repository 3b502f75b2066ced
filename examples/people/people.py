"""People in a table: from their labels to a model for somebody new, and their predictions.

    python3 people.py KNOWN.csv NEW.csv OUT.csv [LABELS [SETTING=VALUE...]]

Both tables have a column `person` and a column `activity`; all others are features.  LABELS (600) is
what may be spent on the people of KNOWN.  Each person of NEW is then asked about six rows, which the
model chooses; here the answers stand in the table.  OUT gets what the model makes of the other rows.
"""
import sys

import mete
import numpy as np
import pandas as pd

ASKED = 6


def train(known, labels, settings):
    data = mete.Dataset.from_frame(known, "activity", user="person")
    model = mete.train(data, "2s@%d" % labels, method="protonet", net="mlp",
                       settings={"method.absent": "prior", "train.resplit": "any", "test.labels": ASKED, **settings})
    best = model.tests[0]
    print("%d labels: %.1f %% (+-%.1f) of %d people that training did not see, %.1f %% before they are asked" % (
        model.history[-1].labels, 100 * best.accuracy, 100 * best.half, best.users, 100 * best.before))
    return data, model


def ask_and_predict(data, model, person):
    """Adapts to six rows of a person.  A frame of the others, with what they are said to be."""
    own = mete.Dataset.from_frame(person.drop(columns="person"), "activity", like=data)
    asked = model.suggest(own.x, n=ASKED, labels="kmeans")
    model.adapt(own.x[asked], own.y[asked])
    rest = np.setdiff1d(np.arange(len(own)), asked)
    probs = model.predict_proba(own.x[rest])
    out = person.iloc[rest][["person", "activity"]].copy()
    out["predicted"] = [data.class_names[k] for k in probs.argmax(1)]
    out["sure"] = probs.max(1)
    return out


def main(known, new, out, labels="600", *settings):
    data, model = train(pd.read_csv(known), int(labels), dict(s.split("=", 1) for s in settings))
    people = pd.read_csv(new)
    found = pd.concat([ask_and_predict(data, model, rows) for _, rows in people.groupby("person")])
    found.to_csv(out, index_label="row")
    print("%d new people, %d labels each: %.1f %% of %d rows are right" % (
        people["person"].nunique(), ASKED, 100 * (found["predicted"] == found["activity"]).mean(), len(found)))


if __name__ == "__main__":
    main(*sys.argv[1:])
