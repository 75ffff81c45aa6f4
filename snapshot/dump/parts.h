/* The parts of a dump's driver. Private to snapshot/dump. */
#ifndef HS_DUMP_PARTS_H
#define HS_DUMP_PARTS_H

#include "dump/dump.h"
#include "runtimes/runtime.h"

/* ---- dump.c */
extern const struct hs_runtime *const hs_runtimes[HS_N_RUNTIMES]; /* by their list */

/* ---- capture.c: from opening to the last detach, and the list of blocks. */
/* Returns the resident bytes that the kernel counts of a process now; 0 when the system does not
 * tell. */
uint64_t hs_dump_resident_bytes(pid_t pid);
/* The same without what is of files. */
uint64_t hs_dump_anonymous_bytes(pid_t pid);
/* Opens what the options name. Fails like hs_target_open and hs_core_open. */
hs_status hs_dump_open(const struct hs_dump_options *options, struct hs_target *ret,
                       struct hs_error *err);
hs_status hs_dump_capture(struct hs_dump *dump, struct hs_error *err);
/* Adds the memory that a runtime needs to what is asked of the plan. */
static inline void hs_runtime_wants(const struct hs_runtime *runtime, struct hs_dump_wants *wants)
{
    wants->has_tables_of_data |= runtime->has_tables_of_data;
    wants->bytes_of_a_block += runtime->bytes_of_a_block;
}

/* ---- leaves.c: the leaves of all runtimes in one list. */
/* A root of one runtime that stands in a block of another which that one's roots lead to: the block
 * holds what the root holds, and the root itself keeps no more. */
struct hs_held {
    hs_addr at;    /* of the word */
    hs_addr block; /* that it leads to */
    const struct hs_serving *of;
};
struct hs_leaves {
    const struct hs_roots *roots; /* the runtime's own where one serves alone, else `merged` */
    struct hs_roots merged;       /* owned */
    struct hs_held *held;         /* owned; ascending */
    size_t n_held, held_capacity;
};
/* After the roots of each runtime, before their marking ends. */
hs_status hs_leaves_gather(const struct hs_dump *dump, struct hs_leaves *ret, struct hs_error *err);
void hs_leaves_fini(struct hs_leaves *leaves);
/* Those at addresses in [begin, end). */
const struct hs_held *hs_leaves_held_in(const struct hs_leaves *leaves, hs_addr begin, hs_addr end,
                                        size_t *ret_n);

/* ---- types.c: the types of several runtimes under one numbering, by first use. */
struct hs_type_numbers {
    struct hs_type_source {
        uint32_t source, index;
    } * types; /* owned: by number in the snapshot */
    size_t n_types, types_capacity;
    uint32_t *numbers[HS_N_RUNTIMES]; /* owned: by index, plus 1 */
    size_t numbers_capacity[HS_N_RUNTIMES];
};
void hs_type_numbers_fini(struct hs_type_numbers *numbers);
/* The number in the snapshot of a source's type. O(1). */
hs_status hs_type_numbers_get(struct hs_type_numbers *numbers, unsigned source, uint32_t index,
                              uint32_t *ret, struct hs_error *err);
/* The tables of n_sources runtimes as one; frees them. With one source its own is taken as it is.
 */
hs_status hs_type_numbers_merge(const struct hs_type_numbers *numbers,
                                struct hs_type_tables *sources, size_t n_sources,
                                struct hs_type_tables *ret, struct hs_error *err);
void hs_type_tables_fini(struct hs_type_tables *tables);

/* ---- samples.c: the samples of all runtimes, with their sites. */
struct hs_dump_samples {
    struct hs_sample *samples; /* owned, both; by id, then sampler */
    size_t n_samples;
    struct hs_site_frame *frames;
    size_t n_frames;
};
/* first_sampler[i]: how many samplers those before runtime i have. When blocks have nodes. */
hs_status hs_dump_samples_gather(const struct hs_dump *dump, const uint32_t *first_sampler,
                                 struct hs_dump_samples *ret, struct hs_error *err);
void hs_dump_samples_fini(struct hs_dump_samples *samples);

/* ---- facts.c: what the snapshot says before its first block. */
struct hs_dump_facts {
    struct hs_snap_facts facts;
    struct hs_runtime_fact *runtimes; /* owned, as the five below */
    struct hs_proof *proofs;
    struct hs_note *notes;
    struct hs_sampler *samplers;
    struct hs_binary *binaries;
    struct hs_range *unreadable;
    uint32_t first_sampler[HS_N_RUNTIMES];
    hs_str remark; /* of a runtime, for who dumps; 0: none */
};
hs_status hs_dump_facts_gather(struct hs_dump *dump, struct hs_dump_facts *ret,
                               struct hs_error *err);
void hs_dump_facts_fini(struct hs_dump_facts *facts);
/* Reports those of the facts that the user is told: figures of the stop, the gaps in one line, a
 * remark. */
void hs_dump_facts_tell(const struct hs_dump_facts *found, const struct hs_strtab *strings,
                        struct hs_dump_report *ret);

/* ---- write.c: the blocks of all runtimes in one pass by address. */
hs_status hs_dump_write(struct hs_dump *dump, const struct hs_leaves *leaves,
                        const struct hs_dump_facts *facts, struct hs_out *out,
                        struct hs_snap_totals *ret, struct hs_error *err);

#endif
