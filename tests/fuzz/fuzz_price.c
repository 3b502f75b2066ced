/* fuzz_price.c - any text as budget.cost, or as a file of prices: what is accepted is a price for
 * each class or item within the limits, and has one canonical spelling. */
#include "fuzz.h"
#include "task/cost.h"
#include "mete.h"

#include <string.h>
#include <unistd.h>

enum { ITEMS = 5, CLASSES = 3 };
static const millionths most = (millionths)1000000 * 1000000;

/* As the setting itself. */
static void as_setting(const struct dataset *d, const uint8_t *data, size_t size)
{
    char text[PARAM_TEXT_SIZE] = "", again[PARAM_TEXT_SIZE];
    struct cost cost;
    size = size < sizeof text - 1 ? size : sizeof text - 1;
    if (size)
        memcpy(text, data, size);
    if (strncmp(text, "class:", 6) == 0 || strncmp(text, "item:", 5) == 0 || cost_canonical(text))
        return;
    memcpy(again, text, sizeof again);
    HOLDS(cost_canonical(again) == 0 && strcmp(again, text) == 0);
    HOLDS(cost_open(&cost, d, text) == 0);
    HOLDS(cost.constant >= 0 && cost.constant <= most);
    char printed[MONEY_TEXT_SIZE];
    money_text(cost.constant, printed);
    HOLDS(strcmp(printed, text) == 0);
    cost_release(&cost);
}

static void as_file(const struct dataset *d, const char *kind, const uint8_t *data, size_t size)
{
    static char path[64];
    char text[PARAM_TEXT_SIZE], word[CONTENT_SIZE];
    struct cost cost;
    if (!*path)
        snprintf(path, sizeof path, "/tmp/mete-fuzz-price-%ld", (long)getpid());
    FILE *f = fopen(path, "w");
    if (!f || (size && fwrite(data, 1, size, f) != size) || fclose(f) != 0)
        abort();
    snprintf(text, sizeof text, "%s:%s", kind, path);
    int err = cost_open(&cost, d, text);
    unlink(path);
    if (err) {
        HOLDS(*mete_errmsg());
        return;
    }
    for (int i = 0; i < ITEMS; i++) {
        millionths price = cost_of(&cost, d, i);
        HOLDS(price >= 0 && price <= most);
    }
    HOLDS(cost_content(&cost, d, word) && *word);
    cost_release(&cost);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int32_t y[ITEMS] = {0, 1, 2, 0, 1};
    static char *names[CLASSES] = {"a", "b, c", "1"};
    struct dataset d = {
        .name = (char *)"tiny", .items = ITEMS, .classes = CLASSES, .y = y, .class_names = names};
    if (size < 1)
        return 0;
    if (*data % 3 == 0)
        as_setting(&d, data + 1, size - 1);
    else
        as_file(&d, *data % 3 == 1 ? "class" : "item", data + 1, size - 1);
    return 0;
}
