#include "tasks.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "native.h"
#include "process/constants.h"

enum { COMPLETE = 2 }; /* a bit of a task's state: src/runtime/task/state.rs of 1.x */
enum { WORD = 8, TASKS_MAX_TABLES = 1 << 16, TASKS_NAME_BYTES = 512 };

void hs_native_tasks_fini(struct hs_native_tasks *tasks)
{
    hs_free(tasks->kinds);
    hs_dict_fini(&tasks->by_table);
    hs_bitmap_fini(&tasks->of_block);
    *tasks = (struct hs_native_tasks){0};
}

const struct hs_object *hs_native_rust_object(const struct hs_objects *objects)
{
    struct hs_live_symbol symbol;

    return hs_objects_find(objects, "rust_eh_personality", &symbol) ? symbol.object : NULL;
}

/* Tells whether it is a program of Rust with tokio. Names are looked for in all of the debug
 * information, so a symbol is asked first. It may be that of a shared standard library, which has
 * none. */
static bool tasks_are_possible(struct hs_native *native)
{
    const struct hs_objects *objects = &native->dump->objects;
    const struct hs_object *rust = native->ctypes == NULL ? NULL : hs_native_rust_object(objects);

    if (rust == NULL)
        return false;
    hs_type_file file = native->of_object[rust - objects->objects].types;
    file = file != 0 ? file : native->of_object[0].types;
    return file != 0 && hs_ctypes_task_header(native->ctypes, file, &native->tasks.header);
}

/* Tells whether the name ends behind "{async_fn_env#0}". `more`: that many characters follow. */
static bool tasks_ends(const char *part, size_t more)
{
    const char *end = strchr(part, '}');
    return end != NULL && strlen(end + 1) == more;
}

/* Names a kind of tasks by its future: "app::serve", "app::main::{async block}"; other futures keep
 * their names. */
static hs_status tasks_name(struct hs_native *native, const char *future, struct hs_task_kind *kind,
                            struct hs_error *err)
{
    static const char wrapped[] = "core::future::from_generator::GenFuture<"; /* in rustc 1.63 */
    size_t more = strncmp(future, wrapped, strlen(wrapped)) == 0 ? 1 : 0;     /* its '>' */
    char text[TASKS_NAME_BYTES], name[TASKS_NAME_BYTES + sizeof "task "];

    future += more != 0 ? strlen(wrapped) : 0;
    const char *function = strstr(future, "::{async_fn_env#");
    const char *block = strstr(future, "{async_block_env#");
    if (function != NULL && tasks_ends(function, more))
        (void)snprintf(text, sizeof text, "%.*s", (int)(function - future), future);
    else if (block != NULL && tasks_ends(block, more))
        (void)snprintf(text, sizeof text, "%.*s{async block}", (int)(block - future), future);
    else
        (void)snprintf(text, sizeof text, "%.*s", (int)(strlen(future) - more), future);
    (void)snprintf(name, sizeof name, "task %s", text);
    HS_TRY(hs_strtab_add(&native->dump->strings, text, &kind->function, err));
    return hs_strtab_add(&native->dump->strings, name, &kind->name, err);
}

/* Learns whether the table at this address is a task's: the number from 1 of a kind, 0 for none. */
static hs_status tasks_learn(struct hs_native *native, hs_addr table, uint64_t *ret,
                             struct hs_error *err)
{
    struct hs_native_tasks *tasks = &native->tasks;
    const struct hs_objects *objects = &native->dump->objects;
    uint64_t poll;
    struct hs_ctask task;
    struct hs_task_kind kind = {0};

    *ret = 0;
    const struct hs_object *object = hs_constant_u64(&native->dump->image, objects, table, &poll)
                                         ? hs_objects_object_at(objects, poll)
                                         : NULL;
    if (object == NULL ||
        !hs_ctypes_task(native->ctypes, native->of_object[object - objects->objects].types,
                        poll - object->bias, &task))
        return HS_OK;
    kind.cell = task.cell;
    HS_TRY(tasks_name(native, task.future, &kind, err));
    HS_TRY(HS_GROW(&tasks->kinds, &tasks->capacity, tasks->n_kinds + 1, err));
    tasks->kinds[tasks->n_kinds++] = kind;
    *ret = tasks->n_kinds;
    return HS_OK;
}

static hs_status tasks_kind(struct hs_native *native, const struct hs_heap_block *block,
                            uint64_t *ret, struct hs_error *err)
{
    struct hs_native_tasks *tasks = &native->tasks;
    uint64_t at = tasks->header.table_offset;

    *ret = 0;
    if (block->bytes == NULL || block->n_bytes < WORD || at > block->n_bytes - WORD ||
        (block->span->states & HS_BLOCK_MAPPING) != 0)
        return HS_OK;
    hs_addr table = hs_load_u64(block->bytes + at);
    const uint64_t *known = hs_dict_find(&tasks->by_table, table);
    if (known != NULL) {
        *ret = *known;
        return HS_OK;
    }
    if (table % WORD != 0 || tasks->by_table.n == TASKS_MAX_TABLES ||
        hs_objects_object_at(&native->dump->objects, table) == NULL)
        return HS_OK;
    HS_TRY(tasks_learn(native, table, ret, err));
    return hs_dict_put(&tasks->by_table, table, *ret, err);
}

static hs_status tasks_add(struct hs_native *native, const struct hs_heap_block *block,
                           const struct hs_task_kind *kind, hs_str group, struct hs_error *err)
{
    struct hs_native_tasks *tasks = &native->tasks;
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_STACK,
                                         .name = kind->name,
                                         .function = kind->function,
                                         .field = HS_NO_FIELD,
                                         .edge_class = HS_EDGE_EXACT,
                                         .certainty = HS_EXACT},
                                .target = block->begin,
                                .group_module = group,
                                .group_unit = kind->function,
                                .group_variable = kind->name};

    if (tasks->n_tasks++ == 0)
        HS_TRY(hs_bitmap_init(&tasks->of_block, native->dump->heaps.map.n_blocks, err));
    hs_bitmap_set(&tasks->of_block, block->rank);
    return hs_roots_add(&native->roots, &leaf, err);
}

/* Tells whether a task's future has come to its end. */
static bool tasks_is_over(const struct hs_native_tasks *tasks, const struct hs_heap_block *block)
{
    uint64_t at = tasks->header.state_offset;
    return block->n_bytes >= WORD && at <= block->n_bytes - WORD &&
           (hs_load_u64(block->bytes + at) & COMPLETE) != 0;
}

hs_status hs_native_collect_tasks(struct hs_native *native, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    struct hs_heap_block block;
    uint64_t kind;
    hs_str group;

    if (!tasks_are_possible(native))
        return HS_OK;
    HS_TRY(hs_strtab_add(&native->dump->strings, "tokio tasks", &group, err));
    while (hs_heap_map_next(&it, &block)) {
        HS_TRY(tasks_kind(native, &block, &kind, err));
        if (kind != 0 && !tasks_is_over(&native->tasks, &block))
            HS_TRY(tasks_add(native, &block, &native->tasks.kinds[kind - 1], group, err));
    }
    return HS_OK;
}

hs_ctype hs_native_task_type(const struct hs_native_tasks *tasks, const struct hs_heap_block *block)
{
    uint64_t at = tasks->header.table_offset;
    bool has_room = tasks->n_kinds != 0 && block->bytes != NULL && block->n_bytes >= WORD &&
                    at <= block->n_bytes - WORD && (block->span->states & HS_BLOCK_MAPPING) == 0;
    const uint64_t *kind =
        has_room ? hs_dict_find(&tasks->by_table, hs_load_u64(block->bytes + at)) : NULL;
    return kind == NULL || *kind == 0 ? 0 : tasks->kinds[*kind - 1].cell;
}
