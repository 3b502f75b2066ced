/* pictures.h - a small dataset in memory, of people: what tests of the library train on. */
#ifndef PICTURES_H
#define PICTURES_H

#include "mete.h"

enum { SIDE = 16, ITEM = SIDE * SIDE, WAYS = 5, USERS = 12, EACH = 20, ITEMS = USERS * EACH };

/* Pictures of a bright bar at a place that says the class, on paper that says the user. */
static uint8_t pictures[ITEMS][ITEM];
static int32_t classes[ITEMS], users[ITEMS];

static inline void draw_pictures(void)
{
    uint32_t noise = 1;
    for (int i = 0; i < ITEMS; i++) {
        users[i] = i / EACH;
        classes[i] = i % WAYS;
        for (int p = 0; p < ITEM; p++) {
            noise = noise * 1664525 + 1013904223;
            bool bar = p / SIDE / 3 == classes[i];
            pictures[i][p] = (uint8_t)((bar ? 200 : 40) + users[i] + (int)(noise >> 27));
        }
    }
}

static const char *const class_names[] = {"one", "two", "three \"3\"", "four", "fünf"};

static inline struct mete_data_parts parts_of_pictures(void)
{
    return (struct mete_data_parts){
        .size = sizeof(struct mete_data_parts),
        .name = "bars",
        .x = {.x = pictures, .items = ITEMS, .h = SIDE, .w = SIDE, .c = 1, .scale = 1 / 255.0f},
        .y = classes,
        .user = users,
        .class_names = class_names};
}

static inline struct mete_array items(int first, int n)
{
    return (struct mete_array){
        .x = pictures[first], .items = n, .h = SIDE, .w = SIDE, .c = 1, .scale = 0};
}

#endif
