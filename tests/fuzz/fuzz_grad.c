/* fuzz_grad.c - any file as the input of `mete grad`: a sentence, or a gradient.
 *
 * The first byte chooses the method and the net, the rest is the file. */
#include "fuzz.h"
#include "mete.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"maml", "protonet", "reptile", "fedavg"};
    static const char *const set[] = {"first_order=no", "inner.steps=2", NULL};
    if (size == 0)
        return 0;
    int fd = memfd_create("task", 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    HOLDS(write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    bool maml = data[0] % 4 == 0;
    struct mete_grad_options o = {.size = sizeof o,
                                  .method = methods[data[0] % 4],
                                  .net = data[0] & 4 ? "conv4" : "mlp",
                                  .device = "ref",
                                  .set = maml ? set : NULL,
                                  .in = path,
                                  .out = "/dev/null"}; /* which is refused, at the very end */
    int err = mete_grad(&o);
    HOLDS(err < 0 && mete_errmsg()[0]);
    HOLDS(err != METE_EINVAL); /* nothing was asked wrongly: it is the file's fault */
    close(fd);
    return 0;
}
