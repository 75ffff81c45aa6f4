/* diff(old): what grew and shrank, by key (analysis/keys.h), since another snapshot that is
 * attached, which is named as its schema or as its file. A key counts with all below it. */
#include <string.h>

#include "analysis/keys.h"
#include "base/alloc.h"
#include "base/strtab.h"
#include "rows.h"
#include "tables.h"
#include "value.h"

enum {
    DIFF_KEY,
    DIFF_STEPS,
    DIFF_OLD_OBJECTS,
    DIFF_OBJECTS,
    DIFF_GROWN_OBJECTS,
    DIFF_OLD_WORDS,
    DIFF_WORDS,
    DIFF_GROWN_WORDS,
    DIFF_OF
};

struct pair {
    struct hs_sizes old, now;
    unsigned steps;
};

struct diff {
    struct hs_sql_cursor cursor; /* row: index of the pair */
    struct hs_strtab keys;       /* text number i + 1 is that of pair i */
    struct pair *pairs;          /* owned */
    size_t capacity;
};

static void diff_fini(struct hs_sql_cursor *cursor)
{
    struct diff *d = (struct diff *)cursor;
    hs_strtab_fini(&d->keys);
    hs_free(d->pairs);
    d->keys = (struct hs_strtab){0};
    d->pairs = NULL;
    d->capacity = 0;
}

static hs_status add_keys(struct diff *d, struct hs_sql_source *source, bool is_old,
                          struct hs_error *err)
{
    struct hs_rows *rows;
    char text[HS_KEY_TEXT_BYTES];
    HS_TRY(hs_sql_rows_of(source, &hs_noun_keys, &rows, err));
    const struct hs_keys *keys = rows->state;
    for (uint32_t i = 1; i < keys->n; i++) { /* number 0 is the whole heap */
        hs_str id;
        hs_key_text(keys, i, text, sizeof text);
        HS_TRY(hs_strtab_add(&d->keys, text, &id, err));
        HS_TRY(HS_GROW(&d->pairs, &d->capacity, d->keys.n_strings, err));
        if (id == 0)
            continue;
        struct pair *pair = &d->pairs[id - 1];
        struct hs_sizes *sizes = is_old ? &pair->old : &pair->now;
        sizes->words += keys->keys[i].all.words; /* texts that were cut may be alike */
        sizes->objects += keys->keys[i].all.objects;
        pair->steps = keys->keys[i].steps;
    }
    return HS_OK;
}

static struct hs_sql_source *find_old(const struct hs_sql_hub *hub, const char *name)
{
    for (unsigned i = 0; i < hub->n_sources; i++)
        if (strcmp(hub->sources[i]->path, name) == 0)
            return hub->sources[i];
    return hs_sql_hub_find(hub, name);
}

static hs_status diff_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                             struct hs_error *err)
{
    struct diff *d = (struct diff *)cursor;
    diff_fini(cursor);
    cursor->at_end = sqlite3_value_type(plan->argument) != SQLITE_TEXT;
    if (cursor->at_end) /* no other value is a name */
        return HS_OK;
    const char *name = (const char *)sqlite3_value_text(plan->argument);
    struct hs_sql_source *old = name != NULL ? find_old(cursor->source->hub, name) : NULL;
    if (old == NULL) {
        (void)hs_fail(err, HS_USAGE, "no snapshot '%.100s' is attached", name != NULL ? name : "");
        return hs_hint(err, "the snapshots table lists those that are");
    }
    unsigned old_bytes = old->view.facts->word_bytes;
    unsigned now_bytes = cursor->source->view.facts->word_bytes;
    if (old_bytes != now_bytes)
        return hs_fail(err, HS_USAGE, "'%s' has words of %u bytes, '%s' of %u", old->path,
                       old_bytes, cursor->source->path, now_bytes);
    HS_TRY(add_keys(d, old, /* is_old= */ true, err));
    HS_TRY(add_keys(d, cursor->source, /* is_old= */ false, err));
    cursor->at_end = d->keys.n_strings == 0;
    return HS_OK;
}

static hs_status diff_next(struct hs_sql_cursor *cursor, struct hs_error *err)
{
    (void)err;
    cursor->at_end = ++cursor->row >= ((struct diff *)cursor)->keys.n_strings;
    return HS_OK;
}

static hs_status diff_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                             struct hs_error *err)
{
    const struct diff *d = (const struct diff *)cursor;
    const struct pair *pair = &d->pairs[cursor->row];
    const uint64_t numbers[] = {
        [DIFF_STEPS] = pair->steps,         [DIFF_OLD_OBJECTS] = pair->old.objects,
        [DIFF_OBJECTS] = pair->now.objects, [DIFF_GROWN_OBJECTS] = 0,
        [DIFF_OLD_WORDS] = pair->old.words, [DIFF_WORDS] = pair->now.words,
    };
    (void)err;
    if (column == DIFF_KEY)
        hs_sql_put_text(ret, hs_strtab_get(&d->keys, (hs_str)cursor->row + 1));
    else if (column == DIFF_GROWN_OBJECTS)
        sqlite3_result_int64(ret, (sqlite3_int64)(pair->now.objects - pair->old.objects));
    else if (column == DIFF_GROWN_WORDS)
        sqlite3_result_int64(ret, (sqlite3_int64)(pair->now.words - pair->old.words));
    else
        hs_sql_put(ret, numbers[column]);
    return HS_OK;
}

const struct hs_sql_table hs_sql_table_diff = {
    .name = "diff",
    .columns =
        "key TEXT, steps INTEGER, old_objects INTEGER, objects INTEGER, growth_objects INTEGER, "
        "old_words WORDS, words WORDS, growth_words WORDS, of HIDDEN",
    .cursor_bytes = sizeof(struct diff),
    .argument = DIFF_OF + 1,
    .usage = "diff('s2')",
    .filter = diff_filter,
    .next = diff_next,
    .fini = diff_fini,
    .column = diff_column,
};
