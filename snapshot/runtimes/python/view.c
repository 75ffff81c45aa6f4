/* Words and texts of the copy, or of a file where only it has them. */
#include <string.h>

#include "arch/processor.h"
#include "base/load.h"
#include "python.h"
#include "symbols/elf.h"

const uint8_t *hs_python_bytes(const struct py_view *view, hs_addr at, size_t n)
{
    const struct hs_object *object;
    size_t n_left = 0;

    if (at < 4096 || at >= HS_USER_END || n > HS_USER_END - at)
        return NULL;
    const uint8_t *bytes = hs_image_bytes(&view->dump->image, at, n);
    if (bytes != NULL)
        return bytes;
    object = hs_objects_object_at(&view->dump->objects, at);
    if (object == NULL)
        return NULL;
    bytes = hs_elf_bytes_from(object->elf, at - object->bias, &n_left);
    return n_left < n ? NULL : bytes;
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
    const struct hs_object *object;
    size_t n_left = 0;

    text[0] = '\0';
    if (at < 4096 || at >= HS_USER_END)
        return false;
    if (hs_image_string(&view->dump->image, at, text, n))
        return true;
    text[0] = '\0';
    object = hs_objects_object_at(&view->dump->objects, at);
    const uint8_t *bytes =
        object == NULL ? NULL : hs_elf_bytes_from(object->elf, at - object->bias, &n_left);
    if (bytes == NULL)
        return false;
    size_t length = strnlen((const char *)bytes, n_left < n ? n_left : n);
    if (length == n_left || length >= n)
        return false;
    memcpy(text, bytes, length + 1);
    return true;
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
