/* fuzz_model.c - any bytes as a model file: what is loaded is finite, and saved again the same. */
#include "fuzz_run.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct experiment x;
    struct tensors model = {0};
    size_t n;
    fuzz_run_open();
    if (!x.learner)
        fuzz_open(&x);
    uint8_t *file = fuzz_file(2, data, size, &n);
    fuzz_write("input", file, n);
    free(file);
    if (model_read(fuzz_path("input"), x.learner) != 0) {
        HOLDS(*mete_errmsg());
        return 0;
    }
    HOLDS(learner_save(x.learner, LEARNER_MODEL, &model) == 0);
    for (int i = 0; i < model.n; i++) {
        const float *at = model.at[i].array.data;
        for (int64_t k = 0; k < ndarray_count(&model.at[i].array); k++)
            HOLDS(isfinite(at[k]));
    }
    HOLDS(model_write(fuzz_path("again"), &model, NULL, 0) == 0);
    HOLDS(model_read(fuzz_path("again"), x.learner) == 0);
    tensors_release(&model);
    return 0;
}
