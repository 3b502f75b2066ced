/* yaml.c - libyaml's events, gathered into a plain tree. */
#include "config/yaml.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static void release(struct yaml *y)
{
    for (int i = 0; i < y->n; i++)
        release(&y->child[i]);
    free(y->child);
    free(y->key);
    free(y->text);
}

void yaml_close(struct yaml *y)
{
    if (!y)
        return;
    release(y);
    free(y);
}

const struct yaml *yaml_get(const struct yaml *map, const char *key)
{
    for (int i = 0; map && map->kind == YAML_MAP && i < map->n; i++)
        if (strcmp(map->child[i].key, key) == 0)
            return &map->child[i];
    return NULL;
}

const char *yaml_kind_name(const struct yaml *y)
{
    static const char *const names[] = {"a text", "a list", "a map"};
    return names[y->kind];
}

#ifndef METE_HAVE_YAML
int yaml_read(struct yaml **out, const char *path, const char *text, size_t size)
{
    (void)out, (void)text, (void)size;
    return fail(METE_EMISSING, "%s: suites need libyaml: install libyaml-dev and build again",
                path);
}
#else
#include <yaml.h>

enum { KEYS_MAX = 4096 }; /* of one map: each is compared with all before it */

struct reader {
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event; /* the one at hand */
};

/* The message of libyaml, as path:line:column: message. */
static int complain(const struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return fail(METE_ENOMEM, "%s: out of memory", r->path);
    return fail(METE_EINVAL, "%s:%zu:%zu: %s", r->path, p->problem_mark.line + 1,
                p->problem_mark.column + 1, p->problem ? p->problem : "not a YAML document");
}

static int next(struct reader *r)
{
    yaml_event_delete(&r->event);
    return yaml_parser_parse(&r->parser, &r->event) ? 0 : complain(r);
}

static void place(const struct reader *r, int *line, int *column)
{
    *line = (int)r->event.start_mark.line + 1;
    *column = (int)r->event.start_mark.column + 1;
}

static int set_text(struct reader *r, struct yaml *y)
{
    size_t size = r->event.data.scalar.length;
    place(r, &y->line, &y->column);
    y->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    y->text = mem_alloc(size + 1);
    if (size)
        memcpy(y->text, r->event.data.scalar.value, size);
    if (strlen(y->text) != size)
        return fail(METE_EINVAL, "%s:%d:%d: a text holds a 0 byte", r->path, y->line, y->column);
    return 0;
}

static struct yaml *add_child(struct yaml *y)
{
    if ((y->n & (y->n - 1)) == 0) /* full at each power of two */
        y->child = mem_grow(y->child, y->n ? 2 * (size_t)y->n : 1, sizeof *y->child);
    struct yaml *child = &y->child[y->n++];
    *child = (struct yaml){.line = y->line, .column = y->column};
    return child;
}

static int gather(struct reader *r, struct yaml *y, int depth);

/* The key at hand, and the event after it. */
static int take_key(struct reader *r, const struct yaml *map, struct yaml *child)
{
    struct yaml key = {0};
    if (r->event.type != YAML_SCALAR_EVENT)
        return fail(METE_EINVAL, "%s:%d:%d: a key of this map is not a text", r->path, map->line,
                    map->column);
    int err = set_text(r, &key);
    child->key_line = child->line = key.line;
    child->key_column = child->column = key.column;
    if (!err && map->n > KEYS_MAX)
        err = fail(METE_EINVAL, "%s:%d:%d: more than %d keys in one map", r->path, key.line,
                   key.column, KEYS_MAX);
    for (int i = 0; i < map->n - 1 && !err; i++)
        if (strcmp(map->child[i].key, key.text) == 0)
            err = fail(METE_EINVAL, "%s:%d:%d: '%s' is here twice", r->path, key.line, key.column,
                       key.text);
    child->key = key.text;
    return err ? err : next(r);
}

/* The parts of a list or map, up to its end. */
static int gather_parts(struct reader *r, struct yaml *y, int depth)
{
    bool map = r->event.type == YAML_MAPPING_START_EVENT;
    y->kind = map ? YAML_MAP : YAML_LIST;
    for (int err;;) {
        if ((err = next(r)))
            return err;
        if (r->event.type == YAML_MAPPING_END_EVENT || r->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        struct yaml *child = add_child(y);
        if ((map && (err = take_key(r, y, child))) || (err = gather(r, child, depth + 1)))
            return err;
    }
    if (y->n > 0) { /* placed where its first part is */
        const struct yaml *first = &y->child[0];
        y->line = first->key ? first->key_line : first->line;
        y->column = first->key ? first->key_column : first->column;
    }
    return 0;
}

/* The value that begins with the event at hand. */
static int gather(struct reader *r, struct yaml *y, int depth)
{
    if (depth > YAML_DEPTH_MAX)
        return fail(METE_EINVAL, "%s:%d:%d: nested deeper than %d", r->path, y->line, y->column,
                    YAML_DEPTH_MAX);
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        return set_text(r, y);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return gather_parts(r, y, depth);
    case YAML_ALIAS_EVENT:
        place(r, &y->line, &y->column);
        return fail(METE_EINVAL, "%s:%d:%d: aliases (*name) are not read here; write it out",
                    r->path, y->line, y->column);
    default:
        return fail(METE_EINVAL, "%s:%d:%d: a value is missing", r->path, y->line, y->column);
    }
}

/* One document, and nothing after it. */
static int gather_document(struct reader *r, struct yaml *y)
{
    int err = next(r); /* the start of the stream */
    if (!err)
        err = next(r);
    if (!err && r->event.type == YAML_STREAM_END_EVENT)
        return fail(METE_EINVAL, "%s: the file holds nothing", r->path);
    if (!err)
        err = next(r);
    if (!err)
        err = gather(r, y, 0);
    if (!err)
        err = next(r); /* the end of the document */
    if (!err)
        err = next(r);
    if (err || r->event.type == YAML_STREAM_END_EVENT)
        return err;
    int line, column;
    place(r, &line, &column);
    return fail(METE_EINVAL, "%s:%d:%d: a second document; a suite is one", r->path, line, column);
}

/* Plain text in UTF-8, without directives. */
static int check_text(const char *path, const char *text, size_t size)
{
    int line = 1;
    size_t start = 0;
    for (size_t i = 0; i < size;) {
        int n = utf8_length(text + i, size - i);
        unsigned char c = (unsigned char)text[i];
        if (n == 0 || (c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
            return fail(METE_EINVAL, "%s:%d:%zu: not plain text in UTF-8", path, line,
                        i - start + 1);
        if (c == '%' && i == start)
            return fail(METE_EINVAL, "%s:%d:1: directives (%%) are not read here", path, line);
        if (c == '\n') {
            line++;
            start = i + 1;
        }
        i += (size_t)n;
    }
    return 0;
}

int yaml_read(struct yaml **out, const char *path, const char *text, size_t size)
{
    int err = check_text(path, text, size);
    if (err)
        return err;
    if (size == 0)
        return fail(METE_EINVAL, "%s: the file is empty", path);
    struct reader r = {.path = path};
    if (!yaml_parser_initialize(&r.parser))
        return fail(METE_ENOMEM, "%s: out of memory", path);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    struct yaml *y = mem_alloc(sizeof *y);
    y->line = y->column = 1;
    err = gather_document(&r, y);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (err)
        yaml_close(y);
    else
        *out = y;
    return err;
}
#endif
