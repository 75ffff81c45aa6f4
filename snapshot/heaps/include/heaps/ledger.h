/* The accounting of the process's memory: every byte of every mapping under one owner and one
 * state, so that the resident bytes of all rows add up to the resident size.
 *
 * Allocators book what they know in address ranges; what nobody books of a mapping is booked by the
 * closing pass under what the mapping is (see HS_MEMORY_OF_STACKS and so on).
 *
 * Order of use, by who dumps a process:
 *   stopped:     hs_residency_read (target/residency.h)
 *   afterwards:  claims (add_spans of allocators), moves (their mark), hs_ledger_close
 * hs_heaps_open and hs_heaps_mark do the middle part. */
#ifndef HS_HEAPS_LEDGER_H
#define HS_HEAPS_LEDGER_H

#include "heaps/process_copy.h"
#include "target/residency.h"

struct hs_ledger_range {
    hs_addr begin, end;
    uint32_t row;
    uint32_t order; /* private: of claiming */
};

struct hs_ledger {
    struct hs_memory_row *rows; /* owned: owner and state are the key; see snapshot/model.h. Sums
                                   are there after hs_ledger_close */
    size_t n_rows, rows_capacity;
    struct hs_ledger_moved *moved; /* owned; private to ledger.c: of each row */
    size_t moved_capacity;
    struct hs_ledger_range *claims; /* owned: ascending and disjoint after seal */
    size_t n_claims, claims_capacity;
    struct hs_ledger_range *parts; /* owned; private to ledger.c: room for what seal makes */
    size_t parts_capacity;
    uint32_t *open; /* owned; likewise */
    size_t open_capacity;
    struct hs_strtab *strings; /* borrowed */
    const struct hs_image *image;
    hs_str last_owner; /* private: whose rows of_last are */
    uint32_t of_last[HS_N_MEMORY_STATES];
    bool is_sealed;
};

void hs_ledger_init(struct hs_ledger *ledger, struct hs_strtab *strings,
                    const struct hs_image *image);
void hs_ledger_fini(struct hs_ledger *ledger);

/* [begin, end) belongs to the allocator `owner`, and is in `state` unless hs_ledger_move says
 * otherwise for a part. Claimed memory is neither a root nor an unclaimed mapping. Of two claims
 * that overlap the first keeps what both want (a pool inside of a malloc block stays the latter's),
 * and the other what it has before and behind that.
 * n_blocks is added to the row. O(1). */
hs_status hs_ledger_claim(struct hs_ledger *ledger, const char *owner, enum hs_memory_state state,
                          hs_addr begin, hs_addr end, uint64_t n_blocks, struct hs_error *err);
/* Moves the part [begin, end) of what `owner` claimed in state `from` to `to` (a live chunk, a free
 * one, a block in a thread cache, an allocator's own table), with its n_blocks. Only sums are kept:
 * about 30 ns, and what was moved twice can be moved back. In any order with claims. Blocks in use
 * need not be counted: hs_heaps_mark knows them. */
hs_status hs_ledger_move(struct hs_ledger *ledger, const char *owner, enum hs_memory_state from,
                         enum hs_memory_state to, hs_addr begin, hs_addr end, uint64_t n_blocks,
                         struct hs_error *err);
/* The same for bytes whose places are not worth telling one by one (headers of chunks, padding),
 * all of them resident. */
hs_status hs_ledger_move_bytes(struct hs_ledger *ledger, const char *owner,
                               enum hs_memory_state from, enum hs_memory_state to, uint64_t n_bytes,
                               uint64_t n_blocks, struct hs_error *err);
/* Hands [begin, end), live memory of the allocator `from`, over to the allocator `to`, which has
 * its memory from the other one: it is then internal memory of that. */
hs_status hs_ledger_hand_over(struct hs_ledger *ledger, const char *from, const char *to,
                              hs_addr begin, hs_addr end, struct hs_error *err);
/* The number of blocks of a row, whatever was said of it before. */
hs_status hs_ledger_set_blocks(struct hs_ledger *ledger, const char *owner,
                               enum hs_memory_state state, uint64_t n_blocks, struct hs_error *err);

/* Claims become ascending and disjoint, adjacent ones of one row one; needed by next_unclaimed.
 * More may be claimed afterwards: then seal again. O(n log n) in claims. */
void hs_ledger_seal(struct hs_ledger *ledger);
/* The first part of [begin, end) that nobody claims; false when there is none. O(log n) and the
 * claims passed over. */
bool hs_ledger_next_unclaimed(const struct hs_ledger *ledger, hs_addr begin, hs_addr end,
                              hs_addr *ret_begin, hs_addr *ret_end);
/* Returns who claims the byte at `address`; 0: nobody. Sealed only. O(log n). */
hs_str hs_ledger_owner_at(const struct hs_ledger *ledger, hs_addr address);

/* Once, after everything else: sums of what lies in the mappings of the process; books the
 * unclaimed rest of each mapping; drops empty rows. No row has less than nothing or more resident
 * than all bytes, whatever was moved.
 *
 * *ret_resident_bytes is what the rows' resident bytes add up to: exactly the kernel's count, where
 * `residency` (parsed; read in the same stop as the image) has one; else, for mappings that it does
 * not have, what the image knows. */
hs_status hs_ledger_close(struct hs_ledger *ledger, const struct hs_process_copy *process,
                          const struct hs_residency *residency, uint64_t *ret_resident_bytes,
                          struct hs_error *err);

#endif
