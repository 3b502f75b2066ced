/* test_style.c - methods keep their colours, label strategies their ink and markers. */
#include "test.h"
#include "report/style.h"

TEST(methods_have_colours_of_their_own_and_strategies_the_ink)
{
    static const char *const methods[] = {"protonet", "maml", "reptile", "fedavg"};
    struct style s = {0};
    for (int i = 0; i < 4; i++) {
        int colour = style_colour(&s, methods[i]);
        CHECK(colour >= 0 && colour < STYLE_COLOURS);
        for (int k = 0; k < i; k++)
            CHECK(style_colour(&s, methods[k]) != colour);
    }
    CHECK_EQ(style_colour(&s, "random"), STYLE_INK);
    CHECK_EQ(style_colour(&s, "active"), STYLE_INK);
    CHECK_EQ(style_colour(&s, ""), STYLE_INK);
    CHECK_EQ(style_colour(&s, NULL), STYLE_INK);
    int own = style_colour(&s, "my method"), next = style_colour(&s, "another");
    CHECK(own != next && own >= 0 && next >= 0 && own < STYLE_COLOURS && next < STYLE_COLOURS);
    CHECK_EQ(style_colour(&s, "my method"), own); /* remembered */
    for (int i = 0; i < 4; i++)
        CHECK(style_colour(&s, methods[i]) != own);
    CHECK(style_marker(&s, "random") != style_marker(&s, "active"));
    CHECK(style_marker(&s, "mine") != style_marker(&s, "yours"));
    CHECK(strcmp(style_dashes("random"), style_dashes("active")) != 0);
    CHECK_STR(style_method("protonet"), "ProtoNets");
    CHECK_STR(style_method("mine"), "mine");
    style_release(&s);
}

TESTS(T(methods_have_colours_of_their_own_and_strategies_the_ink))
