/* mete.h - meta-learning on a label budget.
 *
 * The public C interface: plain structs, opaque handles, fixed-width integers.
 * A function that can fail returns 0 or a negative METE_E* code, and leaves its
 * outputs untouched when it fails; mete_errmsg() then says in one sentence what
 * went wrong.  The library never prints and never exits: messages go through the
 * log callback.
 *
 * Memory whose size a file, a data set or a setting decides (files, arrays, all
 * that an import keeps of what it reads, working memory) is asked for once that
 * size is known to be right, and may be refused: METE_ENOMEM.  Where a piece of
 * fixed size cannot be had, or a text (a name, a table, a page), or a list of
 * what a run drew, bought or measured, the library calls abort(), after the
 * function given to mete_out_of_memory_to().
 *
 * Options and descriptions begin with their size: write `.size = sizeof options`.
 * Fields that later versions add come at the end, and are zero for programs that do
 * not know them.
 *
 * Settings are passed as an array of "key=value" strings that ends with NULL;
 * `mete show NAME` lists the keys, with their defaults and ranges.
 */
#ifndef METE_H
#define METE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

#define METE_ERRORS(X)                                                                             \
    X(EINVAL, -1, "invalid argument or setting")                                                   \
    X(ENOMEM, -2, "out of memory")                                                                 \
    X(EIO, -3, "a file could not be read or written")                                              \
    X(EFORMAT, -4, "a file does not hold what it should")                                          \
    X(EDEVICE, -5, "a device failed or is missing")                                                \
    X(EDIVERGE, -6, "training diverged")                                                           \
    X(EBUDGET, -7, "the label budget does not allow it")                                           \
    X(EMISSING, -8, "built without the library that does this")                                    \
    X(ESTOPPED, -9, "stopped on request")

enum mete_error {
    METE_OK = 0,
#define METE_X(name, code, text) METE_##name = code,
    METE_ERRORS(METE_X)
#undef METE_X
};

const char *mete_version(void);
/* The commit a program was built from, which databases keep beside its results: set it before
 * anything runs; kept, not copied.  "" where nobody says. */
void mete_commit_is(const char *commit);
const char *mete_commit(void);
const char *mete_errmsg(void);      /* the last failure of this thread, one sentence */
const char *mete_errname(int code); /* "EINVAL" */
const char *mete_errtext(int code); /* "invalid argument or setting" */
/* Of the n known words, the one that `word` may be a misspelling of; NULL if none is near. */
const char *mete_nearest(const char *word, const char *const *known, int n);

/* Called before the library gives up because `bytes` of memory are not there, so that
 * a program can say so and end in its own way, from any thread; it must not call the
 * library, and abort() follows if it returns. */
typedef void mete_out_of_memory_fn(size_t bytes);
void mete_out_of_memory_to(mete_out_of_memory_fn *fn);

/* ---- log and progress ---- */

enum mete_log_level { METE_LOG_DEBUG, METE_LOG_INFO, METE_LOG_WARN };

/* Called from any thread, one call at a time.  NULL silences the library. */
typedef void mete_log_fn(void *user, enum mete_log_level level, const char *message);
void mete_log_to(mete_log_fn *fn, void *user);

/* Long work says how far it is; a non-zero return asks it to stop (METE_ESTOPPED). */
struct mete_progress {
    const char *what;   /* what is worked on: a suite, a benchmark, a file */
    double done, total; /* total 0: not known */
    double restored;    /* of `done`: by an earlier process, so it says nothing about the speed */
    double left;        /* seconds that are left; NaN: as `done` and the time since suggest */
    const char *detail; /* what is done now, and its latest accuracy; or "" */
};
typedef int mete_progress_fn(void *user, const struct mete_progress *p);
void mete_progress_to(mete_progress_fn *fn, void *user);

/* ---- data ---- */

struct mete_import_options {
    size_t size;
    const char *kind;            /* "omniglot"; `mete data import --help` lists them */
    const char *const *paths;    /* what to read; ends with NULL */
    const char *dir;             /* the dataset's folder, which must not exist yet */
    const char *const *settings; /* "key=value"; ends with NULL; may be NULL */
    bool force;                  /* replace a dataset that exists */
    int32_t threads;             /* 0: one per core */
};
int mete_data_import(const struct mete_import_options *options);
/* Importer number i: its name, what it reads and its arguments; false past the last. */
bool mete_data_importer(int32_t i, const char **name, const char **summary, const char **usage);

struct mete_spread { /* over groups of items */
    int64_t least, middle, most;
};
struct mete_data_info {
    size_t size; /* set it before it is filled */
    char name[128], path[1024];
    int64_t items;
    int32_t classes, users; /* users 0: none */
    int32_t shape[3];       /* h, w, c; feature rows are 1, 1, d */
    bool is_float;          /* float32 rows, else uint8 pixels */
    float scale, shift;     /* a learner sees value * scale + shift */
    int32_t groups;         /* different groups of classes, such as alphabets; 0: none */
    struct mete_spread per_class, per_user;
    int64_t part_items[2];    /* train and test items of users; 0, 0: no parts */
    int32_t part_users[2];    /* users that have any */
    int32_t split_classes[3]; /* train, val, test of the split published with it */
    char source[256], licence[256], sha256[65];
    int64_t unlabelled; /* items whose class is not known (docs/personal.md) */
};
/* `name` is a folder, or a name that is looked for in $METE_DATA and data/, or generated. */
int mete_data_info(const char *name, struct mete_data_info *out);
int mete_data_verify(const char *name); /* compares the arrays with their checksum */

enum mete_sheet_by { METE_BY_AUTO, METE_BY_CLASS, METE_BY_USER };
struct mete_sheet_options {
    size_t size;
    const char *name, *path; /* the dataset, and the PNG to write */
    int32_t rows, cols;      /* 0: 20 */
    enum mete_sheet_by by;   /* auto: users where there are any */
};
int mete_data_sheet(const struct mete_sheet_options *options);

struct mete_fetch_options {
    size_t size;
    const char *name;   /* "omniglot" */
    const char *dir;    /* NULL: data/NAME-files */
    const char *mirror; /* another address that holds the same files, or NULL */
};
int mete_data_fetch(const struct mete_fetch_options *options);

/* ---- data in memory ---- */

/* Items, row by row without gaps; borrowed. */
struct mete_array {
    const void *x; /* (items, h, w, c); feature rows are 1, 1, d */
    int64_t items;
    int32_t h, w, c;
    int32_t is_float;   /* 1: float32, every number finite; 0: uint8 */
    float scale, shift; /* a learner sees value * scale + shift.  scale 0: for data 1 and 0; for a
                           model those of the data it was trained on */
};

struct mete_data;
struct mete_data_parts {
    size_t size;
    const char *name;       /* stands in results; NULL: "data" */
    struct mete_array x;    /* this and the next three are borrowed: they outlive the data */
    const int32_t *y;       /* (items) classes 0.. */
    const int32_t *user;    /* (items) 0.., or NULL */
    const uint8_t *part;    /* (items) of a user's own: 0 train, 1 test; or NULL */
    int32_t classes, users; /* 0: one more than the largest */
    const char *const *class_names, *const *user_names, *const *feature_names; /* copied; or NULL */
};
int mete_data_make(struct mete_data **out, const struct mete_data_parts *parts);
int mete_data_open(struct mete_data **out, const char *name); /* as mete_data_info finds it */
/* Writes a folder that `name` may be from then on; one that exists only if `force`. */
int mete_data_save(const struct mete_data *d, const char *dir, int32_t force);
void mete_data_close(struct mete_data *d); /* NULL is fine */
int mete_data_describe(const struct mete_data *d, struct mete_data_info *out);
/* Its arrays, which live as long as it does; any of the pointers may be NULL. */
int mete_data_arrays(const struct mete_data *d, struct mete_array *x, const int32_t **y,
                     const int32_t **user, const uint8_t **part);
/* Name number i, or NULL where it has none. */
const char *mete_data_class(const struct mete_data *d, int32_t i);
const char *mete_data_user(const struct mete_data *d, int32_t i);

/* ---- a model at work ---- */

/* A model adapts to one task at a time and predicts, in memory.  It belongs to one thread at a
 * time; two models, to two. */
struct mete_model;
struct mete_model_options {
    size_t size;
    const char *device;     /* NULL: cpu */
    const char *const *set; /* "test.steps=5", "net.bn=batch"; NULL at the end; may be NULL */
    int32_t ways;           /* 0: as many as it was trained with; others only without a head */
};
/* A file that training or mete_model_save left, or the bytes of one; `o` may be NULL.  Where the
 * file has them, batch norm uses frozen statistics, so that a prediction does not depend on what
 * else is asked in the same call; net.bn=batch gives those that training used. */
int mete_model_load(struct mete_model **out, const char *path, const struct mete_model_options *o);
int mete_model_load_bytes(struct mete_model **out, const void *bytes, size_t n,
                          const struct mete_model_options *o);
/* With the task it was adapted to, if it was. */
int mete_model_save(struct mete_model *m, const char *path);
/* The same into memory; mete_free() *out. */
int mete_model_bytes(struct mete_model *m, void **out, size_t *n);
void mete_model_close(struct mete_model *m); /* NULL is fine */

struct mete_model_info {
    size_t size;
    int32_t ways, h, w, c, is_float; /* what it takes */
    int32_t features;                /* of a representation; 0: it has none */
    int32_t tensors;                 /* of its weights */
    int32_t adapted, labelled;       /* to a task, with so many labels */
    float scale, shift;              /* of the data it was trained on */
    char method[32], net[32];
    char bn[16];      /* "frozen", "batch", "support", "running" or "none" */
    char bench[1024]; /* that it was trained on */
};
int mete_model_info(const struct mete_model *m, struct mete_model_info *out);
/* What its file says under a key: a setting ("inner.lr"), "bench", "method"; NULL: nothing. */
const char *mete_model_says(const struct mete_model *m, const char *key);
/* Name of class or feature i; NULL where it has none.  Tasks of different classes have none until
 * they are named: `names` (ways) are copied and saved with the task. */
const char *mete_model_class(const struct mete_model *m, int32_t i);
const char *mete_model_feature(const struct mete_model *m, int32_t i);
int mete_model_name_classes(struct mete_model *m, const char *const *names);

/* Tensor i of its learned weights, by PyTorch's name; `data` (len) may be NULL. */
struct mete_tensor {
    char name[64];
    int32_t dims, shape[4];
    int64_t len;
};
int mete_model_tensor(struct mete_model *m, int32_t i, struct mete_tensor *out, float *data);
/* Other weights, of the same shape.  The model is as it was learned, with them. */
int mete_model_set_tensor(struct mete_model *m, const char *name, const float *data, int64_t len);

/* Begins a task: items with their classes y (items), 0..ways-1; x NULL or without items: as it was
 * learned.  What was adapted before is forgotten.  Copies. */
int mete_adapt(struct mete_model *m, const struct mete_array *x, const int32_t *y);
int mete_predict(struct mete_model *m, const struct mete_array *x,
                 float *probs); /* (items, ways) */
int mete_embed(struct mete_model *m, const struct mete_array *x,
               float *reps); /* (items, features) */
/* Which items of a pool to label next: adapts to those that are known (items; a class, or -1; NULL:
 * none) and writes at most `want` others to picks, the first the most wanted.  `strategy` is one of
 * `mete list labels`.  *n is how many. */
int mete_suggest(struct mete_model *m, const char *strategy, const struct mete_array *pool,
                 const int32_t *known, int32_t want, uint64_t seed, int32_t *picks, int32_t *n);

/* ---- tasks ---- */

struct mete_tasks_options {
    size_t size;
    const char *bench;      /* "omniglot:5w-1s" */
    const char *part;       /* NULL: test */
    const char *labels;     /* of the supports, a strategy without a learner; NULL: stratified */
    const char *const *set; /* "key=value", NULL at the end; may be NULL */
    int32_t n;              /* 0: 600, or every user of the part */
    int64_t seed;           /* 0, as the test tasks of every run, unless test.seed is set */
    const char *out;        /* a tasks.json to write (docs/tasks.md), or NULL */
};
struct mete_tasks {
    int32_t n, ways, shots;
    int32_t groups; /* classes, or users, of the part */
    bool users;
    double pool, support, query; /* items of a task, on average */
    double covered;              /* classes in a support, on average */
};
/* Draws tasks; *out, unless NULL, says what they are.  *json, unless NULL, gets what the file would
 * hold; mete_free() it. */
int mete_tasks(const struct mete_tasks_options *o, struct mete_tasks *out, char **json);

/* ---- plug-ins and their settings ---- */

/* Calls fn for every plug-in of a kind ("methods", "labels", "nets", "datasets",
 * "devices"; NULL: all). */
typedef void mete_list_fn(void *user, const char *kind, const char *name, const char *summary);
int mete_list(const char *kind, mete_list_fn *fn, void *user);

/* Calls fn for every setting of the plug-in `name`; "run": those of every run. */
struct mete_setting {
    const char *key, *initial, *range, *help;
};
typedef void mete_setting_fn(void *user, const struct mete_setting *s);
int mete_show(const char *name, const char **summary, mete_setting_fn *fn, void *user);

/* ---- the meta-gradient of a given task ---- */

/* `in` and `out` are safetensors files; docs/files.md lists their tensors. */
struct mete_grad_options {
    size_t size;
    const char *method, *net; /* NULL: maml, conv4 */
    const char *device;       /* NULL: cpu */
    const char *const *set;   /* "key=value", NULL at the end; may be NULL */
    const char *in, *out;
};
int mete_grad(const struct mete_grad_options *o);

/* ---- speed ---- */

struct mete_speed_options {
    size_t size;
    const char *bench;        /* dataset (for the size of its images), ways and shots */
    const char *method, *net; /* NULL: maml, conv4 */
    const char *device;       /* NULL: cpu */
    const char *const *set;
    int threads;    /* 0: one per core */
    double seconds; /* to measure for */
    int runs;       /* side by side, each with `threads` threads; 0: one */
    int together;   /* on a GPU: how many of them share launches; 0: none */
    int query;      /* query images per class; -1: as many as shots */
    void (*planned)(void *user, size_t bytes); /* told before the first step; may be NULL */
    void *user;
};
struct mete_speed {
    const char *device;
    int threads, meta_batch;
    double tasks_per_s; /* of all runs, by the median step: gradients, their sum, the optimiser */
    double gflop_per_task, gflops;
    double peak_gflops, fraction_of_peak; /* of one thread's fused multiply-adds; 0: not known */
    size_t bytes_planned, bytes_peak;
    int ranks;                        /* that shared each step, with `threads` each; 1: alone */
    double sent_bytes, sent_messages; /* in a step, by all ranks */
    double most_bytes;                /* by the one that sends most */
};
struct mete_speed_options mete_speed_defaults(void);
int mete_speed(const struct mete_speed_options *o, struct mete_speed *out);

/* ---- training and testing ---- */

struct mete_test {            /* one model on one set of test tasks */
    const char *model;        /* "best" by validation, "last", or "given" */
    int shots;                /* labels per class of a support; 0: `labels` in all */
    const char *support, *bn; /* who chose the supports; the batch-norm mode */
    int tasks;
    double accuracy,
        half;      /* mean over tasks and its 95 % half width; over users where tasks are theirs */
    double before; /* accuracy without adaptation */
    double loss, ece;      /* mean loss; expected calibration error (15 bins) */
    double valid_accuracy; /* of the same model on validation tasks; NAN: not scored */
    int labels;            /* of a support in all, where shots is 0 */
    int users;             /* different ones among the tasks; 0: tasks are not users' */
    double worse;          /* share of tasks that adaptation made worse */
    double kept; /* test.keep=by-support: share of tasks that keep the model for all; else NAN */
    double adapted, adapted_worse; /* accuracy and worse, had all tasks been adapted */
};
typedef void mete_test_fn(void *user, const struct mete_test *t);

struct mete_train_options {
    size_t size;
    const char *bench;                 /* "omniglot:5w-1s@30K" */
    const char *method, *labels, *net; /* NULL: maml, random, conv4 */
    const char *device;                /* NULL: cpu */
    const char *folder;                /* NULL: runs/NAME-HASH */
    const char *const *set;
    uint64_t seed;
    int threads;       /* 0: one per core */
    bool print_config; /* only that */
    mete_test_fn *test;
    void (*config)(void *user, const char *text);
    void *user;
};
/* Continues a killed run of the same settings. */
int mete_train(const struct mete_train_options *o);

/* What happens while mete_fit works; what does not belong to an event is 0, NaN or NULL. */
enum mete_event_kind {
    METE_STEP,  /* a meta-update was done */
    METE_VALID, /* a model was validated */
    METE_TEST,  /* a model was tested */
    METE_WORK   /* work goes on: tasks are bought, validated or tested */
};
struct mete_event {
    size_t size;
    int32_t kind;
    int64_t step, steps;          /* meta-updates done, and asked for */
    double done;                  /* of all work: 0..1 */
    int64_t tasks, labels;        /* METE_VALID: bought until then */
    double accuracy, half, loss;  /* METE_VALID; loss: of training, since the last one */
    const struct mete_test *test; /* METE_TEST; valid during the call */
};
/* Not 0: the training stops (METE_ESTOPPED).  Called on the thread of mete_fit, some times a
 * second at least, but by METE_TEST, which comes last and is not asked. */
typedef int mete_event_fn(void *user, const struct mete_event *e);

struct mete_fit_options {
    size_t size;
    const struct mete_data *data; /* NULL: that of the benchmark */
    const char *bench; /* "5w-1s@30K", or "1s@10K" for users; without data as mete_train */
    const char *method, *labels, *net, *device; /* NULL: maml, random, conv4, cpu */
    const char *const *set;
    uint64_t seed;
    int32_t threads;      /* 0: one per core */
    int32_t no_folder;    /* leaves nothing on the disk; a run that was stopped begins anew */
    const char *folder;   /* NULL: runs/NAME-HASH */
    mete_event_fn *event; /* of this training alone; or NULL */
    void *user;
};
/* Trains and tests, as mete_train does.  *best, unless `best` is NULL, is the model that validated
 * best, ready to adapt. */
int mete_fit(const struct mete_fit_options *o, struct mete_model **best);

struct mete_eval_options {
    size_t size;
    const char *model; /* a file that training left */
    const char *bench; /* NULL: the one it was trained on */
    const char *tasks; /* NULL, or a tasks.json (mete_tasks) to score instead of the bench's own */
    const char *device;
    const char *const *set;
    int threads;
    mete_test_fn *test;
    void *user;
};
int mete_eval(const struct mete_eval_options *o);

/* ---- suites ---- */

struct mete_planned_run {
    const char *bench, *method, *labels;
    uint64_t seed;
    int shots; /* of training */
    int64_t tasks, n_labels;
    double gflop, seconds; /* of training; in all, on one thread */
    const char *state;     /* "planned", "running", "done" or "failed" in the database */
    const char *settings;  /* other settings in which runs of the suite differ: "inner.lr=0.1" */
};
struct mete_finished_run {
    const char *bench, *method, *labels;
    uint64_t seed;
    double accuracy; /* of the best model on the first of its tests; NaN: it has none */
    int64_t n_labels;
    double seconds;
    bool several; /* the suite has other benchmarks, too */
};
struct mete_run_summary { /* of the runs of a suite that --only leaves */
    int runs, done, failed;
    int running;      /* by another process */
    int finished;     /* of `done`: by this call */
    int64_t n_labels; /* of those: labels bought */
    bool out_of_time; /* stopped because `minutes` were over */
};
struct mete_run_options {
    size_t size;
    const char *suite, *db; /* YAML file; SQLite file */
    const char *device;
    const char *const *set;
    const char *const *only; /* NULL, or "key=pattern"s that a run must fit; NULL at the end */
    int seeds;               /* 0: the suite's */
    int threads;             /* 0: one per core */
    int together;            /* on a GPU: how many runs of equal shape share launches; 0: none */
    bool dry_run, print_config, retry;                               /* retry: failed runs again */
    void (*planned)(void *user, const struct mete_planned_run *run); /* dry_run */
    void (*config)(void *user, const char *text);                    /* print_config */
    void (*finished)(void *user, const struct mete_finished_run *run); /* one at a time; or NULL */
    struct mete_run_summary *summary; /* filled in when runs end, also by a failure; or NULL */
    double minutes; /* after so many, runs stop at their next checkpoint; 0: never */
    void *user;
    int ranks_per_run; /* of a job of many ranks (mete_ranks.h): so many share a run; 0: 1 */
    mete_progress_fn *progress; /* of this call alone; NULL: that of mete_progress_to */
};
int mete_run(const struct mete_run_options *o);

/* ---- results (docs/results.md) ---- */

struct mete_results_options {
    size_t size;
    const char *db;    /* the results database */
    const char *suite; /* NULL: every suite in it */
    const char
        *format; /* "table", "summary", "paper", "csv", "json", "latex", "markdown"; NULL: table */
    bool last;   /* the last model of a run, not the best by validation */
    bool colour; /* bold and dim for a terminal */
    int width;   /* columns of the terminal, to which tables keep; 0: no limit */
};
/* The tables as text; mete_free() it. */
int mete_results(const struct mete_results_options *o, char **out);
void mete_free(void *p); /* what the library hands out to be freed; NULL is fine */

/* A table or view of the database, column by column: "runs", "tests", "task_results", "ledger",
 * "checkpoints", "measures", …  docs/results.md has their columns. */
struct mete_table;
int mete_table_open(struct mete_table **out, const char *db, const char *table);
int32_t mete_table_columns(const struct mete_table *t, int64_t *rows);
/* The name of column i, NULL past the last; *numbers (rows, NaN for NULL) where it holds numbers
 * alone, else *texts (rows, NULL for NULL).  They live as long as the table. */
const char *mete_table_column(const struct mete_table *t, int32_t i, const double **numbers,
                              const char *const **texts);
void mete_table_close(struct mete_table *t); /* NULL is fine */

struct mete_report_options {
    size_t size;
    const char *db, *path;   /* the results database; the HTML file to write */
    const char *suite;       /* NULL: every run in it */
    const char *title;       /* NULL: after the database */
    const char *tensorboard; /* a folder for event files, or NULL */
};
int mete_report(const struct mete_report_options *o);

/* ---- a page in the browser (docs/serve.md) ---- */

struct mete_serve_options {
    size_t size;
    const char *what; /* a results database; or a data set, to label its items */
    const char *bind; /* an address of this machine; NULL: 127.0.0.1 */
    int32_t port;     /* 0: any that is free */
    void (*ready)(void *user, const char *address); /* told once the page can be opened */
    int (*stop)(void *user); /* asked ten times a second; not 0 ends the server */
    void *user;
    /* of a data set: */
    const char *model;  /* chooses and guesses: a file or a run's folder; NULL: nobody has one */
    const char *labels; /* a strategy that needs no oracle; NULL: kmeans */
    int32_t round;      /* questions chosen at a time; 0: 5 */
};
int mete_serve(const struct mete_serve_options *o);

#ifdef __cplusplus
}
#endif
#endif
