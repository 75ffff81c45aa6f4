/* Estimates what a dump has to hold, from the mappings of a process and its files. */
#include "process/dump_plan.h"
#include "symbols/ctypes.h"
#include "symbols/elf.h"
#include "target/core.h"
#include "target/residency.h"

/* The size that small blocks have with their heads where blocks are small (Python's objects: 57),
 * and what is kept of each that may have a type: its number, and what vectors and lists say. */
enum { SMALL_BLOCK_BYTES = 48, TYPED_BLOCK_BYTES = 4 };

/* The memory for pieces of debug information: one part in so many of the limit, within these
 * bounds. */
enum { PIECES_SHARE = 16, PIECES_LEAST = 2 << 20, PIECES_MOST = 64 << 20 };

size_t hs_dump_piece_bytes(const struct hs_budget *budget)
{
    uint64_t n_bytes = budget == NULL ? PIECES_MOST : budget->limit_bytes / PIECES_SHARE;

    if (n_bytes < PIECES_LEAST)
        return PIECES_LEAST;
    return n_bytes < PIECES_MOST ? (size_t)n_bytes : PIECES_MOST;
}

static hs_status load_copy(const struct hs_target *target, uint64_t *ret, struct hs_error *err)
{
    struct hs_residency residency = {0};
    uint64_t n_bytes = 0;

    hs_status status = hs_residency_read(&residency, target, err);
    if (status == HS_OK)
        status = hs_residency_parse(&residency, err);
    for (size_t i = 0; i < target->n_mappings && status == HS_OK; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        uint64_t resident = m->readable ? m->end - m->begin : 0;
        if (m->shared || (m->inode != 0 && !m->writable))
            continue;
        if (target->core != NULL)
            resident = hs_core_data_bytes(target, m->begin, m->end);
        (void)hs_residency_of(&residency, m->begin, m->end, &resident);
        n_bytes += resident;
    }
    hs_residency_fini(&residency);
    if (status == HS_OK)
        *ret = n_bytes;
    return status;
}

static uint64_t load_files(const struct hs_objects *objects, bool has_tables_of_data)
{
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < objects->n; i++) {
        const struct hs_object *object = &objects->objects[i];
        n_bytes += object->n_loaded_bytes + hs_elf_kept_bytes(object->elf);
        n_bytes += has_tables_of_data ? hs_elf_data_bytes(object->elf) : 0;
        n_bytes += object->debug != NULL ? hs_elf_kept_bytes(object->debug) : 0;
        n_bytes += object->supplement != NULL ? hs_elf_kept_bytes(object->supplement) : 0;
    }
    return n_bytes;
}

static uint64_t load_debug(const struct hs_objects *objects, const struct hs_budget *budget)
{
    uint64_t n_bytes = 0, n_pieces = 0, most = hs_dump_piece_bytes(budget);

    for (size_t i = 0; i < objects->n; i++) {
        struct hs_elf *elf = hs_object_with_types(&objects->objects[i]);
        struct hs_ctypes_needs needs = {0};
        if (elf != NULL)
            hs_ctypes_foresee(elf, &needs);
        n_bytes += needs.whole_bytes + needs.list_bytes;
        n_pieces += needs.piece_bytes;
    }
    return n_bytes + (n_pieces < most ? n_pieces : most);
}

hs_status hs_dump_load_read(const struct hs_target *target, const struct hs_objects *objects,
                            const struct hs_budget *budget, const struct hs_dump_wants *wants,
                            struct hs_dump_load *ret, struct hs_error *err)
{
    struct hs_dump_load load = {.file_bytes = load_files(objects, wants->has_tables_of_data)};

    HS_TRY(load_copy(target, &load.copy_bytes, err));
    unsigned bytes_of_a_block =
        wants->bytes_of_a_block + (wants->has_types ? TYPED_BLOCK_BYTES : 0);
    load.block_bytes = load.copy_bytes / SMALL_BLOCK_BYTES * bytes_of_a_block;
    if (wants->has_types)
        load.debug_bytes = load_debug(objects, budget);
    *ret = load;
    return HS_OK;
}
