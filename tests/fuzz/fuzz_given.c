/* fuzz_given.c - any bytes as the answers that people gave, as CSV or as Label Studio's JSON: all
 * of it is added, and what is there adds up, or nothing is, and a sentence says where it is wrong.
 */
#include "fuzz_import.h"
#include "mete_personal.h"
#include "data/answers.h"
#include "data/places.h"
#include "base/memory.h"

enum { ITEMS = 6, LABELLED = 2 };

static void make_data(void)
{
    static uint8_t x[ITEMS];
    static int32_t y[ITEMS] = {0, 1, NO_LABEL, NO_LABEL, NO_LABEL, NO_LABEL};
    static int32_t user[ITEMS] = {0, 1, 0, 0, 1, 1};
    static char *classes[] = {"walk", "run, \"fast\""}, *users[] = {"ann", "bob"};
    static char name[] = "fuzz";
    struct dataset d = {.name = name,
                        .path = name,
                        .items = ITEMS,
                        .classes = 2,
                        .users = 2,
                        .h = 1,
                        .w = 1,
                        .c = 1,
                        .scale = 1,
                        .x = x,
                        .y = y,
                        .user = user,
                        .class_names = classes,
                        .user_names = users};
    HOLDS(dataset_write(fuzz_path("data"), &d, false) == 0);
    HOLDS(places_write(fuzz_path("data"), "0.png\n1.png\na/2.png\n3.png\n4.png\n5.png\n") == 0);
}

static void check_sums(const struct mete_answers *got)
{
    struct mete_answers_status s;
    HOLDS(mete_answers_status(fuzz_path("data"), &s, NULL, NULL) == 0);
    HOLDS(s.items == ITEMS && s.imported == LABELLED);
    HOLDS(s.imported + s.answered + s.unknown + s.open == ITEMS);
    HOLDS(s.answered == got->labels && s.unknown <= got->unknown);
    HOLDS(s.spent == got->charged && s.spent == got->spent);
    HOLDS(s.spent == (double)(got->labels + got->unknown) * 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mete_answers first, again;
    static bool made;
    if (!made)
        make_data();
    made = true;
    if (size < 1)
        return 0;
    const char *name = *data & 1 ? "given.json" : "given.csv";
    fuzz_write(name, data + 1, size - 1);
    struct mete_answers_options o = {.size = sizeof o,
                                     .data = fuzz_path("data"),
                                     .path = fuzz_path(name),
                                     .by = "me",
                                     .cost = 2,
                                     .new_classes = *data & 2};
    if (mete_answers_import(&o, &first) != 0) {
        HOLDS(*mete_errmsg() && !strchr(mete_errmsg(), '\n'));
        HOLDS(!answers_exist(fuzz_path("data")));
    } else {
        check_sums(&first);
        HOLDS(mete_answers_import(&o, &again) == 0);
        HOLDS(again.labels == 0 && again.unknown == 0 && again.charged == 0);
    }
    unlink(fuzz_path("data/answers.log"));
    unlink(fuzz_path(name));
    return 0;
}
