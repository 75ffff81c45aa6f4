/* The functions of a program, and the direct calls among them. */
#include "base/load.h"
#include "functions.h"

enum { FTAB_BYTES = 8, CALL = 0xe8, CALL_BYTES = 5, CODE_MAX = 1 << 22 };

hs_status hs_go_each_function(const struct hs_go_heap *heap,
                              hs_status (*visit)(void *context, hs_addr entry, const char *name,
                                                 struct hs_error *err),
                              void *context, struct hs_error *err)
{
    const struct hs_go_module *m = &heap->module;
    struct hs_go_function function;
    char name[HS_GO_NAME_BYTES];

    for (uint64_t i = 0; i < m->n_functions; i++) {
        hs_addr entry = m->text + hs_load_u32(m->ftab + i * FTAB_BYTES);
        if (hs_go_function_at(heap, entry, &function) &&
            hs_go_function_name(heap, &function, name, sizeof name))
            HS_TRY(visit(context, entry, name, err));
    }
    return HS_OK;
}

hs_status hs_go_each_call(const struct hs_go_heap *heap, const struct hs_dict *functions,
                          hs_status (*visit)(void *context, const struct hs_go_function *caller,
                                             hs_addr at, uint64_t value, struct hs_error *err),
                          void *context, struct hs_error *err)
{
    const struct hs_go_module *m = &heap->module;
    struct hs_go_function caller;
    hs_addr read_to = 0;

    for (uint64_t i = 0; functions->n != 0 && i < m->n_functions; i++) {
        hs_addr begin = m->text + hs_load_u32(m->ftab + i * FTAB_BYTES);
        hs_addr end = m->text + hs_load_u32(m->ftab + (i + 1) * FTAB_BYTES);
        if (begin < read_to || begin >= end || end > m->etext || end - begin > CODE_MAX)
            continue;
        read_to = end;
        const uint8_t *bytes = hs_go_bytes(heap, begin, end - begin);
        for (size_t k = 0; bytes != NULL && k + CALL_BYTES <= end - begin; k++) {
            if (bytes[k] != CALL)
                continue;
            hs_addr target =
                begin + k + CALL_BYTES + (uint64_t)(int64_t)(int32_t)hs_load_u32(bytes + k + 1);
            const uint64_t *of = hs_dict_find(functions, target);
            if (of != NULL && hs_go_function_at(heap, begin, &caller))
                HS_TRY(visit(context, &caller, begin + k, *of, err));
        }
    }
    return HS_OK;
}
