/* The interface that a runtime's folder must define: one struct of functions, listed in
 * runtimes/runtimes.h. A runtime gives the words of a process a meaning: roots with names, edges
 * with certainty, types, what is weak. Several may serve one process; their blocks make one graph,
 * in address order.
 *
 * In the order in which the driver calls it (snapshot/dump), and for each step the runtimes in the
 * order of their list:
 *
 *   before any stop    serves  open  prepare  rehearse
 *   stopped            judge                 again (after forget) until all judge the moment good
 *   frozen or stopped  copy
 *   let go             list  claim           again (after forget) when what was copied is torn
 *                      roots  mark_word  mark_end  facts
 *   writing            peek  next  types  samples
 *
 * Everything it reads is hostile: damage becomes a note in its findings, not a failed dump. */
#ifndef HS_RUNTIMES_RUNTIME_H
#define HS_RUNTIMES_RUNTIME_H

#include "process/roots.h"
#include "runtimes/dump.h"
#include "snapshot/writer.h"

/* A stop, as it is judged. */
struct hs_moment {
    unsigned attempt; /* from 1 */
    bool is_last;     /* there will be no other: a bad one is taken and noted */
    bool is_good;     /* true before judge; false: another moment would be better */
};

/* A block as it is written. */
struct hs_runtime_block {
    struct hs_block_record record; /* type: index into what `types` tells */
    struct hs_edge *edges;         /* borrowed until the next call, as is all below */
    size_t n_edges;
    /* Words that may be pointers into the blocks of other runtimes; NULL and 0: there are none. */
    const uint8_t *foreign;
    uint64_t n_foreign_words, foreign_offset_words; /* of the first in the block */
};

/* Tables that were filled while the blocks were written; owned by the caller. */
struct hs_type_tables {
    struct hs_type *types;
    size_t n_types;
    struct hs_member *members; /* by type, then offset */
    size_t n_members;
};

struct hs_runtime_samples {
    struct hs_sample *samples; /* owned by the caller; by id, then sampler; with their nodes */
    size_t n_samples;
    const struct hs_site_frame *frames; /* borrowed; by site */
    size_t n_frames;
};

/* The share of a runtime in the snapshot's facts; all borrowed until close. */
struct hs_runtime_facts {
    const struct hs_runtime_fact *runtimes;
    size_t n_runtimes;
    const struct hs_findings *findings;
    const struct hs_sampler *samplers;
    size_t n_samplers;
    hs_str remark; /* one of the notes, which who dumps is told, too; 0: none */
};

struct hs_runtime {
    const char *name;          /* "ocaml" */
    const char *known_as;      /* by rules that tell of heaps that are not read; NULL: none */
    bool has_own_heap;         /* what it lists is no allocator's: it can be dumped alone */
    bool reads_heaps;          /* the allocators' blocks are its */
    bool has_no_blocks;        /* it only says what is in the allocators' */
    bool has_tables_of_data;   /* keeps as much as the files have of data */
    unsigned bytes_of_a_block; /* that it keeps, at the most; 0: what is foreseen for all */
    /* Tells whether it serves the process, by symbols alone, without a stop. */
    bool (*serves)(const struct hs_objects *objects);
    /* Describes, for `doctor`, the runtime and its heap, in texts of n bytes each. HS_TARGET with
     * the reason when it would be refused. */
    hs_status (*describe)(const struct hs_objects *objects, char *runtime, char *heap, size_t n,
                          struct hs_error *err);

    hs_status (*open)(struct hs_dump *dump, void **ret_state, struct hs_error *err);
    void (*close)(void *state); /* NULL is passed over */
    /* Reads, while the process runs, how much memory its own heap takes, about; 0: not told. May be
     * NULL. */
    uint64_t (*own_bytes)(void *state);
    /* Does slow work, before the first stop. */
    hs_status (*prepare)(void *state, struct hs_error *err);
    /* Reads, while the process runs, what the stop will read, so that its memory is ready then;
     * `copies` says that it is to be copied at all. What is read may be torn and is forgotten. */
    void (*rehearse)(void *state, bool copies);
    /* Drops what was read in a stop. */
    void (*forget)(void *state);

    /* Judges a moment, while stopped. May be NULL: every moment is good. */
    hs_status (*judge)(void *state, struct hs_moment *moment, struct hs_error *err);
    /* Copies into dump->image; by ptrace's stop or from the frozen copy. */
    hs_status (*copy)(void *state, struct hs_error *err);

    /* Lists the blocks, with proofs. What allocators are caught in the middle of is counted in
     * dump->findings, and the driver copies again. */
    hs_status (*list)(void *state, struct hs_error *err);
    /* Visits the addresses of data without pointers that its objects have in the allocators'
     * blocks, with a name of these; after list. May be NULL. */
    hs_status (*outside)(void *state,
                         hs_status (*visit)(void *context, hs_addr data, const char *name,
                                            struct hs_error *err),
                         void *context, struct hs_error *err);
    /* Claims memory that is the runtime's, in dump->heaps, before it is sealed. May be NULL. */
    hs_status (*claim)(void *state, struct hs_error *err);
    /* Collects the roots, and marks what they reach within the runtime's own blocks. */
    hs_status (*roots)(void *state, struct hs_error *err);
    const struct hs_roots *(*leaves)(const void *state);
    /* Visits the words of reached blocks that may lead to others' blocks, or those of garbage,
     * which a collector has yet to take. May be NULL: there are none. */
    hs_status (*foreign_words)(void *state, bool of_garbage,
                               hs_status (*visit)(void *context, uint64_t word,
                                                  struct hs_error *err),
                               void *context, struct hs_error *err);
    /* Marks what a word of another runtime's block leads to: of a reached block it is reached, too;
     * of garbage it is not lost, where nothing reaches it. May be NULL, with mark_end. */
    hs_status (*mark_word)(void *state, uint64_t word, bool of_garbage, struct hs_error *err);
    hs_status (*mark_end)(void *state, struct hs_error *err);
    /* Checks the state when all was asked: HS_IO when what was put into temporary files was not to
     * be had again. May be NULL. */
    hs_status (*check)(const void *state, struct hs_error *err);
    /* Tells whether a word at this address is in a block that the runtime's own roots lead to. May
     * be NULL. */
    bool (*keeps)(const void *state, hs_addr at);
    hs_status (*facts)(void *state, struct hs_runtime_facts *ret, struct hs_snap_facts *facts,
                       struct hs_error *err);

    /* Counts its blocks, and gives their places; after roots. `rank`: HS_NO_NODE when no block
     * starts there. */
    uint64_t (*n_blocks)(const void *state);
    uint64_t (*below)(const void *state, hs_addr address);
    uint64_t (*rank)(const void *state, hs_addr block);
    /* Finds the node that a foreign word leads to, and how; false: none. May be NULL. */
    bool (*resolve)(const void *state, uint64_t word, hs_node *ret, unsigned *ret_class);
    /* Returns the model of its objects in the allocators' blocks, after roots; NULL when it does
     * not know them. May be NULL. */
    const struct hs_object_model *(*objects)(const void *state);
    /* See hs_dump_records. May be NULL. */
    const hs_addr *(*records)(const void *state, size_t *ret_n);

    /* Goes over the blocks in address order: peek says where the next one is, and is false behind
     * the last; next makes the block itself. `not_before`: memory below it is another block's. */
    bool (*peek)(void *state, hs_addr *ret);
    hs_status (*next)(void *state, hs_addr not_before, struct hs_runtime_block *ret,
                      struct hs_error *err);
    hs_status (*types)(void *state, struct hs_type_tables *ret, struct hs_error *err);
    hs_status (*samples)(void *state, struct hs_runtime_samples *ret, struct hs_error *err);
};

#define HS_RUNTIME_DECLARE(name) extern const struct hs_runtime hs_runtime_##name;
HS_RUNTIMES(HS_RUNTIME_DECLARE)

#endif
