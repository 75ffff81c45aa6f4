/* The memory that a dump may use: where the copy of the process is put, and how much memory its
 * tables need.
 *
 *   the copy fits     it stays in memory, and is refused when it grows beyond what was left for it
 *   it does not       it is put into a temporary file, part of which is resident (process/image.h);
 *                     that part shrinks when the tables need more than was estimated
 *
 * All of it is decided before the process is stopped, from its resident size. Without a budget all
 * copies are made in memory. */
#ifndef HS_PROCESS_DUMP_PLAN_H
#define HS_PROCESS_DUMP_PLAN_H

#include "process/image.h"
#include "process/objects.h"

/* The bytes that a dump has to hold, as far as they are known before the stop. */
struct hs_dump_load {
    uint64_t copy_bytes;  /* private memory of the process that is resident: to be copied */
    uint64_t file_bytes;  /* kept of its files: symbols, and what was read of them */
    uint64_t debug_bytes; /* of their debug information; what there is no room for is left out */
    uint64_t block_bytes; /* of tables with a word or more for each block, beside those of all */
};

/* The uses of memory, beside those of every dump, that its options and runtimes ask for. */
struct hs_dump_wants {
    bool has_types;            /* debug information is read for the types of blocks */
    bool has_tables_of_data;   /* as large as the data of the files */
    unsigned bytes_of_a_block; /* kept by runtimes for each, beside what is kept of all */
};

struct hs_dump_plan {
    struct hs_budget *budget; /* borrowed; NULL: no limit */
    struct hs_image *image;   /* borrowed; NULL: no plan was made, nothing is counted */
    struct hs_dump_load load;
    uint64_t reserved_bytes; /* of the budget: for tables and the copy in memory */
};

/* Estimates the load of a process: the size of its mappings counts where the system does not tell
 * what is resident. Files of debug information are those found so far. */
hs_status hs_dump_load_read(const struct hs_target *target, const struct hs_objects *objects,
                            const struct hs_budget *budget, const struct hs_dump_wants *wants,
                            struct hs_dump_load *ret, struct hs_error *err);
/* Returns how many bytes of large sections of debug information are kept at a time: a share of the
 * limit. */
size_t hs_dump_piece_bytes(const struct hs_budget *budget);

/* The memory that a dump of such a load needs under a budget. */
struct hs_dump_needs {
    uint64_t memory_bytes; /* with the copy in memory */
    uint64_t seen_bytes;   /* resident at the most with that, mapped files and our code included:
                              likely, told, and nothing depends on it */
    uint64_t least_bytes;  /* of memory, with the copy in a file */
    bool spills;           /* the copy goes to a file: copy_bytes of disk */
};
void hs_dump_foresee(const struct hs_budget *budget, const struct hs_dump_load *load,
                     struct hs_dump_needs *ret);
/* HS_LIMIT with the figures when there is not enough memory even with the copy in a file, or not
 * addresses enough (ulimit -v): a copy in a file takes as many as one in memory. */
hs_status hs_dump_refuse(const struct hs_budget *budget, const struct hs_dump_load *load,
                         struct hs_error *err);

/* Before the first stop. HS_LIMIT with the figures when there is not enough memory for a dump at
 * all, HS_IO when the disk has no room. */
hs_status hs_dump_plan_make(struct hs_dump_plan *plan, struct hs_image *image,
                            struct hs_budget *budget, const struct hs_dump_load *load,
                            struct hs_error *err);

/* After a failure with *status: true when the copy did not fit in memory because the process has
 * grown, and a second attempt with a copy in a file is possible. Otherwise *status is the error to
 * report. */
bool hs_dump_plan_retry(struct hs_dump_plan *plan, hs_status *status, struct hs_error *err);

/* Replaces the estimate for the tables of blocks by their size, once they are made. HS_LIMIT when
 * that is more than was estimated and there is no room. */
hs_status hs_dump_plan_adjust(struct hs_dump_plan *plan, uint64_t table_bytes,
                              struct hs_error *err);

/* Reserves memory for a table; the resident part of the copy shrinks to make room. HS_LIMIT. */
hs_status hs_dump_plan_reserve(struct hs_dump_plan *plan, uint64_t n_bytes, const char *what,
                               struct hs_error *err);
/* The same for what can be done without, once all tables are reserved that must be had: some room
 * stays. */
hs_status hs_dump_plan_reserve_spare(struct hs_dump_plan *plan, uint64_t n_bytes, const char *what,
                                     struct hs_error *err);
/* The same for what may be had in part: how many bytes were reserved, n_bytes at the most. */
uint64_t hs_dump_plan_reserve_most(struct hs_dump_plan *plan, uint64_t n_bytes, const char *what);
/* Returns the bytes that could be reserved now. */
uint64_t hs_dump_plan_room(const struct hs_dump_plan *plan);
void hs_dump_plan_release(struct hs_dump_plan *plan, uint64_t n_bytes);

/* Releases all that was reserved. */
void hs_dump_plan_fini(struct hs_dump_plan *plan);

/* "1.5 GiB of the process went through a temporary file"; false when it did not. */
bool hs_dump_plan_tell(const struct hs_dump_plan *plan, char *text, size_t n_bytes);

#endif
