#include "balance_text.h"

#include <string.h>

#include "base/append.h"
#include "base/units.h"

#define put(text, ...) hs_append(text, HS_BALANCE_TEXT_BYTES, __VA_ARGS__)

static void put_bytes(char *text, uint64_t bytes)
{
    char much[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(bytes, much);
    put(text, "%s", much);
}

/* The largest part but the live heap that is smaller than `than`, or as large and behind it;
 * HS_BALANCE_LIVE: no more. */
static enum hs_balance_part next_part(const struct hs_balance *balance, enum hs_balance_part than)
{
    enum hs_balance_part best = HS_BALANCE_LIVE;
    for (unsigned part = HS_BALANCE_LIVE + 1; part < HS_N_BALANCE_PARTS; part++) {
        uint64_t bytes = balance->bytes[part];
        bool is_left = than == HS_BALANCE_LIVE || bytes < balance->bytes[than] ||
                       (bytes == balance->bytes[than] && part > than);
        if (is_left && (best == HS_BALANCE_LIVE || bytes > balance->bytes[best]))
            best = part;
    }
    return best;
}

void hs_balance_sentence(const struct hs_balance *balance, char text[HS_BALANCE_TEXT_BYTES])
{
    static const char *const names[HS_N_BALANCE_PARTS] = {
        [HS_BALANCE_FREE] = "free in the allocator",
        [HS_BALANCE_MAPPINGS] = "mappings",
        [HS_BALANCE_STACKS] = "stacks",
        [HS_BALANCE_TABLES] = "the allocator's tables",
        [HS_BALANCE_BINARIES] = "binaries",
        [HS_BALANCE_OTHER] = "others",
    };
    text[0] = '\0';
    if (balance->resident_bytes == 0)
        return;
    put(text, "Resident ");
    put_bytes(text, balance->resident_bytes);
    put(text, " = live heap ");
    put_bytes(text, balance->bytes[HS_BALANCE_LIVE]);
    for (enum hs_balance_part part = next_part(balance, HS_BALANCE_LIVE); part != HS_BALANCE_LIVE;
         part = next_part(balance, part)) {
        if (balance->bytes[part] < balance->resident_bytes / 50)
            break;
        put(text, " + ");
        put_bytes(text, balance->bytes[part]);
        put(text, " %s", names[part]);
    }
}

/* Whole percents of the resident memory, rounded down: what is not all is never "100 %". */
static unsigned percent_of(const struct hs_balance *balance, uint64_t bytes)
{
    return (unsigned)((double)bytes / (double)balance->resident_bytes * 100);
}

static void put_free(const struct hs_balance *balance, char *text)
{
    bool is_glibc = strcmp(balance->allocator, "glibc") == 0;
    bool is_dirty = balance->dirty_bytes > balance->bytes[HS_BALANCE_FREE] / 2;

    put(text, "%u %% is no live heap: ", percent_of(balance, balance->bytes[HS_BALANCE_FREE]));
    put_bytes(text, balance->bytes[HS_BALANCE_FREE]);
    put(text, is_dirty ? " are free pages that %s has not given back (dirty)" : " are free in %s",
        balance->allocator);
    if (!is_dirty && balance->n_free > 1)
        put(text, ", in %lu pieces between live blocks", (unsigned long)balance->n_free);
    put(text, ". No leak of blocks");
    if (is_glibc)
        put(text, ": malloc_trim(3) gives whole pages back, MALLOC_ARENA_MAX limits arenas");
    else if (strncmp(balance->allocator, "jemalloc", 8) == 0)
        put(text, ": jemalloc's dirty_decay_ms and narenas say how much is kept");
    put(text, ".");
}

static void put_mappings(const struct hs_balance *balance, const struct hs_mapping_holder *holder,
                         unsigned word_bytes, char *text)
{
    uint64_t all = balance->bytes[HS_BALANCE_MAPPINGS], shared = balance->shared_bytes;

    put(text, "%u %% is no heap: ", percent_of(balance, all));
    if (all > shared) {
        put_bytes(text, all - shared);
        put(text, " of mappings that no allocator has%s", shared != 0 ? " and " : "");
    }
    if (shared != 0) {
        put_bytes(text, shared);
        put(text, " of mapped files and shared memory");
    }
    put(text, ".");
    if (holder == NULL || holder->name == NULL)
        return;
    put(text, " ");
    put_bytes(text, holder->words * word_bytes);
    put(text, " of mappings hang on %.400s.", holder->name);
}

void hs_balance_verdict_text(const struct hs_balance *balance,
                             const struct hs_mapping_holder *holder, unsigned word_bytes,
                             char text[HS_BALANCE_TEXT_BYTES])
{
    enum hs_balance_part part = hs_balance_verdict(balance);

    text[0] = '\0';
    switch (part) {
    case HS_BALANCE_FREE:
        put_free(balance, text);
        break;
    case HS_BALANCE_MAPPINGS:
        put_mappings(balance, holder, word_bytes, text);
        break;
    case HS_BALANCE_STACKS:
    case HS_BALANCE_TABLES:
        put(text, "%u %% is no live heap: ", percent_of(balance, balance->bytes[part]));
        put_bytes(text, balance->bytes[part]);
        put(text, part == HS_BALANCE_STACKS ? " are stacks of threads."
                                            : " are tables of the allocator itself.");
        break;
    default:
        break;
    }
}
