/* export --to heaptrack: its interpreted text format, version 2, for heaptrack_print and
 * heaptrack_gui. Numbers are lower-case hexadecimal; tables count from 1, allocations from 0.
 *
 *     s text                            next string
 *     i address module [function file line]     next place
 *     t place parent                    next stack: the outermost has parent 0
 *     a bytes stack                     next allocation
 *     + allocation, - allocation        it is made, and freed again
 *
 * There are no counts, so that a stack is one allocation of all its bytes. What heaptrack calls
 * leaked is what is alive. Source: src/analyze/gui and src/analyze/accumulatedtracedata.cpp. */
#include "export/exporter.h"
#include "pen.h"

enum { PAGE_BYTES = 4096 };

struct dump {
    const struct hs_stack_tree *tree;
    struct hs_pen pen;
    uint64_t n_allocations;
};

static void put_pair(struct hs_pen *pen, char letter, uint64_t a, uint64_t b)
{
    hs_pen_byte(pen, (uint8_t)letter);
    hs_pen_byte(pen, ' ');
    hs_pen_hex(pen, a);
    hs_pen_byte(pen, ' ');
    hs_pen_hex(pen, b);
    hs_pen_byte(pen, '\n');
}

static void put_string(struct hs_pen *pen, const char *text)
{
    hs_pen_text(pen, "s ");
    hs_pen_clean(pen, text, HS_TEXT_TERMINAL);
    hs_pen_byte(pen, '\n');
}

/* Returns the id of a string: 1 is the program; those of the tree follow under their numbers. */
static uint64_t string_id(hs_str id)
{
    return (uint64_t)id + 1;
}

static void put_places(struct dump *d)
{
    for (size_t i = 0; i < d->tree->n_frames && hs_pen_ok(&d->pen); i++) {
        const struct hs_stack_frame *frame = &d->tree->frames[i];
        hs_pen_text(&d->pen, "i ");
        hs_pen_hex(&d->pen, i + 1);
        hs_pen_text(&d->pen, " 1 ");
        hs_pen_hex(&d->pen, string_id(frame->name));
        if (frame->file != 0) {
            hs_pen_byte(&d->pen, ' ');
            hs_pen_hex(&d->pen, string_id(frame->file));
            hs_pen_byte(&d->pen, ' ');
            hs_pen_hex(&d->pen, frame->line);
        }
        hs_pen_byte(&d->pen, '\n');
    }
}

static void put_sign(struct hs_pen *pen, char sign, uint64_t allocation)
{
    hs_pen_byte(pen, (uint8_t)sign);
    hs_pen_byte(pen, ' ');
    hs_pen_hex(pen, allocation);
    hs_pen_byte(pen, '\n');
}

/* The bytes of a stack that stay, or those that are freed again: of a trace. */
static uint64_t bytes_of(const struct dump *d, uint32_t node, bool is_freed)
{
    const struct hs_stack_node *at = &d->tree->nodes[node];
    uint64_t stay = at->values[d->tree->n_values - 1], all = at->values[1];
    if (!is_freed)
        return stay;
    return all > stay ? all - stay : 0;
}

static void put_allocations(struct dump *d, bool is_freed)
{
    for (uint32_t i = 0; i < d->tree->n && hs_pen_ok(&d->pen); i++) {
        uint64_t bytes = bytes_of(d, i, is_freed);
        if (bytes == 0)
            continue;
        put_pair(&d->pen, 'a', bytes, (uint64_t)i + 1);
        put_sign(&d->pen, '+', d->n_allocations++);
    }
}

static hs_status write_heaptrack(const struct hs_stack_tree *tree,
                                 const struct hs_export_target *target, struct hs_error *err)
{
    struct dump d = {.tree = tree, .pen = hs_pen_of(target->out)};
    hs_pen_text(&d.pen, "v 10400 2\nX ");
    hs_pen_clean(&d.pen, hs_stack_string(tree, tree->command), HS_TEXT_TERMINAL);
    hs_pen_text(&d.pen, " (leaked: alive)\n");
    put_pair(&d.pen, 'I', PAGE_BYTES, 0);
    put_string(&d.pen, hs_stack_string(tree, tree->command));
    for (hs_str i = 1; i <= tree->strings.n_strings && hs_pen_ok(&d.pen); i++)
        put_string(&d.pen, hs_stack_string(tree, i));
    put_places(&d);
    for (uint32_t i = 0; i < tree->n && hs_pen_ok(&d.pen); i++) {
        uint32_t parent = tree->nodes[i].parent;
        put_pair(&d.pen, 't', (uint64_t)tree->nodes[i].frame + 1,
                 parent == HS_NO_STACK ? 0 : (uint64_t)parent + 1);
    }
    hs_pen_text(&d.pen, "c 0\n");
    put_allocations(&d, false);
    uint64_t n_stay = d.n_allocations;
    put_allocations(&d, true);
    hs_pen_text(&d.pen, "c 1\n");
    for (uint64_t i = n_stay; i < d.n_allocations && hs_pen_ok(&d.pen); i++)
        put_sign(&d.pen, '-', i);
    hs_pen_text(&d.pen, "c 2\n");
    return hs_pen_finish(&d.pen, HS_OK, err);
}

const struct hs_exporter hs_exporter_heaptrack = {
    .needs = HS_VIEW_INDEX,
    .write_stacks = write_heaptrack,
};
