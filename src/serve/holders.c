/* holders.c - which items annotators hold, so that no two are asked about one. */
#include "serve/annotators_own.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum {
    SILENCE = 15 * 60, /* seconds after which somebody's items are asked of others */
    HOLDERS_MOST = 1000,
};

const struct dataset *annotators_data(const struct annotators *a)
{
    return a->people.d;
}

static void set_busy(struct annotators *a, const struct holder *h, int64_t item, bool busy)
{
    if (!h->second)
        a->busy[item] = busy;
}

int holder_place(const struct holder *h, int64_t item)
{
    for (int i = 0; i < h->n; i++)
        if (h->held[i].item == item)
            return i;
    return -1;
}

void holder_hold(struct annotators *a, struct holder *h, const struct question *q, bool first)
{
    h->held = mem_grow(h->held, (size_t)h->n + 1, sizeof *h->held);
    int at = first ? 0 : h->n;
    memmove(h->held + at + 1, h->held + at, (size_t)(h->n - at) * sizeof *h->held);
    h->held[at] = *q;
    h->n++;
    set_busy(a, h, q->item, true);
}

void holder_let_go(struct annotators *a, struct holder *h, int64_t item)
{
    int at = holder_place(h, item);
    if (at < 0)
        return;
    set_busy(a, h, item, false);
    h->n--;
    memmove(h->held + at, h->held + at + 1, (size_t)(h->n - at) * sizeof *h->held);
}

bool holder_has_skipped(const struct holder *h, int64_t item)
{
    for (int i = 0; i < h->skips; i++)
        if (h->skipped[i] == item)
            return true;
    return false;
}

void holder_skip(struct holder *h, int64_t item)
{
    if (holder_has_skipped(h, item))
        return;
    h->skipped = mem_grow(h->skipped, (size_t)h->skips + 1, sizeof *h->skipped);
    h->skipped[h->skips++] = item;
}

void holder_unskip(struct holder *h, int64_t item)
{
    int n = 0;
    for (int i = 0; i < h->skips; i++)
        if (h->skipped[i] != item)
            h->skipped[n++] = h->skipped[i];
    h->skips = n;
}

bool holder_may_be_asked(const struct annotators *a, const struct holder *h, int64_t item)
{
    int64_t row = answers_row_of(a->answers, item);
    if (!h->second)
        return answers_label(a->answers, item) == NO_LABEL && row < 0;
    return row >= 0 && answers_label(a->answers, item) != NO_LABEL &&
           answers_row_by(a->answers, item, h->who) < 0;
}

void holder_let_go_answered(struct annotators *a, struct holder *h)
{
    for (int i = h->n - 1; i >= 0; i--)
        if (!holder_may_be_asked(a, h, h->held[i].item))
            holder_let_go(a, h, h->held[i].item);
}

void holders_let_go_silent(struct annotators *a)
{
    double now = seconds_now();
    for (struct holder *h = a->holders; h; h = h->next)
        while (now - h->heard > SILENCE && h->n > 0)
            holder_let_go(a, h, h->held[h->n - 1].item);
}

void holders_look_again(struct annotators *a)
{
    for (struct holder *h = a->holders; h; h = h->next)
        h->finished = false;
}

static int add_holder(struct annotators *a, const struct annotator *w, int person,
                      struct holder **out)
{
    int n = 0;
    for (struct holder *h = a->holders; h; h = h->next)
        n++;
    if (n == HOLDERS_MOST)
        return fail(METE_EINVAL, "more than %d annotators; start the server anew", HOLDERS_MOST);
    struct holder *h = mem_alloc(sizeof *h);
    *h = (struct holder){.who = mem_string(w->who),
                         .person = person,
                         .second = w->second,
                         .spoken_of = -1,
                         .counted = -1,
                         .sure = NAN,
                         .sure_before = NAN,
                         .next = a->holders};
    a->holders = *out = h;
    return 0;
}

int holder_find(struct annotators *a, const struct annotator *w, struct holder **out)
{
    int person = -1;
    if (!w->who || !*w->who)
        return fail(METE_EINVAL, "who: nobody says who answers");
    int err = !w->user && annotators_data(a)->users ? 0 : people_find(&a->people, w->user, &person);
    if (err)
        return err;
    struct holder *h = a->holders;
    while (h && (strcmp(h->who, w->who) != 0 || h->person != person || h->second != w->second))
        h = h->next;
    err = h ? 0 : add_holder(a, w, person, &h);
    if (err)
        return err;
    h->heard = seconds_now();
    h->ahead = w->ahead <= 0 ? AHEAD : w->ahead < AHEAD_MOST ? (int)w->ahead : AHEAD_MOST;
    *out = h;
    return 0;
}

int64_t holder_items(const struct annotators *a, const struct holder *h, const int64_t **item)
{
    if (h->person >= 0)
        return people_items(&a->people, h->person, item);
    *item = NULL;
    return annotators_data(a)->items;
}
