/* Memory of objects that have ended and that the interpreter keeps for the next ones, since 3.14 in
 * lists of one form (_Py_freelist of pycore_freelist_state.h): a block's first word as an object
 * leads to the next, the rest is what it was. */
#include "python.h"

enum { MOST_OF_A_LIST = 1 << 12, MOST_WORDS = 1 << PY_FIRST_BITS };

static void note_spare(struct py_state *s, hs_addr object)
{
    struct hs_heap_block block;
    enum hs_pointer how = hs_heap_map_resolve(&s->dump->heaps.map, object, &block);

    if (how == HS_POINTER_START || how == HS_POINTER_INTERIOR)
        s->blocks.known[block.rank] =
            hs_python_known(PY_BLOCK_SPARE, (object - block.begin) / PY_WORD % MOST_WORDS, 1);
}

/* Notes the blocks of a list, as many as it says: the last one leads nowhere. */
static void note_list(struct py_state *s, hs_addr list)
{
    hs_addr at = hs_python_word(&s->view, list);
    uint64_t n = hs_python_word(&s->view, list + PY_WORD);

    for (uint64_t i = 0; i < n && i < MOST_OF_A_LIST && at != 0 && at % PY_WORD == 0; i++) {
        if (!hs_python_may_look(&s->view, 1))
            return;
        note_spare(s, at);
        at = hs_python_word(&s->view, at);
    }
}

void hs_python_find_spare(struct py_state *s)
{
    const struct hs_python_layout *layout = s->view.layout;
    struct py_interpreters it = {0};

    while (layout->interp_free != PY_NONE && hs_python_next_interpreter(s, &it))
        for (unsigned i = 0; i < layout->n_free_lists; i++)
            note_list(s, it.at + layout->interp_free + i * (hs_addr)2 * PY_WORD);
}
