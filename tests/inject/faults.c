/* faults.c - system calls that fail when a test says so; linked into a second `mete`.
 *
 *   METE_FAULT=CALL:N:HOW    the N-th CALL fails as HOW says; N+ means that one and all after it
 *   METE_FAULT_COUNT=FILE    how often each CALL was made, written at the end
 *   METE_FAULT_ASIDE=FOLDER  where what a power cut may bring back is kept, on the same file system
 *
 * CALL is one of those below, "change" for any call that changes a file or a folder, "big" for
 * memory of more than 256 KiB, a phase of a run, or "exit".  HOW is
 *   EIO, ENOSPC, ...   the call fails with this error and does nothing (close does close)
 *   short              a read or write does half of what it was asked for
 *   kill               SIGKILL before the call; "kill@N" of a phase: N microseconds after it began
 *   torn               half of a write, then SIGKILL
 *   cut                a power cut: SIGKILL, and what was written and not synced is gone
 *   cutnames           the same, and new names that were not synced are gone, too
 *
 * These definitions stand in the program, so libraries call them as well.  Counting begins with
 * main: what a library does to load itself is not ours.  For a power cut each change is noted
 * with what undoes it, and forgotten when a sync makes it last.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "faults.h"

/* clang-format off */
#define CALLS(X)                                                                 \
    X(write) X(pwrite) X(fsync) X(rename) X(open) X(close) X(mmap) X(read)       \
    X(mkdir) X(malloc) X(big) X(unlink) X(truncate) X(sqlite) X(thread)          \
    X(change) X(buying) X(step) X(validation) X(test) X(store) X(report) X(exit)
/* clang-format on */

enum call {
#define X(name) CALL_##name,
    CALLS(X)
#undef X
        CALL_KINDS
};
static const char *const call_names[] = {
#define X(name) #name,
    CALLS(X)
#undef X
};

static const struct {
    const char *name;
    int number;
} errors[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"ENOMEM", ENOMEM}, {"EINTR", EINTR},
              {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"EDQUOT", EDQUOT}};

enum how { HOW_ERROR, HOW_SHORT, HOW_KILL, HOW_TORN, HOW_CUT, HOW_CUT_NAMES };

static struct {
    bool armed;
    enum call call;
    long at;
    bool onwards;
    enum how how;
    int error;
    long microseconds;
    const char *aside, *count_file;
} fault;
static atomic_long counts[CALL_KINDS];

/* ---- what undoes a change, for a power cut ---- */

enum { CHANGES = 1 << 16, PATH = 1024 };
enum kind { GONE, BYTES, CREATED, RENAMED, EXCHANGED, UNLINKED, FOLDER_MADE, FOLDER_REMOVED };
struct change {
    enum kind kind;
    dev_t dev; /* of the file; of the folder, for names */
    ino_t ino;
    int fd; /* BYTES: ours, never closed: closing would drop SQLite's locks */
    off_t at, size;
    size_t n;
    char *old;       /* the bytes */
    char *from, *to; /* names */
    int aside;       /* 0, or the number of what was replaced or removed */
};
static struct change *changes;
static int n_changes, n_aside;
static struct {
    dev_t dev;
    ino_t ino;
    int fd;
} files[4096];
static int n_files;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool locked, kill_waits;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static bool cutting(void)
{
    return fault.armed && fault.how >= HOW_CUT;
}

static char *copy_of(const char *s)
{
    char *out = __libc_malloc(strlen(s) + 1);
    return strcpy(out, s);
}

static void folder_of(const char *path, char out[PATH])
{
    snprintf(out, PATH, "%s", path);
    char *slash = strrchr(out, '/');
    if (slash)
        slash[slash == out] = '\0';
    else
        strcpy(out, ".");
}

static void aside_path(int number, char out[PATH])
{
    snprintf(out, PATH, "%s/%d", fault.aside ? fault.aside : "/tmp", number);
}

static struct change *note(enum kind kind)
{
    if (!changes)
        changes = __libc_calloc(CHANGES, sizeof *changes);
    if (n_changes == CHANGES)
        abort();
    struct change *c = &changes[n_changes++];
    *c = (struct change){.kind = kind, .fd = -1};
    return c;
}

static void note_name(enum kind kind, const char *from, const char *to, int aside)
{
    char folder[PATH];
    struct stat st;
    struct change *c = note(kind);
    folder_of(to ? to : from, folder);
    if (stat(folder, &st) == 0)
        c->dev = st.st_dev, c->ino = st.st_ino;
    c->from = copy_of(from);
    c->to = to ? copy_of(to) : NULL;
    c->aside = aside;
}

static int keep_aside(const char *path)
{
    char kept[PATH];
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISDIR(st.st_mode))
        return 0;
    aside_path(++n_aside, kept);
    return link(path, kept) == 0 ? n_aside : 0;
}

static int own_fd(int fd, const struct stat *st)
{
    for (int i = 0; i < n_files; i++)
        if (files[i].dev == st->st_dev && files[i].ino == st->st_ino)
            return files[i].fd;
    if (n_files == sizeof files / sizeof *files)
        abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    files[n_files].dev = st->st_dev;
    files[n_files].ino = st->st_ino;
    files[n_files++].fd = own;
    return own;
}

/* Before n bytes at `at` of fd are written, or it is cut to `at` with n 0. */
static void note_bytes(int fd, off_t at, size_t n)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    struct change *c = note(BYTES);
    c->dev = st.st_dev;
    c->ino = st.st_ino;
    c->fd = own_fd(fd, &st);
    c->at = at;
    c->size = st.st_size;
    size_t there = at < st.st_size ? (size_t)(st.st_size - at) : 0;
    c->n = n == 0 || there < n ? there : n;
    c->old = __libc_malloc(c->n + 1);
    if (c->n > 0)
        c->n = (size_t)syscall(SYS_pread64, c->fd, c->old, c->n, at);
}

static void note_sync(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return;
    for (int i = 0; i < n_changes; i++)
        if (changes[i].dev == st.st_dev && changes[i].ino == st.st_ino &&
            (changes[i].kind == BYTES) == !S_ISDIR(st.st_mode))
            changes[i].kind = GONE;
}

static void undo(const struct change *c)
{
    char kept[PATH];
    aside_path(c->aside, kept);
    switch (c->kind) {
    case BYTES:
        if (c->n > 0)
            syscall(SYS_pwrite64, c->fd, c->old, c->n, c->at);
        syscall(SYS_ftruncate, c->fd, c->size);
        break;
    case CREATED:
        syscall(SYS_unlink, c->from);
        break;
    case RENAMED:
        syscall(SYS_rename, c->to, c->from);
        if (c->aside)
            syscall(SYS_rename, kept, c->to);
        break;
    case EXCHANGED:
        syscall(SYS_renameat2, AT_FDCWD, c->from, AT_FDCWD, c->to, RENAME_EXCHANGE);
        break;
    case UNLINKED:
        if (c->aside)
            syscall(SYS_rename, kept, c->from);
        break;
    case FOLDER_MADE:
        syscall(SYS_rmdir, c->from);
        break;
    case FOLDER_REMOVED:
        syscall(SYS_mkdir, c->from, 0755);
        break;
    case GONE:
        break;
    }
}

static void write_counts(void)
{
    char text[1024];
    int n = 0;
    if (!fault.count_file)
        return;
    for (int i = 0; i < CALL_KINDS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %ld\n", call_names[i],
                      atomic_load(&counts[i]));
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, fault.count_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0)
        syscall(SYS_write, fd, text, (size_t)n);
}

static void cut(void)
{
    for (int i = fault.how >= HOW_CUT ? n_changes : 0; i-- > 0;)
        if (changes[i].kind == BYTES || fault.how == HOW_CUT_NAMES)
            undo(&changes[i]);
}

/* With the lock held: no other change is under way, and none will be. */
static void die(void)
{
    cut();
    write_counts();
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

static void enter(void)
{
    pthread_mutex_lock(&lock);
    atomic_store(&locked, true);
}

static void leave(void)
{
    atomic_store(&locked, false);
    if (atomic_load(&kill_waits))
        die();
    pthread_mutex_unlock(&lock);
}

static void on_alarm(int number)
{
    (void)number;
    atomic_store(&kill_waits, true);
    if (!atomic_load(&locked))
        die();
}

/* ---- whether this call fails ---- */

static bool is_due(enum call call)
{
    long n = atomic_fetch_add(&counts[call], 1) + 1;
    return fault.armed && fault.call == call && (n == fault.at || (fault.onwards && n > fault.at));
}

static bool kills(void)
{
    return fault.how == HOW_KILL || fault.how >= HOW_CUT;
}

/* One call is counted, and 0, or the error it fails with; -1: half of it. */
static int meets(enum call call)
{
    if (!is_due(call))
        return 0;
    if (kills() || fault.how == HOW_TORN) {
        if (fault.how == HOW_TORN && (call == CALL_write || call == CALL_pwrite))
            return -1;
        enter();
        die();
    }
    return fault.how == HOW_SHORT ? -1 : fault.error;
}

static int changes_file(enum call call)
{
    int error = meets(CALL_change);
    return error ? error : meets(call);
}

#define NEXT(type, name, ...)                                                                      \
    static type (*next)(__VA_ARGS__);                                                              \
    if (!next)                                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, name)
#define FAILS(call, value)                                                                         \
    do {                                                                                           \
        int error_ = (call);                                                                       \
        if (error_ > 0) {                                                                          \
            errno = error_;                                                                        \
            return value;                                                                          \
        }                                                                                          \
    } while (0)

/* ---- the calls ---- */

static bool is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static ssize_t do_write(int fd, const void *data, size_t n, off_t at, bool there)
{
    int error = is_file(fd) ? changes_file(there ? CALL_pwrite : CALL_write) : 0;
    if (error > 0) {
        errno = error;
        return -1;
    }
    if (error < 0)
        n = (n + 1) / 2;
    enter();
    if (cutting())
        note_bytes(fd, there ? at : lseek(fd, 0, SEEK_CUR), n);
    ssize_t done = there ? syscall(SYS_pwrite64, fd, data, n, at) : syscall(SYS_write, fd, data, n);
    if (error < 0 && fault.how == HOW_TORN)
        die();
    leave();
    return done;
}

ssize_t write(int fd, const void *data, size_t n)
{
    return do_write(fd, data, n, 0, false);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    return do_write(fd, data, n, at, true);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    return do_write(fd, data, n, at, true);
}

static ssize_t do_read(int fd, void *to, size_t n, off_t at, bool there)
{
    int error = meets(CALL_read);
    if (error > 0) {
        errno = error;
        return -1;
    }
    if (error < 0)
        n = (n + 1) / 2;
    return there ? syscall(SYS_pread64, fd, to, n, at) : syscall(SYS_read, fd, to, n);
}

ssize_t read(int fd, void *to, size_t n)
{
    return do_read(fd, to, n, 0, false);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    return do_read(fd, to, n, at, true);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
    return do_read(fd, to, n, at, true);
}

static int do_sync(int fd, long number)
{
    FAILS(changes_file(CALL_fsync), -1);
    enter();
    int rc = (int)syscall(number, fd);
    if (rc == 0 && cutting())
        note_sync(fd);
    leave();
    return rc;
}

int fsync(int fd)
{
    return do_sync(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return do_sync(fd, SYS_fdatasync);
}

static int do_truncate(int fd, off_t size)
{
    FAILS(changes_file(CALL_truncate), -1);
    enter();
    if (cutting())
        note_bytes(fd, size, 0);
    int rc = (int)syscall(SYS_ftruncate, fd, size);
    leave();
    return rc;
}

int ftruncate(int fd, off_t size)
{
    return do_truncate(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    return do_truncate(fd, size);
}

int rename(const char *from, const char *to)
{
    FAILS(changes_file(CALL_rename), -1);
    enter();
    int aside = cutting() ? keep_aside(to) : 0;
    int rc = (int)syscall(SYS_rename, from, to);
    if (rc == 0 && cutting())
        note_name(RENAMED, from, to, aside);
    leave();
    return rc;
}

/* Used to exchange two names. */
int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    FAILS(changes_file(CALL_rename), -1);
    enter();
    int rc = (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
    if (rc == 0 && cutting())
        note_name(EXCHANGED, from, to, 0);
    leave();
    return rc;
}

int unlink(const char *path)
{
    FAILS(changes_file(CALL_unlink), -1);
    enter();
    int aside = cutting() ? keep_aside(path) : 0;
    int rc = (int)syscall(SYS_unlink, path);
    if (rc == 0 && cutting())
        note_name(UNLINKED, path, NULL, aside);
    leave();
    return rc;
}

int rmdir(const char *path)
{
    FAILS(changes_file(CALL_unlink), -1);
    enter();
    int rc = (int)syscall(SYS_rmdir, path);
    if (rc == 0 && cutting())
        note_name(FOLDER_REMOVED, path, NULL, 0);
    leave();
    return rc;
}

int mkdir(const char *path, mode_t mode)
{
    FAILS(changes_file(CALL_mkdir), -1);
    enter();
    int rc = (int)syscall(SYS_mkdir, path, mode);
    if (rc == 0 && cutting())
        note_name(FOLDER_MADE, path, NULL, 0);
    leave();
    return rc;
}

char *mkdtemp(char *template)
{
    NEXT(char *, "mkdtemp", char *);
    FAILS(changes_file(CALL_mkdir), NULL);
    enter();
    char *made = next(template);
    if (made && cutting())
        note_name(FOLDER_MADE, made, NULL, 0);
    leave();
    return made;
}

static int do_open(int at, const char *path, int flags, mode_t mode)
{
    bool makes = flags & O_CREAT && syscall(SYS_access, path, F_OK) != 0;
    FAILS(makes ? changes_file(CALL_open) : meets(CALL_open), -1);
    enter();
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    if (fd >= 0 && makes && cutting())
        note_name(CREATED, path, NULL, 0);
    leave();
    return fd;
}

#define MODE_OF(flags, mode)                                                                       \
    do {                                                                                           \
        va_list args_;                                                                             \
        va_start(args_, flags);                                                                    \
        mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args_, mode_t) : 0;                          \
        va_end(args_);                                                                             \
    } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return do_open(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return do_open(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    mode_t mode;
    MODE_OF(flags, mode);
    return do_open(at, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(FILE *, "fopen", const char *, const char *);
    FAILS(meets(CALL_open), NULL);
    return next(path, mode);
}

int close(int fd)
{
    int error = meets(CALL_close), rc = (int)syscall(SYS_close, fd);
    if (error > 0) {
        errno = error;
        rc = -1;
    }
    return rc;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    FAILS(meets(CALL_mmap), MAP_FAILED);
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t offset)
{
    FAILS(meets(CALL_mmap), MAP_FAILED);
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}

enum { BIG = 256 << 10 };
static _Thread_local bool in_fts_open;

/* fts of the C library does not look whether it has memory for its first entries. */
FTS *fts_open(char *const *paths, int options, int (*compare)(const FTSENT **, const FTSENT **))
{
    NEXT(FTS *, "fts_open", char *const *, int, int (*)(const FTSENT **, const FTSENT **));
    in_fts_open = true;
    FTS *out = next(paths, options, compare);
    in_fts_open = false;
    return out;
}

static int meets_memory(size_t n)
{
    if (in_fts_open)
        return 0;
    int error = n > BIG ? meets(CALL_big) : 0;
    return error ? error : meets(CALL_malloc);
}

void *malloc(size_t n)
{
    FAILS(meets_memory(n), NULL);
    return __libc_malloc(n);
}

void *calloc(size_t count, size_t n)
{
    FAILS(meets_memory(count && n > SIZE_MAX / count ? SIZE_MAX : count * n), NULL);
    return __libc_calloc(count, n);
}

void *realloc(void *old, size_t n)
{
    FAILS(meets_memory(n), NULL);
    return __libc_realloc(old, n);
}

void free(void *p)
{
    __libc_free(p);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    int error = meets_memory(n);
    if (error > 0)
        return error;
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t n)
{
    FAILS(meets_memory(n), NULL);
    return __libc_memalign(alignment, n);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *user)
{
    NEXT(int, "pthread_create", pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int error = meets(CALL_thread);
    return error > 0 ? error : next(thread, attributes, start, user);
}

/* ---- SQLite's own: a statement that fails as SQLite says it can ---- */

static int sqlite_code(int error)
{
    return error == ENOSPC ? 13 /* FULL */ : error == ENOMEM ? 7 /* NOMEM */ : 10 /* IOERR */;
}

int sqlite3_step(void *statement);
int sqlite3_step(void *statement)
{
    NEXT(int, "sqlite3_step", void *);
    int error = meets(CALL_sqlite);
    return error > 0 ? sqlite_code(error) : next(statement);
}

int sqlite3_prepare_v2(void *db, const char *sql, int n, void **out, const char **tail);
int sqlite3_prepare_v2(void *db, const char *sql, int n, void **out, const char **tail)
{
    NEXT(int, "sqlite3_prepare_v2", void *, const char *, int, void **, const char **);
    int error = meets(CALL_sqlite);
    if (error > 0)
        *out = NULL;
    return error > 0 ? sqlite_code(error) : next(db, sql, n, out, tail);
}

int sqlite3_exec(void *db, const char *sql, void *fn, void *user, char **message);
int sqlite3_exec(void *db, const char *sql, void *fn, void *user, char **message)
{
    NEXT(int, "sqlite3_exec", void *, const char *, void *, void *, char **);
    int error = meets(CALL_sqlite);
    return error > 0 ? sqlite_code(error) : next(db, sql, fn, user, message);
}

/* ---- phases of a run (phases.c) ---- */

void fault_phase(const char *name)
{
    int call = 0;
    while (strcmp(call_names[call], name) != 0)
        call++;
    if (!is_due((enum call)call))
        return;
    if (fault.microseconds > 0) {
        struct itimerval soon = {
            .it_value = {fault.microseconds / 1000000, fault.microseconds % 1000000}};
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &soon, NULL);
    } else {
        enter();
        die();
    }
}

/* ---- before main, and at the end ---- */

static bool parse(const char *text)
{
    char call[32], how[32];
    int used = 0;
    if (sscanf(text, "%31[a-z]:%ld%n", call, &fault.at, &used) != 2)
        return false;
    text += used;
    fault.onwards = *text == '+';
    text += fault.onwards;
    if (sscanf(text, ":%31[A-Za-z]@%ld", how, &fault.microseconds) < 1)
        return false;
    int c = 0;
    while (c < CALL_KINDS && strcmp(call, call_names[c]) != 0)
        c++;
    fault.call = (enum call)c;
    static const char *const hows[] = {"", "short", "kill", "torn", "cut", "cutnames"};
    for (int h = HOW_SHORT; h <= HOW_CUT_NAMES; h++)
        if (strcmp(how, hows[h]) == 0)
            fault.how = (enum how)h;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(how, errors[i].name) == 0)
            fault.error = errors[i].number;
    return c < CALL_KINDS && (fault.how || fault.error);
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("METE_FAULT");
    fault.aside = getenv("METE_FAULT_ASIDE");
    if (text && !parse(text)) {
        fprintf(stderr, "METE_FAULT=%s: not CALL:N:HOW\n", text);
        _exit(3);
    }
    for (int i = 0; i < CALL_KINDS; i++)
        atomic_store(&counts[i], 0);
    fault.count_file = getenv("METE_FAULT_COUNT");
    fault.armed = text != NULL;
}

/* A power cut after the end, when exit 0 has told somebody that the work is safe. */
__attribute__((destructor)) static void end(void)
{
    if (fault.armed && fault.call == CALL_exit)
        cut();
    fault.armed = false;
    write_counts();
}
