/* fuzz_answers.c - any rows in a log of answers, under a checksum that is right: refused, or what
 * stands adds up, and the same rows written again are the same.  And any bytes without one. */
#include "fuzz_import.h"
#include "data/answers_own.h"
#include "base/memory.h"

static struct answers *log_of_nothing(void)
{
    static const int32_t y[] = {0, 1, -1, -1, -1};
    static char *names[] = {"a", "b"}, name[] = "d", path[] = "/", sum[] = "";
    static struct dataset d = {
        .name = name, .path = path, .sha256 = sum, .items = 5, .classes = 2, .y = y};
    d.class_names = names;
    return answers_make(&d, true);
}

static int take(struct answers *a, const char *rows, size_t size)
{
    struct text log = {0};
    char sum[SHA256_HEX];
    int64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += rows[i] == '\n';
    answers_header(&log, a->d);
    text_add_bytes(&log, rows, size);
    answers_end(&log, rows, size, lines, "", sum);
    int err = answers_take(a, log.at, log.size);
    text_release(&log);
    return err;
}

static void check(const struct answers *a)
{
    int64_t spent = 0, labels = 0;
    for (int64_t i = 0; i < a->rows; i++)
        if (!a->row[i].undone && answer_has_item(&a->row[i]))
            spent += a->row[i].cost;
    for (int i = 0; i < 5; i++) {
        HOLDS(a->label[i] >= -1 && a->label[i] < a->classes.n);
        labels += i >= 2 && a->label[i] >= 0;
    }
    HOLDS(a->totals.spent == spent && a->totals.labels == labels);
    HOLDS(a->totals.unlabelled == 3 - labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct answers *a = log_of_nothing(), *b = log_of_nothing();
    struct text again = {0};
    if (answers_take(a, (const char *)data, size))
        HOLDS(*mete_errmsg());
    answers_restart(a);
    if (size == 0 || data[size - 1] != '\n' || take(a, (const char *)data, size)) {
        answers_close(a);
        answers_close(b);
        return 0;
    }
    check(a);
    for (int64_t i = 0; i < a->rows; i++)
        answer_print(&again, &a->row[i]);
    if (again.size)
        HOLDS(take(b, again.at, again.size) == 0 && b->rows == a->rows);
    HOLDS(memcmp(a->label, b->label, sizeof(int32_t) * 5) == 0);
    text_release(&again);
    answers_close(a);
    answers_close(b);
    return 0;
}
