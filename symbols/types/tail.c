/* The tail of a record in its block: more elements of an array at its end. */
#include <string.h>

#include "containers.h"
#include "pool.h"

enum { TAIL_WORD = 8, TAIL_QT5_BYTES = 24, TAIL_QT5_SIZE_AT = 4 };
enum { TAIL_LIST_BEGIN_AT = 8, TAIL_LIST_END_AT = 12 };

/* The array without a length that a record ends with, or of one element as before C99. That of a
 * typedef is a type of its own. */
static bool tail_of_last(struct hs_ctypes *types, const struct ctypes_type *type,
                         struct hs_ctail *ret)
{
    struct ctypes_member last = {0};
    size_t n_last = 0;
    for (uint32_t i = 0; i < type->n_members; i++) {
        struct ctypes_member member = types->members[type->first_member + i];
        if (n_last != 0 && member.offset < last.offset)
            continue;
        n_last = n_last != 0 && member.offset == last.offset ? n_last + 1 : 1;
        last = member;
    }
    const struct ctypes_type array = *hs_ctypes_get_(types, last.type);
    if (n_last != 1 || /* of several there nothing tells which */
        type->kind != HS_CTYPE_RECORD || array.kind != HS_CTYPE_ARRAY || array.n_elements > 1 ||
        (array.n_elements == 1 && array.alias != NULL)) /* mpz_t, jmp_buf */
        return false;
    uint64_t end = last.offset + (array.n_elements == 0 ? 0 : hs_ctypes_size_(types, array.of));
    if (end > type->n_bytes || type->n_bytes - end >= TAIL_WORD)
        return false;
    *ret = (struct hs_ctail){
        .element = array.of, .at_bytes = last.offset, .is_one = array.n_elements == 1};
    return true;
}

bool hs_ctypes_tail(struct hs_ctypes *types, hs_ctype number, struct hs_ctail *ret)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    *ret = (struct hs_ctail){0};
    if (type.definition != 0)
        type = *hs_ctypes_get_(types, type.definition);
    if ((type.flags & TYPE_ITEMS) != 0) {
        *ret = (struct hs_ctail){.element = type.of,
                                 .at_bytes = type.n_bytes,
                                 .begin_at = TAIL_LIST_BEGIN_AT,
                                 .end_at = TAIL_LIST_END_AT};
        return true;
    }
    bool is_qt =
        type.rule != 0 && strcmp(hs_ctypes_container_(type.rule)->prefix, RULES_QT_ARRAY) == 0;
    if (!is_qt)
        return tail_of_last(types, &type, ret);
    hs_ctype element = hs_ctypes_argument_(types, type.file, type.die, 0);
    *ret = (struct hs_ctail){.element = element,
                             .at_bytes = type.n_bytes,
                             .end_at = type.n_bytes == TAIL_QT5_BYTES ? TAIL_QT5_SIZE_AT : 0};
    return element != 0;
}
