/* What a dump may use: where the copy of the process goes, and what its tables take.
 *
 *   the copy fits     it stays in memory, and is refused when it grows beyond what was left for it
 *   it does not       it goes to a temporary file, of which a part is resident (capture/image.h);
 *                     that part shrinks when the tables need more than was thought
 *
 * All of it is decided before the process is stopped, from its resident size. Without a budget all
 * copies are made in memory. */
#ifndef HS_PROCESS_DUMP_PLAN_H
#define HS_PROCESS_DUMP_PLAN_H

#include "process/image.h"

struct hs_dump_plan {
    struct hs_budget *budget; /* borrowed; NULL: no limit */
    struct hs_image *image;   /* borrowed; NULL: no plan was made, nothing is counted */
    uint64_t copy_bytes;      /* what there is to copy, as far as the kernel tells */
    uint64_t taken_bytes;     /* of the budget, for tables and the copy in memory */
};

/* How much private memory the mappings of a process have resident; their size where the system does
 * not tell. */
hs_status hs_dump_copy_bytes(const struct hs_target *target, uint64_t *ret, struct hs_error *err);

/* What a dump of so much comes to under a budget. */
struct hs_dump_needs {
    uint64_t memory_bytes; /* with the copy in memory */
    uint64_t least_bytes;  /* of memory, with the copy in a file */
    bool spills;           /* the copy goes to a file: copy_bytes of disk */
};
void hs_dump_foresee(const struct hs_budget *budget, uint64_t copy_bytes,
                     struct hs_dump_needs *ret);

/* Before the first stop. HS_LIMIT with the figures when there is not enough memory for a dump at
 * all, HS_IO when the disk has no room. */
hs_status hs_dump_plan_make(struct hs_dump_plan *plan, struct hs_image *image,
                            struct hs_budget *budget, uint64_t copy_bytes, struct hs_error *err);

/* A copy in memory did not fit, because the process has grown: the next one goes to a file. True
 * when that is so, and to be told as *status otherwise. */
bool hs_dump_plan_turns(struct hs_dump_plan *plan, hs_status *status, struct hs_error *err);

/* What the tables of blocks have come to, once they are made. HS_LIMIT when that is more than was
 * thought and there is no room. */
hs_status hs_dump_plan_settle(struct hs_dump_plan *plan, uint64_t table_bytes,
                              struct hs_error *err);

/* Takes memory for a table; what is resident of the copy shrinks for it. HS_LIMIT. */
hs_status hs_dump_plan_take(struct hs_dump_plan *plan, uint64_t n_bytes, const char *what,
                            struct hs_error *err);
void hs_dump_plan_give(struct hs_dump_plan *plan, uint64_t n_bytes);

/* Gives all back. */
void hs_dump_plan_fini(struct hs_dump_plan *plan);

/* "1.5 GiB of the process went through a temporary file"; false when it did not. */
bool hs_dump_plan_tell(const struct hs_dump_plan *plan, char *text, size_t n_bytes);

#endif
