/* adapt.c - mete_adapt_person: a model for one person, into a file. */
#include "mete_personal.h"
#include "people/people.h"
#include "model/export.h"
#include "base/error.h"
#include "base/number.h"
#include "base/options.h"

static int check(const struct mete_adapt_options *o)
{
    if (!o->model || !o->data)
        return fail(METE_EINVAL, "adapt: there is no %s", o->model ? "data" : "model");
    if (!o->out)
        return fail(METE_EINVAL, "adapt: say where the model goes: -o FILE");
    return export_format_find(o->format, o->out) ? 0 : METE_EINVAL;
}

/* A model that was adapted to nothing is nobody's. */
static int adapt_to(const struct people *p, const struct mete_adapt_options *o, int person)
{
    const char *who = o->user ? o->user : o->data;
    struct pool pool = people_pool(p, person);
    int known = 0, err = questions_adapt(p->questions, &pool);
    for (int i = 0; i < pool.n; i++)
        known += pool.known[i] >= 0;
    pool_release(&pool);
    if (err || questions_model(p->questions)->labelled > 0)
        return err;
    return known
               ? fail(METE_EINVAL, "%s: none of the %d labels is of a class that %s knows", who,
                      known, o->model)
               : fail(METE_EINVAL,
                      "%s: no item has a label yet; 'mete label next' says what to ask about", who);
}

int mete_adapt_person(const struct mete_adapt_options *options, int64_t *labels)
{
    NUMBER_LOCALE;
    struct mete_adapt_options o;
    struct people p = {0};
    int person = 0;
    int err = options_take(&o, sizeof o, options, "mete_adapt_options");
    if (!err)
        err = check(&o);
    if (!err)
        err = people_open(&p, &(struct people_options){.data = o.data,
                                                       .model = o.model,
                                                       .set = o.set,
                                                       .device = o.device,
                                                       .nobody_asked = true});
    if (!err)
        err = people_find(&p, o.user, &person);
    if (!err)
        err = adapt_to(&p, &o, person);
    if (!err)
        err = mete_export(questions_model(p.questions), o.format, o.out);
    if (!err && labels)
        *labels = questions_model(p.questions)->labelled;
    people_close(&p);
    return err;
}
