/* net.h - the learner's architecture: a chain of layers over a kernel set.
 *
 * A net is a description; it holds no weights.  Weights are parameter vectors in
 * the kernel set's layout (kernel.h), one per task or shared.
 *
 * To add an architecture: write src/net/NAME.c ending in a `const struct net_ops`
 * and add its address to the table in net_registry.c.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include "base/memory.h"
#include "base/param.h"
#include "base/rng.h"
#include "kernel/kernel.h"

enum bn_mode { BN_BATCH, BN_SUPPORT, BN_RUNNING };

struct net;
struct net_ops {
    const char *name, *summary;
    size_t state_size;          /* of the settings */
    const struct param *params; /* ends with {0} */
    /* Adds the layers before the head, for inputs of h x w x c. */
    int (*build)(struct net *net, const void *settings, int h, int w, int c);
    enum bn_mode (*bn)(const void *settings); /* NULL: it does not normalise */
};

/* Prototypes that tasks share: learned by the gradient, or running means of the tasks' class means,
 * which no optimiser moves. */
enum prior { PRIOR_NONE, PRIOR_LEARNED, PRIOR_MEAN };

struct net {
    const struct net_ops *ops;
    const struct kernels *k;
    struct layer layer[LAYERS_MAX];
    int layers; /* with the head, where there is one */
    int ways;   /* of the head; 0: none, the net ends in features */
    int prior;  /* ways of shared prototypes, 0: none; they are layer[layers], which no pass runs */
    double prior_count; /* images that a shared prototype is worth at first */
    size_t means[2];    /* elements that are running means among those trained: first, and end */
    enum bn_mode bn;
    size_t len;     /* elements of a parameter vector */
    size_t trained; /* those that gradients move */
};

const struct net_ops *net_at(int i); /* NULL past the last */
int net_find(const struct net_ops **out, const char *name);

/* Builds `net` for inputs of h x w x c; ways 0 leaves the head out. */
int net_build(struct net *net, const struct net_ops *ops, const void *settings,
              const struct kernels *k, int h, int w, int c, int ways);
/* Adds shared prototypes, how many images each is worth, and the log odds of each class, to a net
 * without a head. */
int net_add_prior(struct net *net, int ways, enum prior kind, double count);
size_t net_body(const struct net *net); /* trained elements before those, or all of them */
/* For a net's build: append a layer. */
int net_add_conv(struct net *net, int filters, int stride, bool pool, double eps, int h, int w,
                 int c);
int net_add_dense(struct net *net, int units, bool relu, int h, int w, int c);

int net_features(const struct net *net); /* outputs of the last layer before the head */
const struct layer *net_feature_layer(const struct net *net, int *index); /* index may be NULL */

/* The tensors by PyTorch's names: "conv0.weight", "bn0.running_mean", "head.bias"; those of shared
 * prototypes are "prior.mean", "prior.log_count" and "prior.log_odds". */
struct net_tensor {
    char name[32];
    int layer;
    enum tensor which;
    int shape[4], dims;
    size_t len;
};
enum { NET_TENSORS_MAX = LAYERS_MAX * TENSORS };
int net_tensors(const struct net *net, struct net_tensor out[NET_TENSORS_MAX]); /* how many */
bool net_tensor_trained(const struct net_tensor *t);

/* Glorot-uniform weights, zero biases, gamma 1, beta 0, running mean 0 and variance 1;
 * shared prototypes at the origin, worth prior_count images, of classes with log odds 0. */
void net_init(const struct net *net, struct device *d, uint64_t seed, void *theta);

/* FLOPs of one image, counting only taps inside the image (a multiply-add is two). */
enum flops { FLOPS_FORWARD, FLOPS_BOTH /* forward and backward */, FLOPS_HVP };
double net_flops(const struct net *net, enum flops what);

/* The largest relative difference between the gradient `grad` of `f` at `x` and
 * central differences along `probes` random directions.  For authors of layers,
 * losses and methods; f must be smooth near x. */
typedef double check_fn(void *user, const double *x);
double gradient_check(check_fn *f, void *user, const double *x, const double *grad, size_t n,
                      double step, int probes, uint64_t seed);

#endif
