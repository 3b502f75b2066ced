/* yaml.c - libfyaml's document, copied into a plain tree. */
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

#ifndef METE_HAVE_FYAML
int yaml_read(struct yaml **out, const char *path, const char *text, size_t size)
{
    (void)out, (void)text, (void)size;
    return fail(METE_EMISSING, "%s: suites need libfyaml: install libfyaml-dev and build again",
                path);
}
#else
#include <libfyaml.h>

struct reader {
    const char *path;
    char complaint[512]; /* libfyaml's first message */
};

/* libfyaml says "name:line:column: error: message"; the first line is the cause. */
static void keep_complaint(struct fy_diag *diag, void *user, const char *text, size_t size)
{
    (void)diag;
    struct reader *r = user;
    size_t used = strlen(r->complaint);
    if (memchr(r->complaint, '\n', used))
        return;
    size_t room = sizeof r->complaint - 1 - used, n = size < room ? size : room;
    memcpy(r->complaint + used, text, n);
    r->complaint[used + n] = '\0';
}

static int set_text(struct reader *r, struct yaml *y, struct fy_node *node)
{
    size_t size = 0;
    const char *text = fy_node_get_scalar(node, &size);
    struct fy_token *token = fy_node_get_scalar_token(node);
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (mark) {
        y->line = mark->line + 1;
        y->column = mark->column + 1;
    }
    y->quoted = token && fy_token_scalar_style(token) != FYSS_PLAIN;
    y->text = mem_alloc(size + 1);
    if (size)
        memcpy(y->text, text, size);
    if (strlen(y->text) != size)
        return fail(METE_EINVAL, "%s:%d:%d: a text holds a 0 byte", r->path, y->line, y->column);
    return 0;
}

static int copy(struct reader *r, struct yaml *y, struct fy_node *node, int depth);

static int copy_map(struct reader *r, struct yaml *y, struct fy_node *node, int depth)
{
    void *at = NULL;
    struct fy_node_pair *pair;
    while ((pair = fy_node_mapping_iterate(node, &at))) {
        struct yaml *child = &y->child[y->n++], key = {.line = y->line, .column = y->column};
        struct fy_node *name = fy_node_pair_key(pair);
        *child = (struct yaml){.line = y->line, .column = y->column};
        if (!name || !fy_node_is_scalar(name))
            return fail(METE_EINVAL, "%s:%d:%d: a key of this map is not a text", r->path, y->line,
                        y->column);
        int err = set_text(r, &key, name);
        child->key = key.text;
        child->key_line = child->line = key.line;
        child->key_column = child->column = key.column;
        if (!err)
            err = copy(r, child, fy_node_pair_value(pair), depth + 1);
        if (err)
            return err;
    }
    return 0;
}

static int copy_list(struct reader *r, struct yaml *y, struct fy_node *node, int depth)
{
    void *at = NULL;
    struct fy_node *item;
    while ((item = fy_node_sequence_iterate(node, &at))) {
        struct yaml *child = &y->child[y->n++];
        *child = (struct yaml){.line = y->line, .column = y->column};
        int err = copy(r, child, item, depth + 1);
        if (err)
            return err;
    }
    return 0;
}

/* A container is placed where its first part is. */
static void place_container(struct yaml *y)
{
    if (y->n == 0)
        return;
    const struct yaml *first = &y->child[0];
    y->line = first->key ? first->key_line : first->line;
    y->column = first->key ? first->key_column : first->column;
}

static int copy(struct reader *r, struct yaml *y, struct fy_node *node, int depth)
{
    if (depth > YAML_DEPTH_MAX)
        return fail(METE_EINVAL, "%s:%d:%d: nested deeper than %d", r->path, y->line, y->column,
                    YAML_DEPTH_MAX);
    if (!node)
        return fail(METE_EINVAL, "%s:%d:%d: a value is missing", r->path, y->line, y->column);
    if (fy_node_is_alias(node))
        return fail(METE_EINVAL, "%s:%d:%d: aliases (*name) are not read here; write it out",
                    r->path, y->line, y->column);
    if (fy_node_is_scalar(node))
        return set_text(r, y, node);
    bool map = fy_node_is_mapping(node);
    int n = map ? fy_node_mapping_item_count(node) : fy_node_sequence_item_count(node);
    y->kind = map ? YAML_MAP : YAML_LIST;
    y->child = mem_array((size_t)(n > 0 ? n : 1), sizeof *y->child);
    int err = map ? copy_map(r, y, node, depth) : copy_list(r, y, node, depth);
    if (!err)
        place_container(y);
    return err;
}

/* The message of libfyaml, as path:line:column: message. */
static int complain(const struct reader *r)
{
    const char *message = strstr(r->complaint, "error: ");
    int line = 1, column = 1;
    char text[400];
    const char *colon = strchr(r->complaint, ':');
    if (colon)
        sscanf(colon, ":%d:%d", &line, &column);
    snprintf(text, sizeof text, "%s", message ? message + 7 : "not a YAML document");
    text[strcspn(text, "\n")] = '\0';
    return fail(METE_EINVAL, "%s:%d:%d: %s", r->path, line, column, text);
}

/* Plain text in UTF-8, without directives: on others libfyaml 0.7 may not return. */
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
    int bad = check_text(path, text, size);
    if (bad)
        return bad;
    struct reader r = {.path = path};
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = keep_complaint;
    diag_cfg.user = &r;
    diag_cfg.colorize = false;
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    struct fy_parse_cfg cfg = {.diag = diag};
    struct fy_document *doc = size ? fy_document_build_from_string(&cfg, text, size) : NULL;
    struct yaml *y = mem_alloc(sizeof *y);
    int err = 0;
    y->line = y->column = 1;
    if (!doc)
        err = size ? complain(&r) : fail(METE_EINVAL, "%s: the file is empty", path);
    else if (!fy_document_root(doc))
        err = fail(METE_EINVAL, "%s: the file holds nothing", path);
    else
        err = copy(&r, y, fy_document_root(doc), 0);
    fy_document_destroy(doc);
    fy_diag_destroy(diag);
    if (err)
        yaml_close(y);
    else
        *out = y;
    return err;
}
#endif
