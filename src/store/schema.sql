-- schema.sql - the tables and views of the results database, schema 1.
--
-- Accuracies are 0..1.  Nothing but `claims`, `times` and `environments` holds a
-- clock time or a machine's name, so that two databases of the same runs compare
-- equal table by table.  The rows of a run go with it (ON DELETE CASCADE).

CREATE TABLE suites (
    suite INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL,
    text TEXT NOT NULL               -- the YAML as read
);

CREATE TABLE drawings (              -- the tables and figures a suite asks for
    suite INTEGER NOT NULL REFERENCES suites ON DELETE CASCADE,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('table', 'figure')),
    title TEXT NOT NULL,
    x TEXT,                          -- figures: the field along the axis
    row_fields TEXT NOT NULL,        -- tables: rows; figures: panels; joined by ','
    column_fields TEXT NOT NULL,     -- tables: columns; figures: lines
    PRIMARY KEY (suite, number)
) WITHOUT ROWID;

CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,         -- hash of everything that can change its results
    variant TEXT NOT NULL,           -- the same without the seed
    control TEXT NOT NULL,           -- the same without labels and labels.*
    bench TEXT NOT NULL,
    dataset TEXT NOT NULL,
    ways INTEGER NOT NULL,
    shots INTEGER NOT NULL,          -- of training
    budget INTEGER,                  -- labels; NULL: no cap
    method TEXT NOT NULL,
    labels TEXT NOT NULL,            -- the strategy that buys them
    net TEXT NOT NULL,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'planned'
        CHECK (status IN ('planned', 'running', 'done', 'failed')),
    message TEXT                     -- why it failed
);
CREATE INDEX runs_variant ON runs (variant);
CREATE INDEX runs_control ON runs (control);

CREATE TABLE suite_runs (
    suite INTEGER NOT NULL REFERENCES suites ON DELETE CASCADE,
    number INTEGER NOT NULL,
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    PRIMARY KEY (suite, number)
) WITHOUT ROWID;
CREATE INDEX suite_runs_run ON suite_runs (run);

CREATE TABLE settings (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    origin TEXT NOT NULL,            -- file:line:column, --set or default
    PRIMARY KEY (run, key)
) WITHOUT ROWID;

CREATE TABLE claims (                -- who works on a run
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    born INTEGER NOT NULL,           -- when that process was, in the kernel's ticks
    handle INTEGER NOT NULL,
    heartbeat REAL NOT NULL          -- Unix time
);

CREATE TABLE outcomes (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    steps INTEGER NOT NULL,
    best_step INTEGER NOT NULL,
    best_accuracy REAL,              -- validation accuracy there
    tasks INTEGER NOT NULL,          -- training tasks bought
    labels_used INTEGER NOT NULL,
    cost REAL NOT NULL
);

CREATE TABLE checkpoints (           -- validation during training
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    step INTEGER NOT NULL,
    shots INTEGER NOT NULL,          -- of the validation tasks
    tasks INTEGER NOT NULL,          -- bought by then
    labels_used INTEGER NOT NULL,
    train_loss REAL,
    accuracy REAL,
    half REAL,                       -- half width of the 95 % interval over tasks
    loss REAL,
    PRIMARY KEY (run, step, shots)
) WITHOUT ROWID;

CREATE TABLE tests (                 -- one model on one set of test tasks
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    test INTEGER NOT NULL,
    model TEXT NOT NULL,             -- best (by validation) or last
    step INTEGER NOT NULL,
    shots INTEGER NOT NULL,          -- labels per class; below 0: so many labels in all
    support TEXT NOT NULL,           -- who chose the labelled support
    bn TEXT NOT NULL,                -- batch-norm mode
    valid_accuracy REAL,             -- same model, shots and support on validation tasks
    tasks_hash TEXT NOT NULL,        -- equal: the same test tasks
    tasks INTEGER NOT NULL,
    accuracy REAL NOT NULL,
    half REAL,
    accuracy_before REAL NOT NULL,   -- before adaptation
    half_before REAL,
    loss REAL,
    loss_before REAL,
    weighted_accuracy REAL,          -- weighted by query size
    worst REAL,
    worse_share REAL,                -- share of tasks that adaptation made worse
    ece REAL,                        -- expected calibration error, 15 bins
    PRIMARY KEY (run, test),
    UNIQUE (run, model, shots, support, bn)
) WITHOUT ROWID;

CREATE TABLE task_results (
    run INTEGER NOT NULL,
    test INTEGER NOT NULL,
    task INTEGER NOT NULL,
    user TEXT,
    n_query INTEGER NOT NULL,
    classes INTEGER NOT NULL,        -- distinct classes in the labelled support
    accuracy_before REAL NOT NULL,
    accuracy REAL NOT NULL,
    loss_before REAL,
    loss REAL,
    PRIMARY KEY (run, test, task),
    FOREIGN KEY (run, test) REFERENCES tests ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE calibration (           -- query predictions by confidence, sums
    run INTEGER NOT NULL,
    test INTEGER NOT NULL,
    bin INTEGER NOT NULL,            -- bin/15 < confidence <= (bin+1)/15
    n INTEGER NOT NULL,
    confidence REAL NOT NULL,
    correct REAL NOT NULL,
    PRIMARY KEY (run, test, bin),
    FOREIGN KEY (run, test) REFERENCES tests ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE ledger (                -- every label bought, in order
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    number INTEGER NOT NULL,
    task INTEGER NOT NULL,
    item INTEGER NOT NULL,
    class INTEGER NOT NULL,
    round INTEGER NOT NULL,          -- 0, 1, ... of the support; -1: for the query set
    cost REAL NOT NULL,              -- 0 where it was paid for before, or is not charged
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TABLE ledger_classes (        -- sums of the ledger, kept so that reading is quick
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    class INTEGER NOT NULL,
    support INTEGER NOT NULL,
    query INTEGER NOT NULL,
    PRIMARY KEY (run, class)
) WITHOUT ROWID;

CREATE TABLE ledger_coverage (       -- how many tasks' supports cover so many classes
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    classes INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (run, classes)
) WITHOUT ROWID;

CREATE TABLE environments (environment INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE);

CREATE TABLE times (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    started REAL NOT NULL,           -- Unix time
    train_seconds REAL NOT NULL,
    test_seconds REAL NOT NULL,
    host TEXT NOT NULL,
    environment INTEGER NOT NULL REFERENCES environments
);

CREATE TABLE student (df INTEGER PRIMARY KEY, t REAL NOT NULL); -- 97.5 % points, df 1..1000

-- One row for every run and test.
CREATE VIEW accuracy AS
SELECT r.run, r.id, r.variant, r.bench, r.dataset, r.ways, r.shots, r.budget, r.method, r.labels,
       r.net, r.seed, t.test, t.model, t.step, t.shots AS test_shots, t.support, t.bn,
       t.tasks AS test_tasks, t.accuracy, t.half, t.accuracy_before, t.half_before, t.loss,
       t.loss_before, t.ece, t.valid_accuracy, o.tasks AS train_tasks, o.labels_used, o.cost
FROM runs r JOIN outcomes o USING (run) JOIN tests t USING (run);

-- accuracy_seeds and accuracy_best are in schema.c.

-- Two tests of different runs that can be compared task by task.
CREATE VIEW task_pairs AS
SELECT s.run, s.test, u.run AS other_run, s.model, s.shots AS test_shots, s.support, s.bn,
       x.task, x.accuracy - y.accuracy AS difference
FROM tests s
JOIN tests u ON u.tasks_hash = s.tasks_hash AND u.model = s.model AND u.shots = s.shots
            AND u.support = s.support AND u.bn = s.bn
JOIN task_results x ON x.run = s.run AND x.test = s.test
JOIN task_results y ON y.run = u.run AND y.test = u.test AND y.task = x.task;

-- Every run against its control with random labels.
CREATE VIEW paired_labels AS
SELECT run, control_run, bench, method, labels, seed, model, test_shots, support, bn, tasks,
       total / tasks AS difference,
       (SELECT t FROM student WHERE df = min(tasks, 1001) - 1)
           * sqrt(max(0, squares - total * total / tasks) / (tasks - 1) / tasks) AS half,
       better, worse
FROM (SELECT p.*, b.run AS control_run, a.bench, a.method, a.labels, a.seed, count(*) AS tasks,
             sum(difference) AS total, sum(difference * difference) AS squares,
             sum(difference > 0) AS better, sum(difference < 0) AS worse
      FROM runs a
      JOIN runs b ON b.control = a.control AND b.labels = 'random' AND a.labels <> 'random'
      JOIN task_pairs p ON p.run = a.run AND p.other_run = b.run
      GROUP BY a.run, p.test, b.run);

-- Two methods with the same benchmark, strategy and seed.
CREATE VIEW paired_methods AS
SELECT run, other_run, bench, labels, seed, method, other_method, model, test_shots, support, bn,
       tasks, total / tasks AS difference,
       (SELECT t FROM student WHERE df = min(tasks, 1001) - 1)
           * sqrt(max(0, squares - total * total / tasks) / (tasks - 1) / tasks) AS half,
       better, worse
FROM (SELECT p.*, a.bench, a.labels, a.seed, a.method, b.method AS other_method,
             count(*) AS tasks, sum(difference) AS total,
             sum(difference * difference) AS squares, sum(difference > 0) AS better,
             sum(difference < 0) AS worse
      FROM runs a
      JOIN runs b ON b.bench = a.bench AND b.labels = a.labels AND b.seed = a.seed
                 AND a.method < b.method
      JOIN task_pairs p ON p.run = a.run AND p.other_run = b.run
      GROUP BY a.run, p.test, b.run);

-- Where tasks are users: who gains, who loses.
CREATE VIEW users AS
SELECT t.run, t.test, r.bench, r.method, r.labels, r.seed, t.model, t.shots AS test_shots, t.bn,
       t.tasks AS users, t.accuracy AS mean, t.weighted_accuracy AS weighted_mean,
       t.accuracy_before AS mean_before, t.worst, t.worse_share
FROM tests t JOIN runs r USING (run)
WHERE EXISTS (SELECT 1 FROM task_results x
              WHERE x.run = t.run AND x.test = t.test AND x.user IS NOT NULL);

CREATE VIEW user_deciles AS
SELECT run, test, decile, count(*) AS users, min(accuracy) AS least, avg(accuracy) AS mean,
       max(accuracy) AS most, avg(accuracy_before) AS mean_before
FROM (SELECT *, ntile(10) OVER (PARTITION BY run, test ORDER BY accuracy, task) AS decile
      FROM task_results WHERE user IS NOT NULL)
GROUP BY run, test, decile;

CREATE VIEW ledger_cumulative AS
SELECT *, sum(cost) OVER (PARTITION BY run ORDER BY number) AS cumulative FROM ledger;
