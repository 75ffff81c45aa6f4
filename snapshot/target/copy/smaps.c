/* "begin-end perms offset device inode path", then lines "Key: number kB", then "VmFlags: rd wr".
 */
#include "smaps.h"

#include <string.h>

#include "base/checked.h"
#include "target/procfs.h"

static void smaps_skip_word(const char **at, const char *end)
{
    while (*at < end && **at != ' ')
        ++*at;
    while (*at < end && **at == ' ')
        ++*at;
}

static bool smaps_head(const char *at, const char *end, struct hs_smaps_entry *ret)
{
    struct hs_smaps_entry entry = {0};
    uint64_t inode = 0;

    if (!hs_proc_digits(&at, end, 16, &entry.begin) || at == end || *at++ != '-' ||
        !hs_proc_digits(&at, end, 16, &entry.end) || end - at < 5 || *at++ != ' ' ||
        entry.begin >= entry.end)
        return false;
    entry.writable = at[1] == 'w';
    entry.shared = at[3] == 's';
    for (int i = 0; i < 3; i++) /* permissions, offset, device */
        smaps_skip_word(&at, end);
    entry.has_file = hs_proc_digits(&at, end, 10, &inode) && inode != 0;
    *ret = entry;
    return true;
}

static bool smaps_key(const char *at, const char *end, const char *key, uint64_t *ret_bytes)
{
    size_t n = strlen(key);
    uint64_t kilobytes, n_bytes;

    if ((size_t)(end - at) <= n || memcmp(at, key, n) != 0 || at[n] != ':')
        return false;
    for (at += n + 1; at < end && *at == ' '; at++)
        ;
    if (hs_proc_digits(&at, end, 10, &kilobytes) && hs_mul_fits(kilobytes, 1024, &n_bytes))
        *ret_bytes = n_bytes;
    return true;
}

static bool smaps_is_flag(const char *at, const char *flag)
{
    return at[0] == flag[0] && at[1] == flag[1];
}

static void smaps_flags(const char *at, const char *end, struct hs_smaps_entry *entry)
{
    static const char key[] = "VmFlags:";

    if ((size_t)(end - at) < sizeof key - 1 || memcmp(at, key, sizeof key - 1) != 0)
        return;
    smaps_skip_word(&at, end);
    for (; end - at >= 2; smaps_skip_word(&at, end)) {
        entry->is_kept_from_children |= smaps_is_flag(at, "dc");
        entry->is_wiped_in_children |= smaps_is_flag(at, "wf");
        entry->is_hugetlb |= smaps_is_flag(at, "ht");
        entry->has_own_faults |=
            smaps_is_flag(at, "uw") || smaps_is_flag(at, "um") || smaps_is_flag(at, "ui");
        entry->is_device |= smaps_is_flag(at, "io") || smaps_is_flag(at, "pf");
    }
}

static void smaps_line(const char *at, const char *end, struct hs_smaps_entry *entry)
{
    uint64_t shared = 0;

    if (smaps_key(at, end, "Shared_Clean", &shared) || smaps_key(at, end, "Shared_Dirty", &shared))
        entry->shared_bytes =
            hs_add_fits(entry->shared_bytes, shared, &shared) ? shared : UINT64_MAX;
    else if (!smaps_key(at, end, "Anonymous", &entry->anonymous_bytes) &&
             !smaps_key(at, end, "AnonHugePages", &entry->huge_bytes) &&
             !smaps_key(at, end, "Swap", &entry->swap_bytes) &&
             !smaps_key(at, end, "Private_Hugetlb", &entry->hugetlb_bytes))
        smaps_flags(at, end, entry);
}

/* Bounds each figure by the size of its mapping, whatever the text says. */
static void smaps_clip(struct hs_smaps_entry *entry)
{
    uint64_t n_bytes = entry->end - entry->begin;
    uint64_t *figures[] = {&entry->anonymous_bytes, &entry->shared_bytes, &entry->swap_bytes,
                           &entry->hugetlb_bytes};

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (*figures[i] > n_bytes)
            *figures[i] = n_bytes;
    if (entry->huge_bytes > entry->anonymous_bytes)
        entry->huge_bytes = entry->anonymous_bytes;
}

bool hs_smaps_next(struct hs_smaps_walk *walk, struct hs_smaps_entry *ret)
{
    struct hs_smaps_entry entry, next;
    bool has_entry = false;

    while (walk->at < walk->end) {
        const char *stop = memchr(walk->at, '\n', (size_t)(walk->end - walk->at));
        if (stop == NULL)
            stop = walk->end;
        bool is_head = smaps_head(walk->at, stop, &next);
        if (is_head && has_entry)
            break;
        if (is_head) {
            entry = next;
            has_entry = true;
        } else if (has_entry) {
            smaps_line(walk->at, stop, &entry);
        }
        walk->at = stop == walk->end ? stop : stop + 1;
    }
    if (!has_entry)
        return false;
    smaps_clip(&entry);
    *ret = entry;
    return true;
}
