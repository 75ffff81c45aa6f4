/* export --to ncdu: a tree of folders that `ncdu -f FILE` walks through. A root is a folder, what
 * it owns is in it: [1,2,{meta},[{"name":...},[{a folder},...],{a file},...]]. A name that is the
 * same as another beside it stays: ncdu takes that. ncdu reads names of at most 32 KiB and takes a
 * slash for the end of one: longer ones are cut, and slashes are written as U+2215. */
#include <string.h>

#include "base/alloc.h"
#include "export/exporter.h"
#include "pen.h"

enum { NAME_COLUMNS = 1000 };

struct dump {
    const struct hs_stack_tree *tree;
    struct hs_pen pen;
    struct hs_stack_children children;
};

static void put_name(struct dump *d, const char *name)
{
    static const char slash[] = "\xe2\x88\x95";
    struct hs_pen *pen = &d->pen;
    struct hs_buffer clean = {0}, fit = {0}, text = {0};
    if (hs_pen_ok(pen))
        pen->status = hs_text_sanitise(name, strlen(name), HS_TEXT_TERMINAL, &clean, &pen->error);
    if (hs_pen_ok(pen))
        pen->status =
            hs_text_fit((const char *)clean.bytes, clean.n_bytes, NAME_COLUMNS, &fit, &pen->error);
    if (hs_pen_ok(pen))
        pen->status = hs_buffer_reserve(&text, fit.n_bytes * (sizeof slash - 1) + 1, &pen->error);
    if (hs_pen_ok(pen)) {
        for (size_t i = 0; i < fit.n_bytes; i++) {
            bool is_slash = fit.bytes[i] == '/';
            hs_buffer_put_bytes(&text, is_slash ? slash : (const char *)&fit.bytes[i],
                                is_slash ? sizeof slash - 1 : 1);
        }
        hs_buffer_put_u8(&text, '\0');
        hs_pen_json(pen, (const char *)text.bytes);
    }
    hs_buffer_fini(&clean);
    hs_buffer_fini(&fit);
    hs_buffer_fini(&text);
}

static void put_item(struct dump *d, uint32_t node)
{
    uint64_t bytes = d->tree->nodes[node].values[d->tree->shown];
    hs_pen_text(&d->pen, "{\"name\":");
    put_name(d, hs_stack_name(d->tree, node));
    hs_pen_text(&d->pen, ",\"asize\":");
    hs_pen_number(&d->pen, bytes);
    hs_pen_text(&d->pen, ",\"dsize\":");
    hs_pen_number(&d->pen, bytes);
    hs_pen_byte(&d->pen, '}');
}

/* Goes from one node to the next, down to children and up to whoever has more of them. `next` is by
 * node the next of its children to go to; no stack of calls is needed whatever the depth. */
static void put_tree(struct dump *d, uint32_t *next)
{
    uint32_t n = (uint32_t)d->tree->n, at = n;
    const struct hs_stack_children *c = &d->children;
    memcpy(next, c->begin, (d->tree->n + 1) * sizeof *next);
    while (hs_pen_ok(&d->pen)) {
        if (next[at] == c->begin[at + 1]) {
            hs_pen_byte(&d->pen, ']');
            if (at == n)
                return;
            at = d->tree->nodes[at].parent;
            at = at == HS_NO_STACK ? n : at;
            continue;
        }
        uint32_t child = c->children[next[at]++];
        bool is_folder = c->begin[child] != c->begin[child + 1];
        hs_pen_text(&d->pen, is_folder ? ",\n[" : ",\n");
        put_item(d, child);
        if (is_folder)
            at = child;
    }
}

static hs_status put_all(struct dump *d, struct hs_error *err)
{
    hs_auto_free uint32_t *next = NULL;
    HS_TRY(hs_stack_children_find(d->tree, &d->children, err));
    HS_TRY(HS_ALLOC(&next, d->tree->n + 1, err));
    hs_pen_text(&d->pen,
                "[1,2,{\"progname\":\"heapsnap\",\"progver\":\"" HS_VERSION "\",\"timestamp\":");
    hs_pen_number(&d->pen, d->tree->time_ns / 1000000000);
    hs_pen_text(&d->pen, "},\n[{\"name\":");
    put_name(d, hs_stack_string(d->tree, d->tree->command));
    hs_pen_byte(&d->pen, '}');
    put_tree(d, next);
    hs_pen_text(&d->pen, "]\n");
    return HS_OK;
}

static hs_status write_ncdu(const struct hs_stack_tree *tree, const struct hs_export_target *target,
                            struct hs_error *err)
{
    struct dump d = {.tree = tree, .pen = hs_pen_of(target->out)};
    hs_status status = hs_pen_finish(&d.pen, put_all(&d, err), err);
    hs_stack_children_fini(&d.children);
    return status;
}

const struct hs_exporter hs_exporter_ncdu = {
    .needs = HS_VIEW_INDEX,
    .write_stacks = write_ncdu,
};
