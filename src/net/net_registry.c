/* net_registry.c - the architectures: adding one is one line. */
#include "net/net.h"
#include "base/error.h"

#include <string.h>

extern const struct net_ops net_conv4, net_mlp, net_linear;

static const struct net_ops *const nets[] = {
    &net_conv4,
    &net_mlp,
    &net_linear,
};
enum { NETS = sizeof nets / sizeof *nets };

const struct net_ops *net_at(int i)
{
    return i >= 0 && i < NETS ? nets[i] : NULL;
}

int net_find(const struct net_ops **out, const char *name)
{
    const char *names[NETS];
    for (int i = 0; i < NETS; i++) {
        names[i] = nets[i]->name;
        if (strcmp(names[i], name) == 0) {
            *out = nets[i];
            return 0;
        }
    }
    return fail_unknown("net", name, names, NETS);
}
