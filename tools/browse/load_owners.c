/* Lists that are read from keys: the owner tree, and the types below a key. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/unread.h"
#include "base/alloc.h"
#include "load_nodes.h"

static const struct hs_key_rows *keys_of(const struct hs_browse *browse)
{
    return &browse->owners.keys.lists[HS_KEY_LIST_KEYS];
}

/* The older snapshot's key of the same name; HS_NO_KEY. */
static uint32_t older_key(const struct hs_browse *browse, uint64_t key)
{
    enum { MOST_STEPS = 64 };
    uint64_t steps[MOST_STEPS];
    size_t n = 0;
    uint32_t at = 0;
    for (uint64_t step = key; step != 0 && n < MOST_STEPS; n++) {
        steps[n] = step;
        step = hs_browse_key(&browse->owners, step)->parent;
    }
    while (n > 0 && at != HS_NO_KEY)
        at = hs_browse_older_find(&browse->older, HS_KEY_LIST_KEYS, at,
                                  hs_browse_key_name(&browse->owners, steps[--n]));
    return at;
}

/* Returns the words that the older snapshot has; what did not exist had nothing. */
static uint64_t words_before(const struct hs_browse *browse, uint32_t above, const char *name)
{
    if (browse->older_path == NULL)
        return HS_BROWSE_UNKNOWN;
    if (above == HS_NO_KEY)
        return 0;
    uint32_t key = hs_browse_older_find(&browse->older, HS_KEY_LIST_KEYS, above, name);
    return key == HS_NO_KEY ? 0 : browse->older.keys.lists[HS_KEY_LIST_KEYS].rows[key].words;
}

/* Adds the blocks of the key itself, where there are keys below it, too. */
static hs_status add_own(const struct hs_browse *browse, struct hs_browse_level *level,
                         uint32_t older, struct hs_error *err)
{
    const struct hs_key_row *key = hs_browse_key(&browse->owners, level->what.id);
    uint64_t before = HS_BROWSE_UNKNOWN;
    if (key->detail == 0 || level->n == 0)
        return HS_OK;
    if (browse->older_path != NULL)
        before =
            older == HS_NO_KEY ? 0 : browse->older.keys.lists[HS_KEY_LIST_KEYS].rows[older].detail;
    const struct hs_browse_row row = {
        .words = key->detail, .objects = HS_BROWSE_UNKNOWN, .before_words = before};
    return hs_browse_level_add(level, &row, "[its own blocks]", err);
}

/* Adds a line for the roots that keep nothing of the heap. Those are in the list of roots. */
static hs_status add_empty(struct hs_browse_level *level, uint64_t n, struct hs_error *err)
{
    char name[64];
    const struct hs_browse_row row = {
        .objects = HS_BROWSE_UNKNOWN, .before_words = HS_BROWSE_UNKNOWN, .group = 1};
    (void)snprintf(name, sizeof name, "[%llu that have no heap words]", (unsigned long long)n);
    return n == 0 ? HS_OK : hs_browse_level_add(level, &row, name, err);
}

hs_status hs_browse_load_owners(struct hs_browse *browse, struct hs_browse_level *level,
                                struct hs_error *err)
{
    const struct hs_browse_owners *owners = &browse->owners;
    uint64_t key = level->what.id;
    uint32_t older = browse->older_path == NULL ? HS_NO_KEY : older_key(browse, key);
    uint64_t n_empty = 0;
    for (uint32_t i = owners->begin[key]; i < owners->begin[key + 1]; i++) {
        const struct hs_key_row *below = hs_browse_key(owners, owners->child[i]);
        const char *name = hs_browse_key_name(owners, owners->child[i]);
        uint64_t before = words_before(browse, older, name);
        if (below->words == 0 && (before == 0 || before == HS_BROWSE_UNKNOWN)) {
            n_empty++;
            continue;
        }
        const struct hs_browse_row row = {
            .what = {HS_BROWSE_KEY, owners->child[i]},
            .words = below->words,
            .objects = below->objects,
            .before_words = before,
            .opens = hs_browse_n_children(owners, owners->child[i]) != 0,
        };
        HS_TRY(hs_browse_level_add(level, &row, name, err));
    }
    HS_TRY(add_own(browse, level, older, err));
    level->whole_words = hs_browse_key(owners, key)->words;
    if (key == 0) {
        level->whole_words = hs_unread_whole(&browse->view);
        HS_TRY(hs_browse_add_unread(browse, level, err));
    }
    HS_TRY(add_empty(level, n_empty, err));
    level->n_all = level->n;
    return HS_OK;
}

/* ---- types below a key */

struct sum {
    const char *name;
    uint64_t words;
};

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct sum *)left)->name, ((const struct sum *)right)->name);
}

/* Sums the own words of all keys of a type below a key, which come after it and in no other
 * order. */
static hs_status sum_below(const struct hs_browse *browse, uint64_t key, struct sum **ret,
                           size_t *ret_n, struct hs_error *err)
{
    const struct hs_key_rows *keys = keys_of(browse);
    hs_auto_free bool *is_below = NULL;
    hs_auto_free struct sum *sums = NULL;
    size_t n = 0;
    HS_TRY(HS_ALLOC(&is_below, keys->n, err));
    HS_TRY(HS_ALLOC(&sums, keys->n, err));
    for (size_t i = key; i < keys->n; i++) {
        const struct hs_key_row *row = &keys->rows[i];
        is_below[i] = i == key || (row->parent != HS_NO_KEY && is_below[row->parent]);
        if (is_below[i] && row->form == HS_KEY_TYPE && row->detail != 0)
            sums[n++] = (struct sum){hs_browse_key_name(&browse->owners, i), row->detail};
    }
    qsort(sums, n, sizeof *sums, by_name);
    *ret = HS_STEAL(sums);
    *ret_n = n;
    return HS_OK;
}

hs_status hs_browse_load_types_of_key(struct hs_browse *browse, struct hs_browse_level *level,
                                      struct hs_error *err)
{
    hs_auto_free struct sum *sums = NULL;
    size_t n, first = 0;
    HS_TRY(sum_below(browse, level->what.id, &sums, &n, err));
    for (size_t i = 1; i <= n; i++) {
        if (i < n && strcmp(sums[i].name, sums[first].name) == 0) {
            sums[first].words += sums[i].words;
            continue;
        }
        const struct hs_browse_row row = {
            .what.kind = HS_BROWSE_TYPE_NAME,
            .words = sums[first].words,
            .objects = HS_BROWSE_UNKNOWN,
            .before_words = HS_BROWSE_UNKNOWN,
            .opens = true,
        };
        HS_TRY(hs_browse_level_add(level, &row, sums[first].name, err));
        first = i;
    }
    level->n_all = level->n;
    level->whole_words = hs_browse_key(&browse->owners, level->what.id)->words;
    return HS_OK;
}
