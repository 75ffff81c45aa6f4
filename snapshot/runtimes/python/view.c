/* Words and texts of the copy, or of a file where only it has them. */
#include <string.h>

#include "base/load.h"
#include "process/constants.h"
#include "python.h"

const uint8_t *hs_python_bytes(const struct py_view *view, hs_addr at, size_t n)
{
    return hs_constant_bytes(&view->dump->image, &view->dump->objects, at, n);
}

uint64_t hs_python_word(const struct py_view *view, hs_addr at)
{
    const uint8_t *bytes = hs_python_bytes(view, at, PY_WORD);
    return bytes == NULL ? 0 : hs_load_u64(bytes);
}

uint32_t hs_python_u32(const struct py_view *view, hs_addr at)
{
    const uint8_t *bytes = hs_python_bytes(view, at, sizeof(uint32_t));
    return bytes == NULL ? 0 : hs_load_u32(bytes);
}

bool hs_python_string(const struct py_view *view, hs_addr at, char *text, size_t n)
{
    bool is_there = hs_constant_string(&view->dump->image, &view->dump->objects, at, text, n);

    if (!is_there)
        text[0] = '\0';
    return is_there;
}

/* 3.11 and later: { refs, log2 of indices, log2 of their bytes, kind, ... , usable, entries };
 * before: { refs, size of indices, look-up, usable, entries }. Behind that indices, and entries. */
bool hs_python_keys(const struct py_view *view, hs_addr table, struct py_keys *ret)
{
    enum { HEAD_OLD = 40, HEAD = 32, LOG_MAX = 40 };
    bool is_old = view->layout->minor < 11;
    const uint8_t *head = hs_python_bytes(view, table, is_old ? HEAD_OLD : HEAD);
    uint64_t n_indices, n_index_bytes;

    if (head == NULL)
        return false;
    if (is_old) {
        n_indices = hs_load_u64(head + 8);
        if (n_indices == 0 || n_indices > UINT64_C(1) << LOG_MAX ||
            (n_indices & (n_indices - 1)) != 0)
            return false;
        n_index_bytes = n_indices * (n_indices <= 0xff           ? 1
                                     : n_indices <= 0xffff       ? 2
                                     : n_indices <= 0xffffffffLL ? 4
                                                                 : 8);
        ret->n_entries = hs_load_u64(head + 32);
        ret->is_text = false;
        ret->entries_at = HEAD_OLD + n_index_bytes;
    } else {
        if (head[8] > LOG_MAX || head[9] > LOG_MAX || head[9] < head[8] || head[10] > 2)
            return false;
        n_indices = UINT64_C(1) << head[8];
        ret->n_entries = hs_load_u64(head + 24);
        ret->is_text = head[10] != 0;
        ret->entries_at = HEAD + (UINT64_C(1) << head[9]);
    }
    ret->entries = table + ret->entries_at;
    return ret->n_entries <= n_indices;
}
