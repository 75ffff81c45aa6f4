#include "process/dump_plan.h"

#include <stdio.h>

#include "base/units.h"

#define PLAN_MIB ((uint64_t)1 << 20)
/* Tables for the places of blocks: two bits for every 16 bytes, ranks. */
#define PLAN_PLACES(copy_bytes) ((copy_bytes) / 64 + (copy_bytes) / 512)
/* While an allocator is walked: two more bits, of which one stands for a place above. */
#define PLAN_WALK(copy_bytes) ((copy_bytes) / 128)
/* The system's own tables of our pages stay when pages go. */
#define PLAN_PAGE_TABLES(copy_bytes) ((copy_bytes) / 512)
#define PLAN_ALWAYS(copy_bytes)                                                       \
    (PLAN_PLACES(copy_bytes) + PLAN_WALK(copy_bytes) + PLAN_PAGE_TABLES(copy_bytes) + \
     PLAN_FIXED_BYTES)
/* All tables of a heap of small blocks, with types and marks for each, and lists of members. */
#define PLAN_TABLES(copy_bytes) ((copy_bytes) / 16 + 26 * PLAN_MIB)
#define PLAN_FIXED_BYTES (24 * PLAN_MIB) /* columns being written, queues, symbols */
/* The peak of resident memory beside the copy and the cached parts of files. A pointer of the block
 * with the most of them takes 36 bytes while that is written, more than four times what it takes
 * there: measured up to 0.6 of the copy where one array holds all there is, and 0 to 0.1 elsewhere.
 * Our own code, columns, and what was tried before the stop (copy/probe.c): 13 to 30 MiB. */
#define PLAN_SEEN(copy_bytes) ((copy_bytes) / 4 + 24 * PLAN_MIB)
/* Addresses with nothing behind them, as a part of the others: what allocators keep, stacks; and
 * those of libraries. */
#define PLAN_UNUSED_SHARE 16
#define PLAN_UNUSED_BYTES (22 * PLAN_MIB)
/* The reserve for needs that have no alternative, when optional ones are planned. */
#define PLAN_SPARE_LEFT (2 * PLAN_MIB)
/* Two regions of native/queue.h; what lies in a heap that is not gone through by region. */
#define PLAN_RESIDENT_MIN (32 * PLAN_MIB)

static uint64_t plan_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Beside the copy and the tables of all: of the files, with as much debug information as there is,
 * and tables of runtimes. */
static uint64_t plan_more(const struct hs_dump_load *load)
{
    return plan_sum(plan_sum(load->file_bytes, load->block_bytes), load->debug_bytes);
}

void hs_dump_foresee(const struct hs_budget *budget, const struct hs_dump_load *load,
                     struct hs_dump_needs *ret)
{
    uint64_t copy_bytes = load->copy_bytes, with_more = plan_sum(copy_bytes, plan_more(load));
    struct hs_dump_needs needs = {
        .memory_bytes = plan_sum(with_more, PLAN_TABLES(copy_bytes)),
        .seen_bytes = plan_sum(with_more, PLAN_SEEN(copy_bytes)),
        .least_bytes = plan_sum(PLAN_ALWAYS(copy_bytes) + PLAN_RESIDENT_MIN, load->file_bytes),
    };

    uint64_t left = hs_budget_left_bytes(budget);
    needs.spills = left != UINT64_MAX && needs.memory_bytes > left;
    *ret = needs;
}

static hs_status plan_too_little(uint64_t copy_bytes, uint64_t needed_bytes, const char *what,
                                 uint64_t left_bytes, struct hs_error *err)
{
    char size[HS_UNIT_TEXT_BYTES], needed[HS_UNIT_TEXT_BYTES], has[HS_UNIT_TEXT_BYTES];

    hs_format_bytes(copy_bytes, size);
    hs_format_bytes(needed_bytes, needed);
    hs_format_bytes(left_bytes, has);
    return hs_fail(err, HS_LIMIT, "the dump of %s needs at least %s of %s, %s are left", size,
                   needed, what, has);
}

static hs_status plan_refuse_file(const struct hs_budget *budget, const struct hs_dump_load *load,
                                  struct hs_error *err)
{
    uint64_t left = hs_budget_left_bytes(budget);
    struct hs_dump_needs needs;

    hs_dump_foresee(budget, load, &needs);
    if (needs.least_bytes <= left)
        return HS_OK;
    (void)plan_too_little(load->copy_bytes, needs.least_bytes, "memory", left, err);
    return hs_budget_hint(budget, err);
}

hs_status hs_dump_refuse(const struct hs_budget *budget, const struct hs_dump_load *load,
                         struct hs_error *err)
{
    struct hs_memory_bound bound;
    struct hs_dump_needs needs;
    uint64_t addresses;

    hs_dump_foresee(budget, load, &needs);
    if (needs.spills)
        HS_TRY(plan_refuse_file(budget, load, err));
    hs_memory_address_bound(&bound);
    addresses = plan_sum(needs.seen_bytes, PLAN_UNUSED_BYTES);
    addresses = plan_sum(addresses, addresses / PLAN_UNUSED_SHARE);
    if (bound.by == NULL || addresses <= bound.left_bytes)
        return HS_OK;
    (void)plan_too_little(load->copy_bytes, addresses, "addresses", bound.left_bytes, err);
    return hs_hint(err, "%s allows no more", bound.by);
}

static hs_status plan_spill(struct hs_dump_plan *plan, struct hs_error *err)
{
    const struct hs_dump_load *load = &plan->load;
    uint64_t left = hs_budget_left_bytes(plan->budget);
    uint64_t tables = plan_sum(PLAN_ALWAYS(load->copy_bytes), load->file_bytes);

    HS_TRY(plan_refuse_file(plan->budget, load, err));
    HS_TRY(hs_disk_need(hs_spill_directory(plan->budget), load->copy_bytes, err));
    uint64_t resident = left - tables; /* shrinks for types, marks and long arrays */
    HS_TRY(hs_image_spill(plan->image, plan->budget, resident, err));
    return hs_dump_plan_reserve(plan, tables, "the table of blocks", err);
}

hs_status hs_dump_plan_make(struct hs_dump_plan *plan, struct hs_image *image,
                            struct hs_budget *budget, const struct hs_dump_load *load,
                            struct hs_error *err)
{
    uint64_t left = hs_budget_left_bytes(budget), copy_bytes = load->copy_bytes;
    struct hs_dump_needs needs;

    *plan = (struct hs_dump_plan){.budget = budget, .image = image, .load = *load};
    if (left == UINT64_MAX)
        return HS_OK;
    HS_TRY(hs_dump_refuse(budget, load, err));
    hs_dump_foresee(budget, load, &needs);
    if (needs.spills)
        return plan_spill(plan, err);
    image->limit_bytes = left - PLAN_TABLES(copy_bytes) - plan_more(load);
    return hs_dump_plan_reserve(plan, copy_bytes + PLAN_ALWAYS(copy_bytes) + load->file_bytes,
                                "the copy of the process", err);
}

bool hs_dump_plan_retry(struct hs_dump_plan *plan, hs_status *status, struct hs_error *err)
{
    if (*status != HS_LIMIT || !plan->image->is_full)
        return false;
    if (plan->image->kept_bytes > plan->load.copy_bytes)
        plan->load.copy_bytes = plan->image->kept_bytes;
    plan->image->is_full = false;
    hs_dump_plan_release(plan, plan->reserved_bytes);
    *status = plan_spill(plan, err);
    return *status == HS_OK;
}

hs_status hs_dump_plan_adjust(struct hs_dump_plan *plan, uint64_t table_bytes, struct hs_error *err)
{
    uint64_t estimate = PLAN_PLACES(plan->load.copy_bytes);

    if (hs_budget_left_bytes(plan->budget) != UINT64_MAX)
        hs_dump_plan_release(plan, PLAN_WALK(plan->load.copy_bytes));
    return table_bytes > estimate
               ? hs_dump_plan_reserve(plan, table_bytes - estimate, "the table of blocks", err)
               : HS_OK;
}

uint64_t hs_dump_plan_room(const struct hs_dump_plan *plan)
{
    uint64_t left = hs_budget_left_bytes(plan->budget);
    uint64_t spare = plan->image != NULL && plan->image->paged != NULL
                         ? hs_paged_spare_bytes(plan->image->paged)
                         : 0;
    return spare > UINT64_MAX - left ? UINT64_MAX : left + spare;
}

hs_status hs_dump_plan_reserve(struct hs_dump_plan *plan, uint64_t n_bytes, const char *what,
                               struct hs_error *err)
{
    uint64_t left = hs_budget_left_bytes(plan->budget);

    if (plan->image == NULL)
        return HS_OK;
    if (n_bytes > left && plan->image->paged != NULL)
        hs_paged_shrink(plan->image->paged, n_bytes - left);
    HS_TRY(hs_budget_reserve(plan->budget, n_bytes, what, err));
    plan->reserved_bytes += n_bytes;
    return HS_OK;
}

hs_status hs_dump_plan_reserve_spare(struct hs_dump_plan *plan, uint64_t n_bytes, const char *what,
                                     struct hs_error *err)
{
    char needed[HS_UNIT_TEXT_BYTES];

    if (plan->image == NULL)
        return HS_OK;
    if (plan_sum(n_bytes, PLAN_SPARE_LEFT) <= hs_dump_plan_room(plan))
        return hs_dump_plan_reserve(plan, n_bytes, what, err);
    hs_format_bytes(n_bytes, needed);
    return hs_fail(err, HS_LIMIT, "no memory for %s: %s are needed beside what must be had", what,
                   needed);
}

uint64_t hs_dump_plan_reserve_most(struct hs_dump_plan *plan, uint64_t n_bytes, const char *what)
{
    uint64_t room = hs_dump_plan_room(plan);
    uint64_t spare = room > PLAN_SPARE_LEFT ? room - PLAN_SPARE_LEFT : 0;
    struct hs_error ignored = HS_ERROR_INIT;

    n_bytes = n_bytes < spare || plan->image == NULL ? n_bytes : spare;
    return hs_dump_plan_reserve(plan, n_bytes, what, &ignored) == HS_OK ? n_bytes : 0;
}

void hs_dump_plan_release(struct hs_dump_plan *plan, uint64_t n_bytes)
{
    if (plan->image == NULL)
        return;
    hs_budget_release(plan->budget, n_bytes);
    plan->reserved_bytes -= n_bytes;
}

void hs_dump_plan_fini(struct hs_dump_plan *plan)
{
    if (plan != NULL)
        hs_dump_plan_release(plan, plan->reserved_bytes);
}

bool hs_dump_plan_tell(const struct hs_dump_plan *plan, char *text, size_t n_bytes)
{
    char size[HS_UNIT_TEXT_BYTES];

    if (plan->image == NULL || plan->image->paged == NULL)
        return false;
    hs_format_bytes(plan->load.copy_bytes, size);
    snprintf(text, n_bytes, "the copy of the process (%s) went through a temporary file", size);
    return true;
}
