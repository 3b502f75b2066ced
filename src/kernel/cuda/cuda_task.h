/* cuda_task.h - a task's operations one after another in one launch.
 *
 * The layers of Conv4 are too small to fill a GPU with one launch each: most of the time
 * would go into starting and ending.  So operations are noted (struct program) as long as
 * each only needs what belongs to its own task, and one launch works through the list, a
 * team of thread blocks per task.  Whatever else is asked for launches what is noted.
 *
 * Only for the layers in cuda_shape.cuh, in TF32 and with statistics of the pass; all
 * others have launches of their own.
 */
#ifndef CUDA_TASK_H
#define CUDA_TASK_H

#include "cuda_head.h"

enum {
    TEAM = 4, /* thread blocks of a task */
    TASK_WARPS = 16,
    TASK_THREADS = TASK_WARPS * 32,
    TASKS_MOST = 4096,
    STEPS_MOST = 108 /* so that a program fits the 32,764 bytes of a kernel's arguments */
};

/* A layer's part of a pass. */
struct conv_step {
    int n, stat;
    const int32_t *count;
    const float *x;
    float *dx;
    struct cache cache;
    struct vec theta, grad;
    uint32_t offset[TENSORS];
    float eps;
};

/* What becomes of a gradient g besides being kept: to[0] = y[0] + a[0] g, and then to[1] =
 * y[1] + a[1] to[0], at the same elements. */
struct update {
    int n;                   /* how many of those */
    bool drop;               /* the gradient itself: a later pass overwrites it unread */
    uint32_t head, head_end; /* in the last step: the head's elements, from its gradient */
    float a[2];
    struct vec to[2], y[2];
};

struct axpy_step {
    size_t fours;
    struct vec to, y, x;
    float a;
};

struct step {
    enum { STEP_FORWARD, STEP_NORM, STEP_BACKWARD, STEP_HEAD, STEP_AXPY } kind;
    int layer;  /* of the net: 0..3 */
    bool alone; /* nothing of the next step depends on another block of the team */
    union {
        struct {
            struct conv_step conv;
            struct update update;
        };
        struct head_args head;
        struct axpy_step axpy;
    };
};

struct program {
    int tasks, steps, net;       /* net: 0 Omniglot's, 1 mini-ImageNet's */
    int pass, pass_before;       /* the last two heads whose way back is complete; -1: none */
    unsigned *tickets, *arrived; /* device memory: a counter, and one a task */
    struct step step[STEPS_MOST];
};

#ifdef __cplusplus
extern "C" {
#endif
int cuda_program_open(struct device *d);
void cuda_program_close(struct device *d);
/* Each notes the operation, or says no. */
bool cuda_program_forward(struct device *d, const struct layer_call *c);
bool cuda_program_backward(struct device *d, const struct layer_call *c);
bool cuda_program_head(struct device *d, const struct head_args *a, int tasks);
bool cuda_program_axpy(struct device *d, int tasks, size_t len, struct vec to, struct vec y,
                       double a, struct vec x);
/* Launches what is noted. */
void cuda_program_flush(struct device *d);
#ifdef __cplusplus
}
#endif
#endif
