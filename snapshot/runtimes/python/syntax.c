/* The syntax tree of the script that runs.
 *
 * The interpreter compiles a script to a tree in memory of its own (PyArena of Python/pyarena.c)
 * and frees that when the script ends: while python3 app.py runs it is there, some 50 times the
 * size of app.py. Modules that are imported leave none. Its nodes borrow names and constants, which
 * a list beside it owns. */
#include "base/alloc.h"
#include "base/load.h"
#include "python.h"

enum { AT_ROOM = 0, AT_USED = 8, AT_NEXT = 16, AT_MEMORY = 24, HEAD_BYTES = 32, AT_OBJECTS = 2 };
enum { LEAST_ROOM = 8192, MOST_BLOCKS = 1 << 16 };

/* Tells whether a block is { first, current, objects }: a PyArena, by its first chunk. */
static bool is_arena(const struct py_view *view, const struct hs_heap_block *block)
{
    enum { ALIGNED = 16, LEAST_BYTES = 24, MOST_BYTES = 48 };
    if (block->n_bytes < LEAST_BYTES || block->n_bytes > MOST_BYTES)
        return false;
    hs_addr first = hs_load_u64(block->bytes), current = hs_load_u64(block->bytes + PY_WORD);
    hs_addr objects = hs_load_u64(block->bytes + (size_t)AT_OBJECTS * PY_WORD);
    return first != 0 && current != 0 && objects != 0 &&
           (first | current | objects) % ALIGNED == 0 &&
           hs_python_word(view, first + AT_MEMORY) == first + HEAD_BYTES &&
           hs_python_word(view, current + AT_MEMORY) == current + HEAD_BYTES;
}

/* Tells whether a block is { size, used, next, memory }: a chunk of a PyArena, whose memory begins
 * behind this head. */
static bool is_chunk(const struct hs_heap_block *block)
{
    if (block->n_bytes < HEAD_BYTES + LEAST_ROOM)
        return false;
    uint64_t room = hs_load_u64(block->bytes + AT_ROOM);
    return room >= LEAST_ROOM && room <= block->n_bytes - HEAD_BYTES &&
           hs_load_u64(block->bytes + AT_USED) <= room &&
           hs_load_u64(block->bytes + AT_NEXT) % PY_WORD == 0 &&
           hs_load_u64(block->bytes + AT_MEMORY) == block->begin + HEAD_BYTES;
}

hs_status hs_python_note_syntax(const struct py_view *view, struct py_blocks *blocks,
                                const struct hs_heap_block *block, struct hs_error *err)
{
    bool leads_on = is_arena(view, block);
    if ((!leads_on && !is_chunk(block)) || blocks->n_syntax == MOST_BLOCKS)
        return HS_OK;
    HS_TRY(HS_GROW(&blocks->syntax, &blocks->syntax_capacity, blocks->n_syntax + 1, err));
    blocks->syntax[blocks->n_syntax++] = block->begin;
    blocks->known[block->rank] = hs_python_known(PY_BLOCK_SYNTAX, AT_OBJECTS, leads_on);
    return HS_OK;
}

hs_status hs_python_name_syntax(struct py_state *s, struct hs_error *err)
{
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_REGISTERED}};

    HS_TRY(hs_strtab_add(&s->dump->strings, "interpreter", &leaf.group_module, err));
    HS_TRY(
        hs_strtab_add(&s->dump->strings, "syntax tree of the script", &leaf.group_variable, err));
    leaf.root.name = leaf.group_variable;
    hs_root_lower(&leaf.root, HS_TIER_RUNTIME, HS_REASON_INTERPRETER);
    for (size_t i = 0; i < s->blocks.n_syntax && hs_python_may_look(&s->view, 1); i++) {
        leaf.root.address = s->blocks.syntax[i] + AT_MEMORY;
        HS_TRY(hs_python_add_root(s, &leaf, s->blocks.syntax[i], false, err));
    }
    return HS_OK;
}
