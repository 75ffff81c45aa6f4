/* Roots of the tasks of tokio that wait: of each the block that has its future, and so the
 * variables that the future holds across an await. All tasks of one function are one root, "task
 * app::serve". A task that is over has a type and is no root: its result is kept by whoever has the
 * handle to join it.
 *
 * The runtime leads to every task, by its lists, timers and wakers; none of that is why a task is
 * there: so these edges keep only what nothing else keeps, as those to what has a name in Python
 * do.
 *
 * Needs debug information. A look at one word of each block. Resident: 32 bytes for each function
 * that is a task, and a bit per block where there are any. */
#ifndef HS_NATIVE_TASKS_H
#define HS_NATIVE_TASKS_H

#include "base/bitmap.h"
#include "base/table.h"
#include "heaps/heap_map.h"
#include "process/objects.h"
#include "symbols/ctypes.h"

struct hs_native;

struct hs_native_tasks {
    struct hs_ctask_header header;
    struct hs_task_kind {
        hs_ctype cell;
        uint32_t name, function; /* hs_str: "task app::serve", "app::serve" */
    } * kinds;                   /* owned */
    size_t n_kinds, capacity;
    struct hs_dict by_table;   /* by the table's address: number from 1 of a kind, or 0 */
    struct hs_bitmap of_block; /* by rank; empty: there are none */
    uint64_t n_tasks;
};

#define HS_TASKS_BYTES(n_blocks) ((n_blocks) / 8) /* at the most */

/* Returns the object that has the runtime of Rust: the program, or a library; NULL: the process has
 * nothing of Rust. */
const struct hs_object *hs_native_rust_object(const struct hs_objects *objects);
void hs_native_tasks_fini(struct hs_native_tasks *tasks);

/* Adds a root for each task; before types flow. Fails with HS_LIMIT. */
hs_status hs_native_collect_tasks(struct hs_native *native, struct hs_error *err);

static inline bool hs_native_is_task(const struct hs_native_tasks *tasks, uint64_t rank)
{
    return tasks->n_tasks != 0 && hs_bitmap_get(&tasks->of_block, rank);
}
/* Returns the type of a task; 0: none. */
hs_ctype hs_native_task_type(const struct hs_native_tasks *tasks,
                             const struct hs_heap_block *block);

#endif
