/* The text is lines "begin-end perms ..." each followed by lines "Key: number kB". */
#include "target/residency.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/checked.h"
#include "target/procfs.h"

void hs_residency_fini(struct hs_residency *residency)
{
    if (residency == NULL)
        return;
    hs_free(residency->text);
    hs_free(residency->entries);
    memset(residency, 0, sizeof *residency);
}

/* "begin-end ": a mapping. Keys begin with a capital letter that is no digit of lower case. */
static bool residency_head(const char *at, const char *end, struct hs_residency_entry *ret)
{
    if (!hs_proc_digits(&at, end, 16, &ret->begin) || at == end || *at++ != '-' ||
        !hs_proc_digits(&at, end, 16, &ret->end) || at == end || *at != ' ')
        return false;
    ret->resident_bytes = 0;
    return ret->begin < ret->end;
}

static bool residency_key(const char *at, const char *end, uint64_t *ret_bytes)
{
    static const char key[] = "Rss:";
    uint64_t kilobytes;

    if ((size_t)(end - at) < sizeof key - 1 || memcmp(at, key, sizeof key - 1) != 0)
        return false;
    for (at += sizeof key - 1; at < end && *at == ' '; at++)
        ;
    return hs_proc_digits(&at, end, 10, &kilobytes) && hs_mul_fits(kilobytes, 1024, ret_bytes);
}

/* A line that begins before the last one's end was read later, after the mappings had changed: a
 * process may share the target's memory and run on while the target is stopped. What it covers is
 * no longer known. */
static void residency_drop_from(struct hs_residency *residency, hs_addr begin)
{
    while (residency->n_entries > 0 && residency->entries[residency->n_entries - 1].end > begin)
        residency->total_bytes -= residency->entries[--residency->n_entries].resident_bytes;
}

static hs_status residency_line(struct hs_residency *residency, const char *at, const char *end,
                                struct hs_error *err)
{
    struct hs_residency_entry entry;
    uint64_t n_bytes;

    if (residency_head(at, end, &entry)) {
        residency_drop_from(residency, entry.begin);
        HS_TRY(HS_GROW(&residency->entries, &residency->entries_capacity, residency->n_entries + 1,
                       err));
        residency->entries[residency->n_entries++] = entry;
    } else if (residency->n_entries > 0 && residency_key(at, end, &n_bytes)) {
        struct hs_residency_entry *last = &residency->entries[residency->n_entries - 1];
        if (n_bytes > last->end - last->begin)
            n_bytes = last->end - last->begin;
        residency->total_bytes += n_bytes - last->resident_bytes; /* of two lines the last counts */
        last->resident_bytes = n_bytes;
    }
    return HS_OK;
}

hs_status hs_residency_parse(struct hs_residency *residency, struct hs_error *err)
{
    residency->n_entries = 0;
    residency->total_bytes = 0;
    if (residency->text == NULL)
        return HS_OK;
    const char *end = residency->text + residency->n_bytes;
    for (const char *at = residency->text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        HS_TRY(residency_line(residency, at, stop, err));
        at = stop == end ? end : stop + 1;
    }
    return HS_OK;
}

/* Does a line of flags, two letters each, have this one? */
static bool residency_has_flag(const char *at, const char *end, const char *flag)
{
    static const char key[] = "VmFlags:";

    if ((size_t)(end - at) < sizeof key - 1 || memcmp(at, key, sizeof key - 1) != 0)
        return false;
    for (at += sizeof key - 1; end - at >= 3; at++)
        if (at[0] == ' ' && at[1] == flag[0] && at[2] == flag[1])
            return true;
    return false;
}

bool hs_residency_awaits_pages(const struct hs_residency *residency)
{
    struct hs_residency_entry entry = {0}, next;
    uint64_t n_bytes;

    if (residency->text == NULL)
        return false;
    const char *end = residency->text + residency->n_bytes;
    for (const char *at = residency->text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        if (residency_head(at, stop, &next))
            entry = next;
        else if (residency_key(at, stop, &n_bytes))
            entry.resident_bytes = n_bytes;
        if (residency_has_flag(at, stop, "um") && entry.resident_bytes < entry.end - entry.begin)
            return true;
        at = stop == end ? end : stop + 1;
    }
    return false;
}

bool hs_residency_of(const struct hs_residency *residency, hs_addr begin, hs_addr end,
                     uint64_t *ret_bytes)
{
    size_t low = HS_FIRST_ABOVE(residency->entries, residency->n_entries, end, begin);

    if (low == residency->n_entries || residency->entries[low].begin != begin ||
        residency->entries[low].end != end)
        return false;
    *ret_bytes = residency->entries[low].resident_bytes;
    return true;
}
