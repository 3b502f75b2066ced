/* given_params.c - settings of other people's plug-ins. */
#include "base/given_params.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_SIZE = PARAM_TEXT_SIZE + 16, FIELD = 8 /* bytes of a number, and its alignment */ };

static size_t size_of(enum param_type type)
{
    return type == PARAM_TEXT ? PARAM_TEXT_SIZE : FIELD;
}

static enum param_type type_of(const struct mete_param *p)
{
    static const enum param_type types[] = {[METE_INT] = PARAM_INT,
                                            [METE_REAL] = PARAM_REAL,
                                            [METE_BOOL] = PARAM_BOOL,
                                            [METE_CHOICE] = PARAM_CHOICE,
                                            [METE_TEXT] = PARAM_TEXT};
    return types[p->type];
}

static int check(const struct mete_param *p)
{
    bool number = p->type == METE_INT || p->type == METE_REAL;
    if (p->type < METE_INT || p->type > METE_TEXT)
        return fail(METE_EINVAL, "setting '%s': type %d is none of enum mete_param_type", p->name,
                    p->type);
    if (!*p->name || strpbrk(p->name, "= \t\n:"))
        return fail(METE_EINVAL, "setting '%s': a name has no blanks, '=' and ':'", p->name);
    if (number && !(p->min <= p->initial && p->initial <= p->max && isfinite(p->initial)))
        return fail(METE_EINVAL, "setting '%s': its initial value %g is not in %g..%g", p->name,
                    p->initial, p->min, p->max);
    if (p->type == METE_INT && (fabs(p->min) > 2147483647 || fabs(p->max) > 2147483647))
        return fail(METE_EINVAL, "setting '%s': whole numbers have 32 bits", p->name);
    if (p->type == METE_CHOICE && (!p->text || !*p->text))
        return fail(METE_EINVAL, "setting '%s': a choice needs its words, as in mean|sum", p->name);
    if (p->type == METE_TEXT && p->text && strlen(p->text) >= PARAM_TEXT_SIZE)
        return fail(METE_EINVAL, "setting '%s': a text has at most %d bytes", p->name,
                    PARAM_TEXT_SIZE - 1);
    return 0;
}

static void add(struct given_params *out, int i, const struct mete_param *p)
{
    enum param_type type = type_of(p);
    out->table[i] = (struct param){.name = mem_string(p->name),
                                   .type = type,
                                   .offset = out->state_size,
                                   .initial = p->initial,
                                   .min = p->min,
                                   .max = p->max,
                                   .choices = p->text ? mem_string(p->text) : NULL,
                                   .help = mem_string(p->help ? p->help : "")};
    out->state_size += size_of(type);
}

int given_params_open(struct given_params *out, const struct mete_param *params,
                      const char *version)
{
    int n = 0, err = 0;
    for (; params && params[n].name && !err; n++)
        err = check(&params[n]);
    struct mete_param is = {
        .name = "version", .type = METE_TEXT, .text = version, .help = "of the code"};
    if (!err && version)
        err = check(&is);
    if (err)
        return err;
    *out = (struct given_params){mem_array((size_t)n + 2, sizeof *out->table), FIELD};
    for (int i = 0; i < n; i++)
        add(out, i, &params[i]);
    if (version)
        add(out, n, &is);
    if (out->state_size <= GIVEN_STATE_MOST)
        return 0;
    given_params_close(out);
    return fail(METE_EINVAL, "its settings are too many: a text takes %d of %d bytes, others %d",
                PARAM_TEXT_SIZE, GIVEN_STATE_MOST, FIELD);
}

void given_params_close(struct given_params *p)
{
    for (struct param *row = p->table; row && row->name; row++) {
        free((char *)row->name);
        free((char *)row->choices);
        free((char *)row->help);
    }
    free(p->table);
    *p = (struct given_params){0};
}

static double number_of(const struct param *row, const void *state)
{
    const void *at = (const char *)state + row->offset;
    switch (row->type) {
    case PARAM_INT:
    case PARAM_CHOICE:
        return *(const int *)at;
    case PARAM_REAL:
        return *(const double *)at;
    case PARAM_BOOL:
        return *(const bool *)at;
    case PARAM_TEXT:
        break;
    }
    return NAN;
}

struct mete_value *given_values(const struct param *table, const void *state)
{
    size_t n = 0;
    while (table[n].name)
        n++;
    struct mete_value *values = mem_array(1, (n + 1) * sizeof *values + n * VALUE_SIZE);
    char *text = (char *)(values + n + 1);
    for (size_t i = 0; i < n; i++, text += VALUE_SIZE) {
        param_text(&table[i], state, text, VALUE_SIZE);
        values[i] = (struct mete_value){table[i].name, text, number_of(&table[i], state)};
    }
    return values;
}
