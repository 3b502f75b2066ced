/* table_notes.c - what a reader must know to believe a table. */
#include "report/table.h"
#include "report/prepare.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

typedef char *note_fn(const struct table *t); /* NULL: nothing to say */

static const struct result *first_chosen(const struct table *t)
{
    for (int i = 0; i < t->rows.n * t->columns.n; i++)
        if (t->cells[i].chosen)
            return t->cells[i].chosen;
    return NULL;
}

/* The least and the most seeds of any cell. */
static void seed_range(const struct table *t, int *least, int *most)
{
    *least = *most = first_chosen(t)->seeds;
    for (int i = 0; i < t->rows.n * t->columns.n; i++) {
        const struct result *r = t->cells[i].chosen;
        if (r && r->seeds < *least)
            *least = r->seeds;
        if (r && r->seeds > *most)
            *most = r->seeds;
    }
}

static char *note_interval(const struct table *t)
{
    int least, most;
    const struct result *r = first_chosen(t);
    if (!r)
        return mem_string("Nothing has been measured yet.");
    seed_range(t, &least, &most);
    const char *tasks = r->users ? "users" : "test tasks";
    char *start = mem_print("Test accuracy in %%, mean over %d test tasks%s after adaptation",
                            r->test_tasks, r->users ? " of users" : ""),
         *note;
    if (most == 1)
        note = mem_print("%s, one seed; ± 95 %% over %s.", start, tasks);
    else if (least >= SEEDS_ENOUGH && least == most)
        note = mem_print("%s and %d seeds; ± 95 %% over seeds (Student's t).", start, most);
    else if (least >= SEEDS_ENOUGH)
        note = mem_print("%s and %d to %d seeds; ± 95 %% over seeds (Student's t).", start, least,
                         most);
    else
        note = mem_print("%s and up to %d seeds; ± 95 %% over seeds (Student's t), over %s where "
                         "there are fewer than three.",
                         start, most, tasks);
    free(start);
    return note;
}

static char *note_protocol(const struct table *t)
{
    const struct result *r = first_chosen(t);
    if (!r)
        return NULL;
    struct text out = {0};
    const char *bn = r->field[FIELD_BN];
    bool varies_bn = axis_field(&t->rows, "bn") >= 0 || axis_field(&t->columns, "bn") >= 0;
    bool varies_support =
        axis_field(&t->rows, "support") >= 0 || axis_field(&t->columns, "support") >= 0;
    if (!varies_bn)
        text_print(&out, "Batch norm: %s%s. ", bn,
                   strcmp(bn, "batch") == 0
                       ? " (statistics of the batch at hand, the query's at test: transductive)"
                       : "");
    if (!varies_support)
        text_print(&out, "Test supports: %s. ", r->field[FIELD_SUPPORT]);
    text_print(&out, "Model: %s.",
               strcmp(r->field[FIELD_MODEL], "best") == 0 ? "best by validation" : "the last");
    return text_take(&out);
}

static char *note_choice(const struct table *t)
{
    int most = 1;
    const char *example = NULL;
    for (int i = 0; i < t->rows.n * t->columns.n; i++)
        if (t->cells[i].variants > most) {
            most = t->cells[i].variants;
            example = t->cells[i].choice;
        }
    if (most == 1)
        return NULL;
    return mem_print("A cell is the best of up to %d variants by validation accuracy%s%s%s.", most,
                     example ? " (such as: " : "", example ? example : "", example ? ")" : "");
}

static char *note_paper(const struct table *t)
{
    bool used[4] = {false};
    for (int i = 0; i < t->rows.n * t->columns.n; i++)
        if (t->cells[i].has_paper)
            used[t->cells[i].paper.table] = true;
    struct text out = {0};
    for (int k = 1; k <= 3; k++)
        if (used[k])
            text_print(&out, "%s%d", out.size ? ", " : "", k);
    if (!out.size)
        return NULL;
    char *note = mem_print("Paper: Al-Shedivat et al., On Data Efficiency of Meta-learning, Table "
                           "%s (3 seeds).",
                           out.at);
    text_release(&out);
    return note;
}

static char *note_missing(const struct table *t)
{
    const struct result_list *r = t->results;
    if (r->failed + r->planned + r->running == 0)
        return NULL;
    struct text out = {0};
    text_print(&out, "Of %d runs %d are done", r->done + r->failed + r->planned + r->running,
               r->done);
    if (r->running)
        text_print(&out, ", %d are running", r->running);
    if (r->planned)
        text_print(&out, ", %d are planned", r->planned);
    if (r->failed)
        text_print(&out, ", %d failed", r->failed);
    text_add(&out, "; rows that lack some have a †.");
    return text_take(&out);
}

char *table_note(const struct table *t, int i)
{
    static note_fn *const notes[] = {note_interval, note_protocol, note_choice, note_paper,
                                     note_missing};
    for (size_t k = 0; k < sizeof notes / sizeof *notes; k++) {
        char *note = notes[k](t);
        if (note && i-- == 0)
            return note;
        free(note);
    }
    return NULL;
}
#endif
