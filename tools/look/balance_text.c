#include "balance_text.h"

#include <string.h>

#include "base/append.h"
#include "base/units.h"

static const char *const part_names[HS_N_BALANCE_PARTS] = {
    [HS_BALANCE_LIVE] = "live heap",
    [HS_BALANCE_FREE] = "free in the allocator",
    [HS_BALANCE_MAPPINGS] = "mappings",
    [HS_BALANCE_STACKS] = "stacks",
    [HS_BALANCE_TABLES] = "the allocator's tables",
    [HS_BALANCE_BINARIES] = "binaries",
    [HS_BALANCE_OTHER] = "others",
    [HS_BALANCE_ABSENT] = "not in this dump",
};

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
    text[0] = '\0';
    if (balance->resident_bytes == 0)
        return;
    put(text, "Resident ");
    put_bytes(text, balance->resident_bytes);
    put(text, " = live heap ");
    put_bytes(text, balance->bytes[HS_BALANCE_LIVE]);
    if (balance->live_bytes > balance->bytes[HS_BALANCE_LIVE] + balance->resident_bytes / 50) {
        put(text, " (of ");
        put_bytes(text, balance->live_bytes);
        put(text, ", the rest is not resident)");
    }
    for (enum hs_balance_part part = next_part(balance, HS_BALANCE_LIVE); part != HS_BALANCE_LIVE;
         part = next_part(balance, part)) {
        if (balance->bytes[part] < balance->resident_bytes / 50)
            break;
        put(text, " + ");
        put_bytes(text, balance->bytes[part]);
        put(text, " %s", part_names[part]);
    }
}

/* Returns whole percents of the resident memory, rounded down: what is not all is never "100 %". */
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
    put(text, ". Free memory is no leak");
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

static void put_stacks(const struct hs_balance *balance, char *text)
{
    uint64_t resident = balance->bytes[HS_BALANCE_STACKS];

    if (balance->n_unjoined == 0) {
        put(text, "%u %% is no live heap: ", percent_of(balance, resident));
        put_bytes(text, resident);
        put(text, " are stacks of threads.");
        return;
    }
    put(text, "%lu threads have ended, and nobody has joined or detached them: ",
        (unsigned long)balance->n_unjoined);
    put_bytes(text, balance->unjoined_bytes);
    put(text, " of stacks stay reserved for them, ");
    put_bytes(text, resident);
    put(text, " of stacks are resident.");
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
        put_stacks(balance, text);
        break;
    case HS_BALANCE_TABLES:
        put(text, "%u %% is no live heap: ", percent_of(balance, balance->bytes[part]));
        put_bytes(text, balance->bytes[part]);
        put(text, " are tables of the allocator itself.");
        break;
    case HS_BALANCE_ABSENT:
        put(text,
            "%u %% of the memory is not in this dump, which has the heap of a collector "
            "alone: dump again with --heaps all.",
            percent_of(balance, balance->bytes[part]));
        break;
    default:
        break;
    }
}

/* ---- two of them */

static int64_t change_of(const struct hs_balance *before, const struct hs_balance *after,
                         unsigned part)
{
    return (int64_t)after->bytes[part] - (int64_t)before->bytes[part];
}

static uint64_t size_of(int64_t change)
{
    return change < 0 ? (uint64_t)-change : (uint64_t)change;
}

static void put_change(char *text, int64_t change)
{
    put(text, change < 0 ? "-" : "+");
    put_bytes(text, size_of(change));
}

/* The part that grew most in place of the live heap. */
static enum hs_balance_part grown_part(const struct hs_balance *before,
                                       const struct hs_balance *after)
{
    enum { LEAST_BYTES = 1 << 20 };
    enum hs_balance_part best = HS_BALANCE_LIVE;
    for (unsigned part = 0; part < HS_N_BALANCE_PARTS; part++)
        if (part != HS_BALANCE_BINARIES && part != HS_BALANCE_OTHER &&
            change_of(before, after, part) > change_of(before, after, best))
            best = part;
    return change_of(before, after, best) >= LEAST_BYTES ? best : HS_BALANCE_LIVE;
}

static void put_changes(const struct hs_balance *before, const struct hs_balance *after, char *text)
{
    enum { LEAST_BYTES = 1 << 19, LEAST_PART = 50 };
    bool is_told[HS_N_BALANCE_PARTS] = {false};
    const char *between = ": ";

    for (unsigned n = 0; n < HS_N_BALANCE_PARTS; n++) {
        unsigned best = HS_N_BALANCE_PARTS;
        for (unsigned part = 0; part < HS_N_BALANCE_PARTS; part++)
            if (!is_told[part] &&
                (best == HS_N_BALANCE_PARTS ||
                 size_of(change_of(before, after, part)) > size_of(change_of(before, after, best))))
                best = part;
        uint64_t size = size_of(change_of(before, after, best));
        if (size < LEAST_BYTES || size < after->resident_bytes / LEAST_PART)
            break;
        is_told[best] = true;
        put(text, "%s%s ", between, part_names[best]);
        put_change(text, change_of(before, after, best));
        between = ", ";
    }
}

void hs_balance_change(const struct hs_balance *before, const struct hs_balance *after,
                       char text[HS_BALANCE_TEXT_BYTES], char verdict[HS_BALANCE_TEXT_BYTES])
{
    enum hs_balance_part grown = grown_part(before, after);

    text[0] = verdict[0] = '\0';
    if (before->resident_bytes == 0 || after->resident_bytes == 0 ||
        before->bytes[HS_BALANCE_ABSENT] != 0 || after->bytes[HS_BALANCE_ABSENT] != 0)
        return;
    put(text, "Resident ");
    put_bytes(text, before->resident_bytes);
    put(text, ", then ");
    put_bytes(text, after->resident_bytes);
    put(text, " (");
    put_change(text, (int64_t)after->resident_bytes - (int64_t)before->resident_bytes);
    put(text, ")");
    put_changes(before, after, text);
    if (grown == HS_BALANCE_LIVE)
        return;
    put(verdict, "What grew is %s", part_names[grown]);
    if (grown == HS_BALANCE_MAPPINGS && after->runtime[0] != '\0')
        put(verdict, ", mostly the heap of %s, which is not read", after->runtime);
    put(verdict, ": ");
    put_bytes(verdict, before->bytes[grown]);
    put(verdict, ", then ");
    put_bytes(verdict, after->bytes[grown]);
    put(verdict, ".");
}
