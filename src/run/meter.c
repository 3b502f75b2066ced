/* meter.c - counting the work of a run. */
#include "run/meter.h"

#include <math.h>
#include <stdio.h>

int meter_add(struct meter *m, double work)
{
    if (!m)
        return 0;
    m->done += work;
    return m->tell ? m->tell(m->user, m) : 0;
}

void meter_text(const struct meter *m, char out[METER_TEXT])
{
    char accuracy[24] = "";
    if (!isnan(m->accuracy))
        snprintf(accuracy, sizeof accuracy, ", %.1f %%", 100 * m->accuracy);
    if (m->testing)
        snprintf(out, METER_TEXT, "testing%s", accuracy);
    else
        snprintf(out, METER_TEXT, "step %lld of %lld%s", (long long)m->step, (long long)m->steps,
                 accuracy);
}
