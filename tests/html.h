/* html.h - whether the tags of a page nest and its attributes are quoted: text that gets out of its
 * place breaks one or the other. */
#ifndef TEST_HTML_H
#define TEST_HTML_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline bool html_nests(const char *at)
{
    static const char *const alone[] = {"!doctype", "meta", "link",  "br",
                                        "hr",       "img",  "input", "col"};
    char open[64][16];
    int depth = 0;
    while ((at = strchr(at, '<'))) {
        bool closes = at[1] == '/';
        char name[16] = "";
        size_t n = strcspn(at += 1 + closes, " />\n\t");
        bool is_alone = false;
        if (n == 0 || n >= sizeof name)
            return false;
        memcpy(name, at, n);
        for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
            is_alone = is_alone || strcmp(name, alone[i]) == 0;
        for (at += n; *at != '>'; at++) { /* attributes */
            if (*at == '"' && !(at = strchr(at + 1, '"')))
                return false;
            if (*at == '<' || !*at)
                return false;
        }
        if (at[-1] == '/' || is_alone)
            continue;
        if (closes && (depth == 0 || strcmp(open[--depth], name) != 0))
            return false;
        if (!closes && depth == 64)
            return false;
        if (!closes)
            memcpy(open[depth++], name, sizeof name);
        if (!closes && (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)) {
            char end[24];
            snprintf(end, sizeof end, "</%s>", name);
            if (!(at = strstr(at, end)))
                return false;
        }
    }
    return depth == 0;
}

#endif
