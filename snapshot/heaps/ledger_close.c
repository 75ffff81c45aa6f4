/* The closing pass over the mappings. */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "ledger_sums.h"

/* Tells of each mapping whether a thread's stack pointer is in it. *ret is to be freed. */
static hs_status close_find_stacks(const struct hs_target *target, bool **ret, struct hs_error *err)
{
    bool *has_stack;
    HS_TRY(HS_ALLOC(&has_stack, target->n_mappings, err));
    for (size_t i = 0; i < target->n_threads; i++) {
        const struct hs_mapping *m =
            hs_target_mapping_at(target, hs_regs_sp(&target->threads[i].regs));
        if (m != NULL)
            has_stack[m - target->mappings] = true;
    }
    *ret = has_stack;
    return HS_OK;
}

/* Returns the owner (HS_MEMORY_OF_...) of what nobody claims of a mapping. */
static const char *close_kind(const struct hs_process_copy *process, const struct hs_mapping *m,
                              bool has_stack)
{
    const char *path = hs_mapping_path(process->target, m);
    bool is_binary =
        process->objects != NULL && hs_objects_object_at(process->objects, m->begin) != NULL;

    if (m->inode == 0 && strncmp(path, "[v", 2) == 0)
        return HS_MEMORY_OF_KERNEL;
    if (has_stack || strcmp(path, "[stack]") == 0)
        return HS_MEMORY_OF_STACKS;
    if (m->shared)
        return HS_MEMORY_OF_SHARED;
    if (is_binary)
        return m->writable ? HS_MEMORY_OF_DATA : HS_MEMORY_OF_CODE;
    if (m->inode != 0)
        return HS_MEMORY_OF_FILES;
    if (!m->readable && !m->writable && !m->executable)
        return HS_MEMORY_OF_RESERVES;
    return HS_MEMORY_OF_NOBODY;
}

/* The part of a claim in [begin, end). */
static struct hs_ledger_range close_part(const struct hs_ledger *ledger, size_t claim,
                                         const struct hs_mapping *m)
{
    struct hs_ledger_range part = ledger->claims[claim];

    if (part.begin < m->begin)
        part.begin = m->begin;
    if (part.end > m->end)
        part.end = m->end;
    return part;
}

struct close_sums {
    uint64_t n_bytes, resident_bytes;
};

/* Adds the claimed parts of a mapping to their rows. `first` is the first claim behind its begin.
 */
static struct close_sums close_claimed(struct hs_ledger *ledger, const struct hs_mapping *m,
                                       size_t first)
{
    struct close_sums sums = {0};

    for (size_t i = first; i < ledger->n_claims && ledger->claims[i].begin < m->end; i++) {
        struct hs_ledger_range part = close_part(ledger, i, m);
        uint64_t resident = hs_image_resident_bytes(ledger->image, part.begin, part.end);
        ledger->rows[part.row].n_bytes += part.end - part.begin;
        ledger->rows[part.row].resident_bytes += resident;
        sums.n_bytes += part.end - part.begin;
        sums.resident_bytes += resident;
    }
    return sums;
}

/* Subtracts `excess` resident bytes from the claimed parts of a mapping: pages of zeros that were
 * only read are in the page map, but the kernel does not count them. */
static void close_subtract(struct hs_ledger *ledger, const struct hs_mapping *m, size_t first,
                           uint64_t excess)
{
    for (size_t i = first; excess != 0; i++) {
        assert(i < ledger->n_claims);
        struct hs_ledger_range part = close_part(ledger, i, m);
        uint64_t n = hs_image_resident_bytes(ledger->image, part.begin, part.end);
        if (n > excess)
            n = excess;
        ledger->rows[part.row].resident_bytes -= n;
        excess -= n;
    }
}

/* The other way round: what is claimed was not copied, and the kernel knows more. */
static void close_top_up(struct hs_ledger *ledger, const struct hs_mapping *m, size_t first,
                         uint64_t missing)
{
    for (size_t i = first; missing != 0; i++) {
        assert(i < ledger->n_claims);
        struct hs_ledger_range part = close_part(ledger, i, m);
        uint64_t n =
            part.end - part.begin - hs_image_resident_bytes(ledger->image, part.begin, part.end);
        if (n > missing)
            n = missing;
        ledger->rows[part.row].resident_bytes += n;
        missing -= n;
    }
}

/* Books one mapping; its resident bytes are added to *resident_bytes. */
static hs_status close_mapping(struct hs_ledger *ledger, const struct hs_mapping *m,
                               const char *kind, const struct hs_residency *residency,
                               uint64_t *resident_bytes, struct hs_error *err)
{
    size_t first = hs_ledger_lower(ledger, m->begin);
    uint64_t n_bytes = m->end - m->begin;
    uint64_t resident;
    uint32_t row;

    struct close_sums claimed = close_claimed(ledger, m, first);
    if (residency == NULL || !hs_residency_of(residency, m->begin, m->end, &resident))
        resident = hs_image_resident_bytes(ledger->image, m->begin, m->end);
    uint64_t rest = n_bytes - claimed.n_bytes;
    uint64_t of_rest = resident > claimed.resident_bytes ? resident - claimed.resident_bytes : 0;
    if (resident < claimed.resident_bytes)
        close_subtract(ledger, m, first, claimed.resident_bytes - resident);
    if (of_rest > rest) {
        close_top_up(ledger, m, first, of_rest - rest);
        of_rest = rest;
    }
    *resident_bytes += resident;
    if (rest == 0)
        return HS_OK;
    HS_TRY(hs_ledger_row(ledger, kind, HS_MEMORY_OTHER, &row, err));
    ledger->rows[row].n_bytes += rest;
    ledger->rows[row].resident_bytes += of_rest;
    return HS_OK;
}

static void close_drop_empty(struct hs_ledger *ledger)
{
    size_t n = 0;

    for (size_t i = 0; i < ledger->n_rows; i++)
        if (ledger->rows[i].n_bytes != 0 || ledger->rows[i].n_blocks != 0)
            ledger->rows[n++] = ledger->rows[i];
    ledger->n_rows = n;
    ledger->last_owner = 0; /* numbers of rows have changed */
}

hs_status hs_ledger_close(struct hs_ledger *ledger, const struct hs_process_copy *process,
                          const struct hs_residency *residency, uint64_t *ret_resident_bytes,
                          struct hs_error *err)
{
    const struct hs_target *target = process->target;
    hs_auto_free bool *has_stack = NULL;
    uint64_t resident_bytes = 0;

    hs_ledger_seal(ledger);
    HS_TRY(close_find_stacks(target, &has_stack, err));
    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        HS_TRY(close_mapping(ledger, m, close_kind(process, m, has_stack[i]), residency,
                             &resident_bytes, err));
    }
    hs_ledger_resolve(ledger);
    close_drop_empty(ledger);
    *ret_resident_bytes = resident_bytes;
    return HS_OK;
}
