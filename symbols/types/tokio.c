/* Tasks of tokio, the runtime of most asynchronous programs in Rust (src/runtime/task/core.rs and
 * raw.rs of 1.x): a block `Cell<T, S>` whose header has a table of functions that are made for the
 * future T and the scheduler S. Pointers to tasks are pointers to headers. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "containers.h"
#include "pool.h"

#define TOKIO_HEADER "tokio::runtime::task::core::Header"
#define TOKIO_CELL "tokio::runtime::task::core::Cell"
#define TOKIO_POLL "tokio::runtime::task::raw::poll<"

bool hs_ctypes_task_header(struct hs_ctypes *types, hs_type_file file, struct hs_ctask_header *ret)
{
    struct ctypes_type header = *hs_ctypes_get_(types, hs_ctypes_find(types, file, TOKIO_HEADER));
    bool has_table = false, has_state = false;
    for (uint32_t i = 0; i < header.n_members; i++) {
        struct ctypes_member member = types->members[header.first_member + i];
        if (strcmp(member.name, "vtable") == 0) {
            ret->table_offset = member.offset;
            has_table = hs_ctypes_get_(types, member.type)->kind == HS_CTYPE_POINTER;
        } else if (strcmp(member.name, "state") == 0) {
            ret->state_offset = member.offset;
            has_state = true;
        }
    }
    return has_table && has_state;
}

bool hs_ctypes_task(struct hs_ctypes *types, hs_type_file file, hs_addr poll, struct hs_ctask *ret)
{
    struct debug_entry function;
    const char *future;
    char name[CTYPES_MAX_NAME], text[CTYPES_MAX_NAME], pretty[CTYPES_MAX_NAME];
    size_t n;
    hs_ctypes_trim_(types);
    if (!hs_ctypes_function_at_(types, file, poll, &function))
        return false;
    if (hs_ctypes_qualified_(types, file, &function, name, sizeof(name)) == 0 ||
        strncmp(name, TOKIO_POLL, strlen(TOKIO_POLL)) != 0)
        return false;
    const char *arguments = name + strlen(TOKIO_POLL) - 1;
    int n_cell = snprintf(text, sizeof(text), TOKIO_CELL "%s", arguments);
    if (n_cell < 0 || (size_t)n_cell >= sizeof(text) ||
        !hs_ctypes_argument_text_(arguments, 0, &future, &n) || n >= sizeof(text))
        return false;
    ret->cell = hs_ctypes_find(types, file, text);
    memcpy(text, future, n);
    text[n] = '\0';
    n = hs_ctypes_pretty_(text, pretty, sizeof(pretty));
    ret->future = hs_ctypes_keep_(types, pretty, n);
    return ret->cell != 0 && ret->future != NULL;
}
